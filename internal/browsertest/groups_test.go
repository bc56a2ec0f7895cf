package browsertest

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// addRule adds a rule to the filters, or to the group whose form is open.
func (b *tab) addRule(field, condition, value string) {
	b.t.Helper()
	b.click("button", "+ Filter")
	b.until(find("#rule-field", ""))
	b.choose("#rule-field", field)
	b.choose("#rule-condition", condition)
	if eval[bool](b, `document.querySelector('#rule-value').matches('select')`) {
		b.choose("#rule-value", value)
		b.click("button", "Apply")
	} else {
		b.focus("#rule-value")
		b.keys(value + kb.Enter)
	}
	b.until(`!document.querySelector('#rule-field')`)
}

// TestGroups filters contacts by a group with another group in it. The address has the tree as the API takes it, a
// saved view brings it back, and the chip opens it again.
func TestGroups(t *testing.T) {
	rule := func(value string) map[string]any {
		return map[string]any{"field": "title", "condition": "contains", "value": value}
	}
	tree := map[string]any{"operator": "or", "filters": []any{rule("vp"), map[string]any{"operator": "and", "filters": []any{rule("head"), rule("marketing")}}}}
	want := shared.call(t, http.MethodPost, "/v1/contacts/list", map[string]any{"page_size": 1, "filters": []any{tree}})["pagination"].(map[string]any)["total_count"]
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		b.ready("/contacts")
		b.click("button", "+ Group")
		b.addRule("Title", "contains", "vp")
		b.click("button", "+ Group")
		b.click("button", "All of them")
		b.addRule("Title", "contains", "head")
		b.addRule("Title", "contains", "marketing")
		b.screenshot(fmt.Sprint("group", width))
		b.click("button.primary", "Apply")
		b.click("button.primary", "Apply")
		const sentence = "Title contains vp or (Title contains head and Title contains marketing)"
		b.until(find(".chip button", sentence))
		b.until(fmt.Sprintf(`/^Contacts\s+%v of /.test(document.querySelector('h1').innerText)`, want))
		if got := eval[string](b, `new URLSearchParams(location.search).get('where')`); got != `{"operator":"or","filters":[{"field":"title","condition":"contains","value":"vp"},{"operator":"and","filters":[{"field":"title","condition":"contains","value":"head"},{"field":"title","condition":"contains","value":"marketing"}]}]}` {
			t.Errorf("the address has %s", got)
		}
		b.screenshot(fmt.Sprint("groups", width))
		b.click("summary", "Views")
		b.click("button", "Save this view…")
		b.until(`document.activeElement.matches('dialog input')`)
		name := fmt.Sprint("Nested ", width)
		b.keys(name + kb.Enter)
		b.shows("The view " + name + " is saved")

		b.ready("/contacts")
		b.click("summary", "Views")
		b.click(".popover a", name)
		b.click(".chip button", sentence)
		b.click("dialog .chip button", "Title contains head and Title contains marketing")
		b.click("dialog .chip button", "Title contains marketing")
		b.focus("#rule-value")
		_ = eval[bool](b, `document.activeElement.select() || true`)
		b.keys("sales" + kb.Enter)
		b.until(`!document.querySelector('#rule-value')`)
		b.click("button.primary", "Apply")
		b.click("button.primary", "Apply")
		b.until(find(".chip button", "(Title contains head and Title contains sales)"))
		b.visit("/contacts?where=%7B%22operator%22%3A5%7D")
		b.shows("Unknown parts of the address: where")
	}
}
