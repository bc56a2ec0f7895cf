package sequence

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/mail"
	"prospector/internal/outreach"
	"prospector/internal/shape"
	"prospector/internal/template"
	"prospector/store"
)

// A mail server that takes the content of a message and closes the connection without an answer leaves
// the message unknown: it may have been delivered. This file holds a campaign before that happens to
// its whole list, and applies what its release decides about these messages. Messages that a crash of
// the service left unknown do not count, and a release does not decide about them.

const (
	// A campaign is held when maxUnknown of its last unknownWindow messages are unknown, or when the
	// last ones are, see isRowOfFailures.
	maxUnknown    = 10
	unknownWindow = 50
)

// What a release does about unknown messages.
const (
	unknownSent  = "sent"  // they count as sent, and the next emails are replies to them
	unknownRetry = "retry" // they are sent again
	unknownKeep  = "keep"  // they stay unknown, and the next emails start new threads
)

// noteUnknown counts the messages of a campaign that the mail server left unknown, and holds the
// campaign if there are too many.
func (x *engineTx) noteUnknown(m *Message, res result) error {
	switch res.Status {
	case mail.Sent, mail.Bounced, mail.Rejected:
	case mail.Unknown:
		campaign, err := x.campaign(m.CampaignID)
		if err != nil || res.byService || campaign == nil || campaign.Held != nil { // it was in flight
			return err
		}
	default:
		return nil
	}
	c, err := x.countersOf(m.CampaignID)
	if err != nil {
		return err
	}
	c.RecentUnknown = c.RecentUnknown << 1 & (1<<unknownWindow - 1)
	if res.Status != mail.Unknown {
		c.UnknownRow = nil
		return nil
	}
	c.RecentUnknown |= 1
	c.UnknownRow = append(slices.Clip(c.UnknownRow), domainOf(m.To))
	c.UnknownRow = c.UnknownRow[max(0, len(c.UnknownRow)-maxRefusals):]
	unknown := bits.OnesCount64(c.RecentUnknown)
	if !isRowOfFailures(c.UnknownRow) && unknown < maxUnknown {
		return nil
	}
	c.RecentUnknown, c.UnknownRow = 0, nil
	x.engine.Options.Log.Warn("the mail server does not confirm messages, campaign held",
		"organization", x.tx.Org(), "campaign", m.CampaignID, "unknown", unknown, "error", res.Text)
	return x.hold(m.CampaignID, outreach.HeldDeliveryUnknown, fmt.Sprintf(
		"The mail server did not confirm %d of the last messages of the campaign. They may have been delivered: %s", unknown, res.Text))
}

// undecidedSteps returns the positions of the emails that the mail server left unknown, and about which
// no release has decided.
func (s *Sequence) undecidedSteps() []int {
	return s.stepsWhere(func(i int) bool { return s.History[i].Status == StepUnknown && s.state.Steps[i].Undecided })
}

// undecidedSequences returns the sequences of a campaign with undecided steps.
func (e *Engine) undecidedSequences(tx *store.Tx, campaign uuid.UUID) (undecided []uuid.UUID, err error) {
	err = eachUnder(tx, e.sequences, byFailed, campaign[:], func(doc store.Doc[Sequence]) error {
		if len(doc.Record.undecidedSteps()) > 0 {
			undecided = append(undecided, doc.ID)
		}
		return nil
	})
	return undecided, err
}

// stepsToSendAgain returns the positions of undecided emails that a release can send again.
func (r *sequenceRun) stepsToSendAgain() ([]int, error) { return r.ifSendable(r.s.undecidedSteps()) }

// decideUnknown applies what a release decided about the unknown messages of the sequence. It is
// idempotent.
func (r *sequenceRun) decideUnknown(work releaseWork) error {
	switch work.Unknown {
	case "":
		return nil
	case unknownSent:
		for _, i := range r.s.undecidedSteps() {
			if err := r.acceptUnknown(i); err != nil {
				return err
			}
		}
	case unknownRetry:
		steps, err := r.stepsToSendAgain()
		if err != nil {
			return err
		}
		// Without NotBefore they would be overdue when the job runs again after a crash.
		r.reopenEmails(steps, "; sent again, because its delivery was unknown", shape.At(work.Before.Std().Add(time.Millisecond)))
	}
	for _, i := range r.s.undecidedSteps() {
		r.s.state.Steps[i].Undecided = false
	}
	return nil
}

// acceptUnknown lets the unknown email of a step count as sent.
func (r *sequenceRun) acceptUnknown(i int) error {
	h := &r.s.History[i]
	h.Status = StepSent
	h.Reason += "; counts as sent since the campaign was released"
	return r.endMessage(i, MessageSent, "")
}

// threadToReply returns the thread that the next email belongs to. The email is no reply to one that may
// not have been delivered: it starts a new thread, with the subject of the current one unless it has
// its own.
func (s *Sequence) threadToReply() template.Thread {
	thread := s.state.Thread
	for i := range s.History {
		if h := &s.History[i]; h.Status == StepUnknown && thread.Contains(h.MessageID.UUID) {
			thread.Restart()
		}
	}
	return thread
}
