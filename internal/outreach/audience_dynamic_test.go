package outreach_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/store"
)

// holds checks that the list of an audience is the list of contacts with its filters, and that contact_count is true.
func holds(t *testing.T, org *apptest.Org, path string, want int) {
	t.Helper()
	audience := org.Read.Get(path).Is(200)
	list := func(path string, body map[string]any) (ids []string) {
		body["page_size"], body["sort"] = 500, "id"
		res := org.Read.Post(path, body).Is(200)
		for _, contact := range res.Value("data").([]any) {
			ids = append(ids, contact.(map[string]any)["id"].(string))
		}
		return append(ids, fmt.Sprint(res.Int("pagination.total_count")))
	}
	body := map[string]any{"filters": audience.Value("data.filters")}
	if search := audience.Value("data.search"); search != nil {
		body["search"] = search
	}
	members, contacts := list(path+"/contacts/list", map[string]any{}), list("/v1/contacts/list", body)
	if !slices.Equal(members, contacts) || contacts[len(contacts)-1] != fmt.Sprint(want) {
		t.Errorf("the audience lists %d contacts, its filters match %s, want %d", len(members)-1, contacts[len(contacts)-1], want)
	}
	if got := audience.Int("data.contact_count"); got != want {
		t.Errorf("contact_count is %d, want %d", got, want)
	}
}

// storedMembers compares the stored members of an audience with the predicate, in one transaction.
func storedMembers(app *apptest.App, org *apptest.Org, path string) error {
	audience := uuid.MustParse(path[len(apptest.AudiencesPath)+1:])
	k := app.CRM.Contacts.List
	return app.Store.View(org.ID, func(tx *store.Tx) error {
		doc, err := app.Outreach.Audiences.Get(tx, audience)
		if err != nil {
			return err
		}
		cs, err := k.Customs(tx)
		if err != nil {
			return err
		}
		var p fault.Problems
		plan := filter.Compile(k.Kind, cs, filter.ListBody{Filters: doc.Record.Filters, Search: string(doc.Record.Search), Page: 1}, &p)
		if err := p.Err(); err != nil {
			return err
		}
		var want []uuid.UUID
		err = tx.Records("contacts", uuid.Nil, func(id uuid.UUID, _ uint64, public []byte) (bool, error) {
			row, err := k.Row(cs, id, public)
			if err == nil && plan.Match(row) {
				want = append(want, id)
			}
			return true, err
		})
		if err != nil {
			return err
		}
		got, err := app.Outreach.Members(tx, audience)
		if err == nil && (!slices.Equal(got, want) || doc.Record.ContactCount != len(want)) {
			err = fmt.Errorf("%s has %d members and counts %d, its filters match %d", doc.Record.Name, len(got), doc.Record.ContactCount, len(want))
		}
		return err
	})
}

// TestDynamicModel changes contacts at random and concurrently. At every moment the members of dynamic audiences are
// what their filters match.
func TestDynamicModel(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	var tags []string
	for i := range 4 {
		tags = append(tags, org.Write.Post("/v1/tags", fmt.Sprintf(`{"name": "T%d", "color": "red", "object_type": "contact"}`, i)).Is(201).ID())
	}
	org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "score", "data_type": "number"}`).Is(201)
	account := org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201).ID()
	paths := []string{
		apptest.DynamicAudience(org, "all", `[]`),
		apptest.DynamicAudience(org, "tagged", `[{"field": "tags", "condition": "is", "value": ["t0", "T1"]}]`),
		apptest.DynamicAudience(org, "scored", `[{"field": "custom_field_score", "condition": "at_least", "value": 5}, {"field": "title", "condition": "is_not", "value": "CEO"}]`),
		apptest.DynamicAudience(org, "at an account", `{"operator": "or", "filters": [{"field": "account_id", "condition": "is_not_empty"}, {"field": "tags", "condition": "is_empty"}]}`),
		apptest.AudiencesPath + "/" + org.Write.Post(apptest.AudiencesPath, `{"name": "searched", "type": "dynamic", "search": "ce x"}`).Is(201).ID(),
	}
	app.Work()
	check := func() {
		t.Helper()
		for _, path := range paths {
			if err := storedMembers(app, org, path); err != nil {
				t.Error(err)
			}
		}
	}
	var mu sync.Mutex
	var ids, gone []string
	pick := func(r *rand.Rand, from *[]string) string {
		mu.Lock()
		defer mu.Unlock()
		if len(*from) == 0 {
			return uuid.NewString()
		}
		return (*from)[r.IntN(len(*from))]
	}
	write := func(r *rand.Rand) {
		body := fmt.Sprintf(`{"title": %q, "custom_field_score": %d, "tags": %s, "account_id": %s}`, []string{"CEO", "CTO", "CFO"}[r.IntN(3)], r.IntN(10),
			[]string{`[]`, `["T0"]`, `["T1", "T2"]`, `["T3"]`}[r.IntN(4)], []string{"null", `"` + account + `"`}[r.IntN(2)])
		switch r.IntN(8) {
		case 0, 1, 2:
			id := org.Write.Post("/v1/contacts", strings.Replace(body, "{", fmt.Sprintf(`{"email": "c%d@x.example", `, r.IntN(1e9)), 1))
			if id.Status == 201 {
				mu.Lock()
				ids = append(ids, id.ID())
				mu.Unlock()
			}
		case 3, 4:
			org.Write.Patch("/v1/contacts/"+pick(r, &ids), body)
		case 5:
			id := pick(r, &ids)
			org.Write.Delete("/v1/contacts/" + id)
			mu.Lock()
			gone = append(gone, id)
			mu.Unlock()
		case 6:
			org.Write.Post("/v1/contacts/"+pick(r, &gone)+"/restore", nil)
		default:
			org.Write.Post("/v1/contacts/batch", `{"records": [{"id": "`+pick(r, &ids)+`", "add_tags": ["T0"]}, {"id": "`+pick(r, &ids)+`", "title": "CEO", "remove_tags": ["T1"]}, {"email": "bad"}]}`)
		}
	}
	for round := range 4 {
		var wg sync.WaitGroup
		for writer := range 3 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(writer)))
				for range 25 {
					write(r)
				}
			})
		}
		wg.Go(func() {
			for range 20 {
				check()
			}
		})
		wg.Wait()
		check()
		switch round {
		case 1: // what many contacts refer to is deleted
			org.Write.Delete("/v1/tags/"+tags[1]).Fails(409, "in_use", `the filters of the dynamic audience "tagged" name it`)
			org.Write.Post("/v1/contacts/bulk", fmt.Sprintf( // else somebody without an account may have no other tag
				`{"filters": [{"field": "tags", "condition": "is", "value": %q}], "add_tags": [%q]}`, tags[2], tags[3])).Is(202)
			app.Work()
			org.Write.Delete("/v1/tags/" + tags[2]).Is(204)
			org.Write.Patch("/v1/tags/"+tags[0], `{"name": "Renamed"}`).Is(200)
			org.Write.Post("/v1/tags", `{"name": "T0", "color": "red", "object_type": "contact"}`).Is(201)
			org.Write.Post("/v1/tags", `{"name": "T2", "color": "red", "object_type": "contact"}`).Is(201)
		case 2:
			org.Write.Post("/v1/contacts/bulk", `{"filters": [{"field": "title", "condition": "is", "value": "CTO"}], "set": {"title": "CEO"}}`).Is(202)
			org.Write.Delete("/v1/accounts/" + account)
			account = org.Write.Post("/v1/accounts", `{"name": "Initech"}`).Is(201).ID()
			app.Work()
		}
		check()
		for _, path := range paths {
			holds(t, org, path, org.Read.Get(path).Is(200).Int("data.contact_count"))
		}
	}
	app.Restart()
	check()
}

// TestDynamicMany creates and changes an audience of more contacts than one transaction moves.
func TestDynamicMany(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	tag := org.Write.Post("/v1/tags", `{"name": "Many", "color": "red", "object_type": "contact"}`).Is(201).ID()
	const n = 2400
	for from := 0; from < n; from += 800 {
		var records []string
		for i := range 800 {
			records = append(records, fmt.Sprintf(`{"email": "c%d@x.example", "title": %q, "tags": ["Many"]}`, from+i, []string{"CTO", "CEO"}[i%2]))
		}
		org.Write.Post("/v1/contacts/batch", `{"records": [`+strings.Join(records, ",")+`]}`).Is(200)
	}
	path := apptest.DynamicAudience(org, "Many", `[{"field": "tags", "condition": "is", "value": "Many"}]`)
	holds(t, org, path, n) // before the job has run
	app.Work()
	holds(t, org, path, n)
	if err := storedMembers(app, org, path); err != nil {
		t.Error(err)
	}
	org.Write.Patch(path, `{"filters": [{"field": "title", "condition": "is", "value": "CTO"}, {"field": "tags", "condition": "is", "value": "Many"}]}`).Is(200)
	holds(t, org, path, n/2)
	org.Write.Post("/v1/contacts", `{"email": "late@x.example", "title": "CTO", "tags": ["Many"]}`).Is(201) // while the job waits
	app.Work()
	holds(t, org, path, n/2+1)
	if err := storedMembers(app, org, path); err != nil {
		t.Error(err)
	}
	// The sweep of a deleted tag takes its contacts out.
	org.Write.Patch(path, `{"filters": [{"field": "title", "condition": "is", "value": "CTO"}, {"field": "tags", "condition": "is_not_empty"}]}`).Is(200)
	app.Work()
	holds(t, org, path, n/2+1)
	org.Write.Delete("/v1/tags/" + tag).Is(204)
	app.Work()
	holds(t, org, path, 0)
	if err := storedMembers(app, org, path); err != nil {
		t.Error(err)
	}
}

// TestDynamicCampaign takes up who joins a dynamic audience, and stops who leaves it.
func TestDynamicCampaign(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	path := apptest.DynamicAudience(org, "CTOs", `[{"field": "title", "condition": "is", "value": "CTO"}]`)
	contact := func(email, title string) string {
		return org.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": %q, "first_name": "Ann", "title": %q}`, email, title)).Is(201).ID()
	}
	first := contact("a@x.example", "CTO")
	template := org.Write.Post("/v1/sequence-templates", `{"name": "T", "steps": [{"index": 0, "type": "call", "hour": 9}]}`).Is(201).ID()
	campaign := "/v1/campaigns/" + org.Write.Post("/v1/campaigns", map[string]any{
		"name": "C", "status": "active", "template_id": template, "audience_ids": []string{path[len(apptest.AudiencesPath)+1:]},
	}).Is(201).ID()
	app.Work()
	statuses := func() map[string]string {
		byContact := map[string]string{}
		res := org.Read.Post(campaign+"/sequences/list", `{}`).Is(200)
		for i := range res.Value("data").([]any) {
			byContact[res.Text(fmt.Sprintf("data.%d.contact_id", i))] = res.Text(fmt.Sprintf("data.%d.status", i))
		}
		return byContact
	}
	second, other := contact("b@x.example", "CTO"), contact("c@x.example", "CEO")
	app.Work()
	if got := statuses(); len(got) != 2 || got[first] != "active" || got[second] != "active" {
		t.Errorf("the sequences are %v", got)
	}
	org.Write.Patch("/v1/contacts/"+first, `{"title": "CEO"}`).Is(200)
	org.Write.Patch("/v1/contacts/"+other, `{"title": "CTO"}`).Is(200)
	app.Work()
	if got := statuses(); len(got) != 3 || got[first] != "stopped" || got[second] != "active" || got[other] != "active" {
		t.Errorf("the sequences are %v", got)
	}
	// New filters take up and drop contacts too.
	org.Write.Patch(path, `{"filters": [{"field": "email", "condition": "is", "value": "b@x.example"}]}`).Is(200)
	app.Work()
	if got := statuses(); got[second] != "active" || got[other] != "stopped" {
		t.Errorf("the sequences are %v", got)
	}
	// An archived audience keeps its members until it is active again.
	org.Write.Patch(path, `{"status": "archived"}`).Is(200)
	org.Write.Patch("/v1/contacts/"+second, `{"email": "d@x.example"}`).Is(200)
	app.Work()
	if got := org.Read.Get(path).Is(200).Int("data.contact_count"); got != 1 {
		t.Errorf("the archived audience has %d contacts", got)
	}
	org.Write.Patch(path, `{"status": "active"}`).Is(200)
	app.Work()
	holds(t, org, path, 0)
}

// TestDynamicField keeps the members of an audience whose filter used a field that was deleted.
func TestDynamicField(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	field := func() string {
		return org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "score", "data_type": "number"}`).Is(201).ID()
	}
	id := field()
	path := apptest.DynamicAudience(org, "Scored", `[{"field": "custom_field_score", "condition": "is_not_empty"}]`)
	contact := org.Write.Post("/v1/contacts", `{"email": "a@x.example", "custom_field_score": 1}`).Is(201).ID()
	org.Admin.Delete("/v1/fields/" + id + "?force=true").Is(204)
	app.Work()
	org.Write.Post("/v1/contacts", `{"email": "b@x.example"}`).Is(201)
	if got := org.Read.Post(path+"/contacts/list", `{}`).Is(200); got.Int("pagination.total_count") != 1 || got.Text("data.0.id") != contact {
		t.Errorf("the audience has %s", got.Body)
	}
	org.Write.Patch(path, `{"name": "Still scored"}`).Is(200)
	field()
	app.Work()
	keeps(t, app, org, path, 1)
}

// TestDynamicRefusals checks what a dynamic audience cannot have.
func TestDynamicRefusals(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	contact := org.Write.Post("/v1/contacts", `{"email": "a@x.example"}`).Is(201).ID()
	many := strings.TrimSuffix(strings.Repeat(`{"field": "title", "condition": "is_empty"},`, 51), ",")
	for body, message := range map[string]string{
		`{"name": "A", "type": "dynamic"}`:                                                    "filters: required for a dynamic audience",
		`{"name": "A", "type": "dynamic", "search": " - "}`:                                   "filters: required for a dynamic audience",
		`{"name": "A", "type": "dynamic", "filters": [], "contact_ids": ["` + contact + `"]}`: "contact_ids: a dynamic audience has filters instead",
		`{"name": "A", "filters": []}`:                                                        "filters: only a dynamic audience has filters",
		`{"name": "A", "search": "x"}`:                                                        "search: only a dynamic audience has search words",
		`{"name": "A", "type": "fluid"}`:                                                      `type: "fluid" is not one of: static, dynamic`,
	} {
		t.Run(body, func(t *testing.T) {
			org.Write.In(t).Post(apptest.AudiencesPath, body).Fails(422, "validation_failed", message)
		})
	}
	org.Write.Post(apptest.AudiencesPath, `{"name": "A", "type": "dynamic", "filters": [`+many+`]}`).Fails(422, "invalid_filter", "filters: a dynamic audience must have at most 50 rules")
	org.Write.Post(apptest.AudiencesPath, `{"name": "A", "type": "dynamic", "filters": [{"field": "size", "condition": "is", "value": 1}]}`).Fails(422, "invalid_filter", "filters[0].field")
	path := apptest.DynamicAudience(org, "A", `[]`)
	holds(t, org, path, 1)
	for _, verb := range []string{"add", "remove"} {
		org.Write.Post(path+"/contacts/"+verb, `{"contact_ids": ["`+contact+`"]}`).Fails(409, "audience_dynamic", "the audience is dynamic")
	}
	org.Write.Patch(path, `{"type": "static"}`).Fails(422, "validation_failed", "type: read-only field")
	org.Write.Patch(path, `{"filters": null}`).Fails(422, "validation_failed", "filters: required for a dynamic audience")
	org.Write.Patch(path, `{"filters": null, "search": "nobody"}`).Is(200)
	holds(t, org, path, 0)
	for i := range 49 {
		apptest.DynamicAudience(org, fmt.Sprint("More ", i), `[]`)
	}
	org.Write.Post(apptest.AudiencesPath, `{"name": "B", "type": "dynamic", "filters": []}`).Fails(422, "validation_failed", "type: an organization may have 50 dynamic audiences")
}
