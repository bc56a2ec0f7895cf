package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// TestDeleteBesideDamage checks that a damaged record keeps nothing that it refers to from being deleted or merged.
// The damaged record stays, and can be deleted afterwards.
func TestDeleteBesideDamage(t *testing.T) {
	type request struct{ method, path, body string }
	remove := func(path string) request { return request{method: http.MethodDelete, path: path} }
	merge := func(path, id string) request {
		return request{http.MethodPost, path + "/merge", fmt.Sprintf(`{"ids": [%q]}`, id)}
	}
	for name, c := range map[string]struct {
		table   string
		request func(f *damageFixture) request
	}{
		"contact of a task": {"tasks", func(f *damageFixture) request { return remove("/v1/contacts/" + f.good["contacts"]) }},
		"erased contact": {"tasks", func(f *damageFixture) request {
			return remove("/v1/contacts/" + f.good["contacts"] + "?permanent=true")
		}},
		"merged contact":         {"tasks", func(f *damageFixture) request { return merge("/v1/contacts/"+f.contacts[2], f.good["contacts"]) }},
		"contact of a meeting":   {"meetings", func(f *damageFixture) request { return remove("/v1/contacts/" + f.good["contacts"]) }},
		"contact of a sequence":  {"sequences", func(f *damageFixture) request { return remove("/v1/contacts/" + f.good["contacts"]) }},
		"contact of a message":   {"messages", func(f *damageFixture) request { return remove("/v1/contacts/" + f.good["contacts"]) }},
		"account of a contact":   {"contacts", func(f *damageFixture) request { return remove("/v1/accounts/" + f.bad["accounts"]) }},
		"merged account":         {"contacts", func(f *damageFixture) request { return merge("/v1/accounts/"+f.good["accounts"], f.bad["accounts"]) }},
		"tag of a contact":       {"contacts", func(f *damageFixture) request { return remove("/v1/tags/" + f.good["tags"]) }},
		"field of a contact":     {"contacts", func(f *damageFixture) request { return remove("/v1/fields/" + f.good["fields"]) }},
		"audience of a contact":  {"contacts", func(f *damageFixture) request { return remove("/v1/audiences/" + f.good["audiences"]) }},
		"audience of a campaign": {"campaigns", func(f *damageFixture) request { return remove("/v1/contacts/" + f.good["contacts"]) }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newDamageFixture(t)
			if name == "audience of a contact" { // no campaign may use it
				f.Admin.Patch("/v1/campaigns/"+f.good["campaigns"], `{"status": "archived"}`).Is(200)
				f.Admin.Delete("/v1/campaigns/" + f.good["campaigns"]).Is(204)
			}
			damage(t, f.app, f.Org.ID, c.table+".rec", key(f.bad[c.table]))
			r := c.request(f)
			var body any
			if r.body != "" {
				body = r.body
			}
			if got := f.Admin.Do(r.method, r.path, body); got.Status >= 300 {
				t.Fatalf("%s %s: %d %s", r.method, r.path, got.Status, got.Body)
			}
			f.app.Work()
			requireDamaged(t, f.app, "1")
			if log := f.app.Log.String(); !strings.Contains(log, "id="+f.bad[c.table]) {
				t.Errorf("the log does not name the damaged record:\n%s", log)
			}
			if c.table == "sequences" || c.table == "messages" {
				return // they have no DELETE
			}
			f.Admin.Delete("/v1/" + c.table + "/" + f.bad[c.table]).Is(204)
			f.app.Work()
			requireDamaged(t, f.app, "0")
			apptest.CheckConsistency(t, f.app, f.Org)
		})
	}
}

// TestSweepBesideDamage checks that the job that removes a deleted tag from many contacts ends although some of them are
// damaged.
func TestSweepBesideDamage(t *testing.T) {
	f := newDamageFixture(t)
	tag := f.Admin.Post("/v1/tags", `{"name": "many", "color": "red", "object_type": "contact"}`).Is(201).ID()
	var records []string
	for i := range 600 {
		records = append(records, fmt.Sprintf(`{"email": "many%d@x.example", "tags": [%q]}`, i, tag))
	}
	f.Write.Post("/v1/contacts/batch", `{"records": [`+strings.Join(records, ",")+`]}`).Is(200)
	tagged := f.Read.Post("/v1/contacts/list", `{"page_size": 500, "sort": "id", "filters": [`+apptest.IsRule("tags", tag)+`]}`).Is(200).Column("id")
	bad := []string{tagged[0], tagged[300], tagged[499]}
	damage(t, f.app, f.Org.ID, "contacts.rec", key(bad[0]), key(bad[1]), key(bad[2]))
	f.Admin.Delete("/v1/tags/" + tag).Is(204)
	f.app.Work()
	for i := range 2 {
		if got := string(apptest.Member(f.Read.Get("/v1/contacts/"+tagged[i+1]).Is(200), "tags")); got != "[]" {
			t.Errorf("a contact has the tags %s", got)
		}
	}
	for _, id := range bad {
		f.Read.Get("/v1/contacts/"+id).Fails(500, "damaged", id)
		f.Write.Delete("/v1/contacts/" + id).Is(204)
	}
	requireDamaged(t, f.app, "0")
	apptest.CheckConsistency(t, f.app, f.Org)
}

// TestDeleteDamaged checks that a damaged record can be deleted although others need it. A campaign goes on with the
// members of such an audience.
func TestDeleteDamaged(t *testing.T) {
	f := newDamageFixture(t)
	f.Write.Post("/v1/opportunities", fmt.Sprintf(`{"name": "Deal", "account_id": %q}`, f.bad["accounts"])).Is(201)
	campaign := "/v1/campaigns/" + f.bad["campaigns"]
	for _, table := range []string{"accounts", "audiences", "sequence-templates", "campaigns"} {
		path := "/v1/" + table + "/" + f.bad[table]
		damage(t, f.app, f.Org.ID, table+".rec", key(f.bad[table]))
		f.Admin.Delete(path).Is(204)
		f.Admin.Get(path).Fails(404, "not_found", "")
		f.app.Work()
		requireDamaged(t, f.app, "0")
		for _, failure := range f.use() {
			t.Errorf("%s: %s", table, failure)
		}
		if table == "campaigns" {
			break
		}
		f.Read.Get(campaign).Is(200)
		if n := f.Read.Get(campaign + "/stats").Is(200).Int("data.active"); n != len(f.contacts)-1 { // one has replied
			t.Errorf("%s: %d sequences are active, want %d", table, n, len(f.contacts)-1)
		}
	}
	for _, contact := range f.Read.Post("/v1/contacts/list", `{"sort": "id", "page_size": 5}`).Is(200).Column("account_id") {
		if contact == f.bad["accounts"] {
			t.Error("a contact has the account that was deleted")
		}
	}
	apptest.CheckConsistency(t, f.app, f.Org)
	apptest.CheckAudiences(t, f.app, f.Org)
}
