package undo_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// TestUndoModelOrder undoes random operations in random order, and what undid them, with changes, erasures, messages and
// crashes in between: nothing fails, no opt-out and no suppression is lifted, nobody is sent anything or begins to wait for
// a message, nothing of an erased person comes back, and the check finds nothing.
func TestUndoModelOrder(t *testing.T) {
	for seed := range apptest.SoakRounds(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := newUndoModel(t, uint64(seed))
			m.org.Write.Post("/v1/audiences", `{"name": "Chiefs", "type": "dynamic", "filters": {"operator": "or", "filters": [
				{"field": "title", "condition": "is", "value": "CEO"}, {"field": "tags", "condition": "is_empty"}]}}`).Is(201)
			chiefs := apptest.AudienceNamed(m.org, "Chiefs")
			template := m.org.Read.Post("/v1/sequence-templates/list", `{}`).Is(200).Text("data.0.id")
			m.org.Write.Post("/v1/campaigns", map[string]any{"name": "D", "status": "active", "template_id": template, "audience_ids": []string{apptest.IDIn(chiefs)}, "owner_id": m.org.User}).Is(201)
			m.app.Work()
			var operations []string
			for range 10 {
				if id := m.operate(true); id != "" {
					operations = append(operations, id)
				}
				m.meanwhile()
			}
			for range 12 {
				m.meanwhile()
				before := m.people()
				id := operations[m.rng.IntN(len(operations))]
				undo, ok := m.undo(id)
				if !ok {
					continue
				}
				operations = append(operations, undo)
				m.people().follows(t, "the undo of "+id, before)
				if t.Failed() {
					t.FailNow()
				}
			}
			for n := range m.erased {
				address := fmt.Sprintf("c%d@x.example", n)
				if strings.Contains(m.org.Dump(), address) {
					t.Errorf("%s is there again after its erasure", address)
				}
			}
			m.check()
		})
	}
}

// meanwhile does what people do between operations, or lets time pass.
func (m *undoModel) meanwhile() {
	defer m.app.Work()
	contact := m.pick("contacts")
	switch kind := m.rng.IntN(12); {
	case kind == 0 && contact != "":
		m.org.Write.Patch("/v1/contacts/"+contact, map[string]any{"title": "new", "do_not_contact": m.rng.IntN(2) == 0}).Is(200)
	case kind == 1 && contact != "":
		m.org.Write.Patch("/v1/contacts/"+contact, `{"title": "", "notes": "no title"}`).Is(200)
	case kind == 2 && contact != "":
		m.org.Write.Delete("/v1/contacts/" + contact).Is(204)
	case kind == 3 && contact != "":
		m.org.Write.Patch("/v1/contacts/"+contact, map[string]any{"tags": m.tags[:m.rng.IntN(3)]}).Is(200)
	case kind == 4 && contact != "":
		audience := "/v1/audiences/" + m.audiences[m.rng.IntN(len(m.audiences))]
		m.org.Write.Post(audience+"/contacts/"+[]string{"add", "remove"}[m.rng.IntN(2)], apptest.ContactIDs(contact)).Is(200)
	case kind == 5:
		if account := m.pick("accounts"); account != "" {
			m.org.Write.Patch("/v1/accounts/"+account, map[string]any{"industry": fmt.Sprint("i", m.rng.IntN(3))}).Is(200)
		}
	case kind == 6:
		m.erase(m.rng.IntN(12))
	case kind < 9:
		m.app.Clock.Advance(time.Duration(6+m.rng.IntN(40)) * time.Hour)
	}
}

// erase erases a contact of the beginning, unless nothing knows the address any more.
func (m *undoModel) erase(n int) {
	m.Helper()
	m.app.Work()
	switch op := apptest.Erase(m.org, fmt.Sprintf("c%d@x.example", n), false); {
	case op.Text("data.status") == "completed":
		m.erased[n] = true
	case op.Text("data.problems.0.code") != "not_found":
		m.Fatalf("%s", op.Body)
	}
}

// people is what must not change for the worse by an undo.
type people struct {
	contacts, optedOut, suppressed map[string]bool
	messages, active, pending      map[string]bool // pending are steps that can go out or become Tasks by themselves
}

func (m *undoModel) people() people {
	m.Helper()
	p := people{contacts: m.contacts(`{"page_size": 200}`), suppressed: map[string]bool{}, messages: map[string]bool{}, active: map[string]bool{}, pending: map[string]bool{},
		optedOut: m.contacts(`{"page_size": 200, "filters": [{"field": "do_not_contact", "condition": "is", "value": true}]}`)}
	for _, email := range m.org.Read.Post("/v1/suppressions/list", `{"page_size": 200}`).Is(200).Column("id") {
		p.suppressed[email] = true
	}
	for _, id := range m.org.Read.Post("/v1/outbox/list", `{"page_size": 500}`).Is(200).Column("id") {
		p.messages[id] = true
	}
	type listed struct {
		ID      string
		History []struct {
			Index  int
			Status string
		}
	}
	for _, s := range apptest.WholeList[listed](m.T, m.org, "/v1/sequences", apptest.IsRule("status", "active")) {
		p.active[s.ID] = true
		for _, h := range s.History {
			if h.Status == "waiting" {
				p.pending[fmt.Sprint(s.ID, " step ", h.Index)] = true
			}
		}
	}
	return p
}

func (p people) follows(t *testing.T, what string, before people) {
	t.Helper()
	if !maps.Equal(p.messages, before.messages) {
		t.Errorf("%s: %d messages after %d", what, len(p.messages), len(before.messages))
	}
	for id := range p.contacts {
		if before.optedOut[id] && !p.optedOut[id] {
			t.Errorf("%s lifted the opt-out of %s", what, id)
		}
	}
	for id := range before.suppressed {
		if !p.suppressed[id] {
			t.Errorf("%s lifted the suppression %s", what, id)
		}
	}
	for id := range p.active {
		if !before.active[id] {
			t.Errorf("%s started sequence %s", what, id)
		}
	}
	for step := range p.pending {
		if !before.pending[step] {
			t.Errorf("%s made %s wait", what, step)
		}
	}
}

func (m *undoModel) contacts(query string) map[string]bool {
	ids := map[string]bool{}
	for _, id := range m.org.Read.Post("/v1/contacts/list", query).Is(200).Column("id") {
		ids[id] = true
	}
	return ids
}
