package webhook

import (
	"time"

	"github.com/google/uuid"

	"prospector/store"
)

const (
	// loadMost is how many deliveries of a subscription are read at once, at most.
	loadMost = 64
	// unrecordedMost is how many attempts may be over and not written down before no more are made: what is delivered while somebody
	// else's large commit is being made. recordMost is how many are written down at once.
	unrecordedMost = 4096
	recordMost     = 1024
)

// lineMost is how many attempts are made to one endpoint at the same time.
func lineMost(bound int) int { return max(1, bound/4) }

// line is what the sender knows of a subscription.
type line struct {
	org, id uuid.UUID
	pace    pace
	to      endpoint
	loaded  []store.Doc[delivery] // due, and not begun yet
	taken   map[uuid.UUID]bool    // the deliveries that are loaded, under way or not written down yet
	look    bool                  // the store may have more that is due
	next    time.Time             // when the first of the others is due
	rest    time.Time             // the endpoint wants to be left alone until then
	known   bool                  // what it wanted before the service began is known
	wakes   time.Time             // the first time in the timetable
	placed  bool

	// window is how many attempts may be under way: it grows while the endpoint answers, and shrinks when it does not.
	window   int
	inFlight int
	failures int // in a row

	outcomes  []outcome // not written down yet
	recording bool
	gone      bool // it answered that it is: nothing more is begun before that is written down
}

// full tells that a line must wait for its own attempts.
func (l *line) full() bool {
	return l.inFlight >= l.window || len(l.outcomes) >= unrecordedMost || l.gone
}

// most is how many deliveries are read at once: enough for a while at the pace that the endpoint has.
func (l *line) most() int { return min(loadMost, 4*l.window) }

// slow notes that an attempt has no answer yet: no more are begun meanwhile.
func (l *line) slow() {
	l.window = 1
	if l.pace == prompt {
		l.pace = unknown
	}
}

// mayGo tells that an attempt may be begun.
func (l *line) mayGo(now time.Time) bool { return !l.full() && !l.rest.After(now) }

// forget drops what was loaded and not begun.
func (l *line) forget() {
	for i := range l.loaded {
		delete(l.taken, l.loaded[i].ID)
	}
	l.loaded = nil
}

// failuresMost is how many failures in a row an endpoint may have before it counts with the dead: one that answers at all takes no
// room for long.
const failuresMost = 3

// learn takes from an answer how to go on with the endpoint.
func (l *line) learn(o outcome, most int) {
	switch {
	case !o.succeeded():
		l.failures++
		l.pace, l.window, l.gone = unknown, max(1, l.window/2), o.gone()
		if l.failures >= failuresMost || o.class == timeoutClass {
			l.pace = bad
		}
		if rest := o.rest(); rest.After(l.rest) {
			l.rest = rest
		}
	case o.took > promptTime:
		l.pace, l.window, l.failures = unknown, min(l.window+1, most), 0
	default:
		l.pace, l.window, l.failures = prompt, min(2*l.window, most), 0
	}
}

// paceOf is the pace of an endpoint that has not been asked since the service began.
func paceOf(s *Subscription) pace {
	switch {
	case s.ConsecutiveFailures >= failuresMost:
		return bad
	case s.ConsecutiveFailures == 0 && s.LastSuccessAt.Valid():
		return prompt
	}
	return unknown
}
