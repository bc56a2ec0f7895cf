package cmd_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// campaigner creates campaigns in an organization, with the records that they need.
type campaigner struct {
	key, template, audience string
}

func newCampaigner(s *server, key string) *campaigner {
	s.t.Helper()
	return &campaigner{
		key:      key,
		template: s.id(s.do(http.StatusCreated, key, "POST", "/v1/sequence-templates", `{"name": "Hello", "steps": [{"index": 0, "type": "call"}]}`)),
		audience: s.id(s.do(http.StatusCreated, key, "POST", "/v1/audiences", `{"name": "All"}`)),
	}
}

// campaign creates a campaign and brings it into a status.
func (c *campaigner) campaign(s *server, name, status string) (id string) {
	s.t.Helper()
	first := map[string]string{"completed": "active", "archived": "draft"}[status]
	if first == "" {
		first = status
	}
	id = s.id(s.do(http.StatusCreated, c.key, "POST", "/v1/campaigns",
		fmt.Sprintf(`{"name": %q, "template_id": %q, "audience_ids": [%q], "status": %q}`, name, c.template, c.audience, first)))
	c.patch(s, id, `{"status": "`+status+`"}`)
	return id
}

func (c *campaigner) patch(s *server, id, body string) {
	s.t.Helper()
	s.do(http.StatusOK, c.key, "PATCH", "/v1/campaigns/"+id, body)
}

// campaigns returns all campaigns of an organization by id, as the API returns them.
func (s *server) campaigns(key string) map[string]map[string]any {
	s.t.Helper()
	var list struct{ Data []map[string]any }
	if r := s.do(http.StatusOK, key, "POST", "/v1/campaigns/list", `{"page_size": 500}`); json.Unmarshal(r.body, &list) != nil {
		s.t.Fatalf("%s", r.body)
	}
	all := map[string]map[string]any{}
	for _, c := range list.Data {
		id := c["id"].(string)
		if read := inOrder(s.item(key, "/v1/campaigns/"+id)); read != asJSON(c) {
			s.t.Errorf("the list returns %s, but a read returns %s", asJSON(c), read)
		}
		all[id] = c
	}
	return all
}

// haveStatus checks the statuses of the campaigns of an organization by id.
func (s *server) haveStatus(what, key string, want map[string]string) {
	s.t.Helper()
	got := map[string]string{}
	for id, c := range s.campaigns(key) {
		got[id] = c["status"].(string)
	}
	if !maps.Equal(got, want) {
		s.t.Errorf("%s: the campaigns are %v, want %v", what, got, want)
	}
}

// haveHolds checks why the campaigns of an organization are held, by id. Those that are not held are
// left out.
func (s *server) haveHolds(what, key string, want map[string]string) {
	s.t.Helper()
	got := map[string]string{}
	for id, c := range s.campaigns(key) {
		if hold, held := c["held"].(map[string]any); held {
			got[id] = hold["reason"].(string)
		}
	}
	if !maps.Equal(got, want) {
		s.t.Errorf("%s: the holds are %v, want %v", what, got, want)
	}
}

// TestRestoreCampaigns checks that a restore holds all campaigns that can send and changes nothing
// else about them. A held campaign cannot become active. resume releases those that are still held.
// Subscribers receive all of these events once deliveries resume.
func TestRestoreCampaigns(t *testing.T) {
	t.Parallel()
	d := newWebhookPlace(t)
	_, otherKey := d.place.org("Umbrella")
	s := d.serve()
	acme, umbrella := newCampaigner(s, d.key), newCampaigner(s, otherKey)
	ids, statuses, holds := map[string]string{}, map[string]string{}, map[string]string{}
	for name, status := range map[string]string{
		"draft": "draft", "paused": "paused", "completed": "completed", "archived before": "archived",
		"left alone": "active", "renamed": "active", "released": "active", "archived": "active",
	} {
		ids[name] = acme.campaign(s, name, status)
		statuses[ids[name]] = status
		if status != "completed" && status != "archived" {
			holds[ids[name]] = "restored"
		}
	}
	far := umbrella.campaign(s, "Far", "active")
	b := newSubscriber(t, nil)
	b.subscribe(s, d.key, "campaign.*")
	before := s.campaigns(d.key)
	d.run("backup", "then.backup").withoutProgress().ok()
	acme.patch(s, ids["left alone"], `{"status": "archived", "name": "Later"}`)
	b.awaitDeliveries(1)
	s.stop()
	b.forget()

	d.run("restore", "then.backup").withoutProgress().ok()
	s = d.serve()
	s.haveStatus("restored", d.key, statuses)
	s.haveHolds("restored", d.key, holds)
	s.haveHolds("restored, the other organization", otherKey, map[string]string{far: "restored"})
	for id, c := range s.campaigns(d.key) {
		was := maps.Clone(before[id])
		if holds[id] != "" {
			was["held"], was["updated_at"] = c["held"], c["updated_at"]
		}
		if asJSON(c) != asJSON(was) {
			t.Errorf("the restored campaign is %s, before it was %s", asJSON(c), asJSON(was))
		}
	}
	s.stop()
	s = d.serve() // starting a server releases nothing
	s.haveHolds("started again", d.key, holds)

	acme.patch(s, ids["renamed"], `{"name": "Renamed", "prioritized": true}`)
	acme.patch(s, ids["archived"], `{"status": "archived"}`)
	s.do(http.StatusConflict, d.key, "PATCH", "/v1/campaigns/"+ids["paused"], `{"status": "active"}`)
	s.do(http.StatusConflict, d.key, "PATCH", "/v1/campaigns/"+ids["draft"], `{"status": "active"}`)
	s.do(http.StatusOK, d.key, "POST", "/v1/campaigns/"+ids["released"]+"/release", `{}`)
	statuses[ids["archived"]] = "archived"
	if got := b.all(); len(got) > 0 {
		t.Errorf("deliveries arrived during the outbound hold: %v", got)
	}
	var resumed struct {
		Campaigns  []struct{ Name, Reason string }
		Deliveries *int
	}
	if r := d.run("resume", "--json").ok(); json.Unmarshal([]byte(r.stdout), &resumed) != nil || len(resumed.Campaigns) != 5 || resumed.Deliveries == nil {
		t.Errorf("resume prints %s", r.stdout)
	}
	s.haveStatus("resumed", d.key, statuses)
	s.haveHolds("resumed", d.key, map[string]string{})
	s.haveHolds("resumed, the other organization", otherKey, map[string]string{})

	var want []string
	for name, events := range map[string]string{
		"draft": "held released", "paused": "held released", "left alone": "held released", "renamed": "held updated released",
		"released": "held released", "archived": "held archived",
	} {
		for _, event := range strings.Fields(events) {
			want = append(want, name+" "+event)
		}
	}
	var got []string
	for _, delivered := range b.awaitDeliveries(len(want)) {
		for name, id := range ids {
			if id == delivered.object {
				got = append(got, name+" "+strings.TrimPrefix(delivered.trigger, "campaign."))
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the delivered events are %q, want %q", got, want)
	}

	d.run("resume", "--json").prints(`{"campaigns": [], "deliveries": 0}`)
	d.run("resume").says("Released 0 campaigns and 0 deliveries\n")
	s.stop()
	s = d.serve()
	s.haveStatus("started once more", d.key, statuses)
	s.stop()
	s.hasNoErrors()
	d.passesCheck()
}

// TestRestoreHeldCampaigns restores a backup that was made while campaigns were held by a restore, and
// resumes without a server.
func TestRestoreHeldCampaigns(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	_, key := p.org("Acme")
	s := p.serve()
	c := newCampaigner(s, key)
	active, paused := c.campaign(s, "Active", "active"), c.campaign(s, "Paused", "paused")
	s.stop()
	p.run("backup", "first").withoutProgress().ok()
	p.run("restore", "first").withoutProgress().ok()
	p.run("backup", "held").withoutProgress().ok()
	p.run("resume").says(`(?s)Campaign .*` + "Released 2 campaigns and 0 deliveries\n")
	p.run("restore", "held").withoutProgress().ok()
	s = p.serve()
	s.haveHolds("restored", key, map[string]string{active: "restored", paused: "restored"})
	s.stop()
	p.run("resume", "--dry-run").says(`(?s)Campaign .*` + "Would release 2 campaigns and 0 deliveries\n")
	p.run("resume").says(`(?s)Campaign .*` + "Released 2 campaigns and 0 deliveries\n")
	p.run("resume", "--json").prints(`{"campaigns": [], "deliveries": 0}`)
	s = p.serve()
	s.haveHolds("resumed", key, map[string]string{})
	s.haveStatus("resumed", key, map[string]string{active: "active", paused: "paused"})
	s.stop()
	s.hasNoErrors()
	p.passesCheck()
}

// TestRestoreEndedCampaigns checks that a campaign whose end_date has passed since the backup is
// completed, held or not, and is not resumed.
func TestRestoreEndedCampaigns(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	var key string
	ids := map[string]string{}
	t.Run("then", func(t *testing.T) { // in March 2026
		app := apptest.New(t, func(c *service.Config) { c.DataDir = p.path("data") })
		org := app.Org("Acme")
		key = org.Admin.Key
		template := org.Write.Post("/v1/sequence-templates", `{"name": "Hello", "steps": [{"index": 0, "type": "call"}]}`).Is(201).ID()
		audience := org.Write.Post("/v1/audiences", `{"name": "All"}`).Is(201).ID()
		for name, end := range map[string]any{"ends": "2026-03-05", "goes on": nil, "ends later": "9999-12-31"} {
			ids[name] = org.Write.Post("/v1/campaigns", map[string]any{"name": name, "template_id": template, "audience_ids": []string{audience}, "status": "active", "end_date": end}).Is(201).ID()
		}
	})
	p.run("backup", "then.backup").withoutProgress().ok()
	p.run("restore", "then.backup").withoutProgress().ok()
	s := p.serve()
	s.awaitMilestone(milestone{"the end has passed", func() bool {
		return strings.Contains(string(s.item(key, "/v1/campaigns/"+ids["ends"])), `"status":"completed"`)
	}})
	s.haveHolds("restored", key, map[string]string{ids["goes on"]: "restored", ids["ends later"]: "restored"})
	p.run("resume").says(`(?s)Campaign .*` + "Released 2 campaigns and 0 deliveries\n")
	s.haveHolds("resumed", key, map[string]string{})
	s.haveStatus("resumed", key, map[string]string{ids["ends"]: "completed", ids["goes on"]: "active", ids["ends later"]: "active"})
	s.stop()
	p.passesCheck()
}

// TestResumeOverdue checks that resume asks what becomes of the steps that have become overdue since
// the backup, counts them without changing anything, and then skips them.
func TestResumeOverdue(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	var key, campaign string
	t.Run("then", func(t *testing.T) { // in March 2026
		app := apptest.New(t, func(c *service.Config) { c.DataDir = p.path("data") })
		org := app.Org("Acme")
		key = org.Admin.Key
		contact := org.Write.Post("/v1/contacts", `{"email": "bob@example.org", "first_name": "Bob"}`).Is(201).ID()
		template := org.Write.Post("/v1/sequence-templates",
			`{"name": "Hello", "steps": [{"index": 0, "type": "auto_email", "day": 1, "subject": "Hi", "message": "Hi"}]}`).Is(201).ID()
		audience := org.Write.Post("/v1/audiences", map[string]any{"name": "All", "contact_ids": []string{contact}}).Is(201).ID()
		campaign = org.Write.Post("/v1/campaigns", map[string]any{"name": "Spring", "template_id": template, "audience_ids": []string{audience}, "status": "active"}).Is(201).ID()
		app.Work()
	})
	p.run("backup", "then.backup").withoutProgress().ok()
	p.run("restore", "then.backup").withoutProgress().ok()
	asks := p.run("resume")
	if want := `Campaign "Spring" (restored): 1 steps overdue, 0 sequences with captured messages, 0 messages unknown
  --overdue: required, because 1 steps are overdue: send or skip
`; asks.stdout != want {
		t.Errorf("resume prints %q, want %q", asks.stdout, want)
	}
	asks.stdout = ""
	asks.fails(1, "nothing was released: decide with --overdue")
	p.run("resume", "--overdue", "later").fails(2, `--overdue: "later" is not one of: send, skip`)
	p.run("resume", "--overdue", "skip", "--captured", "yes").fails(2, `--captured: "yes" is not one of: restart, keep`)
	p.run("resume", "--overdue", "skip", "--unknown", "yes").fails(2, `--unknown: "yes" is not one of: sent, retry, keep`)
	p.run("resume", "--overdue", "send", "--dry-run").says(`Campaign "Spring" \(restored\): 1 to send, 0 to skip, 0 to restart` + "\nWould release 1 campaigns and 0 deliveries\n")
	p.run("resume", "--overdue", "skip").says(`Campaign "Spring" \(restored\): 0 to send, 1 to skip, 0 to restart` + "\nReleased 1 campaigns and 0 deliveries\n")
	s := p.serve()
	s.haveHolds("resumed", key, map[string]string{})
	s.awaitMilestone(milestone{"the step is skipped", func() bool {
		return strings.Contains(string(s.do(http.StatusOK, key, "POST", "/v1/campaigns/"+campaign+"/sequences/list", `{}`).body), `"status":"skipped"`)
	}})
	s.stop()
	s.hasNoErrors()
	p.passesCheck()
}
