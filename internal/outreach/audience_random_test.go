package outreach_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/store"
)

// randomLosses is an organization with dynamic audiences, from which values are taken at random.
type randomLosses struct {
	apptest.Random
	*apptest.Org
	t         *testing.T
	app       *apptest.App
	audiences []string // paths
	tags      []string
	accounts  []string
	gone      []string          // accounts in the trash
	fields    map[string]string // ids by key
	types     map[string]string // of all keys, also while there is no such field
	contacts  []string
	trashed   map[string]map[string]bool // contacts in the trash: the audiences that they were in

	operations []string                              // that can be undone
	began      map[string]map[string]map[string]bool // by operation: who was in each audience when it began
	undid      string                                // the operation that the step has undone
}

// TestNobodyJoinsByLoss draws deletions, merges, restores, all of them of many records, too, what undoes them, and changes of
// fields over random dynamic audiences. Nobody may join an audience by that, but for those whom an undo brings back to where
// they were. PROSPECTOR_SOAK is the number of organizations, 4 by default.
func TestNobodyJoinsByLoss(t *testing.T) {
	for seed := range apptest.SoakSeeds(t, apptest.Unraced(4, 1)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			app := apptest.New(t)
			w := &randomLosses{
				Random: apptest.Random{Rand: rand.New(rand.NewPCG(uint64(seed), 5))}, Org: app.Org("Acme"), t: t, app: app,
				fields: map[string]string{}, trashed: map[string]map[string]bool{}, began: map[string]map[string]map[string]bool{},
				types: map[string]string{"text": "text", "number": "number", "flag": "boolean", "day": "date", "grade": "enum", "more": "multi_select"},
			}
			w.begin()
			for range 80 {
				w.step()
			}
		})
	}
}

func pick[T any](r apptest.Random, all []T) T { return all[r.IntN(len(all))] }

func (w *randomLosses) begin() {
	for i := range 4 {
		w.tags = append(w.tags, w.Write.Post("/v1/tags", fmt.Sprintf(`{"name": "Tag %d", "color": "red", "object_type": "contact"}`, i)).Is(201).ID())
		w.accounts = append(w.accounts, w.Write.Post("/v1/accounts", fmt.Sprintf(`{"name": "Account %d"}`, i)).Is(201).ID())
	}
	for _, key := range slices.Sorted(maps.Keys(w.types)) {
		w.createField(key)
	}
	for i := range 25 {
		body := map[string]any{"email": fmt.Sprintf("c%d@x.example", i), "first_name": pick(w.Random, []string{"Ann", "Bo"})}
		if !w.Chance(3) {
			body["tags"] = w.some(w.tags)
		}
		if !w.Chance(3) {
			body["account_id"] = pick(w.Random, w.accounts)
		}
		for _, key := range slices.Sorted(maps.Keys(w.types)) {
			if !w.Chance(2) {
				body["custom_field_"+key] = w.value(key)
			}
		}
		w.contacts = append(w.contacts, w.Write.Post("/v1/contacts", body).Is(201).ID())
	}
	for i := range 10 {
		body := map[string]any{"name": fmt.Sprint("Audience ", i), "type": "dynamic", "filters": w.filters(2)}
		w.audiences = append(w.audiences, apptest.AudiencesPath+"/"+w.Write.Post(apptest.AudiencesPath, body).Is(201).ID())
	}
	w.app.Work()
}

func (w *randomLosses) createField(key string) {
	body := map[string]any{"entity": "contacts", "key": key, "data_type": w.types[key]}
	if w.types[key] == "enum" || w.types[key] == "multi_select" {
		body["allowed_values"] = []string{"a", "b", "c"}
	}
	w.fields[key] = w.Admin.Post("/v1/fields", body).Is(201).ID()
}

func (w *randomLosses) some(all []string) []string {
	chosen := slices.Clone(all)
	w.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	return chosen[:1+w.IntN(min(2, len(chosen)))]
}

// value returns a value of a custom field.
func (w *randomLosses) value(key string) any {
	switch w.types[key] {
	case "number":
		return w.IntN(3)
	case "boolean":
		return w.Chance(2)
	case "date":
		return fmt.Sprintf("2026-03-0%d", 1+w.IntN(3))
	case "multi_select":
		return w.some([]string{"a", "b", "c"})
	}
	return pick(w.Random, []string{"a", "b", "c"})
}

func (w *randomLosses) filters(depth int) map[string]any {
	var all []any
	for range 1 + w.IntN(3) {
		if depth > 0 && w.Chance(3) {
			all = append(all, w.filters(depth-1))
			continue
		}
		all = append(all, w.rule())
	}
	return map[string]any{"operator": pick(w.Random, []string{"and", "or"}), "filters": all}
}

func (w *randomLosses) rule() map[string]any {
	rule := func(field, condition string, value any) map[string]any {
		r := map[string]any{"field": field, "condition": condition}
		if condition != "is_empty" && condition != "is_not_empty" {
			r["value"] = value
		}
		return r
	}
	conditions := []string{"is", "is_not", "is_empty", "is_not_empty"}
	switch w.IntN(4) {
	case 0:
		return rule("tags", pick(w.Random, append(conditions, "contains", "not_contains")), w.some(w.tags))
	case 1:
		return rule("account_id", pick(w.Random, conditions), pick(w.Random, w.accounts))
	case 2:
		return rule("first_name", "is", pick(w.Random, []string{"Ann", "Bo"}))
	}
	key := pick(w.Random, slices.Sorted(maps.Keys(w.types)))
	switch w.types[key] {
	case "boolean", "date":
		conditions = []string{"is", "is_empty", "is_not_empty"}
	}
	return rule("custom_field_"+key, pick(w.Random, conditions), w.value(key))
}

// members returns who is in each audience.
func (w *randomLosses) members() map[string]map[string]bool {
	w.t.Helper()
	all := map[string]map[string]bool{}
	err := w.app.Store.View(w.ID, func(tx *store.Tx) error {
		for _, path := range w.audiences {
			ids, err := w.app.Outreach.Members(tx, uuid.MustParse(id(path)))
			if err != nil {
				return err
			}
			all[path] = map[string]bool{}
			for _, id := range ids {
				all[path][id.String()] = true
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// step does something at random and checks that nobody has joined an audience but those who, or of whom one that was merged
// into them, matched it before.
func (w *randomLosses) step() {
	before := w.members()
	known := len(w.operations)
	w.undid = ""
	what, same := w.act()
	w.app.Work()
	for _, op := range w.operations[known:] {
		w.began[op] = before
	}
	w.refresh()
	for path, members := range w.members() {
		for contact := range members {
			mayBe := before[path][contact] || w.trashed[contact][path] || w.began[w.undid][path][contact]
			for _, merged := range same[contact] {
				mayBe = mayBe || before[path][merged]
			}
			if !mayBe {
				w.t.Fatalf("%s: %s joined an audience with the filters %s: %s", what, contact,
					apptest.AsJSON(w.Read.Get(path).Value("data.filters")), w.Read.Get("/v1/contacts/"+contact).Body)
			}
		}
		if res := w.Read.Get(path).Is(200); res.Text("data.type") == "dynamic" {
			if err := storedMembers(w.app, w.Org, path); err != nil && !strings.Contains(err.Error(), "is not a field") {
				w.t.Fatalf("%s: %v", what, err)
			}
		}
	}
	for _, contact := range w.contacts {
		delete(w.trashed, contact)
	}
	for contact := range w.trashed {
		if len(w.trashed[contact]) == 0 {
			for path, members := range before {
				w.trashed[contact][path] = members[contact]
			}
		}
	}
}

// refresh notes which contacts and accounts there are. What an undo or an operation may have left out is in the trash.
func (w *randomLosses) refresh() {
	list := func(path string) []string {
		return w.Read.Post(path+"/list", `{"sort": "created_at", "page_size": 200}`).Is(200).Column("id")
	}
	w.contacts, w.accounts, w.gone = list("/v1/contacts"), list("/v1/accounts"), list("/v1/accounts/trash")
	for _, contact := range list("/v1/contacts/trash") {
		if w.trashed[contact] == nil {
			w.trashed[contact] = map[string]bool{}
		}
	}
}

// bulk begins an operation on records and waits for its end.
func (w *randomLosses) bulk(path string, ids []string, what string, force bool) string {
	op := w.Write.Post(path+"/bulk", map[string]any{"ids": ids, what: true, "force": force}).Is(202).ID()
	w.app.Work()
	w.Read.Get("/v1/operations/"+op).Has(200, `{"data": {"status": "completed"}}`)
	w.operations = append(w.operations, op)
	return fmt.Sprint(path, " ", what, " ", ids, " ", query(force))
}

// act does something at random. It returns what, and the contacts that were merged into another one.
func (w *randomLosses) act() (what string, merged map[string][]string) {
	force := w.Chance(2)
	query, done := query(force), false
	drop := func(list *[]string, path, rest string) string {
		gone := pick(w.Random, *list)
		if res := w.Write.Delete(path + gone + rest); res.Status == 204 {
			*list, done = slices.DeleteFunc(*list, func(id string) bool { return id == gone }), true
		}
		return gone
	}
	remaining := slices.Sorted(maps.Keys(w.fields))
	switch n := w.IntN(16); {
	case n == 0 && len(w.tags) > 1:
		return "deleted the tag " + drop(&w.tags, "/v1/tags/", query) + query, nil
	case n == 1 && len(w.accounts) > 1:
		gone := drop(&w.accounts, "/v1/accounts/", query)
		if done {
			w.gone = append(w.gone, gone)
		}
		return "deleted the account " + gone + query, nil
	case n == 2 && len(w.accounts) > 1:
		return w.bulk("/v1/accounts", w.some(w.accounts), "delete", force), nil
	case n == 3 && len(w.accounts) > 1:
		into, from := w.accounts[0], w.accounts[1]
		if res := w.Write.Post("/v1/accounts/"+into+"/merge", map[string]any{"ids": []string{from}, "force": force}); res.Status == 200 {
			w.operations = append(w.operations, res.Text("meta.operation_id"))
		}
		return "merged " + from + " into the account " + into + query, nil
	case n == 4 && len(remaining) > 0:
		key := pick(w.Random, remaining)
		if w.Admin.Delete("/v1/fields/"+w.fields[key]+query).Status == 204 {
			delete(w.fields, key)
		}
		return "deleted the field " + key + query, nil
	case n == 5:
		for _, key := range slices.Sorted(maps.Keys(w.types)) {
			if w.fields[key] == "" {
				w.createField(key)
				return "created the field " + key, nil
			}
		}
	case n == 6:
		key := pick(w.Random, []string{"grade", "more"})
		if w.fields[key] != "" {
			values := w.some([]string{"a", "b", "c"})
			w.Admin.Patch("/v1/fields/"+w.fields[key], map[string]any{"allowed_values": values})
			return fmt.Sprint("allowed ", values, " in ", key), nil
		}
	case n == 7 && len(w.contacts) > 5:
		into, from := w.contacts[0], w.contacts[1+w.IntN(len(w.contacts)-1)]
		if res := w.Write.Post("/v1/contacts/"+into+"/merge", map[string]any{"ids": []string{from}, "force": force}); res.Status == 200 {
			w.operations = append(w.operations, res.Text("meta.operation_id"))
		}
		return "merged " + from + " into " + into + query, map[string][]string{into: {from}}
	case n == 8 && len(w.contacts) > 5:
		gone := drop(&w.contacts, "/v1/contacts/", "")
		w.trashed[gone] = map[string]bool{}
		return "deleted " + gone, nil
	case n == 9 && len(w.trashed) > 0:
		back := slices.Sorted(maps.Keys(w.trashed))[0]
		if w.Write.Post("/v1/contacts/"+back+"/restore", map[string]any{"force": force}).Status == 200 {
			w.contacts = append(w.contacts, back)
		}
		return "restored " + back + query, nil
	case n == 10 && len(w.gone) > 0:
		back := w.gone[0]
		if w.Write.Post("/v1/accounts/"+back+"/restore", `{}`).Status == 200 {
			w.gone, w.accounts = w.gone[1:], append(w.accounts, back)
		}
		return "restored the account " + back, nil
	case n == 11 && len(w.contacts) > 8:
		return w.bulk("/v1/contacts", w.some(w.contacts), "delete", false), nil
	case n == 12 && len(w.trashed) > 0:
		return w.bulk("/v1/contacts/trash", w.some(slices.Sorted(maps.Keys(w.trashed))), "restore", force), nil
	case n == 13 && len(w.gone) > 0:
		return w.bulk("/v1/accounts/trash", w.some(w.gone), "restore", force), nil
	case n > 13 && len(w.operations) > 0:
		op := pick(w.Random, w.operations)
		res := w.Write.Post("/v1/operations/"+op+"/undo", map[string]any{})
		if res.Status == 202 {
			w.operations, w.undid = append(w.operations, res.ID()), op
		}
		return fmt.Sprint("undid ", op, ": ", res.Status), nil
	}
	return "nothing", nil
}
