package sequence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// TestBounceRate checks that a campaign is held when 10 of its last 50 messages bounced: + is an
// accepted message, x a bounce and r a refusal of the message.
func TestBounceRate(t *testing.T) {
	type rate struct {
		name, row string
		held      bool
	}
	for _, c := range apptest.SomeRaced(2, []rate{
		{"ten of fifty", strings.Repeat("+", 40) + strings.Repeat("x", 10), true},
		{"nine of fifty", strings.Repeat("+", 41) + strings.Repeat("x", 9), false},
		{"ten of ten", strings.Repeat("x", 10), true},
		{"first and last of fifty", "x" + strings.Repeat("+", 40) + strings.Repeat("x", 9), true},
		{"ten of fifty-one", "x" + strings.Repeat("+", 41) + strings.Repeat("x", 9), false},
		{"refusals are no bounces", strings.Repeat("+xrr", 9), false},
	}) {
		t.Run(c.name, func(t *testing.T) {
			m := newMailer(t, oneByOne)
			var addresses []string
			for i, r := range c.row {
				addresses = append(addresses, fmt.Sprintf("%d@%s.example", i, map[rune]string{'+': "fine", 'x': "gone", 'r': "strict"}[r]))
			}
			addresses = append(addresses, "last@fine.example")
			m.server.Reply(func(stage, to string) string {
				switch {
				case stage == "RCPT" && strings.HasSuffix(to, "@gone.example"):
					return "550 5.1.1 unknown"
				case stage == "RCPT" && strings.HasSuffix(to, "@strict.example"):
					return "550 5.7.1 no"
				}
				return ""
			})
			hooks := apptest.NewReceiver(t)
			hooks.Subscribe(m.Org, "campaign.held", "campaign.released")
			campaign, other := m.sends(apptest.OneMail, "", m.people(addresses...)...), m.sends(apptest.OneMail, "")
			m.run()
			m.minutes(len(c.row) + 2)
			m.held(other, "active", "", "")
			if !c.held {
				m.held(campaign, "active", "", "")
				if m.server.Reached("RCPT", "last@fine.example") != 1 {
					t.Error("the last message was not sent")
				}
				return
			}
			m.held(campaign, "active", "bounce_rate", "10 of the last 50")
			if m.server.Reached("RCPT", "last@fine.example") > 0 {
				t.Error("the last message was sent")
			}
			m.releases(campaign, `{"overdue": "send"}`, [3]int{1, 0, 0})
			m.run()
			m.held(campaign, "active", "", "")
			if m.server.Reached("RCPT", "last@fine.example") != 1 {
				t.Error("the last message was not sent after the release")
			}
			m.app.Deliver()
			hooks.Wants("bounces", map[string]string{"campaign": apptest.IDIn(campaign)}, "/0 campaign.held campaign", "/0 campaign.released campaign")
		})
	}
}

// TestDeferredUnderCapAndGap checks that each attempt counts against the sender's cap and keeps its
// gap.
func TestDeferredUnderCapAndGap(t *testing.T) {
	const to = "bob@initech.example"
	for _, c := range []struct {
		name   string
		change func(*service.Config)
		tries  map[time.Duration]int // attempts by then
	}{
		{"no limits", func(*service.Config) {}, map[time.Duration]int{5 * time.Minute: 2, 20 * time.Minute: 3, 80 * time.Minute: 4}},
		{"a gap of ten minutes", func(cfg *service.Config) { cfg.Mail.MinGap = 10 * time.Minute }, map[time.Duration]int{9 * time.Minute: 1, 10 * time.Minute: 2, 24 * time.Minute: 2, 25 * time.Minute: 3}},
		{"a cap of two", func(cfg *service.Config) { cfg.Mail.DailyCap = 2 }, map[time.Duration]int{5 * time.Minute: 2, 14 * time.Hour: 2, 15 * time.Hour: 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMailer(t, c.change)
			m.server.Reply(apptest.Answering("RCPT", "450 4.2.1 busy"))
			m.sends(apptest.OneMail, "", apptest.ContactsOf(m.Org, "bob")...)
			m.run()
			for passed := time.Minute; passed <= 15*time.Hour; passed += time.Minute {
				m.after(time.Minute)
				if want, is := c.tries[passed]; is && m.server.Reached("RCPT", to) != want {
					t.Errorf("after %v there were %d attempts, want %d", passed, m.server.Reached("RCPT", to), want)
				}
			}
		})
	}
}
