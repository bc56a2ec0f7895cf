package apptest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"prospector/store"
)

// DynamicAudience creates a dynamic audience and returns its path.
func DynamicAudience(org *Org, name, filters string) string {
	return AudiencesPath + "/" + org.Write.Post(AudiencesPath, fmt.Sprintf(`{"name": %q, "type": "dynamic", "filters": %s}`, name, filters)).Is(201).ID()
}

// AudiencesPath is the path of audiences.
const AudiencesPath = "/v1/audiences"

// NobodyID is an id that no record has.
const NobodyID = "0190b2f0-0000-7000-8000-000000000000"

// AudienceOf creates an audience of contacts and returns its path.
func AudienceOf(o *Org, name string, contacts ...string) (path string) {
	return AudiencesPath + "/" + o.Write.Post(AudiencesPath, map[string]any{"name": name, "contact_ids": append([]string{}, contacts...)}).Is(201).ID()
}

// IDIn returns the id at the end of a path.
func IDIn(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// ContactsOf creates contacts whose email addresses contain the names.
func ContactsOf(o *Org, names ...string) (ids []string) {
	for _, name := range names {
		ids = append(ids, o.Write.Post("/v1/contacts", map[string]string{"email": name + "@initech.example", "first_name": name}).Is(201).ID())
	}
	return ids
}

// CampaignFor creates a campaign with the status and the audiences, which are given by their paths.
func CampaignFor(o *Org, status string, audiences ...string) (path string) {
	var ids []string
	for _, a := range audiences {
		ids = append(ids, IDIn(a))
	}
	template := o.Write.Post("/v1/sequence-templates", `{"name": "T", "steps": [{"index": 0, "day": 0, "hour": 9, "type": "call"}]}`).Is(201).ID()
	first := map[string]string{"completed": "active", "archived": "draft"}[status]
	if first == "" {
		first = status
	}
	path = "/v1/campaigns/" + o.Write.Post("/v1/campaigns", map[string]any{"name": "C", "template_id": template, "audience_ids": ids, "status": first}).Is(201).ID()
	o.Write.Patch(path, map[string]string{"status": status}).Is(200)
	return path
}

// ListedIDs returns the ids of a list of contacts, read page by page. The total count must be
// correct on every page.
func ListedIDs(t *testing.T, o *Org, path, rest string, size int) (ids []string) {
	t.Helper()
	for page := 1; ; page++ {
		var got struct {
			Data       []struct{ ID string }
			Pagination struct {
				TotalCount int `json:"total_count"`
				TotalPages int `json:"total_pages"`
			}
		}
		if err := json.Unmarshal(PostRaw(t, o, path+"/list", fmt.Sprintf(`{"page": %d, "page_size": %d%s}`, page, size, rest)), &got); err != nil {
			t.Fatal(err)
		}
		for _, c := range got.Data {
			ids = append(ids, c.ID)
		}
		if n := got.Pagination.TotalCount; page >= got.Pagination.TotalPages || len(got.Data) == 0 {
			if n != len(ids) || got.Pagination.TotalPages != (n+size-1)/size {
				t.Errorf("%s %s reports a total of %d in %d pages, but lists %d", path, rest, n, got.Pagination.TotalPages, len(ids))
			}
			return ids
		}
	}
}

// HasContacts requires that an audience has exactly these contacts and reports their number.
func HasContacts(t *testing.T, o *Org, path string, want ...string) {
	t.Helper()
	if n := o.Read.Get(path).Is(200).Int("data.contact_count"); n != len(want) {
		t.Errorf("contact_count is %d, want %d", n, len(want))
	}
	if got := Sorted(ListedIDs(t, o, path+"/contacts", "", 500)); !slices.Equal(got, Sorted(want)) {
		t.Errorf("audience has %d contacts: %.200q\nwant %d: %.200q", len(got), got, len(want), Sorted(want))
	}
}

// ContactIDs returns a request body with contact ids.
func ContactIDs(ids ...string) map[string]any { return map[string]any{"contact_ids": ids} }

// CheckAudiences requires that the members of audiences are consistent in the store.
func CheckAudiences(t *testing.T, app *App, org *Org) {
	t.Helper()
	err := app.Store.View(org.ID, func(tx *store.Tx) error {
		return store.VerifyPortions(tx, func(_ bool, format string, args ...any) { t.Errorf("sets: "+format, args...) }, app.Outreach.Portions()...)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// AudienceIDs returns a request body with audience ids.
func AudienceIDs(ids ...string) map[string]any { return map[string]any{"audience_ids": ids} }

// AudienceNamed returns the path of the audience with the name, or "".
func AudienceNamed(o *Org, name string) string {
	res := o.Read.Post(AudiencesPath+"/list", map[string]any{"filters": []any{map[string]any{"field": "name", "condition": "is", "value": name}}}).Is(200)
	if res.Int("pagination.total_count") == 0 {
		return ""
	}
	return AudiencesPath + "/" + res.Text("data.0.id")
}
