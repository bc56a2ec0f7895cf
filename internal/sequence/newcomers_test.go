package sequence_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/service"
	"prospector/store"
)

// leads is an organization with a dynamic audience of everybody with the title Lead, and a campaign of it that is
// active.
type leads struct {
	*mailer
	audience string // its path
	campaign string // its path
	made     int
}

// withLeads returns leads with n people in the campaign. members are more members of the campaign.
func withLeads(t *testing.T, n int, members string) *leads {
	t.Helper()
	l := &leads{mailer: newMailer(t, func(cfg *service.Config) { cfg.Mail.MinGap, cfg.Mail.DailyCap = 0, 0 })}
	l.audience = apptest.DynamicAudience(l.Org, "Leads", `[{"field": "title", "condition": "is", "value": "Lead"}]`)
	l.add(n, "Lead")
	l.run()
	template := l.Write.Post("/v1/sequence-templates", `{"name": "Later", "steps": [
		{"index": 0, "type": "auto_email", "day": 30, "subject": "Hello {{recipient.first_name}}", "message": "Shall we talk?"}]}`).Is(201).ID()
	l.campaign = "/v1/campaigns/" + l.Write.Post("/v1/campaigns", fmt.Sprintf(
		`{"name": "C", "template_id": %q, "audience_ids": [%q], "status": "active"%s}`, template, apptest.IDIn(l.audience), members)).Is(201).ID()
	l.run()
	l.counts(n, 0, "")
	return l
}

// records returns n new contacts with a title, as members of a batch.
func (l *leads) records(n int, title string) string {
	var all []string
	for range n {
		l.made++
		all = append(all, fmt.Sprintf(`{"email": "p%d@x%d.example", "first_name": "P", "title": %q}`, l.made, l.made%7, title))
	}
	return strings.Join(all, ", ")
}

// add creates n contacts with a title in one batch, or in as many as they need.
func (l *leads) add(n int, title string) (ids []string) {
	l.t.Helper()
	for ; n > 0; n -= min(n, 1000) {
		res := l.Write.Post("/v1/contacts/batch", `{"records": [`+l.records(min(n, 1000), title)+`]}`).Is(200)
		for i := range min(n, 1000) {
			ids = append(ids, res.Text(fmt.Sprintf("data.results.%d.id", i)))
		}
	}
	return ids
}

// counts requires how many people the campaign has in sequences that run, how many await confirmation, and why others
// have not started, as in "opted_out 2".
func (l *leads) counts(active, newcomers int, others string) {
	l.t.Helper()
	res := l.Read.Get(l.campaign + "/stats").Is(200)
	reasons := res.Value("data.not_started_by_reason").(map[string]any)
	var have []string
	for _, reason := range []string{"opted_out", "suppressed", "no_address"} {
		if n, has := reasons[reason]; has {
			have = append(have, fmt.Sprintf("%s %v", reason, n))
		}
	}
	waiting := 0
	if n, has := reasons["awaiting_confirmation"]; has {
		waiting = int(n.(float64))
	}
	if res.Int("data.active") != active || waiting != newcomers || strings.Join(have, ", ") != others {
		l.t.Errorf("the campaign has %d active and %v, want %d, %d and %s", res.Int("data.active"), reasons, active, newcomers, others)
	}
	if sum := res.Int("data.not_started") + res.Int("data.active") + res.Int("data.completed") + res.Int("data.stopped"); res.Int("data.enrolled") != sum {
		l.t.Errorf("%d are enrolled, and the statuses add up to %d", res.Int("data.enrolled"), sum)
	}
	if shown := l.Read.Get(l.campaign).Is(200).Int("data.newcomers"); shown != newcomers {
		l.t.Errorf("the campaign shows %d newcomers, want %d", shown, newcomers)
	}
}

// afterDays runs everything that is due on each of the next days.
func (l *leads) afterDays(n int) {
	l.t.Helper()
	for range n {
		l.after(24 * time.Hour)
	}
}

// sequence returns the sequence of a contact.
func (l *leads) sequence(contact string) *apptest.Response {
	l.t.Helper()
	return l.Read.Post(l.campaign+"/sequences/list", fmt.Sprintf(`{"filters": [{"field": "contact_id", "condition": "is", "value": %q}]}`, contact)).Is(200)
}

func (l *leads) admit(n int) {
	l.t.Helper()
	l.Write.Post(l.campaign+"/admit", map[string]int{"expect": n}).Is(200, fmt.Sprintf(`{"data": {"admitted": %d}, "meta": {"timestamp": "<any>"}}`, n))
	l.run()
}

// TestNewcomersOfImport imports 60 people into a campaign of 100. They wait until somebody admits them.
func TestNewcomersOfImport(t *testing.T) {
	l := withLeads(t, 100, "")
	hooks := apptest.NewReceiver(t)
	hooks.Subscribe(l.Org, "campaign.newcomers", "sequence.started")
	rows := "email,first_name,title\n"
	for i := range 60 {
		rows += fmt.Sprintf("new%d@y.example,N,Lead\n", i)
	}
	l.Write.Post("/v1/imports", apptest.NewForm(rows, `{"entity": "contacts"}`)).Is(202)
	l.run()
	l.counts(100, 60, "")
	l.app.Deliver()
	if e := hooks.One().Event(t); e.TriggerKey != "campaign.newcomers" || !strings.Contains(string(e.Data), `"newcomers":60`) {
		t.Errorf("the event is %s %s", e.TriggerKey, e.Data)
	}
	l.app.Restart()
	l.afterDays(35) // nothing but an admission starts them
	if got := len(l.outbox()); got != 100 {
		t.Errorf("%d emails went out, want 100", got)
	}
	l.Write.Post(l.campaign+"/admit", `{}`).Fails(422, "validation_failed", "expect")
	l.Write.Post(l.campaign+"/admit", `{"expect": -1}`).Fails(422, "validation_failed", "expect")
	l.Write.Post(l.campaign+"/admit", `{"expect": 59}`).Fails(409, "count_changed", "60 people await confirmation, not 59")
	l.counts(0, 60, "")
	l.admit(60)
	l.counts(60, 0, "")
	l.Write.Post(l.campaign+"/admit", `{"expect": 60}`).Fails(409, "count_changed", "0 people")
	l.afterDays(35)
	if got := len(l.outbox()); got != 160 {
		t.Errorf("%d emails went out, want 160", got)
	}
	l.Write.Patch(l.campaign, `{"status": "completed"}`).Is(200)
	l.Write.Post(l.campaign+"/admit", `{"expect": 0}`).Fails(409, "campaign_not_enrollable", "completed")
	l.checkConsistency()
}

// TestNewcomersBounds checks from which numbers on people wait.
func TestNewcomersBounds(t *testing.T) {
	for _, c := range []struct {
		had, come int
		members   string
		waits     bool
	}{
		{10, 50, "", false},
		{10, 51, "", true},
		{254, 51, "", true},
		{255, 51, "", false}, // exactly a fifth
		{0, 51, "", true},
		{300, 60, "", false},
		{299, 60, "", true},
		{10, 51, `, "admit": "automatic"`, false},
	} {
		t.Run(fmt.Sprint(c.had, "+", c.come, c.members), func(t *testing.T) {
			l := withLeads(t, c.had, c.members)
			l.app.Restart() // between the change and its judgement too
			l.add(c.come, "Lead")
			l.app.Restart()
			l.run()
			if c.waits {
				l.counts(c.had, c.come, "")
			} else {
				l.counts(c.had+c.come, 0, "")
			}
		})
	}
}

// TestNewcomersBesideWaiting checks that people who await confirmation do not make the next ones start unasked.
func TestNewcomersBesideWaiting(t *testing.T) {
	l := withLeads(t, 100, "")
	l.add(300, "Lead")
	l.run()
	l.counts(100, 300, "")
	l.add(70, "Lead") // less than a fifth of 400
	l.run()
	l.counts(100, 370, "")
	l.admit(370)
	l.add(70, "Lead")
	l.run()
	l.counts(540, 0, "")
}

// TestNewcomersOfBulk gives 130 of 200 people the title of the audience, in transactions of 25. They are judged
// together when the operation has ended, and until then nobody starts.
func TestNewcomersOfBulk(t *testing.T) {
	l := withLeads(t, 100, "")
	ids := l.add(130, "CTO")
	l.Write.Post("/v1/contacts/bulk", `{"filters": [{"field": "title", "condition": "is", "value": "CTO"}], "set": {"title": "Lead"}}`).Is(202)
	l.app.Restart()
	l.run()
	l.counts(100, 130, "")
	l.after(time.Hour)
	l.counts(100, 130, "")
	l.admit(130)
	l.counts(230, 0, "")

	// Somebody whom it took out and who comes back has a sequence that was stopped, and is no newcomer.
	l.Write.Post("/v1/contacts/bulk", map[string]any{"ids": ids[:60], "set": map[string]string{"title": "CTO"}}).Is(202)
	l.run()
	l.counts(170, 0, "")
	l.Write.Post("/v1/contacts/bulk", map[string]any{"ids": ids[:60], "set": map[string]string{"title": "Lead"}}).Is(202)
	l.run()
	l.counts(170, 0, "")
	l.checkConsistency()
}

// TestNewcomersOfRunningOperation checks that the newcomers of an operation that has not ended have no sequence,
// whatever else happens to them, and that the end of an operation that was cancelled lets them be judged.
func TestNewcomersOfRunningOperation(t *testing.T) {
	l := withLeads(t, 100, "")
	ids := l.add(60, "CTO")
	operation := uuid.MustParse(l.Write.Post("/v1/contacts/bulk", map[string]any{"ids": ids, "set": map[string]string{"location": "Bern"}}).Is(202).ID())
	act := func(ids []string, title string) {
		t.Helper()
		err := l.app.Store.Update(context.Background(), l.ID, store.Actor{OperationID: operation}, func(tx *store.Tx) error {
			for _, id := range ids {
				if _, err := l.app.CRM.Contacts.Update(tx, uuid.MustParse(id), nil, apptest.Body(t, map[string]any{"title": title})); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	act(ids[:30], "Lead")
	l.counts(100, 0, "")
	l.Write.Patch("/v1/contacts/"+ids[0], `{"email": "other@y.example"}`).Is(200)
	l.Write.Patch(l.campaign, `{"status": "paused"}`).Is(200)
	l.Write.Patch(l.campaign, `{"status": "active"}`).Is(200)
	act(ids[30:], "Lead")
	l.Write.Delete("/v1/contacts/" + ids[1]).Is(204)
	named := "/v1/audiences/" + apptest.IDIn(apptest.AudienceOf(l.Org, "Named", ids[2]))
	l.Write.Post(l.campaign+"/audiences/add", map[string]any{"audience_ids": []string{apptest.IDIn(named)}}).Is(200)
	l.Write.Post("/v1/operations/"+operation.String()+"/cancel", nil).Is(200)
	l.run()
	l.after(2 * time.Minute)
	l.counts(101, 58, "")
	l.checkConsistency()
}

// TestNewcomersOfFilters changes the filters of an audience: of one whose members move at once, and of one for which a
// job moves them.
func TestNewcomersOfFilters(t *testing.T) {
	for _, n := range []int{60, 1200} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			l := withLeads(t, 100, "")
			l.add(n, "CTO")
			l.run()
			l.counts(100, 0, "")
			l.Write.Patch(l.audience, `{"filters": [{"field": "title", "condition": "is", "value": ["Lead", "CTO"]}]}`).Is(200)
			l.run()
			l.counts(100, n, "")
			l.Write.Patch(l.audience, `{"filters": [{"field": "title", "condition": "is", "value": "Lead"}]}`).Is(200)
			l.run()
			l.counts(100, 0, "")
			l.checkConsistency()
		})
	}
}

// TestNewcomersOfLargeFilter changes the filters so that 900 people join a campaign of 3,000 in several
// transactions. None of these adds a fifth, but together they do.
func TestNewcomersOfLargeFilter(t *testing.T) {
	l := withLeads(t, 3000, "")
	l.add(900, "CTO")
	l.run()
	l.Write.Patch(l.audience, `{"filters": [{"field": "title", "condition": "is", "value": ["Lead", "CTO"]}]}`).Is(200)
	l.run()
	l.counts(3000, 900, "")
	l.admit(900)
	l.counts(3900, 0, "")
}

// TestNewcomersOfBatch adds 1,000 people at once, of whom some cannot be written to. Each of these reasons comes
// first, and who can be written to again still awaits confirmation.
func TestNewcomersOfBatch(t *testing.T) {
	l := withLeads(t, 100, "")
	l.Admin.Post("/v1/suppressions", `{"email": "bad@y.example"}`).Is(201)
	res := l.Write.Post("/v1/contacts/batch", `{"records": [{"email": "out@y.example", "title": "Lead", "do_not_contact": true}, {"email": "bad@y.example", "title": "Lead"},
		{"first_name": "None", "last_name": "None", "title": "Lead"}, `+l.records(997, "Lead")+`]}`).Is(200)
	out, none := res.Text("data.results.0.id"), res.Text("data.results.2.id")
	l.run()
	l.counts(100, 997, "opted_out 1, suppressed 1, no_address 1")
	l.Write.Patch("/v1/contacts/"+out, `{"do_not_contact": false}`).Is(200)
	l.Write.Patch("/v1/contacts/"+none, `{"email": "now@y.example"}`).Is(200)
	suppression := l.Read.Post("/v1/suppressions/list", `{"filters": [{"field": "email", "condition": "is", "value": "bad@y.example"}]}`).Is(200).Text("data.0.id")
	l.Admin.Delete("/v1/suppressions/" + suppression).Is(204)
	l.Write.Patch(l.campaign, `{"status": "paused"}`).Is(200)
	l.Write.Patch(l.campaign, `{"status": "active"}`).Is(200)
	l.run()
	l.counts(100, 1000, "")

	sim := l.Read.Post(l.campaign+"/simulate", `{"page_size": 1}`).Is(200)
	if held := sim.Int("summary.people.held.awaiting_confirmation"); held != 1000 || sim.Int("summary.people.sends") != 100 {
		t.Errorf("the simulation is %v", sim.Value("summary"))
	}
	step := l.Read.Post(l.campaign+"/simulate", map[string]any{"contact_ids": []string{out}}).Is(200)
	if step.Text("data.0.steps.0.action") != "hold" || step.Text("data.0.steps.0.reason") != "the contact awaits confirmation" {
		t.Errorf("the simulated step is %s", step.Body)
	}

	// Opting out and in again while they wait.
	l.Write.Patch("/v1/contacts/"+out, `{"do_not_contact": true}`).Is(200)
	l.run()
	l.counts(100, 999, "opted_out 1")
	l.admit(999)
	l.counts(1099, 0, "opted_out 1")
	l.Write.Patch("/v1/contacts/"+out, `{"do_not_contact": false}`).Is(200)
	l.run()
	l.counts(1099, 1, "") // nobody has admitted this one
	l.checkConsistency()
}

// TestNamedNewcomers checks that whoever is named starts without a question, and that naming somebody who waits
// confirms it.
func TestNamedNewcomers(t *testing.T) {
	l := withLeads(t, 10, "")
	static := apptest.AudienceOf(l.Org, "Named")
	l.Write.Post(l.campaign+"/audiences/add", map[string]any{"audience_ids": []string{apptest.IDIn(static)}}).Is(200)
	l.Write.Post(static+"/contacts/add", map[string]any{"contact_ids": l.add(200, "CTO")}).Is(200)
	l.run()
	l.counts(210, 0, "")
	l.add(500, "CFO")
	l.Write.Post(static+"/contacts/add", `{"filters": [{"field": "title", "condition": "is", "value": "CFO"}]}`).Is(200)
	l.run()
	l.counts(710, 0, "")
	other := apptest.AudienceOf(l.Org, "Others", l.add(300, "CMO")...)
	l.Write.Post(l.campaign+"/audiences/add", map[string]any{"audience_ids": []string{apptest.IDIn(other)}}).Is(200)
	l.run()
	l.counts(1010, 0, "")
	l.Write.Post(l.campaign+"/enroll", map[string]any{"audience_name": "New", "contact_ids": l.add(400, "COO")}).Is(200)
	l.run()
	l.counts(1410, 0, "")

	waiting := l.add(600, "Lead")
	l.run()
	l.counts(1410, 600, "")
	res := l.Write.Post(l.campaign+"/enroll", map[string]any{"audience_name": "Confirmed", "contact_ids": waiting[:2]}).Is(200)
	if res.Text("data.contacts.0.outcome") != "started" || res.Text("data.contacts.0.sequence_id") == "" {
		t.Errorf("the outcome is %s", res.Body)
	}
	l.run()
	l.counts(1412, 598, "")
	l.Write.Post(static+"/contacts/add", map[string]any{"contact_ids": waiting[2:4]}).Is(200)
	l.run()
	l.counts(1414, 596, "")

	// Who leaves, is deleted or is detached waits no longer.
	l.Write.Delete("/v1/contacts/" + waiting[4]).Is(204)
	l.Write.Patch("/v1/contacts/"+waiting[5], `{"title": "CTO"}`).Is(200)
	l.run()
	l.counts(1414, 594, "")
	if stopped := l.sequence(waiting[4]); stopped.Text("data.0.status") != "stopped" || stopped.Text("data.0.reason") != "contact_deleted" {
		t.Errorf("the sequence of the deleted contact is %s", stopped.Body)
	}
	l.Write.Post(l.campaign+"/audiences/remove", map[string]any{"audience_ids": []string{apptest.IDIn(l.audience)}}).Is(200)
	l.run()
	if got := l.Read.Get(l.campaign).Is(200).Int("data.newcomers"); got != 0 {
		t.Errorf("%d newcomers are left", got)
	}
	l.checkConsistency()
}

// TestNewcomersOfPausedCampaign checks that people wait in a campaign that is paused, and that a draft, which starts
// everybody when it becomes active, asks nobody.
func TestNewcomersOfPausedCampaign(t *testing.T) {
	l := withLeads(t, 10, "")
	l.Write.Patch(l.campaign, `{"status": "paused"}`).Is(200)
	draft := "/v1/campaigns/" + l.Write.Post("/v1/campaigns", map[string]any{
		"name": "Draft", "template_id": l.Read.Get(l.campaign).Is(200).Text("data.template_id"), "audience_ids": []string{apptest.IDIn(l.audience)},
	}).Is(201).ID()
	l.add(100, "Lead")
	l.run()
	l.counts(10, 100, "")
	l.Write.Patch(l.campaign, `{"status": "active"}`).Is(200)
	l.run()
	l.counts(10, 100, "")
	l.Write.Patch(draft, `{"status": "active"}`).Is(200)
	l.run()
	if stats := l.Read.Get(draft + "/stats").Is(200); stats.Int("data.active") != 110 {
		t.Errorf("the draft that became active has %s", stats.Body)
	}
	l.Write.Patch(l.campaign, `{"admit": "automatic"}`).Is(200)
	l.run()
	l.counts(10, 100, "") // for those who come from now on
	l.Write.Patch(l.campaign, `{"admit": "never"}`).Fails(422, "validation_failed", "admit")
	l.Write.Patch(l.campaign, `{"newcomers": 1}`).Fails(422, "validation_failed", "newcomers")
	l.admit(100)
	l.counts(110, 0, "")
	l.Write.Patch(l.campaign, `{"status": "archived"}`).Is(200)
	l.run()
	l.checkConsistency()
}

// TestNewcomersOfRestore checks that a restored contact gets no message because of that, however few they are.
func TestNewcomersOfRestore(t *testing.T) {
	l := withLeads(t, 10, `, "admit": "automatic"`)
	id := l.add(1, "CTO")[0]
	late := "/v1/contacts/" + id
	l.Write.Delete(late).Is(204)
	l.Write.Patch(l.audience, `{"filters": [{"field": "title", "condition": "is", "value": ["Lead", "CTO"]}]}`).Is(200)
	l.run()
	l.Write.Post(late+"/restore", nil).Is(200)
	l.run()
	l.counts(10, 1, "")
	l.Write.Post("/v1/sequences/"+l.sequence(id).Text("data.0.id")+"/restart", `{"from": "next"}`).Fails(409, "invalid_transition", "not_started")
	l.admit(1)
	l.counts(11, 0, "")
}

// TestNewcomersOfUndo checks that whoever an undo brings in waits, also one person in a campaign that admits
// automatically, and that an address which it brings back starts nothing.
func TestNewcomersOfUndo(t *testing.T) {
	l := withLeads(t, 10, `, "admit": "automatic"`)
	ids := l.add(2, "CTO")
	l.Write.Patch("/v1/contacts/"+ids[1], `{"email": null, "title": "Lead"}`).Is(200)
	l.run()
	l.counts(10, 0, "no_address 1")
	err := l.app.Store.Update(context.Background(), l.ID, store.Actor{OperationID: uuid.New(), Undo: true}, func(tx *store.Tx) error {
		for id, set := range map[string]map[string]any{ids[0]: {"title": "Lead"}, ids[1]: {"email": "again@y.example"}} {
			if _, err := l.app.CRM.Contacts.Update(tx, uuid.MustParse(id), nil, apptest.Body(t, set)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l.run()
	l.counts(10, 2, "")
	l.admit(2)
	l.counts(12, 0, "")
}
