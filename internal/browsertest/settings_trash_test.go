package browsertest

import (
	"fmt"
	"net/http"
	"path"
	"testing"
)

// TestTrashOfSetup deletes what a team sets up, takes that back at once, and restores it from the trash after it was deleted
// again. The history tells of each step.
func TestTrashOfSetup(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	name := fmt.Sprint("Keepsake ", b.number)
	create := func(in string, body map[string]any) string { return in + "/" + shared.create(t, in, body) }
	steps := []any{map[string]any{"type": "call", "index": 0, "title": "Call", "day": 0, "hour": 9}}
	template := create("/v1/sequence-templates", map[string]any{"name": name, "steps": steps})
	audience := create("/v1/audiences", map[string]any{"name": name, "contact_ids": []string{}})
	campaign := create("/v1/campaigns", map[string]any{
		"name": name, "template_id": shared.create(t, "/v1/sequence-templates", map[string]any{"name": name + " in use", "steps": steps}),
		"audience_ids": []string{shared.create(t, "/v1/audiences", map[string]any{"name": name + " in use", "contact_ids": []string{}})},
	})
	field := create("/v1/fields", map[string]any{"label": name, "key": fmt.Sprint("keepsake", b.number), "entity": "contacts", "data_type": "text"})
	tag := create("/v1/tags", map[string]any{"name": name, "color": "green", "object_type": "account"})
	for _, test := range []struct {
		kind, one, path, page, detail string // detail tells records of a name apart in the trash
		history                       []string
	}{
		{"campaigns", "campaign", campaign, campaign[len("/v1"):], "Draft", []string{"More", "History"}},
		{"audiences", "audience", audience, audience[len("/v1"):], "0", []string{"History"}},
		{"templates", "template", template, "/templates" + template[len("/v1/sequence-templates"):], "1", []string{"History"}},
		{"fields", "field", field, "/settings/fields", "keepsake", nil},
		{"tags", "tag", tag, "/settings/tags", "Account", nil},
	} {
		isDeleted := func() bool {
			return shared.total(t, path.Dir(test.path)+"/trash/list", map[string]any{"search": name}) > 0
		}
		b.visit(test.page)
		if test.history == nil {
			b.clickIn(name, "button", "Delete…")
		} else {
			b.click(".heading button", "Delete…")
		}
		b.click("dialog button.primary", "Delete the "+test.one)
		b.shows(name + " deleted")
		if !isDeleted() {
			t.Errorf("the %s is still there", test.one)
		}
		b.click(".toast button", "Undo")
		b.until("location.pathname === " + quote("/app"+test.page) + " && !document.querySelector('[aria-busy]') && " + find("main h1, main td", name))
		eventually(t, "the "+test.one+" is back", func() bool { return !isDeleted() })

		b.visit("/settings/trash") // the page of the record reads on otherwise
		shared.call(t, http.MethodDelete, test.path, nil)
		b.ready("/settings/trash?kind=" + test.kind)
		row := fmt.Sprintf(`[...document.querySelectorAll('main tbody tr')].find((r) => r.querySelector('.name')?.innerText === %s)`, quote(name))
		b.until(row + `?.innerText.includes(` + quote(test.detail) + `)`)
		b.hit(row + `.querySelector('input')`)
		b.click("button", "Restore 1 "+test.one)
		b.shows("1 record restored")
		if isDeleted() {
			t.Errorf("the %s is not restored", test.one)
		}
		if test.history == nil {
			continue
		}
		b.visit(test.page)
		for _, label := range test.history {
			b.click("button, summary", label)
		}
		for _, step := range []string{"Restored by", "Deleted by", "Created by"} {
			b.until(find("dialog li", step))
		}
	}
}
