package tam

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// The kinds of jobs for a Preview.
const (
	PrepareJob = "tam.prepare"
	// ResearchJob also prepares a Preview. It has its own kind, and with it its own limit of
	// concurrent jobs, because it mostly waits for answers.
	ResearchJob = "tam.research"
	clearJob    = "tam.clear"
	expireJob   = "tam.expire"
)

// deleteBatch is how many members one transaction deletes.
const deleteBatch = 5000

// Prepare starts a Preview. If a Preview with the request_id exists and its request is equivalent,
// Prepare returns that Preview. If its request differs, the error is request_id_reused.
func (t *TAM) Prepare(tx *store.Tx, d Draft) (doc store.Doc[Preview], created bool, err error) {
	if d, err = t.withTagIDs(tx, d); err != nil {
		return doc, false, err
	}
	if id, known := t.Previews.Find(tx, byRequest, d.request.RequestID[:]); known && d.problems.Count() == 0 {
		doc, err = t.Previews.Get(tx, id)
		if err == nil && !doc.Record.Request.isEquivalent(&d.request) {
			err = fault.Taken(fault.RequestIDReused, "request_id", id.String(),
				"belongs to a different request; use a new request_id for each new request")
		}
		return doc, false, err
	}
	r, named, err := t.check(tx, d)
	if err != nil {
		return doc, false, err
	}
	id, now := tx.NewID(), shape.At(tx.Now())
	rec := Preview{PreviewID: id, RequestID: r.RequestID, Status: Preparing, Request: r, Progress: shape.NumberOf(0),
		Research: newResearch(named.Signal), CreatedAt: now, UpdatedAt: now, private: previewPrivate{Named: named}}
	if doc, err = t.Previews.Insert(tx, id, rec); err != nil {
		return doc, false, err
	}
	kind := PrepareJob
	if named.Signal != nil && t.isCostly() {
		kind = ResearchJob
	}
	if _, err = tx.Enqueue(kind, tx.Now(), previewJob{id}); err != nil {
		return doc, false, err
	}
	_, err = tx.Enqueue(expireJob, t.nextExpiryCheck(tx.Now(), tx.Now()), previewJob{id})
	return doc, true, err
}

// isCostly reports whether the answers of the Researcher are stored while a Preview is prepared.
func (t *TAM) isCostly() bool { return t.Researcher != nil && t.Researcher.Costly() }

func newResearch(s *Signal) *Research {
	if s == nil {
		return &Research{Status: researchSkipped}
	}
	return &Research{
		Status: researchNotStarted, FieldID: uuid.NullUUID{UUID: s.ID, Valid: true},
		FieldName: shape.Text(s.Name), Question: shape.Text(s.Question),
	}
}

// Estimate is the maximum cost of the research of a Preview.
type Estimate struct {
	Companies      int  `json:"companies"`
	Cost           Cost `json:"cost"`
	AvailableTotal int  `json:"available_total" doc:"The number of companies in the catalog that the request describes."`
	Truncated      bool `json:"truncated" doc:"There are more companies than search_input.max_candidates, so that a Preview would lack some."`
}

// Estimate returns how many companies a request would research and the estimated cost. It stores
// nothing.
func (t *TAM) Estimate(ctx context.Context, org uuid.UUID, d Draft) (e Estimate, err error) {
	var r *PreviewRequest
	var named resolved
	err = t.store.View(org, func(tx *store.Tx) error {
		if d, err = t.withTagIDs(tx, d); err == nil {
			r, named, err = t.check(tx, d)
		}
		return err
	})
	if err != nil {
		return e, err
	}
	ids, total, err := t.candidateIDs(ctx, r, named)
	if err != nil {
		return e, err
	}
	e.AvailableTotal, e.Truncated = total, total > len(ids)
	e.Companies, err = t.countDistinct(ctx, ids)
	e.Cost = t.estimatedCost(e.Companies, named.Signal != nil)
	return e, err
}

// Cancel cancels a preparation. Cancelling a CANCELLED Preview changes nothing. If the preparation
// has ended, the error is preview_not_preparing.
func (t *TAM) Cancel(tx *store.Tx, id uuid.UUID) error {
	doc, err := t.Previews.Get(tx, id)
	switch {
	case err != nil || doc.Record.Status == Cancelled:
		return err
	case doc.Record.Status != Preparing:
		return fault.New(fault.PreviewNotPreparing, "the Preview is already %s", doc.Record.Status)
	}
	tx.AfterCommit(func() { t.running.stop(id) })
	return t.changeStatus(tx, doc, doc.Record, Cancelled)
}

// changeStatus ends the PREPARING status of a Preview and emits an event. It enqueues a job that
// deletes data which is no longer needed.
func (t *TAM) changeStatus(tx *store.Tx, old store.Doc[Preview], rec Preview, status Status) error {
	rec.Status, rec.UpdatedAt = status, shape.At(tx.Now())
	doc, err := t.Previews.Update(tx, old, rec, []string{"status"})
	if err != nil {
		return err
	}
	answers, err := t.answers.IDs(tx, byPreview, doc.ID[:], 1)
	if err == nil && (status != Ready || len(answers) > 0) {
		err = t.enqueueClear(tx, doc.ID)
	}
	if err != nil {
		return err
	}
	triggers := map[Status]string{Ready: "ready", Failed: "failed", Cancelled: "cancelled"}
	return tx.Emit(store.Event{Trigger: "tam_preview." + triggers[status], ID: doc.ID, Data: doc.JSON})
}

// Delete deletes a Preview. Its members become inaccessible at once, and a background job frees
// their space. While its Import is running, the error is import_accepted.
func (t *TAM) Delete(tx *store.Tx, id uuid.UUID, cond record.Precondition) error {
	doc, err := t.Previews.Get(tx, id)
	if err != nil {
		return err
	}
	if cond != nil {
		if err := cond(doc.Version()); err != nil {
			return err
		}
	}
	if err := t.checkNoRunningImport(tx, &doc.Record); err != nil {
		return err
	}
	tx.AfterCommit(func() { t.running.stop(id) })
	if err := t.Previews.Delete(tx, doc); err != nil {
		return err
	}
	return t.enqueueClear(tx, id)
}

func (t *TAM) enqueueClear(tx *store.Tx, id uuid.UUID) error {
	_, err := tx.Enqueue(clearJob, tx.Now(), previewJob{id})
	return err
}

// previewOf returns the id of the Preview that a job is for.
func previewOf(job store.Job) (uuid.UUID, error) {
	var payload previewJob
	if err := json.Unmarshal(job.Payload, &payload); err != nil {
		return uuid.Nil, fmt.Errorf("decode job %s: %w", job.ID, err)
	}
	return payload.Preview, nil
}

// clear deletes in batches what a Preview no longer needs after its preparation: the stored answers
// and, unless the Preview is READY, its members.
func (t *TAM) clear(ctx context.Context, job store.Job) error {
	id, err := previewOf(job)
	for more := true; more && err == nil; {
		err = t.store.Update(ctx, job.Org, store.Actor{Operation: clearJob}, func(tx *store.Tx) error {
			if more, err = t.deleteAnswers(tx, id, deleteBatch); err != nil || more {
				return err
			}
			doc, err := t.Previews.Get(tx, id)
			if err == nil && doc.Record.Status == Ready {
				return tx.Done(job.ID)
			}
			if err != nil && fault.CodeOf(err) != fault.NotFound {
				return err
			}
			for _, parts := range []*store.Parts{t.members, t.memberSets, t.directory} {
				if more, err = parts.Delete(tx, id, 0, deleteBatch); err != nil || more {
					return err
				}
			}
			return tx.Done(job.ID)
		})
	}
	return err
}

// nextExpiryCheck returns when to check again whether the retention of a Preview has ended. That is
// every hour, so that a changed setting takes effect, and at the end of the retention.
func (t *TAM) nextExpiryCheck(created, now time.Time) time.Time {
	end, hourly := created.Add(t.Retention), now.Add(time.Hour)
	if end.After(hourly) {
		return hourly
	}
	return end
}

// expire deletes a Preview that was never imported when its retention has ended.
func (t *TAM) expire(ctx context.Context, job store.Job) error {
	id, err := previewOf(job)
	if err != nil {
		return err
	}
	return t.store.Update(ctx, job.Org, store.Actor{Operation: expireJob}, func(tx *store.Tx) error {
		doc, err := t.Previews.Get(tx, id)
		switch {
		case fault.CodeOf(err) == fault.NotFound || err == nil && doc.Record.OperationID.Valid:
			return tx.Done(job.ID)
		case err != nil:
			return err
		}
		created := doc.Record.CreatedAt.Std()
		if tx.Now().Before(created.Add(t.Retention)) {
			return tx.Reschedule(job.ID, t.nextExpiryCheck(created, tx.Now()), 0)
		}
		if err := t.Delete(tx, id, nil); err != nil {
			return err
		}
		return tx.Done(job.ID)
	})
}
