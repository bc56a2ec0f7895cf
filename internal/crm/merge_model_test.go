package crm_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// TestMergeModel merges random records that refer to each other, are in audiences and campaigns, and are deleted and
// restored in between. After each step, what callers see is what a model in plain maps says. PROSPECTOR_SOAK is the
// number of random organizations, 2 by default, and PROSPECTOR_SEED the first seed.
func TestMergeModel(t *testing.T) {
	rounds, first := 2, 1
	for name, v := range map[string]*int{"PROSPECTOR_SOAK": &rounds, "PROSPECTOR_SEED": &first} {
		if text := os.Getenv(name); text != "" {
			var err error
			if *v, err = strconv.Atoi(text); err != nil {
				t.Fatalf("%s must be an integer: %v", name, err)
			}
		}
	}
	for seed := first; seed < first+rounds; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			m := newMergeModel(t, seed)
			for step := range 45 {
				m.step()
				m.compareSequences()
				if step%3 == 0 {
					m.compare()
				}
				if t.Failed() {
					t.Fatalf("after step %d: %s", step, strings.Join(m.done[max(0, len(m.done)-30):], "\n"))
				}
			}
			m.compareMerged()
			verify(t, m.app, m.org)
		})
	}
}

// fields are the values of a record that the model knows.
type fields map[string]any

// referring are the entities whose records refer to contacts and accounts, with the fields that do.
var referring = map[string][]string{
	"contacts": {"account_id"}, "opportunities": {"account_id", "contact_id"}, "tasks": {"account_id", "contact_id"}, "meetings": {"account_id", "contact_id"},
}

// mergeModel is an organization, and what it should contain.
type mergeModel struct {
	t    *testing.T
	r    *rand.Rand
	app  *apptest.App
	org  *apptest.Org
	done []string // the steps, for the report of a failure
	made int

	records    map[string]map[string]fields // by entity and id
	trash      map[string]map[string]fields // deleted contacts and tasks
	left       map[string][]string          // the audiences of deleted contacts
	lost       map[string][]fields          // the records that referred to deleted ones
	merged     map[string]string            // from the id of a merged record to that of the record it was merged into
	external   map[string]string            // from an external id to the record that it was given to
	audiences  map[string]map[string]bool   // the members by id
	suppressed map[string]bool              // addresses
	addresses  map[string][]string          // of a contact
	sequences  map[string]sequenceView      // by id, with the contact that they were first seen with
	messages   map[string]messageView       // by id
	tags       []string
	dynamic    string // an audience of those with the first tag
}

func newMergeModel(t *testing.T, seed int) *mergeModel {
	m := &mergeModel{
		t: t, r: rand.New(rand.NewPCG(uint64(seed), 11)), app: apptest.New(t),
		records: map[string]map[string]fields{"accounts": {}}, trash: map[string]map[string]fields{"contacts": {}, "tasks": {}},
		left: map[string][]string{}, lost: map[string][]fields{}, merged: map[string]string{}, external: map[string]string{},
		audiences: map[string]map[string]bool{}, suppressed: map[string]bool{}, addresses: map[string][]string{},
		sequences: map[string]sequenceView{}, messages: map[string]messageView{},
	}
	m.org = m.app.Org("Acme")
	for entity := range referring {
		m.records[entity] = map[string]fields{}
	}
	w := m.org.Write
	m.org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "tier", "data_type": "text"}`).Is(201)
	for _, name := range []string{"One", "Two", "Three"} {
		m.tags = append(m.tags, w.Post("/v1/tags", map[string]any{"name": name, "color": "red", "object_type": "contact"}).Is(201).ID())
	}
	m.dynamic = w.Post("/v1/audiences", fmt.Sprintf(`{"name": "Tagged", "type": "dynamic", "filters": [{"field": "tags", "condition": "is", "value": %q}]}`, m.tags[0])).Is(201).ID()
	for range 5 {
		m.create("accounts")
	}
	// More contacts of one account than a merge rewrites at once, so that a sweep is left.
	big := m.any("accounts")
	m.batch(big, 270)
	for range 24 {
		m.create("contacts")
	}
	for _, entity := range []string{"opportunities", "tasks", "meetings"} {
		for range 6 {
			m.create(entity)
		}
	}
	template := w.Post("/v1/sequence-templates", `{"name": "Three", "steps": [
		{"index": 0, "type": "auto_email", "hour": 9, "subject": "First", "message": "Hello"},
		{"index": 1, "type": "call", "hour": 9, "message": "Call"},
		{"index": 2, "type": "auto_email", "hour": 9, "subject": "Second", "message": "Hello"},
		{"index": 3, "type": "auto_email", "hour": 9, "subject": "Third", "message": "Hello"}],
		"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 1, "pre_check_time_unit": "days"},
			{"from_step_index": 0, "to_step_index": 2, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 1, "pre_check_time_unit": "days"},
			{"from_step_index": 2, "to_step_index": 3, "transition_type": "PREVIOUS_STEP_COMPLETES", "pre_check_delay": 2, "pre_check_time_unit": "days"}]}`)
	campaign := func(name, audience string) {
		w.Post("/v1/campaigns", map[string]any{"name": name, "status": "active", "template_id": template.Is(201).ID(),
			"audience_ids": []string{audience}, "owner_id": m.org.User, "missing_values": "send"}).Is(201)
	}
	campaign("Dynamic", m.dynamic)
	for i := range 3 {
		members := map[string]bool{}
		for _, id := range m.some("contacts", 12) {
			members[id] = true
		}
		audience := w.Post("/v1/audiences", map[string]any{"name": fmt.Sprint("Audience ", i), "contact_ids": slices.Collect(maps.Keys(members))}).Is(201).ID()
		m.audiences[audience] = members
		if i < 2 {
			campaign(fmt.Sprint("Campaign ", i), audience)
		}
	}
	return m
}

// any returns a random record, or "". Records have no order of their own, and ids are in order of creation.
func (m *mergeModel) any(entity string) string {
	all := slices.Sorted(maps.Keys(m.records[entity]))
	if entity == "contacts" && m.r.IntN(10) > 0 { // the many are of little interest
		few := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return m.records[entity][id]["title"] == "Many" })
		if len(few) > 0 {
			all = few
		}
	}
	if len(all) == 0 {
		return ""
	}
	return all[m.r.IntN(len(all))]
}

// some returns up to n different records.
func (m *mergeModel) some(entity string, n int) (ids []string) {
	for range n {
		if id := m.any(entity); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// maybe returns one of the values, or nil.
func (m *mergeModel) maybe(values ...any) any {
	if m.r.IntN(3) == 0 {
		return nil
	}
	return values[m.r.IntN(len(values))]
}

func (m *mergeModel) log(format string, args ...any) {
	m.done = append(m.done, fmt.Sprintf(format, args...))
}

// random returns the values of a new record.
func (m *mergeModel) random(entity string) fields {
	m.made++
	n := strconv.Itoa(m.made)
	switch entity {
	case "accounts":
		return fields{"name": "Account " + n, "country": m.maybe("DE", "FR"), "notes": m.maybe("x", "y"), "external_id": m.maybe("a-" + n)}
	case "contacts":
		f := fields{
			"first_name": "F" + n, "last_name": m.maybe("L" + n), "email": "c" + n + "@x.example", "title": m.maybe("CEO", "CTO"), "notes": m.maybe("x", "y", "z"),
			"external_id": m.maybe("c-" + n), "account_id": m.maybe(m.any("accounts")), "do_not_contact": m.r.IntN(12) == 0, "tags": []any{}, "custom_field_tier": m.maybe("gold", "silver"),
		}
		for _, tag := range m.tags {
			if m.r.IntN(3) == 0 {
				f["tags"] = append(f["tags"].([]any), tag)
			}
		}
		return f
	case "opportunities":
		return fields{"name": "O" + n, "account_id": m.any("accounts"), "contact_id": m.maybe(m.any("contacts"))}
	case "tasks":
		return fields{"title": "T" + n, "account_id": m.maybe(m.any("accounts")), "contact_id": m.maybe(m.any("contacts"))}
	}
	return fields{"title": "M" + n, "starts_at": "2026-04-01T12:00:00.000Z", "account_id": m.maybe(m.any("accounts")), "contact_id": m.maybe(m.any("contacts"))}
}

func (m *mergeModel) create(entity string) {
	f := m.random(entity)
	body := maps.Clone(f)
	maps.DeleteFunc(body, func(_ string, v any) bool { return v == nil })
	id := m.org.Write.Post("/v1/"+entity, body).Is(201).ID()
	m.log("create %s %s: %v", entity, id, f)
	m.added(entity, id, f)
}

func (m *mergeModel) added(entity, id string, f fields) {
	m.records[entity][id] = f
	if ext, is := f["external_id"].(string); is {
		m.external[ext] = id
	}
	if email, is := f["email"].(string); is {
		m.addresses[id] = []string{email}
	}
	if f["do_not_contact"] == true {
		m.suppressed[f["email"].(string)] = true
	}
}

// hasOptedOut reports whether one of the addresses of a contact is suppressed.
func (m *mergeModel) hasOptedOut(id string) bool {
	return slices.ContainsFunc(m.addresses[id], func(email string) bool { return m.suppressed[email] })
}

// batch creates many contacts of an account.
func (m *mergeModel) batch(account string, n int) {
	var all []fields
	for range n {
		f := m.random("contacts")
		f["account_id"], f["title"], f["do_not_contact"], f["tags"] = account, "Many", false, []any{}
		all = append(all, f)
	}
	res := m.org.Write.Post("/v1/contacts/batch", map[string]any{"records": all}).Has(200, `{"data": {"failed": 0}}`)
	for i, result := range res.Value("data.results").([]any) {
		m.added("contacts", result.(map[string]any)["id"].(string), all[i])
	}
}

// step changes something at random.
func (m *mergeModel) step() {
	w := m.org.Write
	switch n := m.r.IntN(20); {
	case n < 5:
		m.merge("contacts")
	case n < 7:
		m.merge("accounts")
	case n < 10:
		m.create("contacts")
	case n < 11:
		m.create([]string{"accounts", "accounts", "opportunities", "tasks", "meetings"}[m.r.IntN(5)])
	case n < 12:
		m.delete([]string{"contacts", "tasks"}[m.r.IntN(2)])
	case n < 13:
		m.restore([]string{"contacts", "tasks"}[m.r.IntN(2)])
	case n < 14:
		if id := m.any("contacts"); id != "" {
			m.log("%s has replied", id)
			w.Post("/v1/contacts/"+id+"/replied", `{}`).Is(200)
		}
	case n < 16:
		audience := slices.Sorted(maps.Keys(m.audiences))[m.r.IntN(len(m.audiences))]
		members, add := m.audiences[audience], m.r.IntN(3) > 0
		for _, id := range m.some("contacts", 2) {
			if members[id] = add; !add {
				delete(members, id)
			}
			path := "/v1/audiences/" + audience + "/contacts/" + map[bool]string{true: "add", false: "remove"}[add]
			m.log("%s %s", path, id)
			w.Post(path, map[string]any{"contact_ids": []string{id}}).Is(200)
		}
	case n < 19:
		m.log("a day passes")
		m.app.Clock.Advance(24 * time.Hour)
		m.app.Work()
	default:
		m.log("restart")
		m.app.Restart()
	}
}

// merge folds random records into another one, and is refused those that do not exist.
func (m *mergeModel) merge(entity string) {
	all := m.some(entity, 2+m.r.IntN(2))
	if len(all) < 2 || entity == "accounts" && len(m.records[entity]) < 3 {
		return
	}
	into, others := all[0], all[1:]
	path, w := "/v1/"+entity+"/"+into+"/merge", m.org.Write
	if gone := slices.Sorted(maps.Keys(m.merged)); len(gone) > 0 {
		id := gone[m.r.IntN(len(gone))]
		w.Post(path, map[string]any{"ids": append([]string{id}, others...)}).Fails(422, "validation_failed", "ids[0]: "+id+" does not exist")
		w.Post("/v1/"+entity+"/"+id+"/merge", map[string]any{"ids": others}).Fails(404, "not_found", "")
	}
	chosen := map[string]string{}
	for _, field := range []string{"notes", "email", "custom_field_tier", "country"} {
		if _, has := m.records[entity][into][field]; has && m.r.IntN(6) == 0 {
			chosen[field] = all[m.r.IntN(len(all))]
		}
	}
	m.log("merge %s %v, %v", entity, all, chosen)
	m.app.Clock.Advance(time.Minute)
	before := m.readSequences()
	w.Post(path, map[string]any{"ids": others, "fields": chosen}).Is(200)
	var records []fields
	for _, id := range all {
		records = append(records, m.records[entity][id])
	}
	rec := folded(records)
	for field, id := range chosen {
		rec[field] = m.records[entity][id][field]
	}
	m.records[entity][into] = rec
	for _, other := range others {
		m.addresses[into] = append(m.addresses[into], m.addresses[other]...)
	}
	if rec["do_not_contact"] == true {
		for _, email := range m.addresses[into] {
			m.suppressed[email] = true
		}
	}
	for _, other := range others {
		delete(m.records[entity], other)
		m.merged[other] = into
		m.refer(entity, other, into)
		for _, members := range m.audiences {
			if members[other] {
				delete(members, other)
				members[into] = true
			}
		}
	}
	m.compareMergedSequences(all, before)
}

// folded returns the record that a merge makes of several, of which the first survives.
func folded(records []fields) fields {
	rec := maps.Clone(records[0])
	for key := range rec {
		var notes []string
		tags := []any{}
		for _, other := range records {
			switch v := other[key].(type) {
			case bool:
				rec[key] = rec[key].(bool) || v
			case []any:
				for _, tag := range v {
					if !slices.Contains(tags, tag) {
						tags = append(tags, tag)
					}
				}
				rec[key] = tags
			case string:
				if key == "notes" && !slices.Contains(notes, v) {
					notes = append(notes, v)
					rec[key] = strings.Join(notes, "\n\n")
				} else if rec[key] == nil {
					rec[key] = v
				}
			}
		}
	}
	return rec
}

// refer makes the references to one record references to another, or to nothing.
func (m *mergeModel) refer(entity, from string, to any) {
	field := strings.TrimSuffix(entity, "s") + "_id"
	for referrer := range referring {
		for _, f := range m.records[referrer] {
			if f[field] == from {
				f[field] = to
			}
		}
	}
}

func (m *mergeModel) delete(entity string) {
	id := m.any(entity)
	if id == "" {
		return
	}
	m.log("delete %s %s", entity, id)
	m.org.Write.Delete("/v1/" + entity + "/" + id).Is(204)
	m.trash[entity][id] = m.records[entity][id]
	delete(m.records[entity], id)
	for referrer := range referring {
		for _, f := range m.records[referrer] {
			if field := strings.TrimSuffix(entity, "s") + "_id"; f[field] == id {
				m.lost[id] = append(m.lost[id], f)
			}
		}
	}
	m.refer(entity, id, nil)
	for audience, members := range m.audiences {
		if members[id] {
			delete(members, id)
			m.left[id] = append(m.left[id], audience)
		}
	}
}

func (m *mergeModel) restore(entity string) {
	all := slices.Sorted(maps.Keys(m.trash[entity]))
	if len(all) == 0 {
		return
	}
	id := all[m.r.IntN(len(all))]
	m.log("restore %s %s", entity, id)
	m.org.Write.Post("/v1/"+entity+"/"+id+"/restore", `{}`).Is(200)
	rec := m.trash[entity][id]
	for field, target := range map[string]string{"account_id": "accounts", "contact_id": "contacts"} {
		if ref, is := rec[field].(string); is {
			if rec[field] = nil; m.records[target][m.survivor(ref)] != nil {
				rec[field] = m.survivor(ref)
			}
		}
	}
	delete(m.trash[entity], id)
	m.records[entity][id] = rec
	for _, audience := range m.left[id] {
		m.audiences[audience][id] = true
	}
	delete(m.left, id)
	for _, f := range m.lost[id] {
		if field := strings.TrimSuffix(entity, "s") + "_id"; f[field] == nil && m.isLive(f) {
			f[field] = id
		}
	}
	delete(m.lost, id)
}

// isLive reports whether a record that refers to others is not in the trash.
func (m *mergeModel) isLive(rec fields) bool {
	for referrer := range referring {
		for _, f := range m.records[referrer] {
			if reflect.ValueOf(f).Pointer() == reflect.ValueOf(rec).Pointer() {
				return true
			}
		}
	}
	return false
}

// survivor returns the record that a record lives on in.
func (m *mergeModel) survivor(id string) string {
	for m.merged[id] != "" {
		id = m.merged[id]
	}
	return id
}
