package store

import (
	"sync"

	"github.com/google/uuid"
)

// Counter is a number that each organization has.
type Counter struct{ bucket string }

// NewCounter declares a counter that goes up when it is told to.
func NewCounter(name string) Counter { return Counter{name + ".counter"} }

// Next counts.
func (c Counter) Next(tx *Tx) { tx.setSequence(c.bucket, tx.sequence(c.bucket)+1) }

// Of is how far the counter of the transaction's organization has come.
func (c Counter) Of(tx *Tx) uint64 { return tx.sequence(c.bucket) }

// Counter counts the changes of the table.
func (t *Table[T]) Counter() Counter { return Counter{t.name + ".log"} }

// Derived is something that is made of records and kept for each organization until a counter says that it is another.
type Derived[V any] struct {
	counter Counter
	from    func(*Tx) (V, error)

	mu   sync.Mutex
	orgs map[uuid.UUID]derived[V]
}

type derived[V any] struct {
	number uint64
	// failed is how many commits had failed by then: a number that was seen before its commit failed will come again.
	failed uint64
	value  V
}

// NewDerived declares what from makes. An organization that has never counted has the zero V.
func NewDerived[V any](c Counter, from func(*Tx) (V, error)) *Derived[V] {
	return &Derived[V]{counter: c, from: from, orgs: map[uuid.UUID]derived[V]{}}
}

// Of gives the value for the transaction's organization. It is shared: nobody may change it.
func (d *Derived[V]) Of(tx *Tx) (value V, err error) {
	number, failed := tx.sequence(d.counter.bucket), tx.store.counts.failed.Load()
	if number == 0 {
		return value, nil
	}
	if _, own := tx.sequences[d.counter.bucket]; own { // what is not committed is nobody else's
		return d.from(tx)
	}
	d.mu.Lock()
	known := d.orgs[tx.org]
	d.mu.Unlock()
	if known.number == number && known.failed == failed {
		return known.value, nil
	}
	if value, err = d.from(tx); err != nil {
		return value, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if was := d.orgs[tx.org]; was.number < number || was.failed < failed {
		d.orgs[tx.org] = derived[V]{number, failed, value}
	}
	return value, nil
}
