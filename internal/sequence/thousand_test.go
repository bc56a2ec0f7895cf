package sequence_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// easter is an organization in Berlin, where daylight saving time starts on March 29th, and Good
// Friday and Easter Monday are holidays.
var easter = simOrg{"Europe/Berlin", simWeek, []string{"2026-04-03", "2026-04-06"}, simWindow{9, 17}}

// spring returns a template of ten steps that takes six weeks from March 2nd.
func spring() (steps []simStep, links []simLink) {
	mail := func(index, hour int, subject string) simStep {
		return simStep{Type: "auto_email", Index: index, Hour: hour, Subject: subject, Message: fmt.Sprintf("Message %d to {{recipient.first_name}} {{recipient.last_name}}", index)}
	}
	task := func(kind string, index, hour int) simStep { return simStep{Type: kind, Index: index, Hour: hour} }
	steps = []simStep{
		mail(0, 10, "Hello {{recipient.first_name}}"), task("call", 1, 11), mail(2, 9, ""), {Type: "auto_linkedin_connection", Index: 3, Day: 7, Hour: 15}, mail(4, 13, "A question"),
		task("manual_email", 5, 9), mail(6, 18, ""), task("gift", 7, 12), task("task", 8, 7), mail(9, 8, "Goodbye"),
	}
	return steps, []simLink{
		simAfter(0, 1, completes, "2 business_days"), simAfter(0, 2, scheduled, "3 days, 2 hours"),
		simAll(simAfter(1, 4, completes, "1 days")), simAll(simAfter(2, 4, completes, "1 business_days")),
		simAfter(3, 5, completes, "90 minutes"), simAfter(4, 6, completes, "15 business_days"), simAfter(5, 6, scheduled, "10 days"),
		simAfter(4, 7, scheduled, "1 business_days, 1 days"), simAll(simAfter(6, 8, completes, "1 days")), simAfter(7, 8, completes, "2 hours"),
		simAfter(8, 9, completes, "10 business_days"),
	}
}

// completeTasks completes all open Tasks.
func (p *engineFixture) completeTasks() {
	p.t.Helper()
	for chunk := range slices.Chunk(p.tasks(apptest.IsRule("status", "open")), 1000) {
		var records []map[string]string
		for _, task := range chunk {
			if !task.Due.Equal(p.app.Clock.Now()) {
				p.t.Fatalf("at %s: unexpected Task %+v", minute(p.app.Clock.Now()), task)
			}
			records = append(records, map[string]string{"id": task.ID, "status": "completed"})
		}
		if n := p.Write.Post("/v1/tasks/batch", map[string]any{"records": records}).Is(200).Int("data.failed"); n != 0 {
			p.t.Fatalf("%d Tasks are not completed", n)
		}
	}
}

var springEnd = time.Date(2026, time.May, 31, 0, 0, 0, 0, time.UTC)

// foretold returns the simulation of a contact, with one line of fateOf per step.
func foretold(plan simPlan) map[int]string {
	words := map[int]string{}
	for _, s := range plan.Steps {
		words[s.Index] = fateOf(s.Action, *s.Due, s.Reason, s.Subject, s.Message)
	}
	return words
}

// testServer is the address of the server, which a restart changes.
var testServer = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// fateOf describes the outcome of a step. A simulation assumes when Tasks are completed, and says
// so.
func fateOf(action string, at time.Time, reason string, subject, message *string) string {
	reason = strings.ReplaceAll(reason, " (assumed at its due time)", "")
	text := func(s *string) string {
		if s == nil {
			return "-"
		}
		return testServer.ReplaceAllString(*s, "http://server")
	}
	return fmt.Sprintf("%s %s | %s | %s | %s", action, at.UTC().Format(time.RFC3339Nano), reason, text(subject), text(message))
}

// matchesSimulation compares the sequences of a campaign with the simulation of their contacts.
func (p *engineFixture) matchesSimulation(campaign string, told map[string]map[int]string) {
	p.t.Helper()
	messages := map[string]outboxMessage{}
	for _, m := range p.outbox() {
		messages[m.ID] = m
	}
	all := p.sequences(campaign)
	if len(all) != len(told) {
		p.t.Errorf("got %d sequences, want %d", len(all), len(told))
	}
	for _, s := range all {
		if s.Status != "completed" || len(s.History) != len(told[s.Contact]) {
			p.t.Fatalf("sequence %+v has not ended", s)
		}
		for _, h := range s.History {
			var m outboxMessage
			action := map[string]string{"captured": "send", "done": "task", "skipped": "skip"}[h.Status]
			if h.Message != nil {
				m = messages[*h.Message]
			}
			if got, want := fateOf(action, *h.At, h.Reason, m.Subject, m.Body), told[s.Contact][h.Index]; got != want {
				p.t.Fatalf("%s, step %d:\n%s\nwas simulated as\n%s", s.Contact, h.Index, got, want)
			}
		}
	}
}

// TestEngineThousand runs two hundred contacts, a thousand with PROSPECTOR_SOAK, who join in ten
// groups at ten times, through six weeks. Everything happens at the minute and for the reason that the
// simulation predicted when the group joined.
func TestEngineThousand(t *testing.T) {
	p := newEngineFixture(t)
	p.Admin.Patch("/v1/organization", easter).Is(200)
	size := apptest.Soaked(100, 20, 8)
	contacts := p.contacts(10 * size)
	for i, id := range contacts { // some have no address
		if i%25 == 7 {
			p.Write.Patch("/v1/contacts/"+id, `{"email": null}`).Is(200)
		}
	}
	steps, links := spring()
	campaign := p.campaign(nil, map[string]any{"missing_values": "send"}, steps, links...)
	told := map[string]map[int]string{}
	for group := range 10 {
		p.runTo(p.app.Clock.Now().Add(time.Duration(group)*19*time.Hour+7*time.Minute), p.completeTasks)
		who := contacts[group*size : (group+1)*size]
		for _, plan := range simulated(t, p.Org, campaign, map[string]any{"contact_ids": who}) {
			told[plan.Contact] = foretold(plan)
		}
		p.Write.Post(campaign+"/enroll", enrolling(fmt.Sprint("Group ", group), who...)).Is(200)
	}
	p.runTo(springEnd, p.completeTasks)
	p.matchesSimulation(campaign, told)
	p.agrees(campaign)
}

// limits sets a daily cap and a minimum gap.
func limits(most int, gap time.Duration) func(*service.Config) {
	return func(cfg *service.Config) { cfg.Mail.DailyCap, cfg.Mail.MinGap = most, gap }
}

// TestEngineLimits is like TestEngineThousand for one group, whose sender has a daily cap and a
// minimum gap.
func TestEngineLimits(t *testing.T) {
	n := apptest.Unraced(100, 40)
	p := newEngineFixture(t, limits(n/4, 11*time.Minute))
	p.Admin.Patch("/v1/organization", easter).Is(200)
	steps, links := spring()
	campaign := simCampaign(p.Org, simAudience(p.Org, p.contacts(n)...), nil, steps, links...)
	told := map[string]map[int]string{}
	plans := simulated(t, p.Org, campaign, nil)
	for _, plan := range plans {
		told[plan.Contact] = foretold(plan)
	}
	for _, words := range []string{"daily cap of", "11m after the sender's previous message", "moved to the next sending window"} {
		if !strings.Contains(fmt.Sprint(told), words) {
			t.Errorf("no reason contains %q", words)
		}
	}
	p.Write.Patch(campaign, `{"status": "active"}`).Is(200)
	p.runTo(springEnd, p.completeTasks)
	p.matchesSimulation(campaign, told)
	p.agrees(campaign)
}

// TestEngineWindow has twelve emails wait for a sending window that fits three of them per day. The
// reason of each email mentions the closed window as the simulation does, also if the service was
// restarted in between.
func TestEngineWindow(t *testing.T) {
	p := newEngineFixture(t, limits(0, 20*time.Minute))
	p.Admin.Patch("/v1/organization", simOrg{"UTC", simWeek, []string{}, simWindow{9, 10}}).Is(200)
	campaign := simCampaign(p.Org, simAudience(p.Org, p.contacts(12)...), nil, []simStep{simMail(0, 0, 9)})
	told := map[string]map[int]string{}
	for i, plan := range simulated(t, p.Org, campaign, nil) {
		told[plan.Contact] = foretold(plan)
		day, nth := i/3, i%3
		want := "day 0 of the sequence at 09:00"
		if day > 1 || day == 1 && nth > 0 {
			want += "; the sending window closed before it could be sent"
		}
		if i > 0 {
			want += "; 20m after the sender's previous message"
		}
		if day > 0 && nth == 0 {
			want += simMoved
		}
		simSays(t, plan, fmt.Sprintf("send 2026-03-%02dT09:%02d:00Z | %s", 2+day, 20*nth, want))
	}
	p.Write.Patch(campaign, `{"status": "active"}`).Is(200)
	for day := 2; day < 6; day++ {
		p.to(fmt.Sprintf("03-%02d 09:10", day))
		p.app.Restart()
	}
	p.to("03-06 09:00")
	p.matchesSimulation(campaign, told)
	p.agrees(campaign)
}

// TestEngineThousandLimits has many contacts, a thousand with PROSPECTOR_SOAK, wait for the cap and
// the gap of one sender. No message is sent early, outside the window, beyond the cap or within the
// gap.
func TestEngineThousandLimits(t *testing.T) {
	n := apptest.Soaked(1000, 150, 60)
	most, gap := n/5, 2*time.Minute
	p := newEngineFixture(t, limits(most, gap))
	p.Admin.Patch("/v1/organization", easter).Is(200)
	steps, links := spring()
	campaign := p.campaign(p.contacts(n), nil, steps, links...)
	p.runTo(springEnd, p.completeTasks)
	p.agrees(campaign)
	zone, err := time.LoadLocation(easter.Zone)
	if err != nil {
		t.Fatal(err)
	}
	ref := &simRef{simOrg: easter, zone: zone}
	var sent []time.Time
	capped := 0
	for _, s := range p.sequences(campaign) {
		if s.Status != "completed" || len(s.History) != len(steps) {
			t.Fatalf("sequence %+v has not ended", s)
		}
		for _, h := range s.History {
			if h.Type != "auto_email" {
				continue
			}
			if h.At.Before(h.Due) || !ref.open(*h.At) {
				t.Fatalf("%s is early or outside the window: %s", h.line(), h.Reason)
			}
			if strings.Contains(h.Reason, "daily cap") {
				capped++
			}
			sent = append(sent, *h.At)
		}
	}
	slices.SortFunc(sent, time.Time.Compare)
	perDate := map[time.Time]int{}
	for i, at := range sent {
		if perDate[ref.date(at)]++; perDate[ref.date(at)] > most {
			t.Fatalf("more than %d messages on the date of %s", most, at)
		}
		if i > 0 && at.Sub(sent[i-1]) < gap {
			t.Fatalf("messages at %s and %s are too near", sent[i-1], at)
		}
	}
	if capped == 0 {
		t.Error("no message waited for the cap")
	}
}
