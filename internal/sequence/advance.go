package sequence

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/outreach"
	"prospector/store"
)

var engineActor = store.Actor{Operation: advanceJob}

// advance does everything that is due in an organization, and reschedules its job to when something
// is due next.
func (e *Engine) advance(ctx context.Context, job store.Job) error {
	for more := true; more; {
		err := e.advanceOnce(ctx, job.Org, &batch{}, func(tx *store.Tx, left bool, next time.Time) error {
			if more = left; more {
				return nil
			}
			return e.rescheduleAdvance(tx, job, next)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rescheduleAdvance reschedules the advance job to next. It ends the job if next is zero.
func (e *Engine) rescheduleAdvance(tx *store.Tx, job store.Job, next time.Time) error {
	if !next.IsZero() {
		return tx.Reschedule(job.ID, e.clock.wallAt(tx, next), 0)
	}
	e.forgetJob(tx, advanceJobPart)
	return tx.Done(job.ID)
}

// advanceOnce stores a batch and then does what is due in an organization, as much as
// fits into one transaction. In the transaction it calls then with whether more is due, and if not,
// when something is. After the commit it dispatches the messages that were claimed.
//
// The batch is stored first, even if ctx has ended. Nothing is claimed then.
func (e *Engine) advanceOnce(
	ctx context.Context, org uuid.UUID, b *batch,
	then func(tx *store.Tx, more bool, next time.Time) error,
) error {
	writeCtx := ctx
	if len(b.results)+len(b.handovers) > 0 {
		writeCtx = context.WithoutCancel(ctx)
	}
	var done *engineTx
	err := e.store.Update(writeCtx, org, engineActor, func(tx *store.Tx) error {
		var more bool
		var next time.Time
		err := e.withEngine(tx, func(x *engineTx) (err error) {
			if done != nil { // the store retries the transaction
				e.dispatcher.unclaim(done.claimed)
			}
			done, x.capacity = x, e.dispatcher.capacity(ctx, org)
			if err = x.storeResults(b.results); err != nil {
				return err
			}
			if err = x.markSending(b.handovers); err != nil {
				return err
			}
			more, next, err = x.doDue()
			return err
		})
		if err != nil {
			return err
		}
		return then(tx, more, next)
	})
	if err != nil {
		if done != nil {
			e.dispatcher.abandon(ctx, done.claimed)
		}
		return err
	}
	e.dispatcher.dispatch(ctx, done.claimed)
	if done.lacksCapacity && ctx.Err() == nil {
		e.dispatcher.advanceWithCapacity(ctx, org)
	}
	return nil
}

// dueEntry is a sequence with something due.
type dueEntry struct {
	due      time.Time
	sequence uuid.UUID
	campaign *outreach.Campaign
}

func compareEntries(a, b dueEntry) int {
	return cmp.Or(a.due.Compare(b.due), store.CompareIDs(a.sequence, b.sequence))
}

// agenda is what is due in an organization.
type agenda struct {
	immediate []dueEntry               // everything that needs no slot of a sender
	emails    map[uuid.UUID][]dueEntry // by sender
	next      time.Time                // when something else is due; zero if nothing is
}

// noteNext records that something is due at a later time.
func (a *agenda) noteNext(at time.Time) {
	if a.next.IsZero() || at.Before(a.next) {
		a.next = at
	}
}

// doDue does what is due until nothing is, or until maxPerTransaction sequences changed. If more is
// false, next is when something is due again, or zero.
func (x *engineTx) doDue() (more bool, next time.Time, err error) {
	for left := maxPerTransaction; left > 0; {
		a, err := x.collectDue(left)
		if err != nil {
			return false, next, err
		}
		done, err := x.perform(a, left)
		if err != nil {
			return false, next, err
		}
		if done == 0 {
			return false, a.next, nil
		}
		left -= done
	}
	return true, next, nil
}

// collectDue collects what is due in running campaigns, at most limit entries of each, and
// completes the campaigns whose end_date has passed.
func (x *engineTx) collectDue(limit int) (*agenda, error) {
	a := &agenda{emails: map[uuid.UUID][]dueEntry{}}
	ids, err := x.engine.outreach.CampaignsWith(x.tx, outreach.CampaignActive, outreach.CampaignPaused)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := x.collectCampaign(a, id, limit); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(a.immediate, compareEntries)
	return a, nil
}

func (x *engineTx) collectCampaign(a *agenda, id uuid.UUID, limit int) error {
	c, err := x.campaign(id)
	if err != nil || c == nil {
		return err
	}
	end, err := x.engine.outreach.CampaignEnd(x.tx, c)
	if err != nil {
		return err
	}
	switch {
	case !end.IsZero() && !end.After(x.now):
		delete(x.campaigns, id) // campaignChanged, which CompleteCampaign calls, must see the new status
		return x.engine.outreach.CompleteCampaign(x.tx, id)
	case !end.IsZero():
		a.noteNext(end)
	}
	if !c.IsSending() {
		return nil
	}
	if _, err := x.currentVersion(c.TemplateID.UUID); store.IsDamagedRecord(err) {
		return nil // its sequences wait until the template is restored
	}
	immediate, err := x.collectByKey(a, byImmediate, c, limit)
	if err != nil {
		return err
	}
	a.immediate = append(a.immediate, immediate...)
	sender := c.OwnerID.UUID
	if x.engine.Options.Transport(sender) != nil {
		limit = min(limit, max(1, x.capacity)) // no more can be claimed now
	}
	emails, err := x.collectByKey(a, byEmail, c, limit)
	if len(emails) > 0 {
		a.emails[sender] = append(a.emails[sender], emails...)
	}
	return err
}

// collectByKey returns the entries of a campaign under a key that are due, and notes when the next
// one is.
func (x *engineTx) collectByKey(
	a *agenda, key string, c *outreach.Campaign, limit int,
) (due []dueEntry, err error) {
	err = x.engine.sequences.Range(x.tx, key, c.ID[:], func(k []byte, id uuid.UUID) bool {
		if !bytes.HasPrefix(k, c.ID[:]) {
			return false
		}
		at := timeOfDueKey(k)
		if at.After(x.now) {
			a.noteNext(at)
			return false
		}
		due = append(due, dueEntry{at, id, c})
		return len(due) < limit
	})
	return due, err
}

// perform does what is on the agenda, at most limit entries and as far as senders may send. It
// returns how many sequences it changed. A sequence that needs a damaged record waits.
func (x *engineTx) perform(a *agenda, limit int) (done int, err error) {
	for _, entry := range a.immediate {
		switch err := x.update(entry.sequence, (*sequenceRun).advance); {
		case store.IsDamagedRecord(err):
			continue
		case err != nil:
			return done, err
		}
		if done++; done == limit {
			break
		}
	}
	if done > 0 {
		return done, nil // this may have made emails due that come before those on the agenda
	}
	for _, sender := range slices.SortedFunc(maps.Keys(a.emails), store.CompareIDs) {
		n, err := x.sendDue(a, sender, a.emails[sender], limit-done)
		if done += n; err != nil || done >= limit {
			return done, err
		}
	}
	return done, nil
}
