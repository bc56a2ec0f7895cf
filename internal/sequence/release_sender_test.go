package sequence_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/store"
)

// restrict sets the sender domains of the organization.
func (m *mailer) restrict(domains ...string) {
	m.t.Helper()
	err := m.app.Store.Update(context.Background(), m.ID, store.Actor{Operation: "org set"}, func(tx *store.Tx) error {
		_, err := m.app.Identity.Configure(tx, apptest.Body(m.t, map[string]any{"sender_domains": domains}))
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

// perCampaign returns what a release has counted in each campaign: to_send, to_skip and to_restart.
func perCampaign(res *apptest.Response) (counts []string) {
	for _, c := range res.Value("data.campaigns").([]any) {
		c := c.(map[string]any)
		counts = append(counts, fmt.Sprint(c["name"], " ", c["id"], " ", c["to_send"], " ", c["to_skip"], " ", c["to_restart"], " ", c["may_duplicate"]))
	}
	return counts
}

// TestReleaseOfSender checks that a release with sender takes the campaigns that the same hold holds, paused ones too,
// and no other, with the figures of all.
func TestReleaseOfSender(t *testing.T) {
	m := newMailer(t)
	user := m.Admin.Post("/v1/users", `{"email": "zoe@globex.example"}`).Is(201).ID()
	owner := fmt.Sprintf(`, "owner_id": %q`, user)
	ids := apptest.ContactsOf(m.Org, "bob", "eve", "cat", "dan", "fay")
	outside := m.sends(twoMails, owner, ids[0])
	m.run()
	m.restrict("acme.example")
	m.restrict()
	first, paused, ended := m.sends(twoMails, owner, ids[1]), m.sends(twoMails, owner, ids[2]), m.sends(twoMails, owner)
	other := m.sends(twoMails, "", ids[3])
	m.run()
	m.Write.Patch(paused, `{"status": "paused"}`).Is(200)
	m.Write.Patch(ended, `{"status": "completed"}`).Is(200)
	m.Admin.Post("/v1/users/"+user+"/deactivate", nil).Is(200)
	m.Write.Post(first+"/release", `{"sender": true, "dry_run": true}`).Fails(409, "campaign_held", "zoe@globex.example")
	m.after(2 * time.Hour)
	m.Admin.Post("/v1/users/"+user+"/activate", nil).Is(200)
	m.held(outside, "active", "sender_not_allowed", "")
	m.held(first, "active", "owner_inactive", "")
	m.held(paused, "paused", "owner_inactive", "")
	m.arrived("bob Hello bob", "eve Hello eve", "cat Hello cat", "dan Hello dan", "dan Re: Hello dan")

	name := func(campaign string) string { return m.Read.Get(campaign).Is(200).Text("data.name") }
	m.Write.Post(first+"/release", `{"sender": true}`).Fails(422, "validation_failed", "required, because 2 steps are overdue")
	before := m.Dump()
	for body, want := range map[string][3]int{
		`{"sender": true, "dry_run": true, "overdue": "send"}`: {2, 0, 0}, `{"sender": true, "dry_run": true, "overdue": "skip"}`: {0, 2, 0},
		`{"dry_run": true, "overdue": "skip"}`: {0, 1, 0},
	} {
		res := m.releases(first, body, want)
		if n := len(perCampaign(res)); n != want[0]+want[1] {
			t.Errorf("%s: %d campaigns", body, n)
		}
	}
	if m.Dump() != before {
		t.Error("a trial has changed something")
	}
	res := m.releases(paused, `{"sender": true, "overdue": "send"}`, [3]int{2, 0, 0})
	want := []string{name(first) + " " + apptest.IDIn(first) + " 1 0 0 0", name(paused) + " " + apptest.IDIn(paused) + " 1 0 0 0"}
	if got := perCampaign(res); !slices.Equal(got, want) {
		t.Errorf("released %q, want %q", got, want)
	}
	if res.Text("data.campaign.id") != apptest.IDIn(paused) || res.Value("data.campaign.held") != nil {
		t.Errorf("the answer is %s", res.Body)
	}
	m.app.Crash()
	m.app.Start()
	m.run()
	m.held(first, "active", "", "")
	m.held(paused, "paused", "", "")
	m.held(outside, "active", "sender_not_allowed", "")
	m.held(ended, "completed", "", "")
	m.Write.Post(first+"/release", `{"sender": true}`).Fails(409, "campaign_not_held", "")
	m.held(other, "active", "", "")
	m.wantSequence(first, ids[1], "completed sent sent")
	m.wantSequence(paused, ids[2], "active sent waiting")
	m.wantSequence(outside, ids[0], "active sent waiting")
	m.checkConsistency()
}

// TestReleaseOfSenderIsWhole checks that a decision which one of the campaigns needs is asked before any is released, and
// that a choice holds in all of them.
func TestReleaseOfSenderIsWhole(t *testing.T) {
	m := capturing(t)
	ids := apptest.ContactsOf(m.Org, "bob", "eve", "cat")
	captured, ahead := m.sends(twoMails, "", ids[:2]...), m.sends(twoMails, "", ids[2])
	m.run()
	m.restartWith("smtp")
	m.after(30 * time.Minute)
	m.lacks(ahead, `{"sender": true}`, "captured")
	m.Write.Post(ahead+"/release", `{"sender": true}`).Fails(422, "validation_failed", "3 sequences have captured messages")
	m.held(captured, "active", "transport_changed", "")
	m.held(ahead, "active", "transport_changed", "")
	m.releases(ahead, `{"sender": true, "captured": "restart"}`, [3]int{0, 0, 3})
	m.run()
	m.arrived("bob Hello bob", "cat Hello cat", "eve Hello eve")
	m.after(2 * time.Hour)
	m.wantSequence(captured, ids[0], "completed sent sent")
	m.wantSequence(ahead, ids[2], "completed sent sent")
	m.checkConsistency()
}
