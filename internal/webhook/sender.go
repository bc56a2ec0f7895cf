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
	// drainFor is how long attempts may take to end when the service stops. What is cut off then is sent again.
	drainFor = 5 * time.Second
	// recordAgain is when what could not be written down is written down after all.
	recordAgain = 10 * time.Second
	// sleepMost is how long the sender sleeps at most: the clock may be set.
	sleepMost = 10 * time.Minute
)

// Sender delivers what waits. One goroutine decides what is begun; attempts and their recording run beside it and come back to it
// as functions that it calls. So what it knows of each subscription needs no lock.
type Sender struct {
	hooks  *Webhooks
	client *http.Client
	fresh  *http.Client // for what met a connection that was hung up
	log    *slog.Logger
	counts counts

	mu      sync.Mutex
	running bool
	posted  []func()
	wake    chan struct{}

	held  bool // a restore holds all deliveries
	lines map[uuid.UUID]*line
	total lanes
	orgs  map[uuid.UUID]*orgLanes
	turns [paces]ring[orgLanes] // the organizations that have lines which are ready
	later timetable
	turn  pace
	busy  int // attempts and recordings under way
}

func newSender(w *Webhooks) *Sender {
	bound := max(1, w.Concurrency)
	client := newClient(w.addresses, lineMost(bound), w.Options)
	return &Sender{
		hooks: w, client: client, fresh: keepingNone(client), log: w.Log, wake: make(chan struct{}, 1),
		lines: map[uuid.UUID]*line{}, total: lanes{bound: bound}, orgs: map[uuid.UUID]*orgLanes{},
	}
}

// Run delivers until ctx ends, and then waits for what is under way.
func (s *Sender) Run(ctx context.Context) { s.run(ctx, false) }

// Once delivers what is due now, and what becomes so meanwhile, and returns when that is done.
func (s *Sender) Once(ctx context.Context) { s.run(ctx, true) }

func (s *Sender) run(ctx context.Context, once bool) {
	sending, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	s.start()
	defer s.stop()
	s.survey()
	for ctx.Err() == nil {
		s.catchUp()
		next := s.begin(sending)
		if once && s.busy == 0 && !s.hasPosted() {
			return
		}
		wait := sleepMost
		if !next.IsZero() {
			wait = min(wait, next.Sub(s.hooks.store.Now()))
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
	late := time.AfterFunc(drainFor, cut)
	defer late.Stop()
	for s.catchUp(); s.busy > 0; s.catchUp() { // first what woke it as ctx ended
		<-s.wake
	}
}

// post has fn called by the goroutine that decides, as soon as it is free.
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

// stop forgets all: the next to run finds everything in the store.
func (s *Sender) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, s.posted = false, nil
	clear(s.lines)
	clear(s.orgs)
	s.later, s.turns = nil, [paces]ring[orgLanes]{}
}

func (s *Sender) hasPosted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.posted) > 0
}

// catchUp calls what was posted.
func (s *Sender) catchUp() {
	s.mu.Lock()
	posted := s.posted
	s.posted = nil
	s.mu.Unlock()
	for _, fn := range posted {
		fn()
	}
}

// survey makes a line for every subscription that something waits for.
func (s *Sender) survey() {
	since, err := s.hooks.store.Held()
	s.held = !since.IsZero()
	orgs, failed := s.hooks.store.Organizations()
	for _, org := range orgs {
		failed = errors.Join(failed, s.hooks.store.View(org, func(tx *store.Tx) error {
			if s.hooks.deliveries.Count(tx) == 0 {
				return nil
			}
			return s.hooks.Subscriptions.Table.Scan(tx, func(d store.Doc[Subscription]) (bool, error) {
				waiting, err := s.hooks.waiting(tx, d.ID)
				if waiting > 0 {
					s.look(org, d.ID, paceOf(&d.Record))
				}
				return true, err
			})
		}))
	}
	if err := errors.Join(err, failed); err != nil {
		s.log.Error("what waits to be delivered cannot be read", "error", err)
	}
}

// arrived tells that something may be due for subscriptions, and changed that a subscription itself is another, or wants to be
// looked at at once.
func (s *Sender) arrived(org uuid.UUID, subscriptions []uuid.UUID) {
	s.post(func() {
		for _, id := range subscriptions {
			s.look(org, id, unknown)
		}
	})
}

func (s *Sender) changed(org, subscription uuid.UUID) {
	s.post(func() {
		if l := s.lines[subscription]; l != nil {
			l.forget()
			l.rest = time.Time{}
			s.readEndpoint(l)
		}
		s.look(org, subscription, unknown)
	})
}

// Forget drops what is in hand of an organization that was deleted.
func (s *Sender) Forget(org uuid.UUID) {
	s.post(func() {
		for id, l := range s.lines {
			if l.org == org {
				l.forget()
				delete(s.lines, id)
			}
		}
	})
}

// Resume begins to deliver what a restore has held.
func (s *Sender) Resume() {
	s.post(func() {
		s.held = false
		s.survey()
	})
}
