package sequence_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// nothingOverdue requires that no list and no export shows a next_due_at that has passed, and that
// they agree.
func nothingOverdue(t *testing.T, app *apptest.App, org *apptest.Org) {
	t.Helper()
	listed := map[string]any{}
	for _, s := range org.Read.Post("/v1/sequences/list", `{"page_size": 500}`).Is(200).Value("data").([]any) {
		s := s.(map[string]any)
		listed[s["id"].(string)] = s
		due, isDue := s["next_due_at"].(string)
		if !isDue {
			continue
		}
		if at, err := time.Parse(time.RFC3339, due); err != nil || at.Before(app.Clock.Now().Truncate(time.Millisecond)) {
			t.Errorf("at %s a sequence is due at %s: %v", app.Clock.Now(), due, s)
		}
	}
	exported := map[string]any{}
	for line := range bytes.Lines(org.Read.Post("/v1/sequences/export", `{"format": "jsonl"}`).Is(200).Body) {
		var s map[string]any
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		if _, has := s["campaign_name"]; !has {
			t.Errorf("the export does not name the campaign: %s", line)
		}
		delete(s, "campaign_name") // only exports have it
		exported[s["id"].(string)] = s
	}
	if !reflect.DeepEqual(listed, exported) {
		t.Errorf("the list has\n%v\nthe export\n%v", listed, exported)
	}
}

// waits requires the reason of a waiting step and when the sequence is due next: "" means that this
// is not known.
func (p *engineFixture) waits(campaign, contact string, step int, reason, next string) {
	p.t.Helper()
	s := p.sequence(campaign, contact)
	i := slices.IndexFunc(s.History, func(h pastStep) bool { return h.Index == step })
	if i < 0 || s.History[i].Status != "waiting" || !strings.Contains(s.History[i].Reason, reason) {
		p.t.Errorf("step %d waits for something else than %q: %+v", step, reason, s.History)
	}
	due := ""
	if s.Next != nil {
		due = minute(*s.Next)
	}
	if due != next {
		p.t.Errorf("the sequence is due at %q, want %q: %+v", due, next, s.History)
	}
	nothingOverdue(p.t, p.app, p.Org)
}

// A waiting step says what it waits for.
func TestWhyNot(t *testing.T) {
	t.Run("the cap", func(t *testing.T) {
		p := newEngineFixture(t, limits(1, 0))
		ids := p.contacts(2)
		campaign := p.campaign(ids, nil, []simStep{simMail(0, 0, 9), simMail(1, 1, 9)})
		p.waits(campaign, ids[1], 0, "the sender's daily cap of 1 was reached", "03-03 09:00")
		p.to("03-02 12:00")
		p.waits(campaign, ids[1], 0, "the sender's daily cap of 1 was reached", "03-03 09:00")
	})
	t.Run("the gap", func(t *testing.T) {
		p := newEngineFixture(t, limits(100, 30*time.Minute))
		ids := p.contacts(2)
		campaign := p.campaign(ids, nil, []simStep{simMail(0, 0, 9)})
		p.to("03-02 09:10")
		p.waits(campaign, ids[1], 0, "30m after the sender's previous message", "03-02 09:30")
	})
	t.Run("the window", func(t *testing.T) {
		p := newEngineFixture(t)
		p.Admin.Patch("/v1/organization", simOrg{"UTC", simWeek, []string{}, simWindow{10, 18}}).Is(200)
		ids := p.contacts(1)
		campaign := p.campaign(ids, nil, []simStep{simMail(0, 0, 9)})
		p.waits(campaign, ids[0], 0, "sending window", "03-02 10:00")
		p.Write.Patch(campaign, `{"status": "paused"}`).Is(200)
		p.to("03-02 19:00")
		p.waits(campaign, ids[0], 0, "; waits: the campaign is paused", "")
		p.Write.Patch(campaign, `{"status": "active"}`).Is(200)
		p.app.Work()
		p.waits(campaign, ids[0], 0, "sending window", "03-03 10:00")
	})
	t.Run("a pause", func(t *testing.T) {
		p := newEngineFixture(t)
		ids := p.contacts(1)
		campaign := p.campaign(ids, nil, []simStep{simMail(0, 0, 10), simCall(1, 1, 9)})
		p.Write.Patch(campaign, `{"status": "paused"}`).Is(200)
		p.waits(campaign, ids[0], 0, "; waits: the campaign is paused", "")
		p.to("03-03 12:00")
		p.waits(campaign, ids[0], 0, "; waits: the campaign is paused", "")
		p.waits(campaign, ids[0], 1, "; waits: the campaign is paused", "")
		p.Write.Patch(campaign, `{"status": "active"}`).Is(200)
		p.to("03-03 13:00")
		if s := p.sequence(campaign, ids[0]); strings.Contains(s.History[0].Reason, "paused") {
			t.Errorf("the reason is %q", s.History[0].Reason)
		}
	})
	t.Run("a hold", func(t *testing.T) {
		p := newEngineFixture(t)
		ids := p.contacts(1)
		bob := p.Admin.Post("/v1/users", `{"email": "bob@acme.example"}`).Is(201).ID()
		campaign := p.campaign(ids, map[string]any{"owner_id": bob}, []simStep{simMail(0, 0, 10)})
		p.Admin.Post("/v1/users/"+bob+"/deactivate", nil).Is(200)
		p.to("03-02 12:00")
		p.waits(campaign, ids[0], 0, "; waits: the campaign is held (owner_inactive)", "")
	})
	t.Run("another email to the recipient", func(t *testing.T) {
		p := newEngineFixture(t, recipientGap(12*time.Hour))
		ids := p.contacts(1)
		p.campaign(ids, nil, []simStep{simMail(0, 0, 9)})
		second := p.campaign(ids, nil, []simStep{simMail(0, 0, 9)})
		p.waits(second, ids[0], 0, "; waits because the recipient just got an email of another sequence", "03-02 21:00")
	})
}

// Steps wait for the mail server while it is out of order.
func TestWhyNotMailServer(t *testing.T) {
	m := newMailer(t)
	m.server.Down()
	ids := apptest.ContactsOf(m.Org, "ann", "bob")
	campaign := m.sends(apptest.OneMail, "", ids...)
	m.run()
	for range 3 {
		for _, id := range ids {
			s := m.listedSequence(campaign, id)
			if !strings.Contains(s.History[0].Reason, "; waits for the mail server") || s.Next == nil {
				t.Errorf("the step is %+v", s)
			}
		}
		nothingOverdue(t, m.app, m.Org)
		m.app.Clock.Advance(time.Second)
		nothingOverdue(t, m.app, m.Org)
		m.after(10 * time.Minute)
	}
	m.server.Up()
	m.after(time.Hour)
	for _, id := range ids {
		if s := m.listedSequence(campaign, id); s.Status == "active" && !strings.HasSuffix(s.History[0].Reason, "; waits for the mail server") {
			t.Errorf("the step is %+v", s)
		}
	}
	m.after(time.Hour)
	m.arrived("ann Hello ann", "bob Hello bob")
	m.ready("")
}

// Sequences that a job is about to stop can be listed, also those of a deleted campaign.
func TestWhyNotWhileStopping(t *testing.T) {
	p := newEngineFixture(t)
	campaign := p.campaign(p.contacts(250), nil, []simStep{simMail(0, 1, 9)})
	p.Write.Patch(campaign, `{"status": "archived"}`).Is(200)
	nothingOverdue(t, p.app, p.Org)
	p.Write.Delete(campaign).Is(204)
	nothingOverdue(t, p.app, p.Org)
	p.Read.Get("/v1/contacts/" + p.sequences(campaign)[0].Contact + "/timeline").Is(200)
	p.app.Work()
	nothingOverdue(t, p.app, p.Org)
	p.agrees(campaign)
}

// Sequences of all campaigns can be listed, filtered, sorted and searched by the contact's name and
// address, which follow the contact.
func TestSequencesOfAllCampaigns(t *testing.T) {
	p := newEngineFixture(t)
	ids := simContacts(p.Org, `{"email": "Zed@x.example", "first_name": "Ann", "last_name": "Lee"}`, `{"email": "bo@y.example", "first_name": "Bo"}`)
	first := p.campaign(ids, nil, []simStep{simMail(0, 0, 9), simCall(1, 1, 9)})
	second := p.campaign(ids[:1], nil, []simStep{simMail(0, 1, 9)})
	names := func(body string) string {
		t.Helper()
		res := p.Read.Post("/v1/sequences/list", body).Is(200)
		return strings.Join(res.Column("contact_name"), ", ")
	}
	for body, want := range map[string]string{
		`{"sort": "contact_name"}`:  "Ann Lee, Ann Lee, Bo",
		`{"sort": "contact_email"}`: "Bo, Ann Lee, Ann Lee",
		`{"search": "lee"}`:         "Ann Lee, Ann Lee",
		`{"search": "y.example"}`:   "Bo",
		`{"filters": [{"field": "contact_name", "condition": "contains", "value": "ann"}]}`:                                            "Ann Lee, Ann Lee",
		`{"filters": [{"field": "contact_email", "condition": "is", "value": "ZED@x.example"}]}`:                                       "Ann Lee, Ann Lee",
		`{"filters": [{"field": "campaign_id", "condition": "is", "value": "` + apptest.IDIn(second) + `"}]}`:                          "Ann Lee",
		`{"filters": [{"field": "status", "condition": "is", "value": "active"}], "sort": "-contact_name", "page_size": 1, "page": 1}`: "Bo",
		`{"filters": [{"field": "contact_deleted", "condition": "is", "value": true}]}`:                                                "",
	} {
		t.Run(body, func(t *testing.T) {
			if got := names(body); got != want {
				t.Errorf("%s lists %q, want %q", body, got, want)
			}
		})
	}
	p.patchContact(ids[1], `{"first_name": "Cy", "last_name": "Orr", "email": "cy@y.example"}`)
	if got := names(`{"filters": [` + apptest.IsRule("contact_email", "cy@y.example") + `]}`); got != "Cy Orr" {
		t.Errorf("after a new name the list has %q", got)
	}
	if got := names(`{"search": "bo"}`); got != "" {
		t.Errorf("the old name finds %q", got)
	}

	// A deleted contact keeps its id and name.
	p.Write.Delete("/v1/contacts/" + ids[0]).Is(204)
	for range 2 {
		for _, campaign := range []string{first, second} {
			s := p.sequence(campaign, ids[0])
			if s == nil || !s.Deleted || s.Name == nil || *s.Name != "Ann Lee" || *s.Email != "Zed@x.example" || s.Contact != ids[0] {
				t.Errorf("the sequence of a deleted contact is %+v", s)
			}
		}
		if got := names(`{"filters": [{"field": "contact_deleted", "condition": "is", "value": true}]}`); got != "Ann Lee, Ann Lee" {
			t.Errorf("deleted contacts: %q", got)
		}
		sent := p.Read.Post("/v1/outbox/list", `{"sort": "to"}`).Is(200)
		if got := sent.Column("contact_deleted"); !slices.Equal(got, []string{"false", "true"}) || sent.Text("data.1.contact_id") != ids[0] {
			t.Errorf("the outbox is %s", sent.Body)
		}
		p.app.Restart()
	}
	nothingOverdue(t, p.app, p.Org)
	p.agrees(first)

	// Exports have the same records, as text too.
	csv := string(p.Read.Post("/v1/sequences/export", `{"format": "csv", "filters": [`+apptest.IsRule("contact_name", "Cy Orr")+`]}`).Is(200).Body)
	if lines := strings.Count(csv, "\n"); !strings.Contains(csv, "contact_email") || !strings.Contains(csv, "cy@y.example") || lines != 2 {
		t.Errorf("the export is %q", csv)
	}
	outbox := p.Read.Post("/v1/outbox/export", `{"format": "jsonl"}`).Is(200).Body
	if n := bytes.Count(outbox, []byte("\n")); n != 2 || !bytes.Contains(outbox, []byte(`"contact_deleted":true`)) || bytes.Contains(outbox, []byte("/u/ey")) || !bytes.Contains(outbox, []byte("/u/[hidden]")) {
		t.Errorf("the export of the outbox is %s", outbox)
	}
	if n := p.app.Org("Umbrella").Read.Post("/v1/sequences/list", nil).Is(200).Int("pagination.total_count"); n != 0 {
		t.Errorf("another organization sees %d sequences", n)
	}
}
