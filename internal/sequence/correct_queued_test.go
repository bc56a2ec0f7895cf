package sequence_test

import (
	"slices"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// TestCorrectQueued corrects a template while its first email waits for another attempt of the mail server. The email stays
// as it is and is sent once, what follows has the new text, and a text that lacks its step changes nothing.
func TestCorrectQueued(t *testing.T) {
	for _, c := range []struct {
		name    string
		content string
		counts  [3]int // changed, sent_step_gone, order_changed
		want    []string
	}{
		{"new text", hourly("Welcome {{recipient.first_name}}", "News", "More"), [3]int{1, 0, 0}, []string{"0 Hello bob", "1 News", "2 More"}},
		{"another type", `"steps": [{"index": 0, "type": "call"}, {"index": 1, "type": "auto_email", "subject": "News", "message": "Hi"}], "transitions": []`,
			[3]int{0, 1, 0}, []string{"0 Hello bob", "1 Re: Hello bob < 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMailer(t)
			bob := apptest.ContactsOf(m.Org, "bob")[0]
			m.server.Reply(apptest.Answering("RCPT", "450 4.2.1 busy"))
			campaign := m.sends(twoMails, "", bob)
			m.run()
			m.is("bob", 0, "retrying", "busy")
			template := "/v1/sequence-templates/" + m.Read.Get(campaign).Is(200).Text("data.template_id")
			m.Write.Patch(template, "{"+c.content+"}").Is(200)
			f := &engineFixture{m.Org, t, m.app}
			f.corrects(campaign, c.counts)
			m.server.Reply(nil)
			m.after(6 * time.Minute)
			m.after(time.Hour)
			m.after(2 * time.Hour)
			if got := m.threaded("bob"); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			m.counted(campaign)
			m.checkConsistency()
		})
	}
}
