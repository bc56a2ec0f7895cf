package apptest

import (
	"strings"
	"testing"
	"time"

	"prospector/store"
)

// TestTombstonesOfPreviousBuild opens a store in which the sweep of a deleted tag and a deleted account was interrupted,
// and whose contacts have no key of their names. What was deleted stays so, and the sweep goes on.
func TestTombstonesOfPreviousBuild(t *testing.T) {
	dir, keys := unpackFixture(t, "format-6")
	p := openPreviousBuild(t, dir, keys)
	orgs, err := p.Store.Organizations()
	if err != nil {
		t.Fatal(err)
	}
	tombstones := func() (n int) {
		t.Helper()
		for _, org := range orgs {
			err := p.Store.View(org, func(tx *store.Tx) error {
				tombs, err := tx.Tombstones("contacts")
				n += len(tombs)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	count := func(filter string) int {
		t.Helper()
		return p.acme.Post("/v1/contacts/list", `{"page_size": 1, "filters": [`+filter+`]}`).Is(200).Int("pagination.total_count")
	}
	check := func(when string) {
		t.Helper()
		for filter, want := range map[string]int{
			``: 480,
			`{"field": "account_id", "condition": "is_empty"}`:                               480,
			`{"field": "account_id", "condition": "is", "value": "` + keys["account"] + `"}`: 0,
			`{"field": "tags", "condition": "is", "value": "` + keys["tag"] + `"}`:           0,
			`{"field": "tags", "condition": "is", "value": "Kept"}`:                          480,
		} {
			if got := count(filter); got != want {
				t.Errorf("%s: %s matches %d contacts, want %d", when, filter, got, want)
			}
		}
		export := string(p.acme.Post("/v1/contacts/export", `{}`).Is(200).Body)
		if strings.Count(export, "\n") != 480 || strings.Contains(export, keys["tag"]) || strings.Contains(export, keys["account"]) {
			t.Errorf("%s: the export shows what was deleted", when)
		}
		for _, path := range []string{"/v1/contacts/" + keys["contact"], "/v1/accounts/" + keys["account"], "/v1/tags/" + keys["tag"]} {
			gone := `{"error": {"code": "not_found", "message": "Resource not found"}}`
			p.acme.Get(path).Is(404, gone)
			p.acme.Delete(path).Is(404, gone)
			if !strings.Contains(path, "tags") {
				p.acme.Post(path+"/restore", `{}`).Is(404, gone)
			}
		}
		p.checked(t, when)
	}
	if tombstones() == 0 {
		t.Fatal("nothing is left to sweep")
	}
	check("at first")
	// Contacts that were not swept can be changed.
	list := p.acme.Post("/v1/contacts/list", `{"page_size": 2, "sort": "-id"}`).Is(200)
	last, before := list.Text("data.0.id"), list.Text("data.1.id")
	p.acme.Patch("/v1/contacts/"+last, `{"title": "CEO"}`).Has(200, `{"data": {"account_id": null, "title": "CEO"}}`)
	p.acme.Patch("/v1/contacts/"+last, `{"title": null}`).Is(200)
	p.Clock.Advance(365 * 24 * time.Hour) // the job is due when the data was made
	p.Work()
	if n := tombstones(); n > 0 {
		t.Errorf("%d tombstones are left", n)
	}
	check("after the sweep")
	p.acme.Post("/v1/contacts/"+last+"/merge", map[string]any{"ids": []string{before}}).Has(200, `{"data": {"account_id": null}}`)
	p.acme.Get("/v1/contacts/"+before).Fails(404, "not_found", "merged into "+last)
	p.checked(t, "after a merge")
}
