package webhook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"prospector/store"
)

const (
	// recordRetryDelay is the delay before outcomes that could not be stored are stored again.
	recordRetryDelay = 10 * time.Second
	// maxSleep bounds how long the sender sleeps, because the system clock may be set.
	maxSleep = 10 * time.Minute
)

// Sender delivers pending events. One goroutine owns the scheduling state and decides which attempt
// starts next. Attempts and the transactions that record them run in goroutines of their own and
// report back by posting functions to the owner, so the scheduling state needs no lock.
type Sender struct {
	webhooks *Webhooks
	client   *http.Client
	fresh    *http.Client // never reuses a connection; see do
	log      *slog.Logger
	counts   counts

	mu      sync.Mutex
	running bool
	posted  []func()
	wake    chan struct{}

	// The fields below belong to the goroutine in run.

	held    bool // the outbound hold of a restored or copied store is in force
	queues  map[uuid.UUID]*endpointQueue
	total   concurrencyLimit
	orgs    map[uuid.UUID]*orgQueues
	ready   [tierCount]fifo[orgQueues] // organizations with queues that can start an attempt
	wakeups wakeupHeap
	next    tier // the tier that picks first
	busy    int  // attempts, recordings and fan-outs in progress

	unfanned map[uuid.UUID]bool // organizations with events to fan out
	fanning  map[uuid.UUID]bool // organizations for which a fan-out runs
}

func newSender(w *Webhooks) *Sender {
	bound := max(1, w.Concurrency)
	client := newClient(w.addresses, maxInFlightPerEndpoint(bound), w.Options)
	return &Sender{
		webhooks: w, client: client, fresh: withoutKeepAlives(client), log: w.Log, wake: make(chan struct{}, 1),
		queues: map[uuid.UUID]*endpointQueue{}, total: concurrencyLimit{bound: bound}, orgs: map[uuid.UUID]*orgQueues{},
		unfanned: map[uuid.UUID]bool{}, fanning: map[uuid.UUID]bool{},
	}
}

// Run delivers until ctx ends. It then cuts off the attempts that get no answer within SlowAfter, which are
// repeated after the next start, and records the others.
func (s *Sender) Run(ctx context.Context) { s.run(ctx, false) }

// Once delivers everything that is due now or becomes due before it finishes.
func (s *Sender) Once(ctx context.Context) { s.run(ctx, true) }

func (s *Sender) run(ctx context.Context, once bool) {
	sending, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	s.start()
	defer s.stop()
	s.loadQueues()
	for ctx.Err() == nil {
		s.runPosted()
		next := s.startAttempts(sending)
		s.startFanOuts(sending)
		if once && s.busy == 0 && !s.hasPosted() {
			return
		}
		wait := maxSleep
		if !next.IsZero() {
			wait = min(wait, next.Sub(s.webhooks.store.Now()))
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
	late := time.AfterFunc(s.webhooks.SlowAfter, cut)
	defer late.Stop()
	for s.runPosted(); s.busy > 0; s.runPosted() { // the first call handles what arrived as ctx ended
		<-s.wake
	}
}

// post schedules fn to run in the goroutine of run. It drops fn when the sender is not running.
func (s *Sender) post(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running {
		return
	}
	s.posted = append(s.posted, fn)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Sender) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = true
}

// stop discards the scheduling state. The next run reads it from the store again.
func (s *Sender) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, s.posted = false, nil
	clear(s.queues)
	clear(s.orgs)
	clear(s.unfanned)
	clear(s.fanning)
	s.wakeups, s.ready = nil, [tierCount]fifo[orgQueues]{}
}

func (s *Sender) hasPosted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.posted) > 0
}

// runPosted calls the functions that were posted since the last call.
func (s *Sender) runPosted() {
	s.mu.Lock()
	posted := s.posted
	s.posted = nil
	s.mu.Unlock()
	for _, fn := range posted {
		fn()
	}
}

// loadQueues creates a queue for every subscription that has pending deliveries, and finds the events that are
// not fanned out.
func (s *Sender) loadQueues() {
	hold, err := s.webhooks.store.Held()
	s.held = !hold.Since.IsZero()
	orgs, failed := s.webhooks.store.Organizations()
	for _, org := range orgs {
		failed = errors.Join(failed, s.webhooks.store.View(org, func(tx *store.Tx) error {
			if s.webhooks.newEvents.Count(tx) > 0 {
				s.unfanned[org] = true
			}
			if s.webhooks.deliveries.Count(tx) == 0 {
				return nil
			}
			return s.webhooks.Subscriptions.Table.Scan(tx, func(d store.Doc[Subscription]) (bool, error) {
				pending, err := s.webhooks.pendingOf(tx, d.ID)
				if pending > 0 {
					s.refresh(org, d.ID, initialTier(&d.Record))
				}
				return true, err
			})
		}))
	}
	if err := errors.Join(err, failed); err != nil {
		s.log.Error("cannot read pending webhook deliveries", "error", err)
	}
}

// deliveriesAdded reports that subscriptions may have deliveries that are due.
func (s *Sender) deliveriesAdded(org uuid.UUID, subscriptions []uuid.UUID) {
	s.post(func() {
		for _, id := range subscriptions {
			s.refresh(org, id, unprovenTier)
		}
	})
}

// subscriptionChanged reports that a subscription was changed, or that its back-off ends now.
func (s *Sender) subscriptionChanged(org, subscription uuid.UUID) {
	s.post(func() {
		if q := s.queues[subscription]; q != nil {
			q.unload()
			q.backOffUntil = time.Time{}
			s.readEndpoint(q)
		}
		s.refresh(org, subscription, unprovenTier)
	})
}

// Forget drops the queues of an organization that was deleted.
func (s *Sender) Forget(org uuid.UUID) {
	s.post(func() {
		delete(s.unfanned, org)
		for id, q := range s.queues {
			if q.org == org {
				q.unload()
				delete(s.queues, id)
			}
		}
	})
}

// Resume ends the outbound hold of a restored backup and starts delivering.
func (s *Sender) Resume() {
	s.post(func() {
		s.held = false
		s.loadQueues()
	})
}
