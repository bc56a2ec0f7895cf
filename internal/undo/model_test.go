package undo_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
	"prospector/store"
)

// undoModel draws operations on a few records.
type undoModel struct {
	*testing.T
	app       *apptest.App
	org       *apptest.Org
	rng       *rand.Rand
	tags      []string
	audiences []string
	imports   int
	erased    map[int]bool // the numbers of the contacts who were erased
}

func newUndoModel(t *testing.T, seed uint64) *undoModel {
	app := apptest.New(t)
	org := app.Org("Acme")
	m := &undoModel{T: t, app: app, org: org, rng: rand.New(rand.NewPCG(seed, 1)), erased: map[int]bool{}}
	apptest.NewField(org, "contacts", "tier", "multi_select", `, "allowed_values": ["a", "b", "c"]`)
	for _, id := range apptest.NewTags(org, "contact", "A", "B", "C") {
		m.tags = append(m.tags, id)
	}
	slices.Sort(m.tags)
	var accounts, contacts []string
	for i := range 4 {
		accounts = append(accounts, org.Write.Post("/v1/accounts", fmt.Sprintf(`{"name": "A%d", "external_id": "a%d", "industry": "x"}`, i, i)).Is(201).ID())
	}
	for i := range 12 {
		contacts = append(contacts, org.Write.Post("/v1/contacts", map[string]any{"email": fmt.Sprintf("c%d@x.example", i), "account_id": accounts[i%4], "title": "CEO",
			"external_id": fmt.Sprint("c", i), "tags": []string{m.tags[i%3]}, "custom_field_tier": []string{"a"}}).Is(201).ID())
		org.Write.Post("/v1/tasks", map[string]any{"title": fmt.Sprint("T", i), "contact_id": contacts[i], "account_id": accounts[(i+1)%4]}).Is(201)
	}
	for i := range 2 {
		m.audiences = append(m.audiences, org.Write.Post("/v1/audiences", map[string]any{"name": fmt.Sprint("S", i), "contact_ids": contacts[3*i : 3*i+5]}).Is(201).ID())
	}
	template := org.Write.Post("/v1/sequence-templates", `{"name": "T", "steps": [{"index": 0, "type": "auto_email", "hour": 9, "subject": "Hello", "message": "Hello"}, {"index": 1, "type": "call", "hour": 9},
			{"index": 2, "type": "auto_email", "day": 2, "hour": 9, "message": "About {{recipient.title}}"}],
		"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES", "post_check_delay": 1, "post_check_time_unit": "hours"}]}`).Is(201).ID()
	org.Write.Post("/v1/campaigns", map[string]any{"name": "C", "status": "active", "template_id": template, "audience_ids": m.audiences, "owner_id": org.User}).Is(201)
	app.Work()
	return m
}

func (m *undoModel) pick(entity string) string {
	ids := m.org.Read.Post("/v1/"+entity+"/list", `{"sort": "created_at", "page_size": 100}`).Is(200).Column("id")
	if len(ids) == 0 {
		return ""
	}
	return ids[m.rng.IntN(len(ids))]
}

func (m *undoModel) picks(entity string, n int) (ids []string) {
	for range n {
		if id := m.pick(entity); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// interrupt sometimes kills the process, before the operation that just began is done.
func (m *undoModel) interrupt() {
	if m.rng.IntN(4) == 0 {
		m.app.Crash()
		m.app.Start()
	}
	m.app.Work()
}

// operate runs a random operation and returns its id, or "" if there is nothing to do.
func (m *undoModel) operate(optOuts bool) (id string) {
	defer m.interrupt()
	bulk := func(entity string, body map[string]any) string {
		if body["ids"] = m.picks(entity, 1+m.rng.IntN(6)); len(body["ids"].([]string)) == 0 {
			return ""
		}
		return m.org.Write.Post("/v1/"+entity+"/bulk", body).Is(202).ID()
	}
	text := fmt.Sprint("v", m.rng.IntN(3))
	switch kind := m.rng.IntN(12); {
	case kind == 0:
		return bulk("contacts", map[string]any{"set": map[string]any{"title": text, "custom_field_tier": []string{"b", "c"}}})
	case kind == 1:
		tag := m.rng.IntN(3)
		return bulk("contacts", map[string]any{"add_tags": m.tags[tag : tag+1], "remove_tags": []string{m.tags[(tag+1)%3]}, "set": map[string]any{"notes": text}})
	case kind == 2:
		if to := m.pick("accounts"); to != "" {
			return bulk("contacts", map[string]any{"set": map[string]any{"account_id": to}})
		}
		return ""
	case kind == 3:
		return bulk("contacts", map[string]any{"delete": true})
	case kind == 4:
		return bulk("accounts", map[string]any{"delete": true})
	case kind == 5 && optOuts:
		return bulk("contacts", map[string]any{"set": map[string]any{"do_not_contact": m.rng.IntN(2) == 0}})
	case kind == 5 || kind == 6:
		entity := []string{"contacts", "accounts"}[m.rng.IntN(2)]
		ids := m.picks(entity, 4)
		if len(ids) < 2 {
			return ""
		}
		return m.org.Write.Post("/v1/"+entity+"/"+ids[0]+"/merge", map[string]any{"ids": ids[1:]}).Is(200).Text("meta.operation_id")
	case kind == 7:
		return bulk("tasks", map[string]any{"set": map[string]any{"notes": text, "status": []string{"open", "cancelled"}[m.rng.IntN(2)]}})
	case kind == 8:
		return bulk("accounts", map[string]any{"set": map[string]any{"industry": text, "notes": text}})
	case kind == 9:
		return bulk("tasks", map[string]any{"delete": true})
	case kind == 10:
		return m.restoreSome()
	default:
		m.imports++
		rows := "external_id,email,title,company\n"
		for i := range 4 {
			n := m.rng.IntN(16)
			if m.erased[n] {
				continue
			}
			rows += fmt.Sprintf("c%d,c%d@x.example,%s,A%d\n", n, n, text, (m.imports+i)%6)
		}
		return m.org.Write.Post("/v1/imports", apptest.NewForm(rows, `{"entity": "contacts", "create_missing": ["accounts"], "match_on": "external_id"}`)).Is(202).ID()
	}
}

// restoreSome restores some of the contacts or accounts in the trash.
func (m *undoModel) restoreSome() string {
	path := "/v1/" + []string{"contacts", "accounts"}[m.rng.IntN(2)] + "/trash"
	ids := m.org.Read.Post(path+"/list", `{"sort": "created_at", "page_size": 100}`).Is(200).Column("id")
	m.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	if len(ids) == 0 {
		return ""
	}
	return m.org.Write.Post(path+"/bulk", map[string]any{"ids": ids[:min(3, len(ids))], "restore": true}).Is(202).ID()
}

// undo undoes an operation, and reports false if it has changed nothing or another must be undone first. Sometimes the
// process is killed in between.
func (m *undoModel) undo(id string) (undo string, ok bool) {
	m.Helper()
	res := m.org.Write.Post("/v1/operations/"+id+"/undo", nil)
	if res.Status == 409 {
		return "", false
	}
	undo = res.Is(202).ID()
	m.interrupt()
	if res := m.org.Read.Get("/v1/operations/" + undo).Is(200); res.Text("data.status") != "completed" {
		m.Fatalf("the undo of %s has not ended: %s\n%s", m.org.Read.Get("/v1/operations/"+id).Body, res.Body, m.app.Log)
	}
	return undo, true
}

// state returns everything that an undo must put back, by record.
func (m *undoModel) state() map[string]string {
	state := map[string]string{}
	add := func(key string, record any, without ...string) {
		fields := maps.Clone(record.(map[string]any))
		for _, f := range append(without, "updated_at") {
			delete(fields, f)
		}
		if tags, is := fields["tags"].([]any); is {
			slices.SortFunc(tags, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		b, err := json.Marshal(fields)
		if err != nil {
			m.Fatal(err)
		}
		state[key] = string(b)
	}
	for _, entity := range []string{"contacts", "accounts", "tasks"} {
		res := m.org.Read.Post("/v1/"+entity+"/list", `{"page_size": 200}`).Is(200)
		for _, r := range res.Value("data").([]any) {
			add(entity+" "+fmt.Sprint(r.(map[string]any)["id"]), r, "completed_at")
		}
	}
	for _, id := range m.audiences {
		ids := m.org.Read.Post("/v1/audiences/"+id+"/contacts/list", `{"page_size": 200}`).Is(200).Column("id")
		slices.Sort(ids)
		state["audience "+id] = strings.Join(ids, " ")
	}
	for _, entity := range []string{"sequences", "outbox"} {
		for _, r := range m.org.Read.Post("/v1/"+entity+"/list", `{"page_size": 200}`).Is(200).Value("data").([]any) {
			record := r.(map[string]any)
			state[entity+" "+fmt.Sprint(record["id"])] = fmt.Sprint(record["contact_id"])
		}
	}
	return state
}

func (m *undoModel) compare(what string, got, want map[string]string) {
	m.Helper()
	for key := range want {
		if got[key] != want[key] {
			m.Errorf("%s: %s is\n%s, want\n%s", what, key, got[key], want[key])
		}
	}
	for key := range got {
		if _, has := want[key]; !has {
			m.Errorf("%s: there is %s %s", what, key, got[key])
		}
	}
}

func (m *undoModel) check() {
	m.Helper()
	err := m.app.Store.View(m.org.ID, func(tx *store.Tx) error {
		return m.app.Verify(tx, func(_ bool, format string, args ...any) { m.Errorf("check: "+format, args...) })
	})
	if err != nil {
		m.Fatal(err)
	}
}

// TestUndoModel runs random operations, undoes them in the opposite order, and undoes the undos. Each time the records
// must be exactly as they were.
func TestUndoModel(t *testing.T) {
	for seed := range apptest.SoakRounds(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := newUndoModel(t, uint64(seed))
			var operations []string
			states := []map[string]string{m.state()}
			for len(operations) < 8 {
				if id := m.operate(false); id != "" {
					operations, states = append(operations, id), append(states, m.state())
				}
			}
			var undos []string
			for i, id := range slices.Backward(operations) {
				undo, _ := m.undo(id) // one that changed nothing cannot be undone
				undos = append(undos, undo)
				m.compare(fmt.Sprintf("after undoing operation %d", i), m.state(), states[i])
				if t.Failed() {
					t.FailNow()
				}
			}
			for i, id := range slices.Backward(undos) {
				if id != "" {
					m.undo(id)
				}
				m.compare(fmt.Sprintf("after operation %d again", len(operations)-1-i), m.state(), states[len(operations)-i])
				if t.Failed() {
					t.FailNow()
				}
			}
			m.check()
		})
	}
}
