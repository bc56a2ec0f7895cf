package sequence_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
	"prospector/store"
)

// capturing returns a mailer that captures messages. restartWith gives it the mail server.
func capturing(t *testing.T) *mailer {
	t.Helper()
	return newMailer(t, func(cfg *service.Config) { cfg.Mail.Transport = "outbox" })
}

func (m *mailer) restartWith(transport string) {
	m.t.Helper()
	m.app.Stop()
	m.app.Config.Mail.Transport = transport
	m.app.Start()
	m.run()
}

// held requires that a campaign is held for the reason, with a detail that contains the text, and has
// the status. An empty reason means that it is not held.
func (m *mailer) held(campaign, status, reason, detail string) {
	m.t.Helper()
	res := m.Read.Get(campaign).Is(200)
	if got := res.Text("data.status"); got != status {
		m.t.Errorf("the campaign is %s, want %s", got, status)
	}
	if reason == "" {
		if got := res.Value("data.held"); got != nil {
			m.t.Errorf("the campaign is held: %v", got)
		}
		return
	}
	held, is := res.Value("data.held").(map[string]any)
	if !is || len(held) != 3 || held["reason"] != reason || !strings.Contains(held["detail"].(string), detail) {
		m.t.Errorf("held is %v, want %s with %q", res.Value("data.held"), reason, detail)
	}
}

// releases releases a campaign and requires what the release counts, in the order to_send, to_skip,
// to_restart.
func (m *mailer) releases(campaign, body string, want [3]int) *apptest.Response {
	m.t.Helper()
	res := m.Write.Post(campaign+"/release", body).Is(200)
	if got := [3]int{res.Int("data.to_send"), res.Int("data.to_skip"), res.Int("data.to_restart")}; got != want {
		m.t.Errorf("release %s: %v to send, skip and restart, want %v", body, got, want)
	}
	return res
}

// lacks requires that a release is refused because exactly these members are missing.
func (m *mailer) lacks(campaign, body string, members ...string) {
	m.t.Helper()
	res := m.Write.Post(campaign+"/release", body).Fails(422, "validation_failed", "required, because ")
	message := string(res.Body)
	for _, member := range []string{"overdue", "captured", "unknown"} {
		want := slices.Contains(members, member)
		if got := strings.Contains(message, fmt.Sprintf(`"path":%q`, member)); got != want {
			m.t.Errorf("release %s: %q names %s: %v, want %v", body, message, member, got, want)
		}
	}
}

// heldAfterCapture is a campaign with two captured sequences, whose second email is overdue, and a
// third sequence without captured messages, whose first email is overdue.
func heldAfterCapture(t *testing.T) (m *mailer, campaign string, ids []string) {
	t.Helper()
	m = capturing(t)
	ids = apptest.ContactsOf(m.Org, "bob", "eve", "cat")
	campaign = m.sends(twoMails, "", ids[:2]...)
	m.run()
	m.restartWith("smtp")
	m.after(30 * time.Minute)
	audience := m.Read.Get(campaign).Is(200).Text("data.audiences.0.id")
	m.Write.Post("/v1/audiences/"+audience+"/contacts/add", map[string]any{"contact_ids": ids[2:]}).Is(200)
	m.after(2 * time.Hour)
	m.wantSequence(campaign, ids[0], "active captured waiting")
	m.wantSequence(campaign, ids[2], "active waiting")
	return m, campaign, ids
}

// TestCapturedIsNotSent checks that captured messages are counted apart from sent ones, and that
// campaigns show what they run with.
func TestCapturedIsNotSent(t *testing.T) {
	m := capturing(t)
	hooks := apptest.NewReceiver(t)
	hooks.Subscribe(m.Org, "message.captured", "message.sent")
	ids := apptest.ContactsOf(m.Org, "bob")
	draft := m.Write.Post("/v1/campaigns", map[string]any{
		"name": "Draft", "audience_ids": []string{apptest.IDIn(apptest.AudienceOf(m.Org, "One", ids...))},
		"template_id": m.Write.Post("/v1/sequence-templates", `{"name": "T", `+apptest.OneMail+`}`).Is(201).ID(),
	}).Is(201)
	if got := draft.Value("data.transport"); got != nil {
		t.Errorf("a draft runs with %v", got)
	}
	campaign := m.sends(apptest.OneMail, "", ids...)
	m.run()
	m.is("bob", 0, "captured", "")
	m.wantSequence(campaign, ids[0], "completed captured")
	if got := m.Read.Get(campaign).Is(200).Text("data.transport"); got != "outbox" {
		t.Errorf("the campaign runs with %s", got)
	}
	stats := m.Read.Get(campaign + "/stats").Is(200)
	if sent, captured := stats.Int("data.messages_sent"), stats.Int("data.messages_captured"); sent != 0 || captured != 1 {
		t.Errorf("%d sent and %d captured", sent, captured)
	}
	m.app.Deliver()
	if got := hooks.One().Event(t).TriggerKey; got != "message.captured" {
		t.Errorf("the event is %s", got)
	}
	m.restartWith("smtp")
	other := m.sends(apptest.OneMail, "", apptest.ContactsOf(m.Org, "eve")...)
	m.run()
	if got := m.Read.Get(other).Is(200).Text("data.transport"); got != "smtp" {
		t.Errorf("the new campaign runs with %s", got)
	}
	m.is("eve", 0, "sent", "")
	m.arrived("eve Hello eve")
}

// TestHeldTransportChanged checks which campaigns another transport holds, that nothing of them goes
// out, and what can be done with them meanwhile.
func TestHeldTransportChanged(t *testing.T) {
	m := capturing(t)
	hooks := apptest.NewReceiver(t)
	hooks.Subscribe(m.Org, "campaign.held", "campaign.released")
	ids := apptest.ContactsOf(m.Org, "bob", "eve", "cat", "dan", "fay")
	active, paused, ended := m.sends(twoMails, "", ids[0]), m.sends(twoMails, "", ids[1]), m.sends(twoMails, "", ids[2])
	fresh := m.sends(twoMails, `, "end_date": "2026-03-20"`) // nobody is in it, so nothing was captured
	m.run()
	m.Write.Patch(paused, `{"status": "paused"}`).Is(200)
	m.Write.Patch(ended, `{"status": "completed"}`).Is(200)
	m.restartWith("outbox")
	m.held(active, "active", "", "")
	m.restartWith("smtp")

	m.held(active, "active", "transport_changed", "smtp")
	m.held(paused, "paused", "transport_changed", "smtp")
	m.held(ended, "completed", "", "")
	m.held(fresh, "active", "", "")
	if got := m.Read.Get(active).Text("data.transport"); got != "smtp" {
		t.Errorf("the held campaign runs with %s", got)
	}
	m.app.Deliver()
	hooks.Wants("another transport", map[string]string{"active": apptest.IDIn(active), "paused": apptest.IDIn(paused)}, "/0 campaign.held active", "/0 campaign.held paused")
	m.after(24 * time.Hour)
	m.arrived()

	for _, campaign := range []string{active, paused} {
		m.Write.Patch(campaign, `{"status": "active"}`).Fails(409, "campaign_held", "transport_changed")
	}
	m.Write.Patch(active, `{"name": "Renamed", "prioritized": true}`).Is(200)
	m.Write.Patch(active, `{"status": "paused"}`).Is(200)
	m.held(active, "paused", "transport_changed", "smtp")
	m.Write.Patch(active, `{"status": "active"}`).Fails(409, "campaign_held", "transport_changed")
	m.restartWith("smtp")
	m.held(active, "paused", "transport_changed", "smtp")

	// A paused campaign that is released stays paused.
	m.releases(active, `{"overdue": "send", "captured": "keep"}`, [3]int{1, 0, 0})
	m.run()
	m.held(active, "paused", "", "")
	m.arrived()
	m.app.Deliver()
	hooks.Wants("release", map[string]string{"active": apptest.IDIn(active)}, "/0 campaign.released active")
	m.Write.Patch(active, `{"status": "active"}`).Is(200)
	m.run()
	m.arrived("bob Hello bob")

	// A campaign that ends is not held any more.
	m.Write.Patch(paused, `{"status": "completed"}`).Is(200)
	m.held(paused, "completed", "", "")
	m.wantSequence(paused, ids[1], "stopped:campaign_ended captured skipped")
	for _, campaign := range []string{paused, active, ended, fresh} {
		m.Write.Post(campaign+"/release", `{}`).Fails(409, "campaign_not_held", "not held")
	}
	m.checkConsistency()
}

// TestHeldArchived checks that a held campaign can be archived.
func TestHeldArchived(t *testing.T) {
	m, campaign, ids := heldAfterCapture(t)
	m.Write.Patch(campaign, `{"status": "archived"}`).Is(200)
	m.run()
	m.held(campaign, "archived", "", "")
	m.wantSequence(campaign, ids[0], "stopped:campaign_archived captured skipped")
	m.Write.Post(campaign+"/release", `{}`).Fails(409, "campaign_not_held", "")
	m.arrived()
}

// TestReleaseAsks checks which decisions a release requires, and that a trial changes nothing.
func TestReleaseAsks(t *testing.T) {
	m, campaign, _ := heldAfterCapture(t)
	m.lacks(campaign, `{}`, "overdue", "captured")
	m.lacks(campaign, `{"overdue": "send"}`, "captured")
	m.lacks(campaign, `{"captured": "keep"}`, "overdue")
	m.lacks(campaign, `{"captured": "restart"}`, "overdue") // cat has captured nothing
	m.lacks(campaign, `{"dry_run": true}`, "overdue", "captured")
	m.Write.Post(campaign+"/release", `{"overdue": "later", "captured": "drop"}`).Fails(422, "validation_failed", `overdue: "later" is not one of: send, skip`)
	m.Write.Post(campaign+"/release", `{"captured": "drop"}`).Fails(422, "validation_failed", `captured: "drop" is not one of: restart, keep`)
	m.Read.Post(campaign+"/release", `{}`).Fails(403, "forbidden", "")
	before := m.Dump()
	for _, c := range []struct {
		body string
		want [3]int
	}{
		{`{"dry_run": true, "overdue": "send", "captured": "keep"}`, [3]int{3, 0, 0}},
		{`{"dry_run": true, "overdue": "skip", "captured": "keep"}`, [3]int{0, 3, 0}},
		{`{"dry_run": true, "overdue": "send", "captured": "restart"}`, [3]int{1, 0, 2}},
		{`{"dry_run": true, "overdue": "skip", "captured": "restart"}`, [3]int{0, 1, 2}},
	} {
		t.Run(c.body, func(t *testing.T) {
			m := &mailer{m.Org, t, m.app, m.server}
			res := m.releases(campaign, c.body, c.want)
			if held, is := res.Value("data.campaign.held").(map[string]any); !is || held["reason"] != "transport_changed" {
				t.Errorf("the campaign is not held after a trial: %s", res.Body)
			}
		})
	}
	if m.Dump() != before {
		t.Error("a trial has changed something")
	}
	m.run()
	m.held(campaign, "active", "transport_changed", "")
	m.arrived()
}

// TestReleaseAsksOnlyWhatMatters checks that a release needs no decision about what there is not.
func TestReleaseAsksOnlyWhatMatters(t *testing.T) {
	t.Run("nothing overdue", func(t *testing.T) {
		m := capturing(t)
		ids := apptest.ContactsOf(m.Org, "bob")
		campaign := m.sends(twoMails, "", ids...)
		m.run()
		m.restartWith("smtp")
		m.lacks(campaign, `{}`, "captured")
		m.releases(campaign, `{"captured": "keep"}`, [3]int{})
		m.run()
		m.arrived()
		m.after(time.Hour)
		m.arrived("bob Hello bob")
	})
	t.Run("all overdue steps begin again", func(t *testing.T) {
		m := capturing(t)
		ids := apptest.ContactsOf(m.Org, "bob")
		campaign := m.sends(twoMails, "", ids...)
		m.run()
		m.restartWith("smtp")
		m.after(2 * time.Hour)
		m.releases(campaign, `{"captured": "restart"}`, [3]int{0, 0, 1})
		m.run()
		m.arrived("bob Hello bob")
	})
	t.Run("nothing captured", func(t *testing.T) {
		m := newMailer(t)
		user := m.Admin.Post("/v1/users", `{"email": "zoe@acme.example"}`).Is(201).ID()
		campaign := m.sends(twoMails, fmt.Sprintf(`, "owner_id": %q`, user), apptest.ContactsOf(m.Org, "bob")...)
		m.run()
		m.Admin.Post("/v1/users/"+user+"/deactivate", nil).Is(200)
		m.Admin.Post("/v1/users/"+user+"/activate", nil).Is(200)
		m.releases(campaign, `{}`, [3]int{})
		m.after(time.Hour)
		m.arrived("bob Hello bob", "bob Re: Hello bob")
	})
	t.Run("back to the outbox", func(t *testing.T) { // what was captured stays so
		m, campaign, ids := heldAfterCapture(t)
		m.restartWith("outbox")
		m.held(campaign, "active", "transport_changed", "")
		m.lacks(campaign, `{}`, "overdue")
		m.releases(campaign, `{"overdue": "send"}`, [3]int{3, 0, 0})
		m.run()
		m.wantSequence(campaign, ids[0], "completed captured captured")
		m.arrived()
	})
}

// TestRelease checks what becomes of overdue steps and captured messages. Nothing is lost when the
// service restarts or crashes before the release is applied.
func TestRelease(t *testing.T) {
	for _, c := range []struct {
		name, body string
		counts     [3]int
		bob, cat   string
		arrived    []string
		later      []string // an hour later
	}{
		{"send and keep", `{"overdue": "send", "captured": "keep"}`, [3]int{3, 0, 0}, "completed captured sent", "active sent waiting",
			[]string{"bob Hello bob", "eve Hello eve", "cat Hello cat"}, []string{"cat Re: Hello cat"}},
		{"skip and keep", `{"overdue": "skip", "captured": "keep"}`, [3]int{0, 3, 0}, "completed captured skipped", "active skipped waiting",
			nil, []string{"cat Hello cat"}},
		{"send and restart", `{"overdue": "send", "captured": "restart"}`, [3]int{1, 0, 2}, "active sent waiting", "active sent waiting",
			[]string{"bob Hello bob", "eve Hello eve", "cat Hello cat"}, []string{"bob Re: Hello bob", "eve Re: Hello eve", "cat Re: Hello cat"}},
		{"skip and restart", `{"overdue": "skip", "captured": "restart"}`, [3]int{0, 1, 2}, "active sent waiting", "active skipped waiting",
			[]string{"bob Hello bob", "eve Hello eve"}, []string{"bob Re: Hello bob", "eve Re: Hello eve", "cat Hello cat"}},
	} {
		for when, interrupt := range map[string]func(*apptest.App){
			"": func(*apptest.App) {}, ", restart": (*apptest.App).Restart, ", crash": func(app *apptest.App) { app.Crash(); app.Start() },
		} {
			t.Run(c.name+when, func(t *testing.T) {
				m, campaign, ids := heldAfterCapture(t)
				if held := m.releases(campaign, c.body, c.counts).Value("data.campaign.held"); held != nil {
					t.Errorf("the campaign is still held: %v", held)
				}
				m.Write.Post(campaign+"/release", c.body).Fails(409, "campaign_not_held", "")
				interrupt(m.app)
				m.run()
				m.held(campaign, "active", "", "")
				m.wantSequence(campaign, ids[0], c.bob)
				m.wantSequence(campaign, ids[2], c.cat)
				m.arrived(c.arrived...)
				for _, mail := range m.server.Mails() { // nobody has received what it would refer to
					if in := mail.Header.Get("In-Reply-To"); in != "" {
						t.Errorf("the message to %s refers to %s", mail.To, in)
					}
				}
				m.after(time.Hour)
				m.arrived(append(c.later, c.arrived...)...)
				m.checkConsistency()
			})
		}
	}
}

// TestReleaseAgain checks that a campaign that captures again after its release is held again.
func TestReleaseAgain(t *testing.T) {
	m, campaign, ids := heldAfterCapture(t)
	m.releases(campaign, `{"overdue": "skip", "captured": "restart"}`, [3]int{0, 1, 2})
	m.run()
	m.restartWith("outbox")
	m.held(campaign, "active", "", "") // nothing is captured any more
	m.after(time.Hour)
	m.wantSequence(campaign, ids[0], "completed sent captured")
	m.restartWith("smtp")
	m.held(campaign, "active", "transport_changed", "")
	m.releases(campaign, `{"captured": "restart"}`, [3]int{0, 0, 3})
	m.run()
	m.wantSequence(campaign, ids[0], "completed sent sent") // what was received is not sent again
	m.checkConsistency()
}

// TestReleaseRepeatsCaptured checks that a captured email after one that was received is sent, and that
// the email after it follows. A Task that followed from it stays.
func TestReleaseRepeatsCaptured(t *testing.T) {
	m := newMailer(t)
	bob := apptest.ContactsOf(m.Org, "bob")[0]
	campaign := m.sends(`"steps": [{"index": 0, "type": "auto_email", "subject": "Hello {{recipient.first_name}}", "message": "0"},
		{"index": 1, "type": "auto_email", "message": "1"}, {"index": 2, "type": "auto_email", "message": "2"}, {"index": 3, "type": "call"}],
		"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES", "post_check_delay": 1, "post_check_time_unit": "hours"},
			{"from_step_index": 1, "to_step_index": 2, "transition_type": "PREVIOUS_STEP_COMPLETES", "post_check_delay": 1, "post_check_time_unit": "hours"},
			{"from_step_index": 1, "to_step_index": 3, "transition_type": "PREVIOUS_STEP_COMPLETES"}]`, "", bob)
	m.run()
	m.restartWith("outbox")
	m.after(time.Hour)
	m.wantSequence(campaign, bob, "active sent captured waiting task_open")
	m.restartWith("smtp")
	m.releases(campaign, `{"captured": "restart"}`, [3]int{0, 0, 1})
	m.run()
	m.wantSequence(campaign, bob, "active sent sent task_open waiting")
	m.arrived("bob Hello bob", "bob Re: Hello bob")
	m.after(time.Hour)
	m.wantSequence(campaign, bob, "active sent sent task_open sent")
	m.arrived("bob Hello bob", "bob Re: Hello bob", "bob Re: Hello bob")
	m.checkConsistency()
}

// TestHeldOwnerInactive checks that the campaigns of a deactivated user are held until the user is
// active again or another one owns them.
func TestHeldOwnerInactive(t *testing.T) {
	m := newMailer(t)
	hooks := apptest.NewReceiver(t)
	hooks.Subscribe(m.Org, "campaign.held", "campaign.released")
	user := m.Admin.Post("/v1/users", `{"email": "zoe@acme.example"}`).Is(201).ID()
	owner := fmt.Sprintf(`, "owner_id": %q`, user)
	ids := apptest.ContactsOf(m.Org, "bob", "eve", "cat", "dan")
	first, second, other := m.sends(twoMails, owner, ids[0]), m.sends(twoMails, owner, ids[1]), m.sends(twoMails, "", ids[2])
	draft := "/v1/campaigns/" + m.Write.Post("/v1/campaigns", map[string]any{
		"name": "Draft", "owner_id": user, "audience_ids": []string{apptest.IDIn(apptest.AudienceOf(m.Org, "One", ids[3]))},
		"template_id": m.Write.Post("/v1/sequence-templates", `{"name": "T", `+apptest.OneMail+`}`).Is(201).ID(),
	}).Is(201).ID()
	m.run()
	m.Admin.Post("/v1/users/"+user+"/deactivate", nil).Is(200)
	for _, campaign := range []string{first, second} {
		m.held(campaign, "active", "owner_inactive", "zoe@acme.example")
		m.Write.Post(campaign+"/release", `{}`).Fails(409, "campaign_held", "zoe@acme.example")
		m.Write.Post(campaign+"/release", `{"dry_run": true}`).Fails(409, "campaign_held", "")
	}
	m.held(other, "active", "", "")
	m.held(draft, "draft", "", "")
	m.app.Deliver()
	hooks.Wants("deactivation", map[string]string{"first": apptest.IDIn(first), "second": apptest.IDIn(second)}, "/0 campaign.held first", "/0 campaign.held second")
	m.after(2 * time.Hour)
	m.arrived("bob Hello bob", "eve Hello eve", "cat Hello cat", "cat Re: Hello cat")

	m.Write.Patch(second, fmt.Sprintf(`{"owner_id": %q}`, m.User)).Is(200)
	m.held(second, "active", "owner_inactive", "")
	m.releases(second, `{"overdue": "send"}`, [3]int{1, 0, 0})
	m.run()
	m.arrived("bob Hello bob", "eve Hello eve", "cat Hello cat", "cat Re: Hello cat", "eve Hello eve")
	if mails := m.server.Mails(); mails[len(mails)-1].From != "ada@acme.example" {
		t.Errorf("the message of the new owner is from %s", mails[len(mails)-1].From)
	}

	m.Admin.Post("/v1/users/"+user+"/activate", nil).Is(200)
	m.run()
	m.held(first, "active", "owner_inactive", "") // until someone releases it
	m.lacks(first, `{}`, "overdue")
	m.releases(first, `{"overdue": "skip"}`, [3]int{0, 1, 0})
	m.run()
	m.wantSequence(first, ids[0], "completed sent skipped")
	m.app.Deliver()
	hooks.Wants("release", map[string]string{"first": apptest.IDIn(first), "second": apptest.IDIn(second)}, "/0 campaign.released second", "/0 campaign.released first")
	m.checkConsistency()
}

// TestHeldSenderNotAllowed checks that new sender domains hold the campaigns of senders outside them, until another
// owner or other domains allow them.
func TestHeldSenderNotAllowed(t *testing.T) {
	m := newMailer(t)
	user := m.Admin.Post("/v1/users", `{"email": "zoe@mail.globex.example"}`).Is(201).ID()
	owner := fmt.Sprintf(`, "owner_id": %q`, user)
	ids := apptest.ContactsOf(m.Org, "bob", "eve", "cat", "dan")
	first, paused, other := m.sends(twoMails, owner, ids[0]), m.sends(twoMails, owner, ids[1]), m.sends(twoMails, "", ids[2])
	draft := "/v1/campaigns/" + m.Write.Post("/v1/campaigns", map[string]any{
		"name": "Draft", "owner_id": user, "audience_ids": []string{apptest.IDIn(apptest.AudienceOf(m.Org, "One", ids[3]))},
		"template_id": m.Write.Post("/v1/sequence-templates", `{"name": "T", `+apptest.OneMail+`}`).Is(201).ID(),
	}).Is(201).ID()
	m.run()
	m.Write.Patch(paused, `{"status": "paused"}`).Is(200)
	restrict := func(domains ...string) {
		t.Helper()
		err := m.app.Store.Update(context.Background(), m.ID, store.Actor{Operation: "org set"}, func(tx *store.Tx) error {
			_, err := m.app.Identity.Configure(tx, apptest.Body(t, map[string]any{"sender_domains": domains}))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	restrict("globex.example", "acme.example")
	m.held(first, "active", "", "")
	restrict("acme.example")
	m.held(first, "active", "sender_not_allowed", `"zoe@mail.globex.example" is outside the sender domains of the organization: acme.example`)
	m.held(paused, "paused", "sender_not_allowed", "")
	m.held(other, "active", "", "")
	m.held(draft, "draft", "", "")
	m.Write.Patch(draft, `{"status": "active"}`).Fails(422, "validation_failed", "outside the sender domains")
	m.Write.Post(first+"/release", `{}`).Fails(409, "campaign_held", "outside the sender domains")
	m.after(2 * time.Hour)
	m.arrived("bob Hello bob", "eve Hello eve", "cat Hello cat", "cat Re: Hello cat")
	m.Write.Patch(paused, fmt.Sprintf(`{"owner_id": %q}`, m.User)).Is(200)
	m.releases(paused, `{"overdue": "skip"}`, [3]int{0, 1, 0})
	restrict()
	m.held(first, "active", "sender_not_allowed", "") // until someone releases it
	m.releases(first, `{"overdue": "send"}`, [3]int{1, 0, 0})
	m.run()
	m.arrived("bob Hello bob", "eve Hello eve", "cat Hello cat", "cat Re: Hello cat", "bob Re: Hello bob")
}
