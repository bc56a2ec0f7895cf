package sequence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// threaded summarizes the thread of an email: "0 Hello", "1 Re: Hello < 0" for a reply to step 0,
// and "2 failed Re: Hello < 0 1" for a failed reply to two emails.
func (m *mailer) threaded(name string) (all []string) {
	m.t.Helper()
	steps := map[string]string{} // by Message-ID
	for _, p := range m.outbox() {
		if p.To != name+"@initech.example" {
			continue
		}
		steps[p.Headers["Message-ID"]] = fmt.Sprint(p.Step)
		line := fmt.Sprint(p.Step, " ")
		if p.Status != "sent" {
			line += p.Status + " "
		}
		line += p.Subject
		var last string
		if refers := strings.Fields(p.Headers["References"]); len(refers) > 0 {
			line += " <"
			for _, last = range refers {
				line += " " + steps[last]
			}
		}
		if p.Headers["In-Reply-To"] != last {
			m.t.Errorf("%s: In-Reply-To = %q, but the last of References is %q", line, p.Headers["In-Reply-To"], last)
		}
		all = append(all, line)
	}
	slices.Sort(all)
	return all
}

// hourly returns a template of emails with these subjects, each one hour after the end of the
// previous one.
func hourly(subjects ...string) string {
	var steps, links []string
	for i, subject := range subjects {
		steps = append(steps, fmt.Sprintf(`{"index": %d, "type": "auto_email", "subject": %q, "message": "Hi"}`, i, subject))
		if i > 0 {
			links = append(links, fmt.Sprintf(`{"from_step_index": %d, "to_step_index": %d, "transition_type": "PREVIOUS_STEP_COMPLETES", "post_check_delay": 1, "post_check_time_unit": "hours"}`, i-1, i))
		}
	}
	return fmt.Sprintf(`"steps": [%s], "transitions": [%s]`, strings.Join(steps, ", "), strings.Join(links, ", "))
}

// TestThreadLost checks that an email without a subject is a reply to the emails of its thread that
// were sent to the recipient. If the email that should have started the thread was refused, the
// next one starts it. The reason of the next step contains the outcome of the previous one.
func TestThreadLost(t *testing.T) {
	m := newMailer(t)
	cases := []struct {
		name   string
		lost   []int // the steps that the server refuses
		answer string
		want   []string
	}{
		{"fine", nil, "", []string{"0 Hello fine", "1 Re: Hello fine < 0", "2 Re: Hello fine < 0 1", "3 News", "4 Re: News < 3", "5 Re: News < 3 4"}},
		{"first", []int{0}, "552 5.2.2 full", []string{"0 failed Hello first", "1 Hello first", "2 Re: Hello first < 1", "3 News", "4 Re: News < 3", "5 Re: News < 3 4"}},
		{"both", []int{0, 1}, "552 5.2.2 full", []string{"0 failed Hello both", "1 failed Hello both", "2 Hello both", "3 News", "4 Re: News < 3", "5 Re: News < 3 4"}},
		{"reply", []int{1}, "552 5.2.2 full", []string{"0 Hello reply", "1 failed Re: Hello reply < 0", "2 Re: Hello reply < 0", "3 News", "4 Re: News < 3", "5 Re: News < 3 4"}},
		{"second", []int{3}, "552 5.2.2 full", []string{"0 Hello second", "1 Re: Hello second < 0", "2 Re: Hello second < 0 1", "3 failed News", "4 News", "5 Re: News < 4"}},
		{"all", []int{0, 1, 2, 3, 4}, "552 5.2.2 full", []string{"0 failed Hello all", "1 failed Hello all", "2 failed Hello all", "3 failed News", "4 failed News", "5 News"}},
		{"never", []int{1}, apptest.MailDrop, []string{"0 Hello never", "1 unknown Re: Hello never < 0", "2 Hello never", "3 News", "4 Re: News < 3", "5 Re: News < 3 4"}},
		{"perhaps", []int{0}, apptest.MailDrop, []string{"0 unknown Hello perhaps", "1 Hello perhaps", "2 Re: Hello perhaps < 1", "3 News", "4 Re: News < 3", "5 Re: News < 3 4"}},
	}
	var names []string
	for _, c := range cases {
		names = append(names, c.name)
	}
	m.server.Reply(func(stage, to string) string {
		for _, c := range cases {
			if stage == apptest.MailContent && to == c.name+"@initech.example" && slices.Contains(c.lost, m.server.Reached(stage, to)-1) {
				return c.answer
			}
		}
		return ""
	})
	ids := apptest.ContactsOf(m.Org, names...)
	campaign := m.sends(hourly("Hello {{recipient.first_name}}", "", "", "News", "", ""), "", ids...)
	m.run()
	for range 5 {
		m.after(time.Hour)
	}
	for i, c := range cases {
		if got := m.threaded(c.name); !slices.Equal(got, c.want) {
			t.Errorf("%s got\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		want := "1 hour after step 0 " + map[string]string{"sent": "was completed", "failed": "failed", "unknown": "ended with unknown delivery"}[m.message(c.name, 0).Status]
		if h := m.listedSequence(campaign, ids[i]).History[1]; !strings.HasPrefix(h.Reason, want) {
			t.Errorf("%s: the reason of step 1 is %q, want %q", c.name, h.Reason, want)
		}
	}
	m.counted(campaign)
	m.checkConsistency()
}

// TestThreadOnItsWay checks that no email is sent while the one before it is being retried, also after
// a restart. Then the thread continues, with the distance that the template plans.
func TestThreadOnItsWay(t *testing.T) {
	m := newMailer(t)
	m.server.Reply(func(stage, to string) string {
		if n := m.server.Reached(stage, to); stage == apptest.MailContent && n == 1 {
			return "451 4.3.0 not now"
		}
		return ""
	})
	minutes := func(from, to, n int) string {
		return fmt.Sprintf(`{"from_step_index": %d, "to_step_index": %d, "transition_type": "PREVIOUS_STEP_SCHEDULED", "post_check_delay": %d, "post_check_time_unit": "minutes"}`, from, to, n)
	}
	campaign := m.sends(`"steps": [{"index": 0, "type": "auto_email", "subject": "Hello", "message": "0"}, {"index": 1, "type": "auto_email", "message": "1"}, {"index": 2, "type": "auto_email", "message": "2"}],
		"transitions": [`+minutes(0, 1, 2)+", "+minutes(0, 2, 120)+"]", "", apptest.ContactsOf(m.Org, "bob")...)
	m.run()
	m.after(2 * time.Minute)
	m.is("bob", 0, "retrying", "451")
	m.arrived()
	m.app.Restart()
	m.after(3 * time.Minute)
	m.arrived("bob Hello")
	m.after(time.Minute)
	m.arrived("bob Hello")
	m.after(time.Minute)
	m.arrived("bob Hello", "bob Re: Hello")
	m.after(2 * time.Hour)
	want := []string{"0 Hello", "1 Re: Hello < 0", "2 Re: Hello < 0 1"}
	if got := m.threaded("bob"); !slices.Equal(got, want) {
		t.Errorf("bob received %q, want %q", got, want)
	}
	m.counted(campaign)
}

// TestThreadSkipped checks that a contact who had no address when the email with the subject was
// due gets that subject with the first email that is sent, rendered at that time. An empty subject
// does not count, and the previous thread continues. After a change of the address a new thread starts.
func TestThreadSkipped(t *testing.T) {
	p := newEngineFixture(t)
	p.Admin.Patch("/v1/organization", simOrg{"UTC", simAllDays, []string{}, simWindow{0, 24}}).Is(200)
	ids := simContacts(p.Org, `{"first_name": "Ann", "last_name": "Lee"}`, `{"first_name": "Bo", "last_name": "Lee", "email": "bo@x.example"}`)
	mail := func(index int, subject string) simStep {
		return simStep{Type: "auto_email", Index: index, Day: index, Hour: 9, Subject: subject, Message: "Hi"}
	}
	steps := []simStep{mail(0, "Hello {{recipient.first_name}}"), mail(1, ""), mail(2, ""), mail(3, ""), mail(4, "{{recipient.company}}"), mail(5, ""), mail(6, "Last"), mail(7, ""),
		simCall(8, 20, 9)} // a sequence of emails alone would not start without an address
	campaign := p.campaign(ids, map[string]any{"missing_values": "send"}, steps)
	for _, s := range simulated(t, p.Org, campaign, map[string]any{"contact_ids": ids[:1]})[0].Steps {
		if s.Index < 8 && (s.Action != "skip" || s.Subject != nil) {
			t.Errorf("unexpected step without a recipient: %+v", s)
		}
	}
	p.to("03-03 12:00")
	p.Write.Patch("/v1/contacts/"+ids[0], `{"first_name": "Bea", "email": "bea@x.example"}`).Is(200)
	p.to("03-05 12:00")
	p.Write.Patch("/v1/contacts/"+ids[1], `{"email": null}`).Is(200)
	p.to("03-06 12:00")
	p.Write.Patch("/v1/contacts/"+ids[1], `{"email": "bo@y.example"}`).Is(200)
	p.to("03-07 12:00")
	p.Write.Patch("/v1/contacts/"+ids[1], `{"email": null}`).Is(200)
	p.to("03-08 12:00")
	p.Write.Patch("/v1/contacts/"+ids[1], `{"email": "bo@z.example"}`).Is(200)
	p.to("03-09 12:00")
	for i, want := range [][]string{
		{"2 Hello Bea <", "3 Re: Hello Bea < 2", "4 Re: Hello Bea < 2 3", "5 Re: Hello Bea < 2 3 4", "6 Last <", "7 Re: Last < 6"},
		{"0 Hello Bo <", "1 Re: Hello Bo < 0", "2 Re: Hello Bo < 0 1", "3 Re: Hello Bo < 0 1 2", "5 Hello Bo <", "7 Last <"},
	} {
		stepOf := map[string]int{}
		var got []string
		for _, m := range p.outbox(apptest.IsRule("contact_id", ids[i])) {
			stepOf[m.Headers["Message-ID"]] = m.Step
			line := fmt.Sprint(m.Step, " ", *m.Subject, " <")
			for _, id := range strings.Fields(m.Headers["References"]) {
				line += fmt.Sprint(" ", stepOf[id])
			}
			got = append(got, line)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s got\n%s\nwant\n%s", ids[i], strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	p.agrees(campaign)
}
