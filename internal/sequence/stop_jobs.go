package sequence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/google/uuid"

	"prospector/store"
)

// A change that stops more sequences than fit into its transaction leaves them to a stop job. The
// job finds the sequences by their stop reason. A later change that would alter that reason,
// because it lets them continue or stops them for another reason, must wait until the job is done:
// see awaitStopJobs. Nothing is sent before that, because stopReason is checked whenever something
// is about to happen.

// stopWork is what a stop job checks: the sequences of a campaign, of contacts or, if it is empty,
// of the whole organization. With Held it checks those that have a held step under this key.
type stopWork struct {
	Campaign uuid.NullUUID
	Contacts store.PackedIDs
	Held     []byte `json:",omitempty"`
	Merged   bool   `json:",omitempty"` // the contacts were merged into, so they may have values that held steps lack
}

// awaitStopJobs must be called before a change of who may be written to. If stop jobs are not done,
// it returns an error that makes the store run them and then retry the transaction.
func (e *Engine) awaitStopJobs(tx *store.Tx) error {
	pending, err := e.parts.Get(tx.Before(), tx.Org(), stopJobsPart)
	if err == nil && len(pending) == 0 {
		return nil
	}
	org := tx.Org()
	return &store.RetryAfter{Do: func(ctx context.Context) error { return e.runPendingStopJobs(ctx, org) }}
}

// runPendingStopJobs runs all stop jobs of an organization. Workers may run the same jobs
// concurrently: a sequence stops only once.
func (e *Engine) runPendingStopJobs(ctx context.Context, org uuid.UUID) error {
	var jobs []store.Job
	err := e.store.View(org, func(tx *store.Tx) error {
		pending, err := e.parts.Get(tx, org, stopJobsPart)
		if err != nil { // it is not known which jobs are pending; the end of this one writes the part again
			job, err := checkAllJob(org, uuid.Nil)
			jobs = append(jobs, job)
			return err
		}
		for _, id := range unpackIDs(pending) {
			job, err := tx.Job(id)
			if isUnreadable(err) { // it is damaged, or a repair of the store removed it
				job, err = checkAllJob(org, id)
			}
			if err != nil {
				return err
			}
			jobs = append(jobs, job)
		}
		return nil
	})
	if err != nil {
		return err
	}
	run := withPayload(e.runStopJob)
	for _, job := range jobs {
		if err := run(ctx, job); err != nil {
			return err
		}
	}
	return nil
}

// checkAllJob replaces a lost stop job. What it was to stop is not known, so it checks all
// sequences.
func checkAllJob(org, id uuid.UUID) (store.Job, error) {
	work, err := json.Marshal(stopWork{})
	return store.Job{ID: id, Org: org, Kind: stopJob, Payload: work}, err
}

// enqueueStopJob enqueues a stop job, unless one with the same work is pending.
func (e *Engine) enqueueStopJob(tx *store.Tx, work stopWork) error {
	pending := e.parts.Readable(tx, tx.Org(), stopJobsPart) // awaitStopJobs has written a damaged part again
	payload, err := json.Marshal(work)
	if err != nil {
		return err
	}
	for _, id := range unpackIDs(pending) {
		if job, err := tx.Job(id); err == nil && bytes.Equal(job.Payload, payload) {
			return nil
		}
	}
	id, err := tx.Enqueue(stopJob, tx.Now(), work)
	if err == nil {
		e.parts.Put(tx, tx.Org(), stopJobsPart, append(slices.Clone(pending), id[:]...))
	}
	return err
}

// finishStopJob ends a stop job.
func (e *Engine) finishStopJob(tx *store.Tx, job uuid.UUID) error {
	pending := e.parts.Readable(tx, tx.Org(), stopJobsPart)
	ids := slices.DeleteFunc(unpackIDs(pending), func(id uuid.UUID) bool { return id == job })
	e.parts.Put(tx, tx.Org(), stopJobsPart, packIDs(ids...))
	if err := tx.Done(job); !errors.Is(err, store.ErrDamaged) { // a damaged job never runs
		return err
	}
	return nil
}

func (e *Engine) runStopJob(ctx context.Context, job store.Job, work stopWork) error {
	check := (*engineTx).stopIfBlocked
	switch {
	case work.Held != nil || work.Merged:
		check = (*engineTx).recheckHeld // their values may have changed
	case work.Contacts != nil:
		check = (*engineTx).recheck // their addresses may have changed
	}
	return e.runSweep(ctx, job, sweep{
		find:   func(tx *store.Tx) ([]uuid.UUID, error) { return e.sequencesToCheck(tx, work) },
		change: check,
		end:    e.finishStopJob,
	})
}

// sequencesToCheck returns the active sequences that a stop job checks.
func (e *Engine) sequencesToCheck(tx *store.Tx, work stopWork) (ids []uuid.UUID, err error) {
	switch {
	case work.Held != nil:
		return e.sequences.IDs(tx, byHeldStep, work.Held, 0)
	case work.Campaign.Valid:
		return e.sequences.IDs(tx, byCampaign, work.Campaign.UUID[:], 0)
	case work.Contacts != nil:
		for _, contact := range unpackIDs(work.Contacts) {
			of, err := e.sequences.IDs(tx, byContact, contact[:], 0)
			if err != nil {
				return nil, err
			}
			ids = append(ids, of...)
		}
		return ids, nil
	}
	err = e.sequences.Range(tx, byCampaign, nil, func(_ []byte, id uuid.UUID) bool {
		ids = append(ids, id)
		return true
	})
	return ids, err
}

// stopIfBlocked stops a sequence if it must stop, and else leaves it unchanged.
func (x *engineTx) stopIfBlocked(id uuid.UUID) error { return x.check(id, (*sequenceRun).stopIfMust) }

// recheck stops a sequence if it must stop, and else advances it.
func (x *engineTx) recheck(id uuid.UUID) error {
	return x.check(id, func(r *sequenceRun) (hasChanged bool, err error) { return true, r.advance() })
}

// recheckHeld is recheck that also looks at the held steps of the sequence again.
func (x *engineTx) recheckHeld(id uuid.UUID) error {
	return x.check(id, func(r *sequenceRun) (hasChanged bool, err error) { return true, r.reviewAndAdvance() })
}

// check changes an active sequence. One that has not started starts if it can.
func (x *engineTx) check(id uuid.UUID, change func(*sequenceRun) (hasChanged bool, err error)) error {
	r, err := x.load(store.Doc[Sequence]{ID: id})
	switch {
	case err != nil:
		return err
	case r.s.Status == SequenceNotStarted:
		return r.beginAgain()
	case !r.s.isActive():
		return nil
	}
	if hasChanged, err := change(r); !hasChanged || err != nil {
		return err
	}
	return r.save()
}

// recheckCampaign checks the sequences of a campaign.
func (e *Engine) recheckCampaign(tx *store.Tx, campaign uuid.UUID) error {
	ids, err := e.sequences.IDs(tx, byCampaign, campaign[:], maxPerRequest+1)
	if err != nil {
		return err
	}
	return e.recheckSequences(tx, ids, stopWork{Campaign: uuid.NullUUID{UUID: campaign, Valid: true}})
}

// recheckContacts checks the sequences of contacts.
func (e *Engine) recheckContacts(tx *store.Tx, contacts []uuid.UUID) error {
	var ids []uuid.UUID
	for _, contact := range contacts {
		of, err := e.sequences.IDs(tx, byContact, contact[:], 0)
		if err != nil {
			return err
		}
		if ids = append(ids, of...); len(ids) > maxPerRequest {
			break
		}
	}
	return e.recheckSequences(tx, ids, stopWork{Contacts: packIDs(contacts...)})
}

// recheckSequences checks sequences now, or enqueues a stop job with work if there are too many.
func (e *Engine) recheckSequences(tx *store.Tx, ids []uuid.UUID, work stopWork) error {
	if len(ids) == 0 {
		return nil
	}
	if err := e.awaitStopJobs(tx); err != nil {
		return err
	}
	if len(ids) > maxPerRequest {
		return e.enqueueStopJob(tx, work)
	}
	check := (*engineTx).recheck
	if work.Held != nil {
		check = (*engineTx).recheckHeld
	}
	return e.withEngine(tx, func(x *engineTx) error {
		for _, id := range ids {
			if err := store.ExceptDamaged(check(x, id)); err != nil { // stopReason is checked before it sends
				return err
			}
		}
		return nil
	})
}
