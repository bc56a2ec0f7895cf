package store

import (
	"sync"

	"github.com/google/uuid"
)

// Counter is a number that every organization has.
type Counter struct{ bucket string }

// NewCounter declares a counter. Only Next increments it.
func NewCounter(name string) Counter { return Counter{name + counterSuffix} }

// Next increments the counter.
func (c Counter) Next(tx *Tx) { tx.setSequence(c.bucket, tx.sequence(c.bucket)+1) }

// Of returns the counter of the transaction's organization.
func (c Counter) Of(tx *Tx) uint64 { return tx.sequence(c.bucket) }

// Counter returns a counter of the table's changes.
func (t *AnyTable) Counter() Counter { return Counter{t.core.name + logSuffix} }

// Derived is a value computed from records. It is cached for each organization until a counter
// changes.
type Derived[V any] struct {
	counter Counter
	from    func(*Tx) (V, error)

	mu   sync.Mutex
	orgs map[uuid.UUID]derived[V]
}

type derived[V any] struct {
	number uint64
	// failed is the number of failed commits when the value was computed. A counter value that was
	// seen before its commit failed will be used again for other data, and so will that of an organization which
	// was deleted and arrives again.
	failed uint64
	value  V
}

// NewDerived declares a value that from computes.
func NewDerived[V any](c Counter, from func(*Tx) (V, error)) *Derived[V] {
	return &Derived[V]{counter: c, from: from, orgs: map[uuid.UUID]derived[V]{}}
}

// Of returns the value for the transaction's organization. Callers share it and must not change it.
func (d *Derived[V]) Of(tx *Tx) (value V, err error) {
	number, failed := tx.sequence(d.counter.bucket), tx.store.counts.failed.Load()+tx.store.arrivals.Load()
	if _, own := tx.sequences[d.counter.bucket]; own { // uncommitted, so it must not be cached
		return d.from(tx)
	}
	d.mu.Lock()
	known, cached := d.orgs[tx.org]
	d.mu.Unlock()
	if cached && known.number == number && known.failed == failed {
		return known.value, nil
	}
	if value, err = d.from(tx); err != nil {
		return value, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if was, cached := d.orgs[tx.org]; !cached || was.number < number || was.failed < failed {
		d.orgs[tx.org] = derived[V]{number, failed, value}
	}
	return value, nil
}
