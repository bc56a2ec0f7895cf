package cmd_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// TestKill9Mail kills the server again and again while it sends to a mail server that takes its time, and sometimes says that it is
// busy. Whatever it is that the kill comes into, nobody gets a message twice, what is on record as sent has arrived, and what neither
// arrived nor is known not to is unknown. In the end every sequence is through. PROSPECTOR_SOAK is the number of kills.
func TestKill9Mail(t *testing.T) {
	t.Parallel()
	rounds := soakRounds(t)
	contacts := max(150, 15*rounds)
	if raceDetector {
		contacts = 60
	}
	random := rand.New(rand.NewPCG(soakSeed, 40))
	// The clock of sequences runs at twenty minutes a second: what the sink puts off for five comes again soon, and the gap between two
	// messages is five milliseconds of the wall's. The sink takes longer, so that some are always under way together.
	o := newPostOffice(t, "PROSPECTOR_SEQUENCES_SPEED=1200", "PROSPECTOR_MAIL_MIN_GAP=6s")
	s := o.serve()
	campaign := o.campaign(s, twoMails, contacts)
	s.stop()
	k := &mailKills{postOffice: o, random: rand.New(rand.NewPCG(soakSeed, 41))}
	o.sink.Reply(k.answer)
	for round := range rounds {
		k.lives(1 + random.Int64N(int64(2*contacts/(rounds+2))))
		s = o.serve()
		if round == 0 {
			o.begin(s, campaign)
		}
		within(t, k.over, "so many messages come in one life")
		time.AfterFunc(time.Duration(random.Int64N(int64(5*time.Millisecond))), func() { _ = s.process.Kill() })
		s.ends(-1)
		s.isDiscreetOfMail()
	}
	s = o.serve()
	o.ended(s, campaign)
	sent, unknown := o.agree(s)
	kept := o.outbox(s)
	if len(kept) != 2*contacts || sent+unknown != len(kept) {
		t.Errorf("there are %d messages, of which %d are sent and %d unknown, want %d", len(kept), sent, unknown, 2*contacts)
	}
	if unknown == len(kept) {
		t.Errorf("%d messages are unknown after %d kills", unknown, rounds)
	}
	t.Logf("%d messages: %d sent, %d unknown, %d came", len(kept), sent, unknown, len(o.sink.Mails()))
	s.stop()
	s.hasNoErrors(noPublicURL, "messages were in flight when the service stopped")
	s.isDiscreetOfMail()
	o.passesCheck()
}

// mailKills is how the mail server goes on while the other is killed.
type mailKills struct {
	*postOffice

	mu     sync.Mutex
	random *rand.Rand
	left   int64
	over   chan struct{} // closed when enough messages have come in this life
}

// lives begins a life that ends after so many messages.
func (k *mailKills) lives(messages int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left, k.over = messages, make(chan struct{})
}

func (k *mailKills) answer(stage, _ string) string {
	if stage != apptest.MailContent && stage != "RCPT" {
		return ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.random.IntN(20) == 0 {
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

// TestKill9MailBurst: of many messages that wait for those that are on their way when the server is killed, each is sent by the next
// one; those that were on their way are unknown.
func TestKill9MailBurst(t *testing.T) {
	t.Parallel()
	const contacts = 600
	o := newPostOffice(t)
	s := o.serve()
	campaign := o.campaign(s, oneMail, contacts)
	came, killed := make(chan string, contacts), make(chan struct{})
	t.Cleanup(func() { close(killed) })
	o.sink.Reply(func(stage, to string) string {
		if stage != apptest.MailContent {
			return ""
		}
		came <- to
		<-killed // before it has its answer
		return apptest.MailDrop
	})
	o.begin(s, campaign)
	within(t, came, "a message comes")
	s.kill()
	o.sink.Reply(nil)
	s = o.serve()
	o.ended(s, campaign)
	sent, unknown := o.agree(s)
	if sent+unknown != contacts || sent == 0 || unknown == 0 {
		t.Errorf("%d are sent and %d unknown, want %d", sent, unknown, contacts)
	}
	s.stop()
	s.hasNoErrors(noPublicURL, "messages were in flight when the service stopped")
	o.passesCheck()
}
