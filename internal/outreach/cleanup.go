package outreach

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/store"
)

// What stops more sequences than one transaction takes is cleaned up in a job. It finds them by what keeps them from going on, so
// whatever would change that, because it lets them go on or stops them for another reason, waits until all of them have stopped (see
// settled). Nothing goes out meanwhile: that is looked at whenever something is about to happen.

// stopMost is how many sequences are looked at in the transaction of what may stop them; the rest is a job's.
const stopMost = 200

// cleanUpJob is the kind of the job that stops sequences: all of the organization that have to, or of those that its work names.
const cleanUpJob = "sequences.clean_up"

// cleanUpWork is what such a job has to do. Nothing: all of the organization.
type cleanUpWork struct {
	Campaign uuid.NullUUID
	Contacts []byte // their ids
}

// settled is asked before something changes who may be written to: what was to stop before must have stopped.
func (o *Outreach) settled(tx *store.Tx) error {
	left, err := o.kept.Before(tx, tx.Org(), cleanUpPart)
	if err != nil || len(left) == 0 {
		return err
	}
	org := tx.Org()
	return &store.RetryAfter{Do: func(ctx context.Context) error { return o.cleanUpAll(ctx, org) }}
}

// cleanUpAll does what the clean-ups of an organization have left to do. Jobs may be at the same: a sequence stops once.
func (o *Outreach) cleanUpAll(ctx context.Context, org uuid.UUID) error {
	var jobs []store.Job
	err := o.store.View(org, func(tx *store.Tx) error {
		left, err := o.kept.Get(tx, org, cleanUpPart)
		if err != nil {
			return err
		}
		for _, id := range unpackIDs(left) {
			job, err := tx.Job(id)
			if fault.CodeOf(err) == fault.NotFound {
				job, err = o.lostCleanUp(org, id)
			}
			if err != nil {
				return err
			}
			jobs = append(jobs, job)
		}
		return nil
	})
	for _, job := range jobs {
		if err == nil {
			err = o.cleanUp(ctx, job)
		}
	}
	return err
}

// lostCleanUp stands in for a job that a repair of the store has taken away: what it was to stop is not known, so it looks at all.
func (o *Outreach) lostCleanUp(org, id uuid.UUID) (store.Job, error) {
	work, err := json.Marshal(cleanUpWork{})
	return store.Job{ID: id, Org: org, Kind: cleanUpJob, Payload: work}, err
}

// promiseCleanUp leaves sequences to a job. The same is promised once.
func (o *Outreach) promiseCleanUp(tx *store.Tx, work cleanUpWork) error {
	left, err := o.kept.Get(tx, tx.Org(), cleanUpPart)
	if err != nil {
		return err
	}
	want, err := json.Marshal(work)
	if err != nil {
		return err
	}
	for _, id := range unpackIDs(left) {
		if job, err := tx.Job(id); err == nil && bytes.Equal(job.Payload, want) {
			return nil
		}
	}
	id, err := tx.Enqueue(cleanUpJob, tx.Now(), work)
	if err == nil {
		o.kept.Put(tx, tx.Org(), cleanUpPart, append(slices.Clone(left), id[:]...))
	}
	return err
}

// cleanedUp ends the job of a clean-up.
func (o *Outreach) cleanedUp(tx *store.Tx, job uuid.UUID) error {
	left, err := o.kept.Get(tx, tx.Org(), cleanUpPart)
	if err != nil {
		return err
	}
	ids := slices.DeleteFunc(unpackIDs(left), func(id uuid.UUID) bool { return id == job })
	o.kept.Put(tx, tx.Org(), cleanUpPart, packIDs(ids...))
	return tx.Done(job)
}

// recheckCampaign looks at the sequences of a campaign again.
func (o *Outreach) recheckCampaign(tx *store.Tx, campaign uuid.UUID) error {
	ids, err := o.sequences.IDs(tx, byActive, campaign[:], stopMost+1)
	if err != nil {
		return err
	}
	return o.recheckSome(tx, ids, cleanUpWork{Campaign: uuid.NullUUID{UUID: campaign, Valid: true}})
}

// recheckContacts looks at the sequences of contacts again.
func (o *Outreach) recheckContacts(tx *store.Tx, contacts []uuid.UUID) error {
	var ids []uuid.UUID
	for _, contact := range contacts {
		of, err := o.sequences.IDs(tx, byContact, contact[:], 0)
		if err != nil {
			return err
		}
		if ids = append(ids, of...); len(ids) > stopMost {
			break
		}
	}
	return o.recheckSome(tx, ids, cleanUpWork{Contacts: packIDs(contacts...)})
}

// recheckSome looks at sequences again; where they are too many, a job does the work.
func (o *Outreach) recheckSome(tx *store.Tx, ids []uuid.UUID, work cleanUpWork) error {
	if len(ids) == 0 {
		return nil
	}
	if err := o.settled(tx); err != nil {
		return err
	}
	if len(ids) > stopMost {
		return o.promiseCleanUp(tx, work)
	}
	return o.engage(tx, func(e *engine) error { return e.recheckAll(ids) })
}

func (o *Outreach) cleanUp(ctx context.Context, job store.Job) error {
	var work cleanUpWork
	if err := json.Unmarshal(job.Payload, &work); err != nil {
		return err
	}
	var ids []uuid.UUID
	err := o.store.View(job.Org, func(tx *store.Tx) (err error) {
		ids, err = o.toCleanUp(tx, work)
		return err
	})
	if err != nil {
		return err
	}
	do := (*engine).stopIfMust
	if work.Contacts != nil {
		do = (*engine).recheck // which may have an address now, or none
	}
	return o.chunks(ctx, job, ids, func(e *engine, id uuid.UUID) error {
		if !e.sequences.Has(e.tx, id) {
			return nil
		}
		return do(e, id)
	}, o.cleanedUp)
}

// toCleanUp gives the sequences that a job is to look at.
func (o *Outreach) toCleanUp(tx *store.Tx, work cleanUpWork) (ids []uuid.UUID, err error) {
	switch {
	case work.Campaign.Valid:
		return o.sequences.IDs(tx, byActive, work.Campaign.UUID[:], 0)
	case work.Contacts != nil:
		for _, contact := range unpackIDs(work.Contacts) {
			of, err := o.sequences.IDs(tx, byContact, contact[:], 0)
			if err != nil {
				return nil, err
			}
			ids = append(ids, of...)
		}
		return ids, nil
	}
	err = o.sequences.Range(tx, byActive, nil, func(_ []byte, id uuid.UUID) bool {
		ids = append(ids, id)
		return true
	})
	return ids, err
}

// stopIfMust stops a sequence if something keeps it from going on, and else leaves it as it is.
func (e *engine) stopIfMust(id uuid.UUID) error {
	w, err := e.walk(store.Doc[Sequence]{ID: id})
	if err != nil || w.s.Status != SequenceActive {
		return err
	}
	why, err := w.obstacle()
	if err != nil || why == "" {
		return err
	}
	if err := w.stop(why); err != nil {
		return err
	}
	return w.put()
}
