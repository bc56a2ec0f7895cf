package webhook

import (
	"container/heap"
	"context"
	"time"

	"github.com/google/uuid"
)

// look has the queue of a subscription looked at. The pace is for one that nothing is known of.
func (s *Sender) look(org, subscription uuid.UUID, p pace) {
	l := s.lines[subscription]
	if l == nil {
		l = &line{org: org, id: subscription, pace: p, window: 1, taken: map[uuid.UUID]bool{}}
		s.lines[subscription] = l
	}
	l.look = true
	s.place(l)
}

// place puts a line where it is found when it can go on. One that waits for its own attempts is placed again when they end.
func (s *Sender) place(l *line) {
	switch {
	case l.placed || l.full():
	case l.rest.After(s.hooks.store.Now()):
		s.wakeAt(l, l.rest)
	case l.look || len(l.loaded) > 0:
		l.placed = true
		org := s.lanesOf(l.org)
		org.ready[l.pace].push(l)
		s.queue(org, l.pace)
	case !l.next.IsZero():
		s.wakeAt(l, l.next)
	}
}

func (s *Sender) wakeAt(l *line, at time.Time) {
	if l.wakes.IsZero() || at.Before(l.wakes) {
		l.wakes = at
		heap.Push(&s.later, appointment{at, l})
	}
}

// begin begins all attempts that may be, and tells when to look again.
func (s *Sender) begin(ctx context.Context) (next time.Time) {
	for {
		next = s.wakeDue()
		if s.held {
			return time.Time{}
		}
		l, p := s.pick()
		if l == nil {
			return next
		}
		l.placed = false
		if l.mayGo(s.hooks.store.Now()) && len(l.loaded) == 0 {
			s.load(l)
		}
		if l.mayGo(s.hooks.store.Now()) && len(l.loaded) > 0 {
			s.attempt(ctx, l, p)
		}
		s.place(l)
		s.catchUp() // what was deleted or paused meanwhile is not begun
	}
}

// wakeDue places the lines whose time has come, and tells when the next one's does.
func (s *Sender) wakeDue() (next time.Time) {
	now := s.hooks.store.Now()
	for len(s.later) > 0 {
		if first := s.later[0]; first.at.After(now) {
			return first.at
		}
		l := heap.Pop(&s.later).(appointment).line
		l.wakes = time.Time{}
		if s.lines[l.id] == l {
			l.look = true
			s.place(l)
		}
	}
	return time.Time{}
}

// pick takes the line whose turn it is, of those that there is room for: paces take turns, of each the organizations, and of these
// their lines.
func (s *Sender) pick() (*line, pace) {
	for range paces {
		p := s.turn
		s.turn = (s.turn + 1) % paces
		for s.total.mayBegin(p) {
			org := s.turns[p].pop()
			if org == nil {
				break
			}
			org.queued[p] = false
			if !org.mayBegin(p) {
				continue // until there is room in it
			}
			if l := org.ready[p].pop(); l != nil {
				s.queue(org, p)
				return l, p
			}
		}
	}
	return nil, 0
}

// orgLanes are the lanes of an organization, and its lines that are ready.
type orgLanes struct {
	lanes
	ready  [paces]ring[line]
	queued [paces]bool // it has a turn
}

func (s *Sender) lanesOf(org uuid.UUID) *orgLanes {
	l := s.orgs[org]
	if l == nil {
		l = &orgLanes{lanes: lanes{bound: max(1, s.total.bound/2)}}
		s.orgs[org] = l
	}
	return l
}

// queue gives an organization a turn that has lines which are ready.
func (s *Sender) queue(org *orgLanes, p pace) {
	if !org.queued[p] && len(org.ready[p].items) > 0 {
		org.queued[p] = true
		s.turns[p].push(org)
	}
}

// requeue gives an organization its turns after it has room for another attempt.
func (s *Sender) requeue(org uuid.UUID) {
	for p := range paces {
		s.queue(s.lanesOf(org), p)
	}
}

// ring is a queue.
type ring[T any] struct{ items []*T }

func (r *ring[T]) push(item *T) { r.items = append(r.items, item) }

// pop takes the first; nil when there is none.
func (r *ring[T]) pop() *T {
	if len(r.items) == 0 {
		return nil
	}
	first := r.items[0]
	r.items[0] = nil
	r.items = r.items[1:]
	return first
}

// timetable is when lines are to be looked at, the first of it first.
type timetable []appointment

type appointment struct {
	at   time.Time
	line *line
}

func (t timetable) Len() int           { return len(t) }
func (t timetable) Less(i, j int) bool { return t[i].at.Before(t[j].at) }
func (t timetable) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *timetable) Push(x any)        { *t = append(*t, x.(appointment)) }

func (t *timetable) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}
