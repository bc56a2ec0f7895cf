package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// outside is an expression for the visible controls that are not wholly within the window. Tables that scroll are left out.
const outside = `[...([...document.querySelectorAll('dialog[open]')].at(-1) || document.querySelector('main')).querySelectorAll('button, a, input, select')]
	.filter((e) => e.checkVisibility() && !e.closest('.table:not(.plain), .scroll-x, .visually-hidden'))
	.filter((e) => { const r = e.getBoundingClientRect(); return r.width > 0 && (r.right > innerWidth + 1 || r.left < -1); })
	.map((e) => (e.innerText || e.getAttribute('aria-label') || e.outerHTML).slice(0, 40)).join(', ')`

// TestLongWords shows records whose texts are one word of 200 letters. No control is off the page for it.
func TestLongWords(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		word := fmt.Sprint(b.number, strings.Repeat("Unbreakable", 18))
		contact := shared.create(t, "/v1/contacts", map[string]any{"first_name": word, "title": word, "notes": word, "email": fmt.Sprintf("long%d@words.example", b.number)})
		account := shared.create(t, "/v1/accounts", map[string]any{"name": word, "industry": word, "website": "https://words.example/" + word})
		twin := shared.create(t, "/v1/accounts", map[string]any{"name": word, "industry": word})
		audience := shared.create(t, "/v1/audiences", map[string]any{"name": word, "contact_ids": []string{contact}})
		template := shared.create(t, "/v1/sequence-templates", map[string]any{"name": word, "steps": []any{
			map[string]any{"type": "auto_email", "index": 0, "title": word[:100], "subject": word, "message": word, "day": 0, "hour": 9}}})
		campaign := shared.create(t, "/v1/campaigns", map[string]any{"name": word, "template_id": template, "audience_ids": []string{audience}})
		task := shared.create(t, "/v1/tasks", map[string]any{"title": word, "contact_id": contact, "due_at": "2001-01-01T00:00:00Z"})
		shared.create(t, "/v1/views", map[string]any{"entity": "contacts", "name": word[:100], "filtering_rules": []any{}})
		b.signInAsNew()
		for _, path := range []string{
			"/", "/contacts/" + contact, "/accounts/" + account, "/audiences/" + audience, "/templates/" + template, "/campaigns/" + campaign, "/tasks/" + task, "/contacts?q=" + word,
			"/accounts/duplicates?ids=" + account + "," + twin,
		} {
			b.ready(path)
			if found := eval[string](b, outside); found != "" {
				t.Errorf("at %d px, %s: outside the page: %s", width, path[:min(20, len(path))], found)
			}
		}
		b.ready("/contacts/" + contact)
		b.click("button", "Delete…")
		if found := eval[string](b, outside); found != "" {
			t.Errorf("at %d px, outside the dialog: %s", width, found)
		}
		for _, path := range []string{"/v1/tasks/" + task, "/v1/campaigns/" + campaign, "/v1/accounts/" + account, "/v1/accounts/" + twin} {
			shared.call(t, http.MethodDelete, path, nil) // no duplicates for other tests
		}
	}
}

// TestPreviewOnAPhone imports a Preview. On a phone, what became of it is read in lines, with the buttons below.
func TestPreviewOnAPhone(t *testing.T) {
	b := open(t, 390)
	b.signInAsNew()
	id := newPreview(t, "Denmark")
	b.ready("/previews/" + id)
	b.click("button", "Import ")
	b.fill("max_accounts", "3")
	b.click("dialog button.primary", "Import ")
	b.shows("Imported: 3 new accounts")
	b.until(find(".notice a", "Show accounts"))
	if w := eval[float64](b, find(".notice span", "Imported:")+`.getBoundingClientRect().width`); w < 200 {
		t.Errorf("the text is %.0f px wide", w)
	}
	if found := eval[string](b, outside); found != "" {
		t.Errorf("outside the page: %s", found)
	}
	b.deletePreview(id)
}
