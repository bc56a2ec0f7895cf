package browsertest

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// firstRow is the number of the first row of a table that is not covered by its head, and where the row is.
const firstRow = `(() => {
	const table = document.querySelector('.table:not(.plain)'), head = table.querySelector('thead');
	const top = table.getBoundingClientRect().top + (getComputedStyle(head).position === 'absolute' ? 0 : head.offsetHeight);
	const row = [...table.querySelectorAll('tr[aria-rowindex]')].find((r) => !r.closest('thead') && r.getBoundingClientRect().bottom > top + 2);
	return row && !row.querySelector('.skeleton') ? 'row ' + row.getAttribute('aria-rowindex') + ' at ' + Math.round(row.getBoundingClientRect().top) : ''; })()`

// someContacts makes contacts with a title that no others have.
func someContacts(t *testing.T, b *tab, n int) (title string, ids []any) {
	t.Helper()
	title = fmt.Sprint("Lister ", b.number)
	var records []any
	for i := range n {
		records = append(records, map[string]any{"first_name": "Row", "last_name": fmt.Sprintf("Number%03d", i), "email": fmt.Sprintf("row%d@lister%d.example", i, b.number), "title": title})
	}
	shared.call(t, http.MethodPost, "/v1/contacts/batch", map[string]any{"records": records})
	for page := 1; len(ids) < n; page++ {
		for _, c := range shared.call(t, http.MethodPost, "/v1/contacts/list", map[string]any{"page": page, "page_size": 100, "filters": []any{map[string]any{"field": "title", "condition": "is", "value": title}}})["data"].([]any) {
			ids = append(ids, c.(map[string]any)["id"])
		}
	}
	return title, ids
}

// TestSameRows leaves lists for a record and comes back to the same rows.
func TestSameRows(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		title, ids := someContacts(t, b, 220)
		audience := shared.create(t, "/v1/audiences", map[string]any{"name": title, "contact_ids": ids})
		for _, path := range []string{fmt.Sprintf("/contacts?f=title:is:%s&sort=last_name", title), "/audiences/" + audience} {
			b.ready(path)
			_ = eval[bool](b, `(document.querySelector('.table').scrollTop = 137 * Number.parseInt(getComputedStyle(document.querySelector('.table')).getPropertyValue('--row')), true)`)
			b.until(`document.querySelector('tr[aria-rowindex="139"] a') && ` + firstRow)
			at := eval[string](b, firstRow)
			// Another list in between has rows of its own.
			_ = eval[bool](b, `document.querySelector('tr[aria-rowindex="141"] a').click() || true`) // without scrolling
			b.until(`/contacts\/./.test(location.pathname) && document.querySelector('h1')?.innerText.startsWith('Row Number')`)
			b.goTo("Tasks")
			b.run(chromedp.NavigateBack())
			b.until(`/contacts\/./.test(location.pathname) && document.querySelector('h1')?.innerText.startsWith('Row Number')`)
			b.run(chromedp.NavigateBack())
			b.until(fmt.Sprintf(`%s === %s`, firstRow, quote(at)))
		}
		b.ready(fmt.Sprintf("/contacts?f=title:is:%s&sort=last_name", title))
		_ = eval[bool](b, `(document.querySelector('.table').scrollTop = 40 * Number.parseInt(getComputedStyle(document.querySelector('.table')).getPropertyValue('--row')), true)`)
		b.until(`document.querySelector('tr[aria-rowindex="42"] a') && ` + firstRow)
		at := eval[string](b, firstRow)
		_ = eval[bool](b, `document.querySelector('tr[aria-rowindex="44"] a').click() || true`)
		b.click(".heading a", "‹ Contacts")
		b.until(fmt.Sprintf(`%s === %s`, firstRow, quote(at)))
	}
}

// TestOldList comes back to a list after two minutes. It offers to read the list again, and no row moves.
func TestOldList(t *testing.T) {
	if shared != nil {
		shared.someImport(t)
	}
	for _, width := range []int64{1280, 390, 360} {
		b := open(t, width)
		b.signInAsNew()
		for _, path := range []string{"/contacts?f=title:contains:vp", "/tasks?f=status:is:open", "/imports"} {
			b.ready(path)
			b.until(firstRow + ` && !/…/.test([...document.querySelectorAll('td')].map((e) => e.innerText).join())`)
			at := eval[string](b, firstRow)
			_ = eval[bool](b, `(() => { window.now ??= Date.now; Date.now = () => now.call(Date) + 120e3; document.dispatchEvent(new Event('visibilitychange')); return true; })()`)
			b.until(find(".selection button", "Refresh"))
			if over := eval[float64](b, `document.querySelector('.table').getBoundingClientRect().bottom - document.querySelector('.selection').getBoundingClientRect().top`); over > 0 {
				t.Errorf("at %d px, the offer to refresh %s hides %.0f px of the rows", width, path, over)
			}
			if now := eval[string](b, firstRow); now != at {
				t.Errorf("at %d px, the first row of %s is %s, and was %s", width, path, now, at)
			}
			b.click(".selection button", "Refresh")
			b.until("!" + find(".selection button", "Refresh"))
		}
	}
}

// TestNumbersOnAPhone reads in the list of imports what each number counts.
func TestNumbersOnAPhone(t *testing.T) {
	b := open(t, 390)
	shared.someImport(t)
	b.signInAsNew()
	b.ready("/imports")
	b.until(`[...document.querySelectorAll('td.number')].map((e) => getComputedStyle(e, '::before').content).slice(0, 4).join() === '"· Rows ","· Added ","· Updated ","· Skipped "'`)
	b.screenshot("imports-phone")
}

// TestPreviewNames finds a Preview in the list by its market.
func TestPreviewNames(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	id := newPreview(t, "Norway")
	b.ready("/previews")
	b.click("tbody a", "Country is Norway · titles with chief, vp")
	b.until(fmt.Sprintf(`location.pathname === '/app/previews/%s'`, id))
	b.shows("Country is Norway · titles with chief, vp")
	b.deletePreview(id)
}

// TestCampaignsOfAnAudience shows those that send to the audience and no others.
func TestCampaignsOfAnAudience(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	template := shared.first(t, "/v1/sequence-templates/list", map[string]any{"page_size": 1})["id"]
	var audiences []string
	for _, name := range []string{"This", "Other"} {
		audience := shared.create(t, "/v1/audiences", map[string]any{"name": fmt.Sprint(name, b.number), "contact_ids": []string{}})
		shared.create(t, "/v1/campaigns", map[string]any{"name": fmt.Sprint(name, " campaign ", b.number), "audience_ids": []string{audience}, "template_id": template})
		audiences = append(audiences, audience)
	}
	b.visit("/audiences/" + audiences[0])
	b.until(fmt.Sprintf(`[...document.querySelectorAll('main .chips a')].map((a) => a.innerText).join() === 'This campaign %d'`, b.number))
}

// TestDeleteFromFilteredList opens a record from a filtered list and deletes it. The console returns to the list with its
// filter, and Back does not lead to the deleted record.
func TestDeleteFromFilteredList(t *testing.T) {
	b := open(t, 1280)
	title, _ := someContacts(t, b, 3)
	b.signInAsNew()
	b.ready("/contacts?f=title:is:" + title)
	b.click("tbody a", "")
	b.until(find("main button", "Delete…"))
	b.click("main button", "Delete…")
	b.click("dialog button.primary", "Delete this contact")
	isBack := `location.pathname === '/app/contacts' && new URLSearchParams(location.search).get('f') === ` + quote("title:is:"+title) + ` && document.querySelector('h1').innerText.startsWith('Contacts 2 of ')`
	b.until(isBack)
	b.until(find(".toast", "deleted"))
	_ = eval[bool](b, `(history.back(), true)`)
	b.until(isBack)
}
