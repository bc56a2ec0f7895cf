package sequence_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"prospector/internal/apptest"
)

// undoing is a campaign with two audiences: many contacts that are stopped, and one that is not.
type undoing struct {
	*engineFixture
	campaign, audience string
	ids                []string
}

func newUndoing(t *testing.T, n int) *undoing {
	u := &undoing{engineFixture: newEngineFixture(t)}
	u.ids = u.contacts(n)
	u.audience = simAudience(u.Org, u.ids...)
	u.campaign = simCampaign(u.Org, u.audience, map[string]any{"status": "active"}, []simStep{simMail(0, 0, 9), simCall(1, 0, 8), simMail(2, 1, 9)})
	keeps := simAudience(u.Org, simContacts(u.Org, `{"email": "keep@y.example"}`)...)
	u.Write.Post(u.campaign+"/audiences/add", apptest.AudienceIDs(keeps)).Is(200)
	u.to("03-02 12:00")
	if sent := len(u.outbox()); sent != n+1 {
		t.Fatalf("%d messages were sent", sent)
	}
	return u
}

func (u *undoing) members(change string) {
	u.t.Helper()
	u.Write.Post("/v1/audiences/"+u.audience+"/contacts/"+change, map[string]any{"contact_ids": u.ids}).Is(200)
}

func (u *undoing) attached(change string) {
	u.t.Helper()
	u.Write.Post(u.campaign+"/audiences/"+change, apptest.AudienceIDs(u.audience)).Is(200)
}

func (u *undoing) suppress() (release func()) {
	u.t.Helper()
	id := u.Admin.Post("/v1/suppressions", `{"domain": "x.example"}`).Is(201).ID()
	return func() { u.Admin.Delete("/v1/suppressions/" + id).Is(204) }
}

func (u *undoing) complete() { u.Write.Patch(u.campaign, `{"status": "completed"}`).Is(200) }

// allStopped requires that all sequences except one were stopped for the reason, and that nothing
// has happened to them since.
func (u *undoing) allStopped(reason string) {
	u.t.Helper()
	u.app.Work()
	u.to("03-05 12:00")
	for _, s := range u.sequences(u.campaign) {
		if s.Status == "stopped" && *s.Reason == reason {
			continue
		}
		if email := u.Read.Get("/v1/contacts/" + s.Contact).Is(200).Text("data.email"); email != "keep@y.example" {
			u.t.Fatalf("%s: %+v", email, s)
		}
	}
	n := len(u.ids)
	stats := u.Read.Get(u.campaign + "/stats").Is(200)
	if got, ended := apptest.AsJSON(stats.Value("data.stopped_by_reason")), stats.Int("data.stopped"); got != fmt.Sprintf(`{"%s":%d}`, reason, ended) || ended < n {
		u.t.Errorf("stats = %s", stats.Body)
	}
	if sent := stats.Int("data.messages_sent"); sent > n+2 {
		u.t.Errorf("%d messages were sent afterwards", sent-n-2)
	}
	u.agrees(u.campaign)
}

// undoCases are the events that stop a whole audience, each with its reversal.
var undoCases = []struct {
	name, reason string
	stop         func(u *undoing) (undo func())
}{
	{"detached and attached", "left_audience", func(u *undoing) func() {
		u.attached("remove")
		return func() { u.attached("add") }
	}},
	{"suppressed and released", "suppressed", (*undoing).suppress},
	{"removed and added", "left_audience", func(u *undoing) func() {
		u.members("remove")
		return func() { u.members("add") }
	}},
	{"detached and enrolled", "left_audience", func(u *undoing) func() {
		u.attached("remove")
		return func() { u.Write.Post(u.campaign+"/enroll", enrolling("Again", u.ids...)).Is(200) }
	}},
}

// TestEngineStopsUndone checks that all stopped sequences stay stopped for their reason, however
// soon the cause is reversed and however many there are: up to 600, or 3000 with PROSPECTOR_SOAK.
func TestEngineStopsUndone(t *testing.T) {
	for _, c := range apptest.SomeRaced(1, undoCases[:3]) {
		for _, n := range []int{50, apptest.Soaked(3000, 600, 600)} {
			t.Run(fmt.Sprint(c.name, " ", n), func(t *testing.T) {
				u := newUndoing(t, n)
				c.stop(u)()
				u.allStopped(c.reason)
			})
		}
	}
}

// TestEngineStopsUndoneWhileStopping checks the same while jobs are still stopping sequences, and
// across a restart.
func TestEngineStopsUndoneWhileStopping(t *testing.T) {
	for _, c := range apptest.SomeRaced(2, undoCases) {
		t.Run(c.name, func(t *testing.T) {
			u := newUndoing(t, 600)
			ctx, cancel := context.WithCancel(context.Background())
			var worker sync.WaitGroup
			worker.Go(func() { u.app.Worker.Run(ctx) })
			c.stop(u)()
			cancel()
			worker.Wait()
			u.allStopped(c.reason)
		})
		t.Run(c.name+" after a restart", func(t *testing.T) {
			u := newUndoing(t, manySequences)
			undo := c.stop(u)
			u.app.Restart()
			undo()
			u.allStopped(c.reason)
		})
	}
}

// TestEngineStopsForTheFirstReason checks that a second cause does not change the reason of
// sequences that are already stopped but not cleaned up yet.
func TestEngineStopsForTheFirstReason(t *testing.T) {
	patch := func(u *undoing, id, body string) { u.Write.Patch("/v1/contacts/"+id, body).Is(200) }
	for _, c := range []struct {
		name, reason string
		stop, then   func(u *undoing)
	}{
		{"detached, then suppressed", "left_audience", func(u *undoing) { u.attached("remove") }, func(u *undoing) { u.suppress() }},
		{"suppressed, then removed", "suppressed", func(u *undoing) { u.suppress() }, func(u *undoing) { u.members("remove") }},
		{"completed, then archived", "campaign_ended", (*undoing).complete, func(u *undoing) { u.Write.Patch(u.campaign, `{"status": "archived"}`).Is(200) }},
		{"removed, then opted out", "left_audience", func(u *undoing) { u.members("remove") }, func(u *undoing) { patch(u, u.ids[manySequences-1], `{"do_not_contact": true}`) }},
		{"suppressed, then another address", "suppressed", func(u *undoing) { u.suppress() }, func(u *undoing) { patch(u, u.ids[manySequences-1], `{"email": "elsewhere@y.example"}`) }},
		{"removed, then the address suppressed", "left_audience", func(u *undoing) { u.members("remove") }, func(u *undoing) {
			u.Admin.Post("/v1/suppressions", fmt.Sprintf(`{"email": "c%d@x.example"}`, manySequences-1)).Is(201)
		}},
		{"removed, then stopped by hand", "left_audience", func(u *undoing) { u.members("remove") }, func(u *undoing) {
			id := u.sequence(u.campaign, u.ids[manySequences-1]).ID
			for _, path := range []string{u.campaign + "/sequences/" + id, "/v1/sequences/" + id} {
				u.Write.Post(path+"/stop", `{"reason": "manual"}`).Fails(409, "invalid_transition", "stopped")
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUndoing(t, manySequences)
			c.stop(u)
			c.then(u)
			u.allStopped(c.reason)
		})
	}
}
