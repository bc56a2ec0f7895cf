package erasure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/fault"
	"prospector/internal/operation"
	"prospector/internal/shape"
	"prospector/internal/worker"
	"prospector/store"
)

// Job is the kind of the job that erases a person.
const Job = "erase"

// busyDelay is when an erasure is tried again while an import is running, whose file may have the person.
const busyDelay = time.Minute

type jobBody struct {
	Operation uuid.UUID `json:"operation"`
}

// Jobs returns the handlers of the package's jobs.
func (e *Erasures) Jobs() map[string]worker.Handler { return map[string]worker.Handler{Job: e.runJob} }

// Start accepts an erasure, which a job runs. The Operation has no address. What the job needs is kept apart until it has
// ended.
func (e *Erasures) Start(tx *store.Tx, r Request) (doc store.Doc[operation.Operation], err error) {
	asked, err := json.Marshal(r)
	if err != nil {
		return doc, err
	}
	w := e.begin(tx.Org(), r.Email)
	w.add(r.Email, address.Key(r.Email))
	doc, err = e.Operations.Begin(tx, operation.Operation{Kind: operation.Erasure, DryRun: r.DryRun, Reason: shape.Text(w.text(r.Reason))})
	if err != nil {
		return doc, err
	}
	e.CRM.Erased.SetAsked(tx, doc.ID, asked)
	_, err = tx.Enqueue(Job, tx.Now(), jobBody{doc.ID})
	return doc, err
}

// errEnded means that an Operation has ended, so that nothing is left to do.
var errEnded = errors.New("the operation has ended")

// runJob erases a person. It continues an erasure that was interrupted.
func (e *Erasures) runJob(ctx context.Context, job store.Job) error {
	var body jobBody
	if err := json.Unmarshal(job.Payload, &body); err != nil {
		return fmt.Errorf("decode job %s: %w", job.ID, err)
	}
	w, r, err := e.load(job.Org, body.Operation)
	if errors.Is(err, errEnded) {
		return e.Store.Update(ctx, job.Org, store.Actor{Operation: actorName}, func(tx *store.Tx) error { return tx.Done(job.ID) })
	}
	if err != nil {
		return err
	}
	if err = w.find(ctx); err == nil && !r.DryRun {
		if err = w.run(ctx); fault.CodeOf(err) == fault.InUse { // an import is running
			return e.Store.Update(ctx, job.Org, w.by, func(tx *store.Tx) error { return tx.Reschedule(job.ID, tx.Now().Add(busyDelay), 0) })
		}
	}
	var refused *fault.Error
	if err != nil && (store.IsDamagedRecord(err) || !errors.As(err, &refused)) { // it goes on once the record is repaired
		return err
	}
	return e.Store.Update(ctx, job.Org, w.by, func(tx *store.Tx) error {
		doc, err := e.current(tx, body.Operation)
		if err == nil {
			err = w.finish(tx, doc, r.Reason, refused)
		}
		if err != nil && !errors.Is(err, errEnded) {
			return err
		}
		e.CRM.Erased.SetAsked(tx, body.Operation, nil)
		return tx.Done(job.ID)
	})
}

// load reads whom an Operation erases. It returns errEnded if the Operation has ended.
func (e *Erasures) load(org, id uuid.UUID) (w *erasing, r Request, err error) {
	err = e.Store.View(org, func(tx *store.Tx) error {
		doc, err := e.current(tx, id)
		if err != nil {
			return err
		}
		asked, err := e.CRM.Erased.Asked(tx, id)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(asked, &r); err != nil {
			return fmt.Errorf("decode whom operation %s erases: %w", id, err)
		}
		w = e.begin(org, r.Email)
		w.by.User, w.by.Key = doc.Record.State.By.User, doc.Record.State.By.Key
		return nil
	})
	return w, r, err
}

// current reads an Operation. It returns errEnded if that has ended.
func (e *Erasures) current(tx *store.Tx, id uuid.UUID) (store.Doc[operation.Operation], error) {
	doc, err := e.Operations.Table.Get(tx, id)
	if err != nil && fault.CodeOf(err) == fault.NotFound || err == nil && doc.Record.Status != operation.Running {
		err = errEnded
	}
	return doc, err
}
