package sequence_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// mailer is an organization whose campaigns send to a mail server.
type mailer struct {
	*apptest.Org
	t      *testing.T
	app    *apptest.App
	server *apptest.MailServer
}

func newMailer(t *testing.T, change ...func(*service.Config)) *mailer {
	t.Helper()
	server := apptest.NewMailServer(t)
	app := apptest.New(t, append([]func(*service.Config){server.Settings}, change...)...)
	return &mailer{app.Org("Acme"), t, app, server}
}

const twoMails = `"steps": [{"index": 0, "type": "auto_email", "subject": "Hello {{recipient.first_name}}", "message": "Shall we talk?"},
		{"index": 1, "type": "auto_email", "message": "And now?"}],
		"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES", "post_check_delay": 1, "post_check_time_unit": "hours"}]`

// sends creates an active campaign with the template and additional members for contacts, and
// returns its path.
func (m *mailer) sends(template, members string, contacts ...string) (path string) {
	m.t.Helper()
	id := m.Write.Post("/v1/sequence-templates", `{"name": "Hello", `+template+`}`).Is(201).ID()
	audience := apptest.IDIn(apptest.AudienceOf(m.Org, "All of "+id, contacts...))
	return "/v1/campaigns/" + m.Write.Post("/v1/campaigns", fmt.Sprintf(`{"name": "C", "template_id": %q, "audience_ids": [%q], "status": "active"%s}`, id, audience, members)).Is(201).ID()
}

// run runs everything that is due until nothing is left.
func (m *mailer) run() {
	m.t.Helper()
	for range 1000 {
		m.app.Work()
		m.app.Sequences.Wait()
		due, _, err := m.app.Store.Due(m.app.Clock.Now(), 1, nil, nil)
		if err != nil {
			m.t.Fatal(err)
		}
		if len(due) == 0 {
			return
		}
	}
	m.t.Fatal("the due jobs do not end")
}

// after runs everything that is due after d.
func (m *mailer) after(d time.Duration) {
	m.t.Helper()
	m.app.Clock.Advance(d)
	m.run()
}

// posted is a message as it is listed.
type posted struct {
	ID         string
	To         string
	From       string
	Subject    string
	Step       int    `json:"step_index"`
	CampaignID string `json:"campaign_id"`
	Status     string
	Error      string
	Headers    map[string]string
}

func (m *mailer) outbox() (all []posted) {
	m.t.Helper()
	var list struct{ Data []posted }
	if err := json.Unmarshal(m.Read.Post("/v1/outbox/list", `{"sort": "created_at", "page_size": 500}`).Is(200).Body, &list); err != nil {
		m.t.Fatal(err)
	}
	return list.Data
}

// message returns the message of a step to a contact.
func (m *mailer) message(name string, step int) posted {
	m.t.Helper()
	all := m.outbox()
	at := slices.IndexFunc(all, func(p posted) bool { return p.To == name+"@initech.example" && p.Step == step })
	if at < 0 {
		m.t.Fatalf("no message of step %d to %s: %+v", step, name, all)
	}
	return all[at]
}

// is requires that a message has a status and an error that contains the text. An empty text means
// no error.
func (m *mailer) is(name string, step int, status, text string) {
	m.t.Helper()
	if got := m.message(name, step); got.Status != status || !strings.Contains(got.Error, text) || text == "" && got.Error != "" {
		m.t.Errorf("the message of step %d to %s is %s (%s), want %s (%s)", step, name, got.Status, got.Error, status, text)
	}
}

// listedSequence is a sequence as the list endpoint returns it.
type listedSequence struct {
	ID      string
	Contact string `json:"contact_id"`
	Status  string
	Reason  string
	Next    *time.Time `json:"next_due_at"`
	History []struct {
		Step    int `json:"step_index"`
		Status  string
		Reason  string
		Message string `json:"message_id"`
	}
}

func (m *mailer) listedSequence(campaign, contact string) listedSequence {
	m.t.Helper()
	var list struct{ Data []listedSequence }
	if err := json.Unmarshal(m.Read.Post(campaign+"/sequences/list", `{"page_size": 500}`).Is(200).Body, &list); err != nil {
		m.t.Fatal(err)
	}
	at := slices.IndexFunc(list.Data, func(c listedSequence) bool { return c.Contact == contact })
	if at < 0 {
		m.t.Fatalf("%s has no sequence", contact)
	}
	return list.Data[at]
}

// wantSequence requires the state of a sequence: its status, its reason after a colon, and the
// outcome of each step.
func (m *mailer) wantSequence(campaign, contact, want string) {
	m.t.Helper()
	c := m.listedSequence(campaign, contact)
	got := c.Status
	if c.Reason != "" {
		got += ":" + c.Reason
	}
	for _, h := range c.History {
		got += " " + h.Status
	}
	if got != want {
		m.t.Errorf("the sequence is %q, want %q: %+v", got, want, c)
	}
}

// arrived requires that the server has accepted exactly these messages, given as recipient and
// subject, in any order.
func (m *mailer) arrived(want ...string) {
	m.t.Helper()
	var got []string
	for _, mail := range m.server.Mails() {
		name, _, _ := strings.Cut(strings.Join(mail.To, ","), "@initech.example")
		got = append(got, name+" "+mail.Header.Get("Subject"))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		m.t.Errorf("arrived messages = %q, want %q", got, want)
	}
}

// ready requires that the service reports that it is ready, or the reason why not.
func (m *mailer) ready(trouble string) {
	m.t.Helper()
	m.app.Anonymous().Get("/readyz").Is(200)
	status := m.Admin.Get("/v1/mail/status").Is(200)
	want := [2]string{"ok", ""}
	if trouble != "" {
		want = [2]string{"unavailable", trouble}
	}
	if got := [2]string{status.Text("data.status"), cmp.Or(status.Value("data.stage"), any("")).(string)}; got != want {
		m.t.Errorf("the mail status is %q, want %q: %s", got, want, status.Body)
	}
}

// suppressed returns the suppressed addresses with their reasons.
func (m *mailer) suppressed() (all []string) {
	m.t.Helper()
	res := m.Read.Post("/v1/suppressions/list", `{"page_size": 500}`).Is(200)
	for i, email := range res.Column("email") {
		all = append(all, email+" "+res.Column("reason")[i])
	}
	slices.Sort(all)
	return all
}

// counted requires that the statistics of a campaign equal the messages in the outbox.
func (m *mailer) counted(campaign string) {
	m.t.Helper()
	of := map[string]int{}
	for _, p := range m.outbox() {
		if p.CampaignID == apptest.IDIn(campaign) {
			of[p.Status]++
		}
	}
	stats := m.Read.Get(campaign + "/stats").Is(200)
	if sent, failed := stats.Int("data.messages_sent"), stats.Int("data.messages_failed"); sent != of["sent"] || failed != of["failed"]+of["unknown"] {
		m.t.Errorf("stats report %d sent and %d failed, the outbox has %v", sent, failed, of)
	}
}

// checkConsistency requires that the stored data is consistent.
func (m *mailer) checkConsistency() {
	m.t.Helper()
	apptest.CheckAudiences(m.t, m.app, m.Org)
}
