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

// maxStopsPerChange is how many sequences are checked in the transaction of the change itself.
const maxStopsPerChange = 200

// stopJob is the kind of job that stops sequences.
const stopJob = "sequences.clean_up"

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
	for _, job := range jobs {
		if err := e.runStopJob(ctx, job); err != nil {
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

func (e *Engine) runStopJob(ctx context.Context, job store.Job) error {
	var work stopWork
	if err := json.Unmarshal(job.Payload, &work); err != nil {
		return err
	}
	var ids []uuid.UUID
	err := e.store.View(job.Org, func(tx *store.Tx) (err error) {
		ids, err = e.sequencesToCheck(tx, work)
		return err
	})
	if err != nil {
		return err
	}
	check := (*engineTx).stopIfBlocked
	switch {
	case work.Held != nil || work.Merged:
		check = (*engineTx).recheckHeld // their values may have changed
	case work.Contacts != nil:
		check = (*engineTx).recheck // their addresses may have changed
	}
	return e.forEach(ctx, job, ids, func(x *engineTx, id uuid.UUID) error {
		if !e.sequences.Has(x.tx, id) {
			return nil
		}
		return check(x, id)
	}, e.finishStopJob)
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
func (x *engineTx) stopIfBlocked(id uuid.UUID) error {
	r, err := x.load(store.Doc[Sequence]{ID: id})
	if err != nil || !r.s.isOpen() {
		return err
	}
	if r.s.Status == SequenceNotStarted {
		return r.beginAgain()
	}
	if stopped, err := r.stopIfMust(); !stopped || err != nil {
		return err
	}
	return r.save()
}

// recheck stops a sequence if it must stop, and else advances it.
func (x *engineTx) recheck(id uuid.UUID) error { return x.recheckWith(id, (*sequenceRun).advance) }

// recheckHeld is recheck that also looks at the held steps of the sequence again.
func (x *engineTx) recheckHeld(id uuid.UUID) error {
	return x.recheckWith(id, (*sequenceRun).reviewAndAdvance)
}

func (x *engineTx) recheckWith(id uuid.UUID, advance func(*sequenceRun) error) error {
	r, err := x.load(store.Doc[Sequence]{ID: id})
	if err != nil {
		return err
	}
	if r.s.Status == SequenceNotStarted {
		return r.beginAgain()
	}
	if err := advance(r); err != nil {
		return err
	}
	return r.save()
}

// recheckCampaign checks the sequences of a campaign.
func (e *Engine) recheckCampaign(tx *store.Tx, campaign uuid.UUID) error {
	ids, err := e.sequences.IDs(tx, byCampaign, campaign[:], maxStopsPerChange+1)
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
		if ids = append(ids, of...); len(ids) > maxStopsPerChange {
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
	if len(ids) > maxStopsPerChange {
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

// forEach calls do for each id, maxPerTransaction of them in a transaction, and ends the job with
// the last transaction.
func (e *Engine) forEach(
	ctx context.Context, job store.Job, ids []uuid.UUID,
	do func(*engineTx, uuid.UUID) error, end func(*store.Tx, uuid.UUID) error,
) error {
	for more := true; more; {
		n := min(len(ids), maxPerTransaction)
		more = n < len(ids)
		err := e.store.Update(ctx, job.Org, store.Actor{Operation: job.Kind}, func(tx *store.Tx) error {
			err := e.withEngine(tx, func(x *engineTx) error {
				for _, id := range ids[:n] {
					if err := do(x, id); err != nil && !errors.Is(err, store.ErrDamaged) { // the others go on
						return err
					}
				}
				return nil
			})
			if err != nil || more {
				return err
			}
			return end(tx, job.ID)
		})
		if err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// packIDs concatenates ids, for the payload of a job.
func packIDs(ids ...uuid.UUID) []byte {
	packed := make([]byte, 0, 16*len(ids))
	for _, id := range ids {
		packed = append(packed, id[:]...)
	}
	return packed
}

func unpackIDs(packed []byte) (ids []uuid.UUID) {
	for chunk := range slices.Chunk(packed, 16) {
		ids = append(ids, uuid.UUID(chunk))
	}
	return ids
}
