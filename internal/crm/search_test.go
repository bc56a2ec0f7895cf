package crm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// TestSearchKinds checks that one call finds records of all kinds of the caller's organization, by their words.
func TestSearchKinds(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	other.Write.Post("/v1/contacts", `{"first_name": "Alder", "email": "alder@umbrella.example"}`).Is(201)
	account := org.Write.Post("/v1/accounts", `{"name": "Alder Analytics", "website": "alder.example"}`).Is(201).ID()
	contact := org.Write.Post("/v1/contacts", `{"first_name": "Anna", "last_name": "Alder", "title": "VP Operations", "email": "anna@alder.example"}`).Is(201).ID()
	for n := range 6 {
		org.Write.Post("/v1/contacts", map[string]any{"email": fmt.Sprintf("alder%d@x.example", n)}).Is(201)
	}
	org.Write.Post("/v1/opportunities", `{"name": "Alder renewal", "account_id": "`+account+`", "stage": "proposal"}`).Is(201)
	audience := org.Write.Post("/v1/audiences", `{"name": "Alder people", "contact_ids": ["`+contact+`"]}`).Is(201).ID()
	template := org.Write.Post("/v1/sequence-templates", `{"name": "Alder intro", "steps": [{"index": 0, "type": "auto_email", "hour": 9, "subject": "Hi", "message": "Hello"}]}`).Is(201).ID()
	org.Write.Post("/v1/campaigns", `{"name": "Alder spring", "template_id": "`+template+`", "audience_ids": ["`+audience+`"]}`).Is(201)
	org.Write.Post("/v1/tasks", `{"title": "Call Alder"}`).Is(201)
	org.Write.Post("/v1/meetings", `{"title": "Alder lunch", "starts_at": "2026-04-01T12:00:00Z"}`).Is(201)

	found := func(res *apptest.Response) (lines []string) {
		for _, r := range res.Is(200).Value("data").([]any) {
			result := r.(map[string]any)
			line := fmt.Sprintf("%s %v:", result["entity"], result["total_count"])
			for _, rec := range result["records"].([]any) {
				line += fmt.Sprintf(" %s (%s)", rec.(map[string]any)["name"], rec.(map[string]any)["detail"])
			}
			lines = append(lines, line)
		}
		return lines
	}
	is := func(body string, want ...string) {
		t.Helper()
		if got := found(org.Read.Post("/v1/search", body)); !slices.Equal(got, want) {
			t.Errorf("%s finds\n%s\nwant\n%s", body, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	all := found(org.Read.Post("/v1/search", `{"search": "ALD", "limit": 1}`))
	want := []string{
		"contacts 7: ", "accounts 1: Alder Analytics (alder.example)", "opportunities 1: Alder renewal (proposal)", "audiences 1: Alder people (active)",
		"campaigns 1: Alder spring (draft)", "sequence-templates 1: Alder intro (ACTIVE)", "tasks 1: Call Alder (open)", "meetings 1: Alder lunch (scheduled)",
	}
	if len(all) != len(want) || !strings.HasPrefix(all[0], want[0]) || !slices.Equal(all[1:], want[1:]) {
		t.Errorf("all kinds have\n%s", strings.Join(all, "\n"))
	}
	is(`{"search": "anna ald", "entities": ["accounts", "contacts"]}`, "contacts 1: Anna Alder (VP Operations)", "accounts 0:")
	is(`{"search": "alder3", "entities": ["contacts"]}`, "contacts 1: alder3@x.example ()")
	if five := found(org.Read.Post("/v1/search", `{"search": "alder", "entities": ["contacts"]}`)); strings.Count(five[0], "(") != 5 {
		t.Errorf("the default limit gives %s", five)
	}
	for _, c := range []struct{ body, code, says string }{
		{`{}`, "validation_failed", "search: required"},
		{`{"search": "` + strings.Repeat("a", 201) + `"}`, "validation_failed", "search: must be at most 200 characters"},
		{`{"search": "a", "limit": 21}`, "validation_failed", "limit"},
		{`{"search": "a", "entities": ["users"]}`, "validation_failed", "entities"},
		{`{"search": "` + strings.Repeat("a b c d e ", 11) + `"}`, "invalid_filter", "at most 50 words"},
	} {
		t.Run(apptest.RowName(c.body), func(t *testing.T) { org.Read.In(t).Post("/v1/search", c.body).Fails(422, c.code, c.says) })
	}
}
