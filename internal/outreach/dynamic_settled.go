package outreach

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/store"
)

// A dynamic audience is settled when its stored members are the contacts that its filters match. Finish keeps it
// settled when contacts change. New filters, a changed custom field, and a tombstone in the table of contacts unsettle
// it until a job or a sweep has moved the contacts.
//
// An audience that is archived or becomes static keeps its stored members. It must therefore be settled before: see
// awaitSettled.

// basis is what decides, besides the contacts themselves, which contacts an audience has.
type basis struct {
	version   string // of the audience
	fields    uint64 // counts the changes of custom fields
	tombstone uint64 // the number of the newest tombstone of contacts, or 0
}

func (o *Outreach) basis(tx *store.Tx, doc *store.Doc[Audience]) (basis, error) {
	b := basis{version: doc.Version(), fields: o.crm.Fields.Table.Counter().Of(tx)}
	tombs, err := tx.Tombstones(o.crm.Contacts.Table.Name())
	for _, t := range tombs {
		b.tombstone = max(b.tombstone, t.Number)
	}
	return b, err
}

// follows reports whether an audience that was settled with an earlier basis still is. A tombstone that has been swept
// since makes no difference.
func (b basis) follows(earlier basis) bool {
	return b.version == earlier.version && b.fields == earlier.fields && b.tombstone <= earlier.tombstone
}

// refreshes is what is known of the refreshing of dynamic audiences. It is only a cache: without it, an audience is
// settled again before it is archived, and contact_count may be wrong until a pending job has run.
type refreshes struct {
	mu      sync.Mutex
	settled map[uuid.UUID]basis     // by audience: when it was settled last
	pending map[uuid.UUID]uuid.UUID // by audience: the job that will correct contact_count
}

// settle records that an audience is settled.
func (r *refreshes) settle(audience uuid.UUID, at basis) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.settled == nil || len(r.settled) >= maxPlans {
		r.settled = map[uuid.UUID]basis{}
	}
	r.settled[audience] = at
}

// await records that a job will correct the members and contact_count of an audience.
func (r *refreshes) await(audience, job uuid.UUID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending == nil || len(r.pending) >= maxPlans {
		r.pending = map[uuid.UUID]uuid.UUID{}
	}
	r.pending[audience] = job
	delete(r.settled, audience)
}

// counted records that contact_count is the number of stored members.
func (r *refreshes) counted(audience uuid.UUID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, audience)
}

// awaitsCount reports whether contact_count differs from the number of stored members until a job has run. A contact
// that joins may have been counted already.
func (o *Outreach) awaitsCount(tx *store.Tx, audience uuid.UUID) bool {
	r := &o.refreshes
	r.mu.Lock()
	job, pending := r.pending[audience]
	r.mu.Unlock()
	if !pending {
		return false
	}
	if _, err := tx.Job(job); err == nil {
		return true
	}
	r.counted(audience) // the job is done, or its transaction was rolled back
	return false
}

// awaitSettled must be called before a dynamic audience stops following its filters. If the audience was not settled
// before the transaction, it returns an error that makes the store settle it and then retry the transaction.
func (o *Outreach) awaitSettled(tx *store.Tx, doc store.Doc[Audience]) error {
	plan, err := o.plan(tx, &doc)
	if err != nil || plan == nil {
		return err
	}
	tx = tx.Before() // what it has written itself would never be settled
	doc, err = o.Audiences.Table.Get(tx, doc.ID)
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := o.basis(tx, &doc)
	if err != nil {
		return err
	}
	r := &o.refreshes
	r.mu.Lock()
	at, known := r.settled[doc.ID]
	r.mu.Unlock()
	if known && now.follows(at) {
		return nil
	}
	org := tx.Org()
	return &store.RetryAfter{Do: func(ctx context.Context) error {
		err := o.settleNow(ctx, org, doc.ID)
		if store.IsDamagedRecord(err) { // the audience keeps the members that can be read
			r.settle(doc.ID, now)
			return nil
		}
		return err
	}}
}

// settleNow does what a refresh job does. If it is interrupted, a job does the rest.
func (o *Outreach) settleNow(ctx context.Context, org, audience uuid.UUID) error {
	var job uuid.UUID
	err := o.store.Update(ctx, org, store.Actor{Operation: refreshJob}, func(tx *store.Tx) (err error) {
		job, err = tx.Enqueue(refreshJob, tx.Now().Add(interruptedAfter), audience)
		return err
	})
	if err != nil {
		return err
	}
	return o.settle(ctx, org, audience, job, func(tx *store.Tx) error { return tx.Done(job) })
}

// interruptedAfter is when a job looks whether settleNow was interrupted.
const interruptedAfter = time.Minute
