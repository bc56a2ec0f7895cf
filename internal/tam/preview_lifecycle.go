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

// The kinds of jobs about a Preview.
const (
	PrepareJob = "tam.prepare"
	// ResearchJob prepares a Preview too. It mostly waits for answers, so that others need not wait for it.
	ResearchJob = "tam.research"
	clearJob    = "tam.clear"
	expireJob   = "tam.expire"
)

// clearMost is how many members are deleted at once.
const clearMost = 5000

// Prepare begins a Preview. A request_id that is known answers the Preview that it made, when the request is the same by its
// meaning; else it is request_id_reused.
func (t *TAM) Prepare(tx *store.Tx, d Draft) (doc store.Doc[Preview], created bool, err error) {
	if id, known := t.Previews.Find(tx, byRequest, d.request.RequestID[:]); known && d.problems.Count() == 0 {
		doc, err = t.Previews.Get(tx, id)
		if err == nil && !doc.Record.Request.means(&d.request) {
			err = fault.Taken(fault.RequestIDReused, "request_id", id.String(), "is that of another request; a request that is not the same needs one of its own")
		}
		return doc, false, err
	}
	r, named, err := t.check(tx, d)
	if err != nil {
		return doc, false, err
	}
	id, now := tx.NewID(), shape.At(tx.Now())
	rec := Preview{PreviewID: id, RequestID: r.RequestID, Status: Preparing, Request: r, Progress: shape.NumberOf(0),
		Research: newResearch(named.Signal), CreatedAt: now, UpdatedAt: now, kept: kept{Named: named}}
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
	_, err = tx.Enqueue(expireJob, t.nextLook(tx.Now(), tx.Now()), previewJob{id})
	return doc, true, err
}

// isCostly tells whether answers of the researcher are kept.
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

// Estimate tells how many companies a request would have researched, and what that costs. It leaves nothing behind.
func (t *TAM) Estimate(org uuid.UUID, d Draft) (companies int, cost Cost, err error) {
	var r *PreviewRequest
	var named resolved
	err = t.store.View(org, func(tx *store.Tx) error {
		r, named, err = t.check(tx, d)
		return err
	})
	if err != nil {
		return 0, Cost{}, err
	}
	ids, err := t.candidates(r, named)
	if err != nil {
		return 0, Cost{}, err
	}
	companies, err = t.distinct(ids)
	return companies, t.estimatedCost(companies, named.Signal != nil), err
}

// Cancel ends a preparation. One that was cancelled before stays so; one that is over is preview_not_preparing.
func (t *TAM) Cancel(tx *store.Tx, id uuid.UUID) error {
	doc, err := t.Previews.Get(tx, id)
	switch {
	case err != nil || doc.Record.Status == Cancelled:
		return err
	case doc.Record.Status != Preparing:
		return fault.New(fault.PreviewNotPreparing, "the Preview is %s already", doc.Record.Status)
	}
	return t.move(tx, doc, doc.Record, Cancelled)
}

// move moves a Preview on from PREPARING, and tells whoever wants to know. What was prepared for nothing is cleared away.
func (t *TAM) move(tx *store.Tx, old store.Doc[Preview], rec Preview, status Status) error {
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

// Delete removes a Preview. Its members are gone with it; the room that they take is freed in the background. While its Import
// goes on it is import_accepted.
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
	if err := t.mustRest(tx, &doc.Record); err != nil {
		return err
	}
	if err := t.Previews.Delete(tx, doc); err != nil {
		return err
	}
	return t.enqueueClear(tx, id)
}

func (t *TAM) enqueueClear(tx *store.Tx, id uuid.UUID) error {
	_, err := tx.Enqueue(clearJob, tx.Now(), previewJob{id})
	return err
}

func previewOf(job store.Job) (uuid.UUID, error) {
	var about previewJob
	if err := json.Unmarshal(job.Payload, &about); err != nil {
		return uuid.Nil, fmt.Errorf("job %s: %w", job.ID, err)
	}
	return about.Preview, nil
}

// clearJob deletes what a Preview that is over does not need any more, some at a time: of one that is READY the answers that were
// kept for a preparation that starts over, of another the members too.
func (t *TAM) clear(ctx context.Context, job store.Job) error {
	id, err := previewOf(job)
	for more := true; more && err == nil; {
		err = t.store.Update(ctx, job.Org, store.Actor{Operation: clearJob}, func(tx *store.Tx) error {
			if more, err = t.forget(tx, id, clearMost); err != nil || more {
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
				if more, err = parts.Delete(tx, id, 0, clearMost); err != nil || more {
					return err
				}
			}
			return tx.Done(job.ID)
		})
	}
	return err
}

// nextLook is when to look whether a Preview has been kept long enough: at the end of its time, and every hour until then, so
// that a time that is set anew counts.
func (t *TAM) nextLook(created, now time.Time) time.Time {
	next, later := created.Add(t.Retention), now.Add(time.Hour)
	if next.After(later) {
		return later
	}
	return next
}

// expireJob deletes a Preview that was never imported when its time is over.
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
			return tx.Reschedule(job.ID, t.nextLook(created, tx.Now()), 0)
		}
		if err := t.Delete(tx, id, nil); err != nil {
			return err
		}
		return tx.Done(job.ID)
	})
}
