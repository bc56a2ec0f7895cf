package sequence_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/store"
)

// numbered returns n names with a prefix.
func numbered(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(prefix, i))
	}
	return names
}

// holdMessages makes the mail server report the recipient of each message and hold it until the test sends to
// gate or closes it.
func (m *mailer) holdMessages() (gate chan struct{}, at chan string) {
	gate, at = make(chan struct{}), make(chan string, 200)
	m.server.Reply(func(stage, to string) string {
		if stage == apptest.MailContent {
			at <- to
			<-gate
		}
		return ""
	})
	return gate, at
}

// The messages of two organizations take turns at the connections, however many the first one has.
func TestMailTurns(t *testing.T) {
	m := newMailer(t)
	other := &mailer{m.app.Org("Umbrella"), t, m.app, m.server}
	gate, at := m.holdMessages()
	m.sends(apptest.OneMail, "", apptest.ContactsOf(m.Org, numbered("a", 60)...)...)
	m.app.Work()
	for range mailLines {
		apptest.Receive(t, at, "a message")
	}
	other.sends(apptest.OneMail, "", apptest.ContactsOf(other.Org, "b")...)
	m.app.Work()
	behind := 0
	for to := ""; !strings.HasPrefix(to, "b"); behind++ {
		gate <- struct{}{}
		to = apptest.Receive(t, at, "the next message")
	}
	if behind > 3 {
		t.Errorf("the message of the other organization was sent behind %d others", behind)
	}
	close(gate)
	m.run()
	m.server.Await(61)
}

// While the results of an organization cannot be stored, its messages wait, and those of others are sent.
func TestMailUnstoredResults(t *testing.T) {
	m := newMailer(t)
	other := &mailer{m.app.Org("Umbrella"), t, m.app, m.server}
	gate, at := m.holdMessages()
	campaign := m.sends(apptest.OneMail, "", apptest.ContactsOf(m.Org, numbered("a", 12)...)...)
	m.app.Work()
	for range mailLines {
		apptest.Receive(t, at, "a message")
	}
	// The statistics of the campaign are needed to store a result.
	statistics, id := store.NewParts("campaigns.counts"), uuid.MustParse(strings.TrimPrefix(campaign, "/v1/campaigns/"))
	var intact []byte
	put := func(value []byte) {
		t.Helper()
		err := m.app.Store.Update(context.Background(), m.ID, store.Actor{}, func(tx *store.Tx) error {
			was, err := statistics.Get(tx, id, 0)
			intact = append(intact, was...)
			statistics.Put(tx, id, 0, value)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	put([]byte("not JSON"))
	close(gate)
	m.server.Await(mailLines)
	other.sends(apptest.OneMail, "", apptest.ContactsOf(other.Org, numbered("b", 20)...)...)
	m.app.Work()
	if got := len(m.server.Await(mailLines + 20)); got != mailLines+20 {
		t.Errorf("%d messages were sent, want those in flight and 20 of the other organization", got)
	}
	put(intact)
	m.app.Sequences.Wait()
	m.app.Clock.Advance(time.Minute)
	m.run()
	if got := m.Read.Get(campaign + "/stats").Is(200).Int("data.messages_sent"); got != 12 {
		t.Errorf("%d messages of the first organization were sent", got)
	}
	if got := len(m.server.Mails()); got != 32 {
		t.Errorf("the server has %d messages, want 32", got)
	}
	m.checkConsistency()
}
