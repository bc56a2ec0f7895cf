package crm_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// sequenceView and messageView are what the model knows of sequences and messages.
type sequenceView struct {
	ID           string
	CampaignID   string `json:"campaign_id"`
	ContactID    string `json:"contact_id"`
	ContactEmail string `json:"contact_email"`
	Status       string
	Reason       string
	DuplicateOf  string `json:"duplicate_of"`
	History      []struct{ Status string }
}

type messageView struct {
	ID         string
	CampaignID string `json:"campaign_id"`
	ContactID  string `json:"contact_id"`
	To         string
	Subject    string
}

func (s *sequenceView) isOpen() bool { return s.Status == "active" || s.Status == "not_started" }

// finished returns the number of steps that have been carried out.
func (s *sequenceView) finished() (n int) {
	for _, step := range s.History {
		if step.Status == "captured" || step.Status == "done" {
			n++
		}
	}
	return n
}

// list returns the records of a list.
func list[T any](m *mergeModel, path string, body map[string]any) (records []T) {
	m.t.Helper()
	body["page_size"], body["sort"] = 500, "id"
	res := m.org.Read.Post(path, body).Is(200)
	if err := json.Unmarshal(res.Body, &struct{ Data *[]T }{&records}); err != nil {
		m.t.Fatal(err)
	}
	if n := res.Int("pagination.total_count"); n != len(records) {
		m.t.Errorf("%s %v lists %d records and counts %d", path, body, len(records), n)
	}
	return records
}

func (m *mergeModel) readSequences() []sequenceView {
	m.t.Helper()
	return list[sequenceView](m, "/v1/sequences/list", map[string]any{})
}

// compareMergedSequences checks what became of the sequences of contacts that were merged into the first one.
func (m *mergeModel) compareMergedSequences(contacts []string, before []sequenceView) {
	m.t.Helper()
	now := map[string]sequenceView{}
	for _, s := range m.readSequences() {
		now[s.ID] = s
	}
	campaigns := map[string][]sequenceView{}
	for _, s := range before {
		if slices.Contains(contacts, s.ContactID) {
			campaigns[s.CampaignID] = append(campaigns[s.CampaignID], s)
		}
	}
	for campaign, group := range campaigns {
		furthest := slices.MaxFunc(group, func(a, b sequenceView) int { return a.finished() - b.finished() })
		ended := slices.ContainsFunc(group, func(s sequenceView) bool { return s.Reason == "replied" || s.Reason == "manual" })
		var open []sequenceView
		for _, s := range group {
			if after := now[s.ID]; after.isOpen() {
				open = append(open, after)
			} else if s.isOpen() && after.Reason == "duplicate_address" && now[after.DuplicateOf].ContactID != contacts[0] {
				m.t.Errorf("sequence %s is a duplicate of %s, which is not one of %s", s.ID, after.DuplicateOf, contacts[0])
			}
		}
		var best []sequenceView
		for _, s := range group {
			if s.finished() == furthest.finished() {
				best = append(best, s)
			}
		}
		switch {
		case len(open) > 1:
			m.t.Errorf("campaign %s has %d open sequences of the merged contact", campaign, len(open))
		case len(open) == 1 && len(group) > 1 && ended:
			m.t.Errorf("sequence %s goes on although the contact has replied", open[0].ID)
		case len(open) == 1 && open[0].finished() < furthest.finished():
			m.t.Errorf("sequence %s goes on, and %s was further on", open[0].ID, furthest.ID)
		case len(open) == 0 && len(best) == 1 && best[0].isOpen() && !ended && !m.hasOptedOut(contacts[0]):
			m.t.Errorf("sequence %s was the furthest and is %+v", furthest.ID, now[furthest.ID])
		}
	}
}

// compareSequences checks that no sequence or message is lost or belongs to a merged contact, and that nobody was sent
// the same email twice, or one to another address.
func (m *mergeModel) compareSequences() {
	m.t.Helper()
	n, open := 0, map[[2]string]string{}
	for _, s := range m.readSequences() {
		known, has := m.sequences[s.ID]
		if !has {
			known = s
			m.sequences[s.ID] = s
		}
		n++
		if s.ContactID != m.survivor(known.ContactID) {
			m.t.Errorf("sequence %s belongs to %s, want %s", s.ID, s.ContactID, m.survivor(known.ContactID))
		}
		if !s.isOpen() {
			continue
		}
		if other := open[[2]string{s.CampaignID, s.ContactID}]; other != "" {
			m.t.Errorf("sequences %s and %s of contact %s are open in one campaign", other, s.ID, s.ContactID)
		}
		open[[2]string{s.CampaignID, s.ContactID}] = s.ID
		if rec := m.records["contacts"][s.ContactID]; rec == nil || rec["email"] != s.ContactEmail {
			m.t.Errorf("sequence %s writes to %q of the contact %v", s.ID, s.ContactEmail, rec)
		}
	}
	if n != len(m.sequences) {
		m.t.Errorf("%d sequences are left of %d", n, len(m.sequences))
	}
	n = 0
	for _, msg := range list[messageView](m, "/v1/outbox/list", map[string]any{}) {
		n++
		if known, has := m.messages[msg.ID]; has {
			if want := m.survivor(known.ContactID); msg.ContactID != want {
				m.t.Errorf("message %s belongs to %s, want %s", msg.ID, msg.ContactID, want)
			}
			continue
		}
		for _, earlier := range m.messages {
			if earlier.CampaignID == msg.CampaignID && m.survivor(earlier.ContactID) == msg.ContactID && earlier.Subject == msg.Subject {
				m.t.Errorf("contact %s got the message %q twice: %s, %s", msg.ContactID, msg.Subject, earlier.ID, msg.ID)
			}
		}
		m.messages[msg.ID] = msg
		if rec := m.records["contacts"][msg.ContactID]; rec == nil || rec["email"] != msg.To || m.hasOptedOut(msg.ContactID) {
			m.t.Errorf("message %s was sent to %s of the contact %v", msg.ID, msg.To, rec)
		}
	}
	if n != len(m.messages) {
		m.t.Errorf("%d messages are left of %d", n, len(m.messages))
	}
}

// compare checks exports, audiences, suppressions, and lists of some records.
func (m *mergeModel) compare() {
	m.t.Helper()
	for entity, records := range m.records {
		exported := map[string]bool{}
		for line := range strings.Lines(string(m.org.Read.Post("/v1/"+entity+"/export", `{}`).Is(200).Body)) {
			var got fields
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				m.t.Fatal(err)
			}
			id, want := got["id"].(string), records[got["id"].(string)]
			if want == nil && entity == "tasks" && got["campaign_id"] != nil { // of a step
				if contact := got["contact_id"]; contact != nil && m.records["contacts"][contact.(string)] == nil {
					m.t.Errorf("task %s is of %v", id, contact)
				}
				continue
			}
			exported[id] = true
			for field, value := range want {
				if fmt.Sprint(got[field]) != fmt.Sprint(value) {
					m.t.Errorf("%s %s: %s is %v, want %v", entity, id, field, got[field], value)
				}
			}
			if account, is := want["account_id"].(string); is && got["account_name"] != m.records["accounts"][account]["name"] {
				m.t.Errorf("%s %s: the account is %v, want %v", entity, id, got["account_name"], m.records["accounts"][account]["name"])
			}
		}
		if got, want := slices.Sorted(maps.Keys(exported)), slices.Sorted(maps.Keys(records)); !slices.Equal(got, want) {
			m.t.Errorf("%s are %v, want %v", entity, got, want)
		}
	}
	for audience, want := range m.audiences {
		m.compareIDs("/v1/audiences/"+audience+"/contacts/list", nil, slices.Sorted(maps.Keys(want)))
		m.org.Read.Get("/v1/audiences/"+audience).Has(200, fmt.Sprintf(`{"data": {"contact_count": %d}}`, len(want)))
	}
	m.compareIDs("/v1/audiences/"+m.dynamic+"/contacts/list", nil, m.having("contacts", func(f fields) bool { return slices.Contains(f["tags"].([]any), any(m.tags[0])) }))
	suppressed := []string{}
	for _, s := range list[struct{ Email string }](m, "/v1/suppressions/list", map[string]any{}) {
		suppressed = append(suppressed, s.Email)
	}
	if slices.Sort(suppressed); !slices.Equal(suppressed, slices.Sorted(maps.Keys(m.suppressed))) {
		m.t.Errorf("suppressed are %v, want %v", suppressed, m.suppressed)
	}
	gone := slices.Sorted(maps.Keys(m.merged))
	for _, entity := range slices.Sorted(maps.Keys(referring)) {
		for _, field := range referring[entity] {
			target := strings.TrimSuffix(field, "_id") + "s"
			ids := []string{m.any(target)}
			if len(gone) > 0 {
				ids = append(ids, gone[m.r.IntN(len(gone))])
			}
			for _, id := range ids {
				filters := []any{map[string]any{"field": field, "condition": "is", "value": id}}
				if entity == "tasks" { // not those of steps
					filters = append(filters, map[string]any{"field": "campaign_id", "condition": "is_empty"})
				}
				m.compareIDs("/v1/"+entity+"/list", filters,
					m.having(entity, func(f fields) bool { return f[field] == id }))
			}
		}
	}
}

// having returns the records for which is reports true.
func (m *mergeModel) having(entity string, is func(fields) bool) (ids []string) {
	for id, f := range m.records[entity] {
		if is(f) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (m *mergeModel) compareIDs(path string, filters any, want []string) {
	m.t.Helper()
	got := []string{}
	for _, record := range list[struct{ ID string }](m, path, map[string]any{"filters": filters}) {
		got = append(got, record.ID)
	}
	if !slices.Equal(got, want) && len(got)+len(want) > 0 {
		m.t.Errorf("%s %v lists %v, want %v", path, filters, got, want)
	}
}

// compareMerged checks that the ids and external ids of merged records lead to those they were merged into, however
// often the external ids are imported.
func (m *mergeModel) compareMerged() {
	m.t.Helper()
	for id := range m.merged {
		survivor := m.survivor(id)
		for _, entity := range []string{"accounts", "contacts"} {
			res := m.org.Read.Get("/v1/" + entity + "/" + id)
			if m.records[entity][survivor] == nil {
				res.Is(404, `{"error": {"code": "not_found", "message": "Resource not found"}}`)
				continue
			}
			res.Fails(404, "not_found", "merged into "+survivor).Has(404, fmt.Sprintf(`{"error": {"details": [{"path": "id", "id": %q}]}}`, survivor))
		}
	}
	for range 2 {
		for _, external := range slices.Sorted(maps.Keys(m.external)) {
			entity := map[byte]string{'a': "accounts", 'c': "contacts"}[external[0]]
			survivor := m.survivor(m.external[external])
			if m.records[entity][survivor]["title"] == "Many" || m.records[entity][survivor] == nil {
				continue
			}
			m.org.Write.Post("/v1/"+entity+"/batch", fmt.Sprintf(`{"match_on": "external_id", "records": [{"external_id": %q}]}`, external)).
				Has(200, fmt.Sprintf(`{"data": {"results": [{"id": %q, "created": false}]}}`, survivor))
		}
	}
	m.compare()
}
