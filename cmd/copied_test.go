package cmd_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// copyData copies the data directory of a place as "cp -a" does.
func (p *place) copyData(to string) {
	p.t.Helper()
	if out, err := exec.Command("cp", "-a", p.path("data"), p.path(to)).CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
}

// TestCopiedStore starts a server on a copy of a data directory whose campaign had everything still to send, after the
// original has sent it. Nobody gets a message twice: the campaigns of the copy are held, also those that become active
// later, until resume. The original, and a compacted one, are not held.
func TestCopiedStore(t *testing.T) {
	t.Parallel()
	const contacts = 12
	o := newMailPlace(t)
	s := o.serve()
	campaign := o.campaign(s, oneMail, contacts)
	s.stop()
	_, s, closed := o.open(0) // without workers, so that nothing is sent yet
	o.begin(s, campaign)
	closed()
	o.copyData("copy")

	o.run("compact").ok()
	s = o.serve()
	s.haveHolds("the original", o.key, map[string]string{})
	o.awaitEnded(s, campaign)
	s.stop()
	s.hasNoErrors(noPublicURL)
	if got := len(o.sink.Await(contacts)); got != contacts {
		t.Fatalf("%d messages arrived, want %d", got, contacts)
	}

	s = o.serve("--data-dir", o.path("copy"))
	s.hasNoErrors(noPublicURL, "the store file is a copy", "reason=copied")
	s.awaitMilestone(milestone{"everybody has a sequence", func() bool {
		return strings.Contains(string(s.item(o.key, campaign+"/stats")), fmt.Sprintf(`"enrolled":%d,`, contacts))
	}})
	id := campaign[strings.LastIndex(campaign, "/")+1:]
	s.haveHolds("the copy", o.key, map[string]string{id: "copied"})
	late := o.newcomer(s)
	if held := string(s.item(o.key, late)); !strings.Contains(held, `"reason":"copied"`) || !strings.Contains(held, `"status":"active"`) {
		t.Errorf("a campaign that became active in the copy: %s", held)
	}
	s.do(http.StatusConflict, o.key, "PATCH", late, `{"status": "active"}`)
	s.stop()
	s = o.serve("--data-dir", o.path("copy")) // starting again releases nothing
	asks := o.run("resume", "--data-dir", o.path("copy"))
	if asks.status != 1 || !strings.Contains(asks.stdout, `Campaign "C" (copied): 12 steps overdue`) || !strings.Contains(asks.stderr, "decide with --overdue") {
		t.Errorf("resume exits with %d and prints %q, %q", asks.status, asks.stdout, asks.stderr)
	}
	o.run("resume", "--overdue", "skip", "--data-dir", o.path("copy")).says(`(?s)Campaign .*Released 2 campaigns and 0 deliveries\n`)
	s.haveHolds("resumed", o.key, map[string]string{})
	o.contact(s, "new@example.com", late) // the copy sends now
	mails := o.sink.Await(contacts + 1)
	seen := map[string]bool{}
	for _, m := range mails {
		what := strings.Join(m.To, ",") + " " + m.Header.Get("Subject")
		if seen[what] {
			t.Errorf("%s arrived twice", what)
		}
		seen[what] = true
	}
	if !seen["new@example.com Hello"] || len(seen) != contacts+1 {
		t.Errorf("these arrived: %v", seen)
	}
	s.stop()
	o.run("check", "--data-dir", o.path("copy")).withoutProgress().ok()
}

// newcomer creates an active campaign with an audience without contacts and returns its path.
func (o *mailPlace) newcomer(s *server) (path string) {
	s.t.Helper()
	template := s.id(s.do(http.StatusCreated, o.key, "POST", "/v1/sequence-templates", `{"name": "Late", `+oneMail+`}`))
	audience := s.id(s.do(http.StatusCreated, o.key, "POST", "/v1/audiences", `{"name": "Late"}`))
	path = "/v1/campaigns/" + s.id(s.do(http.StatusCreated, o.key, "POST", "/v1/campaigns",
		fmt.Sprintf(`{"name": "Late", "template_id": %q, "audience_ids": [%q]}`, template, audience)))
	o.begin(s, path)
	return path
}

// contact creates a contact in the audience of a campaign.
func (o *mailPlace) contact(s *server, email, campaign string) {
	s.t.Helper()
	var c struct {
		Audiences []struct{ ID string }
	}
	if err := json.Unmarshal(s.item(o.key, campaign), &c); err != nil {
		s.t.Fatal(err)
	}
	id := s.id(s.do(http.StatusCreated, o.key, "POST", "/v1/contacts", fmt.Sprintf(`{"email": %q}`, email)))
	s.do(http.StatusOK, o.key, "POST", "/v1/audiences/"+c.Audiences[0].ID+"/contacts/add", fmt.Sprintf(`{"contact_ids": [%q]}`, id))
}

// TestRestoredActivation: a campaign that becomes active after a restore and before resume is held at once, and can be
// released by itself. So is the store that the restore has kept aside when it is used again.
func TestRestoredActivation(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	_, key := p.org("Acme")
	s := p.serve()
	c := newCampaigner(s, key)
	old := c.campaign(s, "Old", "active")
	s.stop()
	p.run("backup", "then.backup").withoutProgress().ok()
	p.run("restore", "then.backup").withoutProgress().ok()
	s = p.serve()
	created := s.id(s.do(http.StatusCreated, key, "POST", "/v1/campaigns",
		fmt.Sprintf(`{"name": "Created", "template_id": %q, "audience_ids": [%q], "status": "active"}`, c.template, c.audience)))
	activated, draft := c.campaign(s, "Activated", "draft"), c.campaign(s, "Draft", "draft")
	c.patch(s, activated, `{"status": "active"}`)
	s.haveHolds("restored", key, map[string]string{old: "restored", created: "restored", activated: "restored"})
	s.do(http.StatusConflict, key, "PATCH", "/v1/campaigns/"+activated, `{"status": "active"}`)
	s.do(http.StatusOK, key, "POST", "/v1/campaigns/"+activated+"/release", `{}`)
	s.haveHolds("one released", key, map[string]string{old: "restored", created: "restored"})
	p.run("resume").says(`(?s)Campaign .*Released 2 campaigns and 0 deliveries\n`)
	c.patch(s, draft, `{"status": "active"}`)
	s.haveHolds("resumed", key, map[string]string{})
	s.stop()
	s.hasNoErrors("reason=restored")

	s = p.serve("--data-dir", p.aside())
	s.haveHolds("the store kept aside", key, map[string]string{old: "copied"})
	s.stop()
	p.passesCheck()
}
