package sequence

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/store"
)

// batch is what is stored for an organization in one transaction.
type batch struct {
	results   []result
	handovers []*handover
}

// handover is an outgoing message whose content is about to be sent. It is stored as sending before.
type handover struct {
	*outgoing
	isAgreed bool
	decided  chan struct{} // closed when isAgreed is set
}

// finish lets the connections continue that wait for the batch, after it was stored or could not be.
func (b *batch) finish(err error) {
	for _, h := range b.handovers {
		h.isAgreed = h.isAgreed && err == nil
		close(h.decided)
	}
	b.handovers = nil
	for i := range b.results {
		if res := &b.results[i]; res.stored != nil {
			close(res.stored)
			res.stored = nil
		}
	}
}

// batchOf returns what is to be stored for an organization. The caller holds d.mu.
func (d *dispatcher) batchOf(org uuid.UUID) *batch {
	b := d.unsaved[org]
	if b == nil {
		b = &batch{}
		d.unsaved[org] = b
	}
	return b
}

// addResult queues a result to be stored. The caller holds d.mu.
func (d *dispatcher) addResult(ctx context.Context, res result) {
	b := d.batchOf(res.org)
	b.results = append(b.results, res)
	d.finishFailing(res.org)
	d.startSaving(ctx)
}

// addHandover queues a handover to be stored. The caller holds d.mu.
func (d *dispatcher) addHandover(ctx context.Context, h *handover) {
	b := d.batchOf(h.org)
	b.handovers = append(b.handovers, h)
	d.finishFailing(h.org)
	d.startSaving(ctx)
}

// errFailing is why a handover is refused while the results of its organization cannot be stored.
var errFailing = errors.New("results of the organization cannot be stored")

// finishFailing lets the connections continue that wait for an organization whose results cannot be
// stored, so that they serve others. The caller holds d.mu.
func (d *dispatcher) finishFailing(org uuid.UUID) {
	if b := d.unsaved[org]; b != nil && d.failing[org] {
		b.finish(errFailing)
	}
}

// startSaving starts a goroutine for each organization that has something to store, or that waited for
// capacity and can have it now, unless one runs. The caller holds d.mu.
func (d *dispatcher) startSaving(ctx context.Context) {
	start := func(org uuid.UUID) {
		if !d.saving[org] {
			d.saving[org] = true
			d.running.Go(func() { d.save(ctx, org) })
		}
	}
	for org := range d.unsaved {
		start(org)
	}
	for org := range d.lackCapacity {
		if d.capacityOf(org) > 0 {
			start(org)
		}
	}
}

// save stores the results and handovers of an organization until there are none left.
func (d *dispatcher) save(ctx context.Context, org uuid.UUID) {
	for b := d.takeBatch(ctx, org); b != nil; b = d.takeBatch(ctx, org) {
		d.saveBatch(ctx, org, b)
		d.mu.Lock()
		d.storing -= len(b.results)
		d.mu.Unlock()
	}
}

// takeBatch takes what is to be stored for an organization. If it waited for capacity and can have it now,
// the batch may be empty. If there is nothing to do the result is nil, and the calling goroutine must end.
func (d *dispatcher) takeBatch(ctx context.Context, org uuid.UUID) *batch {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.unsaved[org]
	delete(d.unsaved, org)
	if b == nil && d.lackCapacity[org] && d.capacityOf(org) > 0 {
		b = &batch{}
	}
	if b == nil {
		delete(d.saving, org)
		return nil
	}
	delete(d.lackCapacity, org) // the transaction claims what it can
	if len(b.results) > 0 {
		for _, res := range b.results {
			d.unclaimOne(res.outgoing)
		}
		d.storing += len(b.results)
		d.window = min(d.connections+4*d.storing, maxWindow) // as many as are sent while a transaction commits
	}
	d.startSaving(ctx) // others may have capacity now
	return b
}

// saveBatch stores the results and handovers of an organization and advances its sequences in the same
// transaction, which claims the next messages. If that fails it agrees to no handover, and tries to store
// the results again. If ctx ends before that succeeds, the next process finds the messages as unknown.
func (d *dispatcher) saveBatch(ctx context.Context, org uuid.UUID, b *batch) {
	for {
		err := d.engine.advanceOnce(ctx, org, b, func(tx *store.Tx, more bool, next time.Time) error {
			switch {
			case more:
				return d.engine.advanceNow(tx)
			case !next.IsZero():
				return d.engine.scheduleAdvance(tx, next)
			}
			return nil
		})
		isOver := err == nil || ctx.Err() != nil || fault.CodeOf(err) == fault.NotFound
		d.mu.Lock()
		b.finish(err)
		if isOver {
			delete(d.failing, org)
		} else {
			d.failing[org] = true
			d.finishFailing(org)
		}
		d.mu.Unlock()
		if isOver {
			return
		}
		d.log.Error("results of messages cannot be stored, retrying", "organization", org,
			"messages", len(b.results), "retry_in", saveRetryDelay, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(saveRetryDelay):
		}
	}
}

// markSending marks the messages that are about to be sent as sending, except those that something has
// stopped.
func (x *engineTx) markSending(handovers []*handover) error {
	for _, h := range handovers {
		h.isAgreed = false // the store may retry the transaction
		wanted, err := x.engine.isWantedIn(x.tx, h.outgoing)
		if isUnreadable(err) { // its sequence is damaged or was erased, and the other messages go on
			continue
		}
		if err != nil {
			return err
		}
		doc, err := x.engine.messages.Reload(x.tx, h.message)
		if fault.CodeOf(err) == fault.NotFound { // the organization was replaced
			continue
		}
		if err != nil {
			return err
		}
		if !wanted || doc.Record.Status != MessageQueued {
			continue
		}
		m := doc.Record
		m.Status = MessageSending
		if h.message, err = x.engine.messages.Update(x.tx, doc, m, []string{"status"}); err != nil {
			return err
		}
		h.isAgreed = true
	}
	return nil
}
