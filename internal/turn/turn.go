// Package turn owns the queue in which organizations take turns, so that a long queue of one organization does
// not delay the others. It does not know what is queued.
package turn

import "github.com/google/uuid"

// Queue holds items by organization. It is not safe for concurrent use.
type Queue[T any] struct {
	items map[uuid.UUID][]T
	orgs  []uuid.UUID // that have items, the one whose turn is next first
	count int
}

// Add adds an item behind those of its organization.
func (q *Queue[T]) Add(org uuid.UUID, item T) {
	if q.items == nil {
		q.items = map[uuid.UUID][]T{}
	}
	if len(q.items[org]) == 0 {
		q.orgs = append(q.orgs, org)
	}
	q.items[org] = append(q.items[org], item)
	q.count++
}

// Next removes and returns the first item of the organization whose turn is next. It returns false if the queue
// is empty.
func (q *Queue[T]) Next() (item T, ok bool) {
	if q.count == 0 {
		return item, false
	}
	org := q.orgs[0]
	q.orgs = q.orgs[1:]
	items := q.items[org]
	item = items[0]
	clear(items[:1])
	if len(items) > 1 {
		q.items[org] = items[1:]
		q.orgs = append(q.orgs, org)
	} else {
		delete(q.items, org)
	}
	q.count--
	return item, true
}

// Turn returns the organization whose turn is next. It returns false if the queue is empty.
func (q *Queue[T]) Turn() (uuid.UUID, bool) {
	if q.count == 0 {
		return uuid.UUID{}, false
	}
	return q.orgs[0], true
}

// Len returns the number of items.
func (q *Queue[T]) Len() int { return q.count }
