package tam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// ImportJob is the kind of the job that does an Import.
const ImportJob = "tam.import"

// importMost is how many members become records at once, as many as a batch may have: other writers wait meanwhile.
const importMost = 1000

// importJob does an Import, from where it was left.
func (t *TAM) importJob(ctx context.Context, job store.Job) error {
	m := &importRun{tam: t, job: job}
	err := m.open()
	if err == nil {
		err = m.run(ctx)
	}
	switch {
	case errors.Is(err, errImported):
		return t.store.Update(ctx, job.Org, m.actor(), func(tx *store.Tx) error { return tx.Done(job.ID) })
	case err != nil && job.Tries >= triesMost && ctx.Err() == nil && fault.CodeOf(err) != fault.Unavailable:
		return m.fail(ctx)
	}
	return err
}

// errImported says that an Import is over.
var errImported = errors.New("the Import is over")

// importRun is an Import that goes on.
type importRun struct {
	tam     *TAM
	job     store.Job
	id      uuid.UUID
	by      store.Actor
	preview uuid.UUID
	rows    int // of the Preview
	members int // of them, how many are selected
	done    int // of those, how many are
	request *PreviewRequest
	signal  *Signal
}

// actor is who accepted the Import; what it changes is its own doing.
func (m *importRun) actor() store.Actor {
	by := m.by
	by.Operation = ImportJob
	return by
}

// open reads the Import and its Preview.
func (m *importRun) open() error {
	var about importJobBody
	if err := json.Unmarshal(m.job.Payload, &about); err != nil {
		return fmt.Errorf("job %s: %w", m.job.ID, err)
	}
	m.id = about.Import
	return m.tam.store.View(m.job.Org, func(tx *store.Tx) error {
		doc, err := m.current(tx)
		if err != nil {
			return err
		}
		rec := doc.Record
		m.by, m.preview, m.members, m.done = rec.kept.By, rec.PreviewID, rec.kept.Members, rec.kept.Done
		p, err := m.tam.Previews.Get(tx, m.preview)
		m.request, m.signal, m.rows = p.Record.Request, p.Record.kept.Named.Signal, p.Record.kept.Members
		return err
	})
}

// current reads the Import, which must not be over.
func (m *importRun) current(tx *store.Tx) (store.Doc[Import], error) {
	doc, err := m.tam.Imports.Get(tx, m.id)
	if err == nil && doc.Record.isOver() {
		err = errImported
	}
	return doc, err
}

// importBatch is members that can be taken over.
type importBatch struct {
	from int // how many of the selected come before
	rows []importRow
	err  error // why there is no more
}

// run takes the members over, some at a time. While they are written the next are read.
func (m *importRun) run(ctx context.Context) error {
	work, stop := context.WithCancel(ctx)
	batches := make(chan importBatch, 1)
	go m.readAll(work, batches)
	defer drain(batches) // nothing is read any more when run has returned
	defer stop()
	for b := range batches {
		if b.err != nil {
			return b.err
		}
		if err := m.write(ctx, b); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (m *importRun) readAll(ctx context.Context, out chan<- importBatch) {
	defer close(out)
	for from := m.done; from < m.members; {
		b := importBatch{from: from}
		b.rows, b.err = m.read(from)
		if !give(ctx, out, b) || b.err != nil {
			return
		}
		from += len(b.rows)
	}
}

// read reads selected members. Which are is fixed since the Import was accepted.
func (m *importRun) read(from int) (rows []importRow, err error) {
	selected := true
	err = m.tam.store.View(m.job.Org, func(tx *store.Tx) error {
		s := m.tam.memberSetsOf(tx, m.preview, m.rows)
		ordinals, total := s.find(MemberFilter{Selected: &selected}, from, importMost)
		if total != m.members {
			return errors.Join(s.err, fmt.Errorf("Import %s: %d members are selected, and %d were", m.id, total, m.members))
		}
		rows = make([]importRow, 0, len(ordinals))
		err := m.tam.members.Each(tx, m.preview, ordinals, func(n uint32, stored []byte) error {
			row, err := newImportRow(s.has(people, int(n)), stored)
			rows = append(rows, row)
			return err
		})
		return errors.Join(err, s.err)
	})
	return rows, err
}

// write takes members over in one transaction, with how far the Import is then: whatever is cut off, no member is taken over
// twice and none is left out. The last members end the Import.
func (m *importRun) write(ctx context.Context, b importBatch) error {
	return m.tam.store.Update(ctx, m.job.Org, m.actor(), func(tx *store.Tx) error {
		doc, err := m.current(tx)
		if err != nil {
			return err
		}
		rec := doc.Record
		if rec.kept.Done != b.from {
			return fmt.Errorf("Import %s: %d members are done, and these come after %d", m.id, rec.kept.Done, b.from)
		}
		if err := m.take(tx, &rec, b.rows); err != nil {
			return err
		}
		rec.kept.Done += len(b.rows)
		if rec.kept.Done == m.members {
			rec.Progress = shape.NumberOf(1)
			return m.end(tx, doc, rec, importCompleted)
		}
		rec.Status, rec.Progress = importRunning, shape.NumberOf(float64(100*rec.kept.Done/m.members)/100)
		_, err = m.tam.Imports.Update(tx, doc, rec, []string{"status", "progress", "accounts", "contacts"})
		return err
	})
}

// fail ends an Import that cannot go on. What it still had from the month's balance is given back.
func (m *importRun) fail(ctx context.Context) error {
	return m.tam.store.Update(ctx, m.job.Org, m.actor(), func(tx *store.Tx) error {
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
		left := rec.kept.Reserved
		if err := m.tam.use(tx, at, amount{used.Accounts - left.Accounts, used.Contacts - left.Contacts}); err != nil {
			return err
		}
		rec.kept.Reserved, rec.FailureReason = amount{}, internalFault
		return m.end(tx, doc, rec, importFailed)
	})
}

// end ends the Import and its job.
func (m *importRun) end(tx *store.Tx, old store.Doc[Import], rec Import, status ImportStatus) error {
	rec.Status, rec.FinishedAt = status, shape.At(tx.Now())
	doc, err := m.tam.Imports.Update(tx, old, rec, []string{"status"})
	if err == nil {
		err = emitImport(tx, doc)
	}
	if err != nil {
		return err
	}
	return tx.Done(m.job.ID)
}
