package apptest

import (
	"maps"
	"slices"
	"testing"

	"prospector/internal/service"
)

// TestSequencesOfPreviousBuild opens a store with a running campaign of the build before. Its sequences
// show their contacts and own the addresses that they wrote to, and its campaign shows what it runs with.
func TestSequencesOfPreviousBuild(t *testing.T) {
	for _, transport := range []string{"outbox", "smtp"} {
		t.Run(transport, func(t *testing.T) {
			dir, keys := unpackPreviousBuild(t)
			app := New(t, func(cfg *service.Config) {
				if cfg.DataDir = dir; transport == "smtp" {
					NewMailServer(t).Settings(cfg)
				}
			})
			p := &previousBuild{App: app, acme: Client{app: app, Key: keys["Acme Sales"]}, globex: Client{app: app, Key: keys["Globex"]}}
			var campaign map[string]any
			for _, when := range []string{"at first", "after the jobs ran"} {
				for _, campaign = range p.acme.records("/v1/campaigns/list", "") {
				}
				if campaign["transport"] != transport || campaign["held"] != nil || campaign["status"] != "active" || campaign["missing_values"] != "hold" {
					t.Errorf("%s: the campaign is %v", when, campaign)
				}
				p.sequencesAre(t, when)
				p.checked(t, when)
				p.Work()
			}

			// The address of Bill belongs to his sequence, that of somebody new does not.
			path := "/v1/campaigns/" + campaign["id"].(string)
			same := p.acme.Post("/v1/contacts", `{"email": "BILL@initech.example"}`).Is(201).ID()
			other := p.acme.Post("/v1/contacts", `{"email": "new@initech.example", "first_name": "New"}`).Is(201).ID()
			p.acme.Post(path+"/enroll", map[string]any{"audience_name": "Late", "contact_ids": []string{same, other}}).Is(200)
			p.Work()
			sequences := map[any]map[string]any{}
			for _, s := range p.acme.records("/v1/sequences/list", "") {
				sequences[s["contact_id"]] = s
				if s["contact_name"] == "Bill Lumbergh" {
					sequences["Bill"] = s
				}
			}
			if s := sequences[same]; s["reason"] != "duplicate_address" || s["duplicate_of"] != sequences["Bill"]["id"] {
				t.Errorf("the sequence with the same address is %v", s)
			}
			if s := sequences[other]; s["status"] != "active" {
				t.Errorf("the sequence of a new contact is %v", s)
			}
			p.checked(t, "at the end")
		})
	}
}

// sequencesAre checks what the sequences and messages of the build before show.
func (p *previousBuild) sequencesAre(t *testing.T, when string) {
	t.Helper()
	shown := map[string]string{}
	for _, s := range p.acme.records("/v1/sequences/list", "") {
		if s["contact_deleted"] != false || s["duplicate_of"] != nil || s["status"] != "active" {
			t.Errorf("%s: a sequence is %v", when, s)
		}
		shown[s["contact_name"].(string)] = s["contact_email"].(string)
	}
	if want := map[string]string{"Bill Lumbergh": "bill@initech.example", "Peter": "peter@initech.example"}; !maps.Equal(shown, want) {
		t.Errorf("%s: the sequences are those of %v", when, shown)
	}
	messages := p.acme.records("/v1/outbox/list", "")
	for id, m := range messages {
		if m["status"] != "sent" || m["contact_deleted"] != false {
			t.Errorf("%s: message %s is %v", when, id, m)
		}
	}
	if len(messages) != 2 {
		t.Errorf("%s: there are %d messages", when, len(messages))
	}
	if found := p.acme.records("/v1/sequences/list", `{"field": "contact_email", "condition": "is", "value": "Bill@INITECH.example"}`); len(found) != 1 {
		t.Errorf("%s: the address finds %q", when, slices.Sorted(maps.Keys(found)))
	}
}
