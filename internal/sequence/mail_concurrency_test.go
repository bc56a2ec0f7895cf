package sequence_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// mailLines is how many messages are handed over at the same time.
const mailLines = 8

// TestMailStopBeforeContent checks that a slow server does not receive the content of a message once
// a request that stops it was acknowledged.
func TestMailStopBeforeContent(t *testing.T) {
	for _, c := range mailStops() {
		t.Run(c.name+" at the recipient", func(t *testing.T) { stopsBeforeContent(t, c, "RCPT", "") })
		t.Run(c.name+" at the content", func(t *testing.T) { stopsBeforeContent(t, c, "DATA", "354 go ahead") })
	}
}

func stopsBeforeContent(t *testing.T, c mailStop, stage, answer string) {
	m := newMailer(t)
	gate, at := m.gate(stage)
	bob := apptest.ContactsOf(m.Org, "bob")[0]
	campaign := m.sends(twoMails, "", bob)
	m.app.Work()
	apptest.Receive(t, at, "a message")
	c.do(m, campaign, bob)
	gate <- answer
	m.run()
	m.server.Reply(nil)
	m.after(24 * time.Hour)
	if n := m.server.Reached(apptest.MailContent, "bob@initech.example"); n != 0 {
		t.Errorf("the content was sent %d times", n)
	}
	m.ends(c, campaign, bob)
}

// gate makes the server wait at a stage until the test chooses its reply. recipients receives the
// recipients that wait.
func (m *mailer) gate(at string) (answers chan<- string, recipients <-chan string) {
	gate, to := make(chan string), make(chan string, 1)
	m.t.Cleanup(func() { close(gate) })
	m.server.Reply(func(stage, recipient string) string {
		if stage != at {
			return ""
		}
		to <- recipient
		return <-gate
	})
	return gate, to
}

// TestMailInFlightLimit checks that only as many messages are in flight as the server accepts soon,
// because their fate is unknown after a crash. A faster server gets more of them.
func TestMailInFlightLimit(t *testing.T) {
	m := newMailer(t)
	gate, at := make(chan struct{}), make(chan string, 1000)
	open := sync.OnceFunc(func() { close(gate) })
	defer open()
	m.server.Reply(func(stage, to string) string {
		if stage == apptest.MailContent {
			at <- to
			<-gate
		}
		return ""
	})
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprint("c", i))
	}
	campaign := m.sends(apptest.OneMail, "", apptest.ContactsOf(m.Org, names...)...)
	m.app.Work()
	for range mailLines {
		apptest.Receive(t, at, "a message")
	}
	sending := 0
	for _, p := range m.outbox() {
		if p.Status == "sending" {
			sending++
		}
	}
	if sending < mailLines || sending > 2*mailLines {
		t.Errorf("unexpected number of messages in flight: %d", sending)
	}
	open()
	m.run()
	if n := m.Read.Get(campaign + "/stats").Is(200).Int("data.messages_sent"); n != 100 {
		t.Errorf("unexpected number of messages sent: %d", n)
	}
	m.checkConsistency()
}

// TestMailSlowRecipient checks that a message that the server is slow to accept does not delay
// other messages.
func TestMailSlowRecipient(t *testing.T) {
	m := newMailer(t)
	gate, at := make(chan struct{}), make(chan string, mailLines)
	open := sync.OnceFunc(func() { close(gate) })
	defer open()
	m.server.Reply(func(stage, to string) string {
		if stage == apptest.MailContent {
			at <- to
			if strings.HasPrefix(to, "slow") {
				<-gate
			}
		}
		return ""
	})
	for _, name := range []string{"slow", "bob", "slow2", "eve"} {
		m.sends(apptest.OneMail, "", apptest.ContactsOf(m.Org, name)...)
		m.app.Work()
		if to := apptest.Receive(t, at, "a message"); to != name+"@initech.example" {
			t.Errorf("the server received a message for %s, want %s", to, name)
		}
	}
	open()
	m.run()
	m.arrived("slow Hello slow", "bob Hello bob", "slow2 Hello slow2", "eve Hello eve")
	m.checkConsistency()
}

// TestMailNothingWaits checks that the engine runs again as soon as there is room for a waiting
// message, however its runs and the results of messages interleave.
func TestMailNothingWaits(t *testing.T) {
	const contacts, steps = 30, 6
	m := newMailer(t)
	var body, transitions []string
	for i := range steps {
		body = append(body, fmt.Sprintf(`{"index": %d, "type": "auto_email", "subject": "No %d", "message": "Shall we talk?"}`, i, i))
		if i > 0 {
			transitions = append(transitions, fmt.Sprintf(`{"from_step_index": %d, "to_step_index": %d, "transition_type": "PREVIOUS_STEP_COMPLETES", "post_check_delay": 1, "post_check_time_unit": "minutes"}`, i-1, i))
		}
	}
	campaign := m.sends(fmt.Sprintf(`"steps": [%s], "transitions": [%s]`, strings.Join(body, ","), strings.Join(transitions, ",")), "")
	audience := m.Read.Get(campaign).Is(200).Text("data.audiences.0.id")
	for i := range contacts { // one message becomes due after another
		m.Write.Post("/v1/audiences/"+audience+"/contacts/add", apptest.ContactIDs(apptest.ContactsOf(m.Org, fmt.Sprint("c", i))...)).Is(200)
		m.after(time.Second)
	}
	for range steps * 70 { // results are recorded while the engine looks for newly due messages
		m.app.Clock.Advance(time.Second)
		m.app.Work()
	}
	for range steps { // sending may have taken longer
		m.after(time.Minute)
	}
	if n := m.Read.Get(campaign + "/stats").Is(200).Int("data.messages_sent"); n != steps*contacts {
		t.Errorf("%d messages were sent, want %d", n, steps*contacts)
	}
	m.checkConsistency()
}
