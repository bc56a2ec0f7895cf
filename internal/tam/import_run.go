package tam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/operation"
	"prospector/internal/shape"
	"prospector/store"
)

// ImportJob is the kind of the job that runs an Import.
const ImportJob = "tam.import"

// importBatchSize is how many members one transaction imports, if no others wait to write.
const importBatchSize = 1000

// importJob runs an Import. It continues an Import that was interrupted.
func (t *TAM) importJob(ctx context.Context, job store.Job) error {
	m := &importRun{tam: t, job: job}
	err := m.open()
	if err == nil {
		err = m.run(ctx)
	}
	switch {
	case errors.Is(err, errImportEnded):
		return t.store.Update(ctx, job.Org, m.actor(), func(tx *store.Tx) error { return tx.Done(job.ID) })
	case err != nil && job.Tries >= maxTries && ctx.Err() == nil && fault.CodeOf(err) != fault.Unavailable:
		return m.fail(ctx)
	}
	return err
}

// errImportEnded means that the Import has ended.
var errImportEnded = errors.New("the Import has ended")

// importRun is the state of one run of the job of an Import.
type importRun struct {
	tam     *TAM
	job     store.Job
	id      uuid.UUID
	by      store.Actor
	preview uuid.UUID
	rows    int // all members of the Preview
	members int // the selected members
	hasSet  bool
	done    int // the selected members that were imported before this run
	request *PreviewRequest
	signal  *Signal
}

// actor returns the actor who accepted the Import, with the operation of the Import.
func (m *importRun) actor() store.Actor {
	by := m.by
	by.Operation, by.OperationID = ImportJob, m.id
	return by
}

// open reads the Import and its Preview.
func (m *importRun) open() error {
	var payload importJobBody
	if err := json.Unmarshal(m.job.Payload, &payload); err != nil {
		return fmt.Errorf("decode job %s: %w", m.job.ID, err)
	}
	m.id = payload.Import
	return m.tam.store.View(m.job.Org, func(tx *store.Tx) error {
		doc, err := m.current(tx)
		if err != nil {
			return err
		}
		rec := doc.Record
		m.by, m.preview, m.members, m.done = rec.private.By, rec.PreviewID, rec.private.Members, rec.private.Done
		m.hasSet = rec.private.HasSet
		p, err := m.tam.Previews.Get(tx, m.preview)
		m.request, m.signal, m.rows = p.Record.Request, p.Record.private.Named.Signal, p.Record.private.Members
		return err
	})
}

// current reads the Import. It returns errImportEnded if the Import has ended.
func (m *importRun) current(tx *store.Tx) (store.Doc[Import], error) {
	doc, err := m.tam.Imports.Get(tx, m.id)
	if err == nil && doc.Record.hasEnded() {
		err = errImportEnded
	}
	return doc, err
}

// importBatch is a number of selected members that are read together.
type importBatch struct {
	from int // the number of selected members before them
	rows []importRow
	err  error // why there are no more batches
}

// run imports the members in batches. It reads the next batch while it writes the previous one.
func (m *importRun) run(ctx context.Context) error {
	work, stop := context.WithCancel(ctx)
	batches := make(chan importBatch, 1)
	go m.readAll(work, batches)
	defer drain(batches) // run returns after readAll has stopped
	defer stop()
	for b := range batches {
		if b.err != nil {
			return b.err
		}
		for len(b.rows) > 0 {
			imported, err := m.write(ctx, b)
			if err != nil {
				return err
			}
			b.from, b.rows = b.from+imported, b.rows[imported:]
		}
	}
	return ctx.Err()
}

func (m *importRun) readAll(ctx context.Context, out chan<- importBatch) {
	defer close(out)
	for from := m.done; from < m.members; {
		b := importBatch{from: from}
		b.rows, b.err = m.read(from)
		if !send(ctx, out, b) || b.err != nil {
			return
		}
		from += len(b.rows)
	}
}

// read reads a batch of selected members. The selection cannot change after the Import was
// accepted.
func (m *importRun) read(from int) (rows []importRow, err error) {
	selected := true
	err = m.tam.store.View(m.job.Org, func(tx *store.Tx) error {
		s := m.tam.memberSetsOf(tx, m.preview, m.rows)
		ordinals, total := s.find(MemberFilter{Selected: &selected}, from, importBatchSize)
		if total != m.members {
			return errors.Join(s.err, fmt.Errorf("Import %s: %d members are selected, want %d", m.id, total, m.members))
		}
		rows = make([]importRow, 0, len(ordinals))
		err := m.tam.members.Each(tx, m.preview, ordinals, func(n uint32, stored []byte) error {
			row, err := newImportRow(s.has(people, int(n)), stored)
			if m.hasSet {
				row.reserved = s.has(reservedMembers, int(n))
			}
			rows = append(rows, row)
			return err
		})
		return errors.Join(err, s.err)
	})
	return rows, err
}

// write imports members of a batch and stores the new position in one transaction. If the process is killed,
// no member is imported twice and none is lost. It returns how many members are imported, which are not all if others
// wait to write. The last member completes the Import.
func (m *importRun) write(ctx context.Context, b importBatch) (imported int, err error) {
	err = m.tam.store.Update(ctx, m.job.Org, m.actor(), func(tx *store.Tx) error {
		doc, err := m.current(tx)
		if err != nil {
			return err
		}
		rec := doc.Record
		if rec.private.Done != b.from {
			return fmt.Errorf("Import %s: %d members are imported, but the batch starts after %d", m.id, rec.private.Done, b.from)
		}
		if imported, err = m.importRows(tx, &rec, b.rows); err != nil {
			return err
		}
		rec.private.Done += imported
		if rec.private.Done == m.members {
			rec.Progress = shape.NumberOf(1)
			return m.end(tx, doc, rec, importCompleted)
		}
		rec.Status, rec.Progress = importRunning, shape.NumberOf(float64(100*rec.private.Done/m.members)/100)
		if err := m.updateOperation(tx, &rec, operation.Running); err != nil {
			return err
		}
		_, err = m.tam.Imports.Update(tx, doc, rec, []string{"status", "progress", "accounts", "contacts"})
		return err
	})
	return imported, err
}

// fail ends an Import that cannot continue. It releases the remaining reservation in the monthly
// balance.
func (m *importRun) fail(ctx context.Context) error {
	return m.tam.store.Update(ctx, m.job.Org, m.actor(), m.failIn)
}

func (m *importRun) failIn(tx *store.Tx) error {
	doc, err := m.current(tx)
	if err != nil {
		return err
	}
	rec := doc.Record
	at := rec.CreatedAt.Std()
	used, err := m.tam.usedIn(tx, at)
	if err != nil {
		return err
	}
	left := rec.private.Reserved
	used = amount{used.Accounts - left.Accounts, used.Contacts - left.Contacts}
	if err := m.tam.setUsed(tx, at, used); err != nil {
		return err
	}
	rec.private.Reserved, rec.FailureReason = amount{}, internalError
	return m.end(tx, doc, rec, importFailed)
}

// updateOperation shows the counts of the Import in its Operation.
func (m *importRun) updateOperation(tx *store.Tx, rec *Import, status operation.Status) error {
	return m.tam.operations.Update(tx, m.id, func(op *operation.Operation) {
		op.Status, op.Progress = status, rec.Progress
		op.Changed = rec.Accounts.Created + rec.Accounts.Reused + rec.Contacts.Created + rec.Contacts.Reused
		op.Failed = rec.Accounts.Skipped + rec.Contacts.Skipped
	})
}

// end sets the final status of the Import, emits an event and completes the job.
func (m *importRun) end(tx *store.Tx, old store.Doc[Import], rec Import, status ImportStatus) error {
	rec.Status, rec.FinishedAt = status, shape.At(tx.Now())
	if err := m.updateOperation(tx, &rec, operation.Status(status)); err != nil {
		return err
	}
	doc, err := m.tam.Imports.Update(tx, old, rec, []string{"status"})
	if err == nil {
		err = emitImport(tx, doc)
	}
	if err != nil {
		return err
	}
	return tx.Done(m.job.ID)
}
