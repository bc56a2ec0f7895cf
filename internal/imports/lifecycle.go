package imports

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/operation"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// incompleteReason is why an import failed whose file was not received to its end.
const incompleteReason = "the upload was not completed; nothing was imported"

var errIncomplete = errors.New(incompleteReason)

func notRunning(m *FileImport) error {
	return fault.New(fault.ImportNotRunning, "the import is already %s", m.Status)
}

// Cancel cancels an import. Rows that were imported before stay, and the counts are theirs. If the import is over, the
// error is import_not_running.
func (i *Imports) Cancel(tx *store.Tx, id uuid.UUID) (store.Doc[FileImport], error) {
	doc, err := i.Imports.Get(tx, id)
	if err != nil {
		return doc, err
	}
	if doc.Record.hasEnded() {
		return doc, notRunning(&doc.Record)
	}
	tx.AfterCommit(func() { i.busy.stop(id) })
	report, err := i.reportOf(tx, &doc.Record)
	if err == nil {
		err = i.finish(tx, doc, doc.Record, &report, cancelled, "")
	}
	if err != nil {
		return doc, err
	}
	return i.Imports.Get(tx, id)
}

// fail fails an import that is running.
func (i *Imports) fail(ctx context.Context, org, id uuid.UUID, reason string) error {
	return i.store.Update(ctx, org, store.Actor{Operation: RunJob}, func(tx *store.Tx) error { return i.failIn(tx, id, reason) })
}

func (i *Imports) failIn(tx *store.Tx, id uuid.UUID, reason string) error {
	doc, err := i.Imports.Get(tx, id)
	if err != nil || doc.Record.hasEnded() {
		return err
	}
	report, err := i.reportOf(tx, &doc.Record)
	if err != nil {
		return err
	}
	return i.finish(tx, doc, doc.Record, &report, failed, reason)
}

// finish ends an import.
func (i *Imports) finish(
	tx *store.Tx, old store.Doc[FileImport], rec FileImport, report *rows.Report, status Status, reason string,
) error {
	rec.Status, rec.FinishedAt, rec.FailureReason = status, shape.At(tx.Now()), shape.Text(reason)
	if status == completed {
		rec.Progress = shape.NumberOf(1)
	}
	doc, err := i.put(tx, old, rec, report, true)
	if err != nil {
		return err
	}
	if _, err := i.problems.Delete(tx, doc.ID, 0, 1); err != nil {
		return err
	}
	if err := tx.Done(rec.private.Job); err != nil {
		return err
	}
	if _, err := tx.Enqueue(expireJob, i.nextExpiryCheck(tx.Now(), tx.Now()), runPayload{doc.ID}); err != nil {
		return err
	}
	tx.AfterCommit(func() { i.remove(tx.Org(), doc.ID) })
	return emit(tx, doc)
}

// put stores an import with the counts of the report, which it also keeps for the next batch. With publish, the record
// shows the problems.
func (i *Imports) put(
	tx *store.Tx, old store.Doc[FileImport], rec FileImport, report *rows.Report, publish bool,
) (doc store.Doc[FileImport], err error) {
	rec.Counts, rec.Changes, rec.UpdatedAt = report.Counts, report.Changes, shape.At(tx.Now())
	if publish {
		rec.Problems = report.Problems.List()
	}
	kept, err := json.Marshal(&report.Problems)
	if err != nil {
		return doc, err
	}
	i.problems.Put(tx, old.ID, 0, kept)
	err = i.operations.Update(tx, old.ID, func(op *operation.Operation) {
		op.Status, op.Progress = operation.Status(rec.Status), rec.Progress
		op.Matched, op.Changed, op.Failed = rec.Rows, rec.Added+rec.Updated, rec.Skipped
	})
	if err != nil {
		return doc, err
	}
	return i.Imports.Update(tx, old, rec, []string{"status", "progress", "rows"})
}

// reportOf returns the report of the rows that are imported.
func (i *Imports) reportOf(tx *store.Tx, m *FileImport) (report rows.Report, err error) {
	report = rows.Report{Counts: m.Counts, Changes: m.Changes}
	kept, err := i.problems.Get(tx, m.ID, 0)
	if err == nil && kept != nil {
		err = json.Unmarshal(kept, &report.Problems)
	}
	return report, err
}

// nextExpiryCheck returns when to check again whether the retention of an import has ended. That is every day, so that
// a changed setting takes effect, and at the end of the retention.
func (i *Imports) nextExpiryCheck(finished, now time.Time) time.Time {
	end, daily := finished.Add(i.Retention), now.Add(24*time.Hour)
	if end.After(daily) {
		return daily
	}
	return end
}

// expireBatch is how many parts of the rejects one transaction deletes.
const expireBatch = 100

// expire deletes an import when its retention has ended.
func (i *Imports) expire(ctx context.Context, job store.Job) error {
	id, err := importOf(job)
	for more := true; more && err == nil; {
		err = i.store.Update(ctx, job.Org, store.Actor{Operation: expireJob}, func(tx *store.Tx) (err error) {
			more = false
			doc, err := i.Imports.Get(tx, id)
			if fault.CodeOf(err) == fault.NotFound {
				return tx.Done(job.ID)
			}
			if err != nil {
				return err
			}
			finished := doc.Record.FinishedAt.Std()
			if tx.Now().Before(finished.Add(i.Retention)) {
				return tx.Reschedule(job.ID, i.nextExpiryCheck(finished, tx.Now()), 0)
			}
			if more, err = i.rejects.Delete(tx, id, 0, expireBatch); err != nil || more {
				return err
			}
			if err := i.Imports.Delete(tx, doc); err != nil {
				return err
			}
			return tx.Done(job.ID)
		})
	}
	return err
}
