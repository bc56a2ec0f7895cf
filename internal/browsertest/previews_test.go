package browsertest

import (
	"fmt"
	"net/http"
	"testing"
)

// TestEligible goes from the list of Previews to a new market, and lists who is left of a Preview.
func TestEligible(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	id := newPreview(t, "Sweden")
	b.ready("/previews")
	b.click(".heading a", "New market")
	b.until(`location.pathname === '/app/market' && document.querySelector('h1').innerText === 'New market'`)

	b.ready("/previews/" + id)
	totals := shared.call(t, http.MethodGet, "/v1/tam/preview/"+id, nil)["data"].(map[string]any)["totals"].(map[string]any)
	for _, kind := range []struct{ tab, key string }{{"Companies", "companies"}, {"People", "people"}} {
		want := int(totals[kind.key].(map[string]any)["eligible"].(float64))
		if want == 0 || kind.key == "companies" && want == int(totals[kind.key].(map[string]any)["matched"].(float64)) {
			t.Fatalf("%d %s are eligible, so the test shows nothing", want, kind.key)
		}
		b.click(".tabs a", kind.tab)
		b.until(fmt.Sprintf(`document.querySelector('.tabs [aria-current]').innerText === %s && !document.querySelector('.chip.on')`, quote(kind.tab)))
		b.click(".bars li:last-child a", "Show")
		b.until(fmt.Sprintf(`document.querySelector('.chip.on')?.innerText.startsWith('Eligible') && document.querySelector('.table table').getAttribute('aria-rowcount') === '%d'`, want+1))
		b.until(`[...document.querySelectorAll('.table .status')].length > 0 && [...document.querySelectorAll('.table .status')].every((e) => /^(Eligible|Exists already)$/.test(e.innerText))`)
	}
	b.click(".chip.on a", "")
	b.until(`!document.querySelector('.chip.on')`)
	b.deletePreview(id)
}

// exceeded makes a Preview look larger than what is left of the accounts of this month.
const exceeded = `(() => { const real = fetch; window.fetch = async (url, options) => {
	const answer = await real(url, options);
	if (!/balance\?preview_id/.test(url)) return answer;
	const body = await answer.json();
	body.data.exceeded = true;
	Object.assign(body.data.accounts, { remaining: 3, over_by: 4 });
	return new Response(JSON.stringify(body), { headers: answer.headers });
}; return true; })()`

// TestMaxima suggests to import no more accounts than are left this month.
func TestMaxima(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	id := newPreview(t, "Poland")
	b.ready("/previews/" + id)
	_ = eval[bool](b, exceeded)
	b.click("button", "Import ")
	b.shows("That is more than is left this month.")
	b.until(`document.querySelector('[data-field=max_accounts]').value === '3' && document.querySelector('[data-field=max_contacts]').value === ''`)
	b.click("dialog button.primary", "Import ")
	b.shows("Imported: 3 new accounts")
	b.deletePreview(id)
}

// TestImported goes from a Preview that was imported to the accounts and the contacts that it brought.
func TestImported(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	id := newPreview(t, "Denmark")
	b.ready("/previews/" + id)
	b.click("button", "Import ")
	b.fill("max_accounts", "3")
	b.click("dialog button.primary", "Import ")
	b.shows("Imported: 3 new accounts")
	made := shared.call(t, http.MethodGet, "/v1/tam/imports/"+shared.get(t, "/v1/tam/preview/"+id)["operation_id"].(string), nil)["data"].(map[string]any)
	for _, kind := range []struct{ entity, title string }{{"accounts", "Accounts"}, {"contacts", "Contacts"}} {
		n := made[kind.entity].(map[string]any)["created"]
		if n == 0.0 {
			t.Fatalf("there are no new %s, so the test shows nothing", kind.entity)
		}
		b.ready("/previews/" + id)
		b.click(".notice a", "Show "+kind.entity)
		b.until(fmt.Sprintf(`document.querySelector('h1').innerText.startsWith('%s %v of ')`, kind.title, n))
	}
	b.deletePreview(id)
}
