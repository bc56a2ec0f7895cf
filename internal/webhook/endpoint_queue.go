package webhook

import (
	"time"

	"github.com/google/uuid"

	"prospector/store"
)

const (
	// maxLoaded bounds how many deliveries of a subscription are read at once.
	maxLoaded = 64
	// maxUnrecorded bounds how many outcomes of a subscription may wait to be stored before no
	// further attempts start. It covers what is delivered while a large transaction of somebody
	// else commits. maxRecordBatch is how many outcomes one transaction stores.
	maxUnrecorded  = 4096
	maxRecordBatch = 1024
)

// maxInFlightPerEndpoint is how many attempts may be in flight to one endpoint.
func maxInFlightPerEndpoint(bound int) int { return max(1, bound/4) }

// endpointQueue is the scheduling state of one subscription. The goroutine of Sender.run owns it.
type endpointQueue struct {
	org, id uuid.UUID
	tier    tier
	to      endpoint
	loaded  []store.Doc[delivery] // due deliveries whose attempt has not started
	taken   map[uuid.UUID]bool    // deliveries that are loaded, in flight or not recorded yet
	stale   bool                  // the store may have more due deliveries
	nextDue time.Time             // when the next delivery that is not due yet becomes due

	backOffUntil  time.Time // the endpoint asked not to be called before then
	backOffLoaded bool      // whether the stored back-off of an earlier run was read
	wakesAt       time.Time // the earliest entry in Sender.wakeups
	isReady       bool      // whether the ready queues of the organization have it
	window        int       // how many attempts may be in flight; adapts to the endpoint
	inFlight      int
	failures      int

	outcomes  []outcome // not recorded yet
	recording bool
	gone      bool // the endpoint answered 410: no attempt starts before that is recorded
}

// isFull reports whether the queue must wait for its own attempts or recordings.
func (q *endpointQueue) isFull() bool {
	return q.inFlight >= q.window || len(q.outcomes) >= maxUnrecorded || q.gone
}

// loadSize is how many deliveries to read at once: a few rounds at the current window.
func (q *endpointQueue) loadSize() int { return min(maxLoaded, 4*q.window) }

// noteSlow records that an attempt has taken longer than SlowAfter. The window shrinks to one until
// the endpoint answers.
func (q *endpointQueue) noteSlow() {
	q.window = 1
	if q.tier == fastTier {
		q.tier = unprovenTier
	}
}

// mayStart reports whether an attempt may start.
func (q *endpointQueue) mayStart(now time.Time) bool {
	return !q.isFull() && !q.backOffUntil.After(now)
}

// unload drops the deliveries that are loaded and not started.
func (q *endpointQueue) unload() {
	for i := range q.loaded {
		delete(q.taken, q.loaded[i].ID)
	}
	q.loaded = nil
}

// failingAfter is how many consecutive failures put an endpoint into the failing tier. Fewer do not,
// because an endpoint that answers at all does not occupy a connection for long.
const failingAfter = 3

// adapt updates the tier, the window and the back-off from the outcome of an attempt.
func (q *endpointQueue) adapt(o outcome, maxWindow int, slowAfter time.Duration) {
	switch {
	case !o.succeeded():
		q.failures++
		q.tier, q.window, q.gone = unprovenTier, max(1, q.window/2), o.gone()
		if q.failures >= failingAfter || o.class == timeoutFailure {
			q.tier = failingTier
		}
		if until := o.backOffUntil(); until.After(q.backOffUntil) {
			q.backOffUntil = until
		}
	case o.duration > slowAfter:
		q.tier, q.window, q.failures = unprovenTier, min(q.window+1, maxWindow), 0
	default:
		q.tier, q.window, q.failures = fastTier, min(2*q.window, maxWindow), 0
	}
}

// initialTier is the tier of an endpoint that has not been called since the service started.
func initialTier(s *Subscription) tier {
	switch {
	case s.ConsecutiveFailures >= failingAfter:
		return failingTier
	case s.ConsecutiveFailures == 0 && s.LastSuccessAt.Valid():
		return fastTier
	}
	return unprovenTier
}
