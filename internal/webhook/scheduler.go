package webhook

import (
	"container/heap"
	"context"
	"time"

	"github.com/google/uuid"
)

// refresh marks the queue of a subscription as possibly having due deliveries in the store. The
// tier applies if the queue is created by this call.
func (s *Sender) refresh(org, subscription uuid.UUID, t tier) {
	q := s.queues[subscription]
	if q == nil {
		q = &endpointQueue{org: org, id: subscription, tier: t, window: 1, taken: map[uuid.UUID]bool{}}
		s.queues[subscription] = q
	}
	q.stale = true
	s.schedule(q)
}

// schedule puts a queue where it is found when it can start its next attempt: among the ready
// queues, or among the wake-ups. A queue that waits for its own attempts is scheduled again when
// one of them ends.
func (s *Sender) schedule(q *endpointQueue) {
	switch {
	case q.isReady || q.isFull():
	case q.backOffUntil.After(s.webhooks.store.Now()):
		s.wakeAt(q, q.backOffUntil)
	case q.stale || len(q.loaded) > 0:
		q.isReady = true
		org := s.queuesOf(q.org)
		org.ready[q.tier].push(q)
		s.enqueueOrg(org, q.tier)
	case !q.nextDue.IsZero():
		s.wakeAt(q, q.nextDue)
	}
}

func (s *Sender) wakeAt(q *endpointQueue, at time.Time) {
	if q.wakesAt.IsZero() || at.Before(q.wakesAt) {
		q.wakesAt = at
		heap.Push(&s.wakeups, wakeup{at, q})
	}
}

// startAttempts starts every attempt that may start now. It returns when to call it again; zero
// means not before something is posted.
func (s *Sender) startAttempts(ctx context.Context) (next time.Time) {
	for {
		next = s.wakeDue()
		if s.held {
			return time.Time{}
		}
		q, t := s.pick()
		if q == nil {
			return next
		}
		q.isReady = false
		if q.mayStart(s.webhooks.store.Now()) && len(q.loaded) == 0 {
			s.load(q)
		}
		if q.mayStart(s.webhooks.store.Now()) && len(q.loaded) > 0 {
			s.attempt(ctx, q, t)
		}
		s.schedule(q)
		s.runPosted() // so that a subscription deleted or paused by now gets no further attempt
	}
}

// wakeDue schedules the queues whose wake-up time has passed and returns the next wake-up time.
func (s *Sender) wakeDue() (next time.Time) {
	now := s.webhooks.store.Now()
	for len(s.wakeups) > 0 {
		if first := s.wakeups[0]; first.at.After(now) {
			return first.at
		}
		q := heap.Pop(&s.wakeups).(wakeup).queue
		q.wakesAt = time.Time{}
		if s.queues[q.id] == q {
			q.stale = true
			s.schedule(q)
		}
	}
	return time.Time{}
}

// pick removes and returns the next ready queue that the concurrency limits have room for, or nil.
// It is a nested round robin: over the tiers, over the organizations of a tier, and over the queues
// of an organization.
func (s *Sender) pick() (*endpointQueue, tier) {
	for range tierCount {
		t := s.next
		s.next = (s.next + 1) % tierCount
		for s.total.hasRoom(t) {
			org := s.ready[t].pop()
			if org == nil {
				break
			}
			org.queued[t] = false
			if !org.hasRoom(t) {
				continue // requeue adds it again when an attempt ends
			}
			if q := org.ready[t].pop(); q != nil {
				s.enqueueOrg(org, t)
				return q, t
			}
		}
	}
	return nil, 0
}

// orgQueues is the concurrency limit of an organization and its ready queues.
type orgQueues struct {
	concurrencyLimit
	ready  [tierCount]fifo[endpointQueue]
	queued [tierCount]bool // whether Sender.ready has the organization
}

func (s *Sender) queuesOf(org uuid.UUID) *orgQueues {
	o := s.orgs[org]
	if o == nil {
		o = &orgQueues{concurrencyLimit: concurrencyLimit{bound: max(1, s.total.bound/2)}}
		s.orgs[org] = o
	}
	return o
}

// enqueueOrg adds an organization to the round robin of a tier if it has ready queues.
func (s *Sender) enqueueOrg(org *orgQueues, t tier) {
	if !org.queued[t] && len(org.ready[t].items) > 0 {
		org.queued[t] = true
		s.ready[t].push(org)
	}
}

// requeue adds an organization to the round robins again after one of its attempts made room.
func (s *Sender) requeue(org uuid.UUID) {
	for t := range tierCount {
		s.enqueueOrg(s.queuesOf(org), t)
	}
}

// fifo is a first-in, first-out queue.
type fifo[T any] struct{ items []*T }

func (f *fifo[T]) push(item *T) { f.items = append(f.items, item) }

// pop removes and returns the first item, or nil if there is none.
func (f *fifo[T]) pop() *T {
	if len(f.items) == 0 {
		return nil
	}
	first := f.items[0]
	f.items[0] = nil
	f.items = f.items[1:]
	return first
}

// wakeupHeap orders wake-ups by time. It implements heap.Interface.
type wakeupHeap []wakeup

type wakeup struct {
	at    time.Time
	queue *endpointQueue
}

func (h wakeupHeap) Len() int           { return len(h) }
func (h wakeupHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h wakeupHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *wakeupHeap) Push(x any)        { *h = append(*h, x.(wakeup)) }

func (h *wakeupHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
