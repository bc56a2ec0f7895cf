package sequence_test

import (
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// TestRenderTitle checks that the missing tokens of the title of a Task are reported once together
// with the others, although the title is not shown. The title of an email is not used, and misses
// nothing.
func TestRenderTitle(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	bill := org.Write.Post("/v1/contacts", `{"first_name": "Bill", "email": "bill@x.example"}`).Is(201).ID()
	template := apptest.TemplatesPath + "/" + org.Write.Post(apptest.TemplatesPath, `{"name": "T", "steps": [
		{"index": 0, "type": "call", "title": "Ring {{recipient.first_name}} {{recipient.last_name}} {{sender.title}}", "subject": "{{recipient.company}}", "message": "{{sender.title}} {{recipient.last_name}}"},
		{"index": 1, "type": "gift", "title": "For {{recipient.company}}"}, {"index": 2, "type": "task", "title": "{{recipient.first_name}} {{sender.first_name}}", "message": "{{sender.title}}"},
		{"index": 3, "type": "auto_email", "title": "{{recipient.company}}", "subject": "Hi", "message": "m"}]}`).Is(201).ID()
	missing := []string{"[recipient.last_name sender.title recipient.company]", "[recipient.company]", "[sender.title]", "[]"}
	for i, got := range apptest.Rendered(org, template, bill) {
		if want := "|" + missing[i]; !strings.HasSuffix(got, want) {
			t.Errorf("step %d renders as %q, want %q", i, got, want)
		}
	}
	campaign := org.Write.Post("/v1/campaigns", map[string]any{"name": "C", "template_id": apptest.IDIn(template), "audience_ids": []string{simAudience(org, bill)}}).Is(201).ID()
	for i, s := range simulated(t, org, "/v1/campaigns/"+campaign, nil)[0].Steps {
		if got := "[" + strings.Join(s.Missing, " ") + "]"; got != missing[i] {
			t.Errorf("step %d: simulation reports missing variables %s, want %s", i, got, missing[i])
		}
	}
}
