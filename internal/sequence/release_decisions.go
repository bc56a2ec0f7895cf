package sequence

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/outreach"
	"prospector/internal/shape"
	"prospector/store"
)

// openDecisions count what a release decides about.
type openDecisions struct {
	overdue     int // steps
	overdueKept int // those of sequences without captured messages
	captured    int // sequences
	unknown     int // messages that the mail server did not confirm
	sendAgain   int // those of them that can be sent again
}

func (f *openDecisions) add(g openDecisions) {
	f.overdue += g.overdue
	f.overdueKept += g.overdueKept
	f.captured += g.captured
	f.unknown += g.unknown
	f.sendAgain += g.sendAgain
}

func (f openDecisions) result(body ReleaseBody) (out ReleaseCounts) {
	overdue := f.overdue
	if body.Captured == capturedRestart {
		overdue, out.ToRestart = f.overdueKept, f.captured
	}
	if body.Overdue == overdueSkip {
		out.ToSkip = overdue
	} else {
		out.ToSend = overdue
	}
	if body.Unknown == unknownRetry {
		out.MayDuplicate = f.sendAgain
	}
	return out
}

// countOpenDecisions counts what a release of the campaign decides about now.
func (e *Engine) countOpenDecisions(tx *store.Tx, c *outreach.Campaign, body ReleaseBody) (f openDecisions, err error) {
	x := e.newEngineTx(tx)
	ids, err := e.sequencesToRelease(tx, c.ID, x.now)
	if err != nil {
		return f, err
	}
	f.captured = len(ids.captured)
	overdue := map[uuid.UUID]int{}
	for _, id := range ids.overdue {
		doc, err := e.sequences.Get(tx, id)
		if err != nil {
			return f, err
		}
		steps := len(doc.Record.overdueSteps(x.now))
		overdue[id] = steps
		f.overdue += steps
		if !doc.Record.canRestart() {
			f.overdueKept += steps
		}
	}
	for _, id := range ids.unknown {
		r, err := x.load(store.Doc[Sequence]{ID: id})
		if err != nil {
			return f, err
		}
		f.unknown += len(r.s.undecidedSteps())
		if body.Unknown != unknownRetry {
			continue
		}
		steps, err := r.stepsToSendAgain()
		if err != nil {
			return f, err
		}
		f.sendAgain += len(steps)
		if err := r.decideUnknown(releaseWork{Before: shape.At(x.now), Unknown: unknownRetry}); err != nil {
			return f, err
		}
		gone := overdue[id] - len(r.s.overdueSteps(x.now)) // they follow the emails that are sent again
		f.overdue -= gone
		if !r.s.canRestart() {
			f.overdueKept -= gone
		}
	}
	return f, nil
}

// releasable are the sequences of a campaign that a release can change.
type releasable struct {
	overdue  []uuid.UUID // with overdue steps
	captured []uuid.UUID // with captured messages that can begin again
	unknown  []uuid.UUID // with messages that the mail server did not confirm
}

// sequencesToRelease returns the sequences of a campaign that a release at a time can change.
func (e *Engine) sequencesToRelease(tx *store.Tx, campaign uuid.UUID, now time.Time) (s releasable, err error) {
	for _, key := range []string{byImmediate, byEmail} {
		err := e.sequences.Range(tx, key, campaign[:], func(k []byte, id uuid.UUID) bool {
			if !slices.Equal(k[:16], campaign[:]) || timeOfDueKey(k).After(now) {
				return false
			}
			s.overdue = append(s.overdue, id)
			return true
		})
		if err != nil {
			return s, err
		}
	}
	slices.SortFunc(s.overdue, store.CompareIDs)
	s.overdue = slices.Compact(s.overdue)
	all, err := e.sequences.IDs(tx, byCaptured, campaign[:], 0)
	if err != nil {
		return s, err
	}
	for _, id := range all {
		doc, err := e.sequences.Get(tx, id)
		if err != nil {
			return s, err
		}
		if doc.Record.canRestart() {
			s.captured = append(s.captured, id)
		}
	}
	s.unknown, err = e.undecidedSequences(tx, campaign)
	return s, err
}

// overdueSteps returns the positions of the steps that are due.
func (s *Sequence) overdueSteps(now time.Time) []int {
	return s.stepsWhere(func(i int) bool {
		at, _, waits := s.due(i)
		return waits && !at.After(now)
	})
}

// canRestart reports whether the sequence has captured messages that can still be sent, and was not
// stopped.
func (s *Sequence) canRestart() bool {
	return s.maySendAgain() && len(s.capturedSteps()) > 0
}

// capturedSteps returns the positions of the captured steps, except those before an email that the
// recipient may have received. There are none while an email is in flight.
func (s *Sequence) capturedSteps() (steps []int) {
	var received time.Time
	for i := range s.History {
		switch h := &s.History[i]; h.Status {
		case StepSent, StepUnknown:
			received = h.At.Std()
			steps = slices.DeleteFunc(steps, func(j int) bool { return !s.History[j].At.Std().After(received) })
		case StepCaptured:
			if h.At.Std().After(received) {
				steps = append(steps, i)
			}
		case StepWaiting:
			if s.inFlight(i) {
				return nil
			}
		}
	}
	return steps
}
