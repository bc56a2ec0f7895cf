package browsertest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// signInToRead signs in as a new user who can only read.
func (b *tab) signInToRead() {
	b.t.Helper()
	user := shared.create(b.t, "/v1/users", map[string]any{"email": fmt.Sprintf("read%d@northwind.example", time.Now().UnixNano()), "first_name": "Ben", "access": "read"})
	b.redeem(shared.call(b.t, http.MethodPost, "/v1/users/"+user+"/invite", map[string]any{})["data"].(map[string]any)["url"].(string))
}

// count returns how many records a list request finds.
func count(t *testing.T, path string, rules ...map[string]any) int {
	t.Helper()
	return int(shared.call(t, http.MethodPost, path, map[string]any{"page_size": 1, "filters": rules})["pagination"].(map[string]any)["total_count"].(float64))
}

func rule(field string, value any) map[string]any {
	return map[string]any{"field": field, "condition": "is", "value": value}
}

// openGroup opens a group of duplicates whose name or value contains a text.
func (b *tab) openGroup(path, text string) {
	b.visit(path)
	row := find("main tbody tr", text)
	for {
		b.until(`!document.querySelector('[aria-busy]') && document.querySelector('main tbody tr')`)
		if eval[bool](b, `!!`+row) {
			break
		}
		before := eval[string](b, `location.search`)
		b.click("a.button", "Next page")
		b.until(`location.search !== ` + quote(before))
	}
	_ = eval[bool](b, `(`+row+`.querySelector('a').click(), true)`)
	b.until(`document.querySelector('.compare')`)
}

// TestMergeOnce clicks twice on the button that merges: only one group is merged.
func TestMergeOnce(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	for i := range 3 {
		for j := range 2 {
			shared.create(t, "/v1/contacts", map[string]any{"first_name": fmt.Sprint("Twin ", b.number), "last_name": fmt.Sprint("Number ", i), "email": fmt.Sprintf("twin%d.%d@text.example", b.number, i), "external_id": fmt.Sprint("twin-", b.number, i, j)})
		}
	}
	twins := func() int { return count(t, "/v1/contacts/list", rule("first_name", fmt.Sprint("Twin ", b.number))) }
	b.openGroup("/contacts/duplicates", fmt.Sprint("Twin ", b.number))
	_ = eval[bool](b, fmt.Sprintf(`new Promise((resolve) => { const end = Date.now() + 20000;
		(function look() { const isList = !document.querySelector('.compare'); %s?.click(); if (isList || Date.now() > end) resolve(isList); else requestAnimationFrame(look); })(); })`, find(".section button", "Merge")))
	b.shows("1 contact merged")
	if n := twins(); n != 5 {
		t.Errorf("%d contacts are left of 6 after a double click", n)
	}
}

// TestBackClosesDialog goes back while a dialog is open: the dialog closes and the list and the selection stay. Contacts that
// cannot be added to a campaign leave no audience behind.
func TestBackClosesDialog(t *testing.T) {
	b := open(t, 1280)
	b.expected = append(b.expected, "status of 409")
	b.signInAsNew()
	name := fmt.Sprint("Behind ", b.number)
	for i := range 2 {
		shared.create(t, "/v1/contacts", map[string]any{"first_name": name, "last_name": fmt.Sprint("Number ", i), "external_id": fmt.Sprint("behind-", b.number, i)})
	}
	b.visit("/contacts?f=first_name:is:" + name)
	b.goTo("Accounts")
	_ = eval[bool](b, `history.back() || true`)
	b.until(`document.querySelector('h1')?.innerText.startsWith('Contacts 2 of ')`)
	b.addRule("Last name", "contains", "Number")
	b.until(`document.querySelector('h1')?.innerText.startsWith('Contacts 2 of ') && document.querySelectorAll('tbody input[type=checkbox]').length === 2`)
	search := eval[string](b, `location.search`)
	b.click("thead input[type=checkbox]", "")
	b.click(".selection button", "Delete")
	b.shows("You can restore them")
	_ = eval[bool](b, `history.back() || true`)
	b.until(fmt.Sprintf(`!document.querySelector('dialog') && location.search === %s && document.querySelector('.selection')?.innerText.includes('2 selected')`, quote(search)))

	b.click(".selection button", "Clear")
	b.click("tbody input[type=checkbox]", "")
	b.click(".selection button", "Select all 2")
	b.click(".selection button", "Campaign")
	b.until(find("dialog [data-field=name]", ""))
	b.focus("[data-field=name]")
	_ = eval[bool](b, `document.activeElement.select() || true`)
	b.keys(name)
	_ = eval[bool](b, `(() => { const s = document.querySelector('[data-field=campaign]'); s.value = [...s.options].find((o) => o.value).value; s.dispatchEvent(new Event('change', { bubbles: true })); return true; })()`)
	shared.create(t, "/v1/contacts", map[string]any{"first_name": name, "last_name": "Number 3", "external_id": fmt.Sprint("behind-", b.number, 3)})
	b.click("dialog button.primary", "Add 2")
	b.shows("3 contacts match by now, not 2")
	if n := count(t, "/v1/audiences/list", rule("name", name)); n != 0 {
		t.Errorf("%d empty audiences stay behind", n)
	}
}

// TestConflicts changes a field that somebody else did not change, which asks nothing, and one that somebody else did.
func TestConflicts(t *testing.T) {
	b := open(t, 1280)
	b.expected = append(b.expected, "status of 412")
	b.signInAsNew()
	contact := shared.create(t, "/v1/contacts", map[string]any{"first_name": "Con", "last_name": "Flict", "email": fmt.Sprintf("flict%d@text.example", b.number), "title": "First", "notes": "none"})
	path := "/v1/contacts/" + contact
	others := func(key, value string) { shared.call(t, http.MethodPatch, path, map[string]any{key: value}) }
	is := func(key string) any { return shared.call(t, http.MethodGet, path, nil)["data"].(map[string]any)[key] }
	enter := func(label, value string) {
		_ = eval[bool](b, fmt.Sprintf(`[...document.querySelectorAll('dt')].find((e) => e.innerText === %s).nextElementSibling.querySelector('button').click() || true`, quote(label)))
		b.until(`document.activeElement.id === 'inline'`)
		_ = eval[bool](b, `document.activeElement.select() || true`)
		b.keys(value + kb.Tab)
	}
	b.visit("/contacts/" + contact)
	others("title", "Second")
	enter("Notes", "mine")
	b.shows("Notes saved")
	if eval[bool](b, `document.querySelector('dialog') !== null`) || is("notes") != "mine" || is("title") != "Second" {
		t.Errorf("the contact has %v and %v", is("notes"), is("title"))
	}
	for _, answer := range []string{"Take theirs", "Keep mine"} {
		b.visit("/contacts/" + contact)
		others("title", "Theirs "+answer)
		enter("Title", "Mine "+answer)
		b.shows("has changed the same field")
		b.shows("Title, yours")
		b.until(`document.activeElement.innerText === 'Keep mine'`)
		b.click("dialog button", answer)
		b.until(`!document.querySelector('dialog')`)
		want := map[string]string{"Take theirs": "Theirs Take theirs", "Keep mine": "Mine Keep mine"}[answer]
		b.until(fmt.Sprintf(`[...document.querySelectorAll('dt')].find((e) => e.innerText === 'Title').nextElementSibling.innerText === %s`, quote(want)))
		if got := is("title"); got != want {
			t.Errorf("after %s the title is %v", answer, got)
		}
	}
}

// TestPreviewOfEverything asks before all companies are taken, and says which part of them a Preview has.
func TestPreviewOfEverything(t *testing.T) {
	b := open(t, 1280)
	b.expected = append(b.expected, "status of 422") // no estimate without an answer
	b.signInAsNew()
	b.visit("/market")
	b.until(`document.querySelectorAll('.bars').length > 0 || document.body.innerText.includes('Catalog')`)
	b.click("button", "Prepare Preview")
	b.shows("Prepare a Preview of all companies?")
	b.click("dialog button", "Cancel")
	b.until(`!document.querySelector('dialog') && location.pathname === '/app/market'`)
	b.choose("[data-field=ask]", "products")
	b.click("button", "Prepare Preview")
	b.shows("Choose the answer that a company must have.")

	request := eval[string](b, `crypto.randomUUID()`)
	preview := shared.call(t, http.MethodPost, "/v1/tam/preview", map[string]any{"request_id": request, "company_filters": map[string]any{}, "search_input": map[string]any{"max_candidates": 20}})["data"].(map[string]any)["preview_id"].(string)
	b.visit("/previews/" + preview)
	all := count(t, "/v1/companies/list")
	b.until(fmt.Sprintf(`document.body.innerText.replaceAll(',', '').includes('A Preview takes the first 20 of %d companies that match.')`, all))
	p := shared.call(t, http.MethodGet, "/v1/tam/preview/"+preview, nil)["data"].(map[string]any)
	n := p["result"].(map[string]any)["accounts"].(map[string]any)["new"]
	b.click("button", fmt.Sprintf("Import %v new compan", n))
	b.shows(fmt.Sprintf("%v accounts and", n))
}

// TestReadAccess requires that pages on which a reader can change nothing say so and offer nothing to change.
func TestReadAccess(t *testing.T) {
	b := open(t, 1280)
	b.signInToRead()
	b.until(find(".end button", "Ben · read access"))
	contact := shared.first(t, "/v1/contacts/list", map[string]any{"page_size": 1})["id"]
	template := shared.first(t, "/v1/sequence-templates/list", map[string]any{"page_size": 1})["id"]
	for _, path := range []string{"/market", "/imports/new", "/settings/tags", "/settings/webhooks", "/contacts/duplicates", fmt.Sprint("/templates/", template), fmt.Sprint("/contacts/", contact)} {
		b.visit(path)
		b.shows("Your access lets you read this but not change it. Ask an admin for more.")
		b.until(`![...document.querySelectorAll('main :is(input[type=file], textarea, button.inline-edit)')].some((e) => !e.matches(':disabled'))`)
	}
}

// TestViewsMenu deletes a view: the menu closes with Escape, and a click elsewhere closes it, too.
func TestViewsMenu(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	b.visit("/accounts")
	name := fmt.Sprint("Stuck ", b.number)
	b.click("summary", "Views")
	b.click("button", "Save this view…")
	b.shows("Everybody in your organization sees the view.")
	b.focus("[data-field=name]")
	b.keys(name + kb.Enter)
	b.until(`!document.querySelector('dialog')`)
	if !eval[bool](b, `document.querySelector('details.menu').open`) {
		b.click("summary", "Views")
	}
	b.click(fmt.Sprintf(`button[aria-label="Delete the view %s"]`, name), "")
	b.shows("is deleted")
	b.keys(kb.Escape)
	b.until(`!document.querySelector('details.menu[open]')`)
	b.click("summary", "Views")
	b.click("h1", "Accounts")
	b.until(`!document.querySelector('details.menu[open]')`)
}
