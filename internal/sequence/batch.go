package sequence

import (
	"context"
	"sync"
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

// startSaving starts the goroutine that stores results and handovers, unless it runs. The caller holds
// d.mu.
func (d *dispatcher) startSaving(ctx context.Context) {
	if !d.isSaving {
		d.isSaving = true
		d.running.Go(func() { d.save(ctx) })
	}
}

// save stores results and handovers until there are none left.
func (d *dispatcher) save(ctx context.Context) {
	for {
		batches := d.takeBatches()
		if len(batches) == 0 {
			return
		}
		var all sync.WaitGroup
		for org, b := range batches {
			all.Go(func() { d.saveOrganization(ctx, org, b) })
		}
		all.Wait()
	}
}

// takeBatches takes what is to be stored, by organization. Organizations that waited for capacity
// and can have it now are included with nothing to store. If there is nothing to do the result is
// empty, and the calling goroutine must end.
func (d *dispatcher) takeBatches() map[uuid.UUID]*batch {
	d.mu.Lock()
	defer d.mu.Unlock()
	batches := map[uuid.UUID]*batch{}
	of := func(org uuid.UUID) *batch {
		if batches[org] == nil {
			batches[org] = &batch{}
		}
		return batches[org]
	}
	for _, res := range d.results {
		b := of(res.org)
		b.results = append(b.results, res)
	}
	for _, h := range d.handovers {
		b := of(h.org)
		b.handovers = append(b.handovers, h)
	}
	if len(d.results) > 0 { // as many as are sent while a transaction commits
		d.window = min(d.connections+4*len(d.results), maxWindow)
	}
	if d.claimed-len(d.results) < d.window {
		for org := range d.lackCapacity {
			of(org)
		}
		clear(d.lackCapacity)
	}
	d.results, d.handovers = nil, nil
	d.isSaving = len(batches) > 0
	return batches
}

// saveOrganization stores the results and handovers of an organization and advances its sequences in
// the same transaction, which claims the next messages. If that fails it agrees to no handover, and
// tries to store the results again. If ctx ends before that succeeds, the next process finds the
// messages as unknown.
func (d *dispatcher) saveOrganization(ctx context.Context, org uuid.UUID, b *batch) {
	messages := make([]*outgoing, len(b.results))
	for i, res := range b.results {
		messages[i] = res.outgoing
		defer close(res.stored)
	}
	d.release(messages)
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
		for _, h := range b.handovers {
			h.isAgreed = h.isAgreed && err == nil
			close(h.decided)
		}
		b.handovers = nil
		if err == nil || ctx.Err() != nil || fault.CodeOf(err) == fault.NotFound {
			return
		}
		d.log.Error("results of messages cannot be stored, retrying",
			"messages", len(b.results), "retry_in", saveRetryDelay, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(saveRetryDelay):
		}
	}
}

// agree marks the messages that are about to be sent as sending, except those that something has
// stopped.
func (x *engineTx) agree(handovers []*handover) error {
	for _, h := range handovers {
		h.isAgreed = false // the store may retry the transaction
		wanted, err := x.engine.isWantedIn(x.tx, h.outgoing)
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
