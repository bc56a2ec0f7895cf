package sequence_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// zoe is another user, who becomes the sender of a campaign.
func (m *mailer) zoe() string {
	m.t.Helper()
	return m.Admin.Post("/v1/users", `{"email": "zoe@acme.example", "first_name": "Zoe"}`).Is(201).ID()
}

// senders returns the senders of the messages to bob, with their statuses.
func (m *mailer) senders() (all []string) {
	m.t.Helper()
	for _, p := range m.outbox() {
		all = append(all, fmt.Sprint(p.Step, " ", p.Status, " ", p.From))
	}
	slices.Sort(all)
	return all
}

// TestOwnerChangeThread changes the sender of a campaign whose emails are a thread. The next email comes from the
// new sender and starts a new thread, and so it is when the address of the sender changes.
func TestOwnerChangeThread(t *testing.T) {
	m := newMailer(t)
	ids := apptest.ContactsOf(m.Org, "bob")
	campaign := m.sends(hourly("Hello {{recipient.first_name}}", "", "", "", "", ""), "", ids...)
	m.run()
	m.after(time.Hour)
	zoe := m.zoe()
	m.Write.Patch(campaign, fmt.Sprintf(`{"owner_id": %q}`, zoe)).Is(200)
	m.after(time.Hour)
	m.after(time.Hour)
	m.Admin.Patch("/v1/users/"+zoe, `{"email": "zoe.new@acme.example"}`).Is(200)
	m.after(time.Hour)
	m.after(time.Hour)
	want := []string{"0 Hello bob", "1 Re: Hello bob < 0", "2 Hello bob", "3 Re: Hello bob < 2", "4 Hello bob", "5 Re: Hello bob < 4"}
	if got := m.threaded("bob"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	want = []string{"0 sent ada@acme.example", "1 sent ada@acme.example", "2 sent zoe@acme.example", "3 sent zoe@acme.example", "4 sent zoe.new@acme.example", "5 sent zoe.new@acme.example"}
	if got := m.senders(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	m.counted(campaign)
	m.checkConsistency()
}

// TestOwnerChangeRetry changes the sender while a message waits for another attempt. The old message fails, and the
// new sender writes another one.
func TestOwnerChangeRetry(t *testing.T) {
	m := newMailer(t)
	ids := apptest.ContactsOf(m.Org, "bob")
	m.server.Reply(apptest.Answering("RCPT", "450 4.2.1 busy"))
	campaign := m.sends(twoMails, "", ids...)
	m.run()
	m.is("bob", 0, "retrying", "busy")
	m.Write.Patch(campaign, fmt.Sprintf(`{"owner_id": %q}`, m.zoe())).Is(200)
	m.server.Reply(nil)
	m.after(6 * time.Minute)
	m.after(2 * time.Hour)
	m.arrived("bob Hello bob", "bob Re: Hello bob")
	want := []string{"0 failed ada@acme.example", "0 sent zoe@acme.example", "1 sent zoe@acme.example"}
	if got := m.senders(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	m.wantSequence(campaign, ids[0], "completed sent sent")
	m.checkConsistency()
}

// TestOwnerChangeQueued changes the sender while a message is queued, before its content is handed over. It does not
// go out from the old sender.
func TestOwnerChangeQueued(t *testing.T) {
	m := newMailer(t)
	ids := apptest.ContactsOf(m.Org, "bob")
	gate, at := m.gate("RCPT")
	campaign := m.sends(twoMails, "", ids...)
	m.app.Work()
	apptest.Receive(t, at, "a message")
	m.Write.Patch(campaign, fmt.Sprintf(`{"owner_id": %q}`, m.zoe())).Is(200)
	m.server.Reply(nil)
	gate <- ""
	m.run()
	m.after(2 * time.Hour)
	m.arrived("bob Hello bob", "bob Re: Hello bob")
	want := []string{"0 failed ada@acme.example", "0 sent zoe@acme.example", "1 sent zoe@acme.example"}
	if got := m.senders(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	m.checkConsistency()
}
