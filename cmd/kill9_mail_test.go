package cmd_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// mailConnections is how many messages the server hands over at the same time. A kill leaves at most
// that many messages whose outcome is uncertain.
const mailConnections = 8

// TestKill9Mail repeatedly kills the server while it sends to a mail server that is slow and
// sometimes busy. No recipient receives a message twice, every message recorded as sent has
// arrived, and each kill makes at most one message per connection unknown. All other messages arrive.
// PROSPECTOR_SOAK is the number of kills.
func TestKill9Mail(t *testing.T) {
	t.Parallel()
	rounds := soakRounds(t, 2)
	contacts := max(150, 15*rounds)
	if apptest.RaceDetector {
		contacts = 60
	}
	random := rand.New(rand.NewPCG(soakSeed, 40))
	// The sequence clock runs at twenty minutes per second. A message that the sink defers for five
	// minutes is retried soon, and the gap between two messages is five milliseconds of real time.
	// The sink takes longer, so that several messages are always in flight.
	o := newMailPlace(t, "PROSPECTOR_SEQUENCES_SPEED=1200", "PROSPECTOR_MAIL_MIN_GAP=6s")
	s := o.serve()
	campaign := o.campaign(s, twoMails, contacts)
	s.stop()
	k := &mailKills{mailPlace: o, random: rand.New(rand.NewPCG(soakSeed, 41)), deferred: map[string]bool{}}
	o.sink.Reply(k.answer)
	known, most := 0, 0 // unknown messages
	for round := range rounds {
		k.lives(1 + random.Int64N(int64(2*contacts/(rounds+2))))
		s = o.serve()
		if round == 0 {
			o.begin(s, campaign)
		} else {
			before := known
			known = o.unknown(s)
			if most = max(most, known-before); known-before > mailConnections {
				t.Errorf("kill %d made %d messages unknown, want at most %d", round, known-before, mailConnections)
			}
		}
		within(t, k.over, "so many messages come in one life")
		time.AfterFunc(time.Duration(random.Int64N(int64(5*time.Millisecond))), func() { _ = s.process.Kill() })
		s.ends(-1)
		s.logHasNoAddresses()
	}
	s = o.serve()
	o.awaitEnded(s, campaign)
	sent, unknown := o.checkOutbox(s)
	kept := o.outbox(s)
	if len(kept) != 2*contacts || sent+unknown != len(kept) {
		t.Errorf("got %d messages, %d of them sent and %d unknown, want %d", len(kept), sent, unknown, 2*contacts)
	}
	if most = max(most, unknown-known); unknown-known > mailConnections {
		t.Errorf("the last kill made %d messages unknown, want at most %d", unknown-known, mailConnections)
	}
	t.Logf("%d kills, %d messages: %d sent, %d unknown (at most %d per kill), %d arrived",
		rounds, len(kept), sent, unknown, most, len(o.sink.Mails()))
	s.stop()
	s.hasNoErrors(noPublicURL, "messages were handed over when the service stopped")
	s.logHasNoAddresses()
	o.passesCheck()
}

// mailKills controls how the mail server responds while the sending server is killed.
type mailKills struct {
	*mailPlace

	mu     sync.Mutex
	random *rand.Rand
	left   int64
	// deferred are the recipients that were deferred. A second time could be more than 24 hours of the
	// sequence clock later, because the clock jumps with every kill, and the message would fail.
	deferred map[string]bool
	over     chan struct{} // closed when enough messages have arrived in this life of the server
}

// lives begins a life of the server that ends after so many messages.
func (k *mailKills) lives(messages int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left, k.over = messages, make(chan struct{})
}

func (k *mailKills) answer(stage, to string) string {
	if stage != apptest.MailContent && stage != "RCPT" {
		return ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.random.IntN(20) == 0 && !k.deferred[to] {
		k.deferred[to] = true
		return "451 4.3.0 not now"
	}
	if stage == apptest.MailContent {
		if k.left--; k.left == 0 {
			close(k.over)
		}
		takes := time.After(time.Duration(k.random.Int64N(int64(30 * time.Millisecond))))
		k.mu.Unlock()
		<-takes
		k.mu.Lock()
	}
	return ""
}

// TestKill9MailBurst kills the server while many messages wait behind those in flight. The next
// server sends each waiting message. The messages in flight are unknown.
func TestKill9MailBurst(t *testing.T) {
	t.Parallel()
	const contacts = 600
	o := newMailPlace(t)
	s := o.serve()
	campaign := o.campaign(s, oneMail, contacts)
	arrived, killed := make(chan string, contacts), make(chan struct{})
	t.Cleanup(func() { close(killed) })
	o.sink.Reply(func(stage, to string) string {
		if stage != apptest.MailContent {
			return ""
		}
		arrived <- to
		<-killed // before the server gets the response
		return apptest.MailDrop
	})
	o.begin(s, campaign)
	within(t, arrived, "a message comes")
	s.kill()
	o.sink.Reply(nil)
	s = o.serve()
	o.awaitEnded(s, campaign)
	sent, unknown := o.checkOutbox(s)
	if sent+unknown != contacts || unknown == 0 || unknown > mailConnections {
		t.Errorf("%d messages are sent and %d unknown, want %d with 1 to %d unknown", sent, unknown, contacts, mailConnections)
	}
	s.stop()
	s.hasNoErrors(noPublicURL, "messages were handed over when the service stopped")
	o.passesCheck()
}
