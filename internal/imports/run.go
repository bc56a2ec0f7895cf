package imports

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/internal/turn"
	"prospector/store"
)

const (
	// maxTries is how often a job that fails is tried before its import fails.
	maxTries = 5
	// busyDelay is when the job of an import that is being received looks again.
	busyDelay = time.Minute
	// publishTime is how often a running import shows its problems. They may take as much space as a batch.
	publishTime = time.Second
)

type runPayload struct {
	Import uuid.UUID `json:"import"`
}

func importOf(job store.Job) (uuid.UUID, error) {
	var payload runPayload
	if err := json.Unmarshal(job.Payload, &payload); err != nil {
		return uuid.Nil, fmt.Errorf("decode job %s: %w", job.ID, err)
	}
	return payload.Import, nil
}

// errEnded means that the import has ended. errBadFile means that its file cannot be imported, however often it is tried.
var (
	errEnded   = errors.New("the import has ended")
	errBadFile = errors.New("the file cannot be read")
)

// runJob runs an import. It continues one that was interrupted.
func (i *Imports) runJob(ctx context.Context, job store.Job) error {
	id, err := importOf(job)
	if err != nil {
		return err
	}
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	by := store.Actor{Operation: RunJob}
	if !i.busy.claim(id, stop) {
		return i.wait(ctx, job, id)
	}
	defer i.busy.end(id)
	r := &run{imports: i, org: job.Org, id: id}
	err = r.run(working)
	switch {
	case errors.Is(err, errEnded) || context.Cause(working) == errEnded:
		i.remove(job.Org, id)
		return i.store.Update(ctx, job.Org, by, func(tx *store.Tx) error { return tx.Done(job.ID) })
	case errors.Is(err, errBadFile):
		return i.fail(ctx, job.Org, id, err.Error())
	case err != nil && job.Tries >= maxTries && ctx.Err() == nil && fault.CodeOf(err) != fault.Unavailable:
		i.Log.Error("import failed", "import", id, "organization", job.Org, "error", err)
		return i.fail(ctx, job.Org, id, "an internal error; the server log has details")
	}
	return err
}

// wait makes the job of a busy import look again later. The job of a postponed import stays due for the next process, and
// blocks until this one ends, because a worker would start it again at once.
func (i *Imports) wait(ctx context.Context, job store.Job, id uuid.UUID) error {
	err := i.store.Update(ctx, job.Org, store.Actor{Operation: RunJob}, func(tx *store.Tx) error {
		if i.busy.isPostponed(id) {
			return nil
		}
		return tx.Reschedule(job.ID, tx.Now().Add(busyDelay), 0)
	})
	if err == nil && i.busy.isPostponed(id) {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

// run is one run of an import.
type run struct {
	imports  *Imports
	org, id  uuid.UUID
	progress func(part float64) // nil if nobody asked for it

	by        store.Actor
	size      int64
	read      *countingReader
	table     *rows.Reader
	importer  *record.Importer
	report    rows.Report // up to the last commit
	isAhead   bool        // report contains a batch that is not committed
	published time.Time   // when the record last had the problems
}

// countingReader counts the bytes that were read from a file.
type countingReader struct {
	*os.File
	bytes int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.File.Read(b)
	c.bytes += int64(n)
	return n, err
}

func (c *countingReader) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.File.ReadAt(b, at)
	c.bytes += int64(n)
	return n, err
}

// batch are rows that one transaction imports.
type batch struct {
	rows  []rows.Row
	ready *record.ImportBatch
	read  int64 // bytes of the file up to here
	last  bool
	// The encoding and the warnings as far as the file was read.
	encoding string
	unsure   bool
	warnings []string
	err      error // why there are no more batches
}

// run imports the rows that are not imported yet.
func (r *run) run(ctx context.Context) error {
	file, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer file.Close()
	defer r.table.Close()
	defer r.importer.Close()
	reading, stop := context.WithCancel(ctx)
	batches := make(chan batch, 1)
	go r.prepareAll(reading, batches)
	defer func() { // the table must not be read after its file was closed
		stop()
		for range batches {
		}
	}()
	for b := range batches {
		if b.err != nil {
			return b.err
		}
		for hasRest := true; hasRest; {
			written, err := r.write(ctx, &b)
			if err != nil {
				return err
			}
			if hasRest = written < len(b.rows); hasRest {
				b.rows, b.ready = b.rows[written:], b.ready.After(written)
			}
		}
		if b.last {
			return nil
		}
	}
	return ctx.Err()
}

// open reads the import, opens its file and skips the rows that are imported.
func (r *run) open(ctx context.Context) (file *os.File, err error) {
	rec, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	i := r.imports
	if file, err = os.Open(i.pathOf(r.org, r.id)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: it is no longer there; backups do not contain the files of imports", errBadFile)
	}
	if err != nil {
		return nil, err
	}
	r.read = &countingReader{File: file}
	if r.table, err = open(r.read, rec.private.Options.reading(string(rec.FileName))); err == nil {
		options := rec.private.Options.record()
		options.Scratch = i.Dir
		err = i.store.View(r.org, func(tx *store.Tx) (err error) {
			r.importer, err = i.crm.NewImporter(tx, rec.Entity, r.table, options)
			return err
		})
	}
	if err == nil {
		err = r.survey(ctx, &rec)
	}
	if errors.Is(err, errEnded) || ctx.Err() != nil {
		file.Close()
		return nil, cmp.Or(err, ctx.Err())
	}
	for skip := r.report.Rows; skip > 0 && err == nil; skip-- {
		_, err = r.table.Next()
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%w: %w", errBadFile, err)
	}
	return file, nil
}

// survey reads the whole file to find out how its values are written. An import that has a question fails with it.
func (r *run) survey(ctx context.Context, rec *FileImport) error {
	i := r.imports
	file, err := os.Open(i.pathOf(r.org, r.id))
	if err != nil {
		return err
	}
	defer file.Close()
	questions, err := r.importer.Survey(ctx, func() (*rows.Reader, error) {
		return open(file, rec.private.Options.reading(string(rec.FileName)))
	}, func() { turn.Pause(ctx) })
	if err != nil && ctx.Err() == nil { // the rows before are imported, as without a survey
		return nil
	}
	if err != nil || len(questions) == 0 {
		return err
	}
	err = i.store.Update(ctx, r.org, r.by, func(tx *store.Tx) error {
		doc, err := r.current(tx)
		if err != nil {
			return err
		}
		rec := doc.Record
		rec.Questions, rec.Warnings = questions, r.importer.Warnings()
		return i.finish(tx, doc, rec, &r.report, failed, questions[0].Code)
	})
	return cmp.Or(err, errEnded)
}

// load reads the import. A dry run starts over, because what it remembers of earlier rows is lost with the process.
func (r *run) load(ctx context.Context) (rec FileImport, err error) {
	i := r.imports
	err = i.store.View(r.org, func(tx *store.Tx) error {
		doc, err := r.current(tx)
		rec = doc.Record
		if err == nil && !rec.private.Received {
			err = fmt.Errorf("%w: %s", errBadFile, incompleteReason)
		}
		if err == nil {
			r.report, err = i.reportOf(tx, &rec)
		}
		return err
	})
	if err != nil {
		return rec, err
	}
	r.by, r.size = rec.private.By, int64(rec.FileBytes)
	r.by.Operation, r.by.OperationID = "import "+rec.Entity, r.id
	if !rec.DryRun || rec.Rows == 0 {
		return rec, nil
	}
	r.report = rows.Report{}
	return rec, i.store.Update(ctx, r.org, r.by, func(tx *store.Tx) error {
		doc, err := r.current(tx)
		if err != nil {
			return err
		}
		rec = doc.Record
		rec.private.Rejects, rec.private.RejectBytes, rec.RejectsOmitted = 0, 0, 0
		_, err = i.put(tx, doc, rec, &r.report, true)
		return err
	})
}

// current reads the import. It returns errEnded if the import has ended or was deleted.
func (r *run) current(tx *store.Tx) (store.Doc[FileImport], error) {
	doc, err := r.imports.Imports.Get(tx, r.id)
	if fault.CodeOf(err) == fault.NotFound || err == nil && doc.Record.hasEnded() {
		err = errEnded
	}
	return doc, err
}

// prepareAll reads and converts the rows in batches, while the previous batch is written.
func (r *run) prepareAll(ctx context.Context, out chan<- batch) {
	defer close(out)
	turn.GiveWay()
	for b := (batch{}); b.err == nil && !b.last; {
		b = r.prepare(ctx)
		select {
		case out <- b:
		case <-ctx.Done():
			return
		}
	}
}

func (r *run) prepare(ctx context.Context) (b batch) {
	turn.Pause(ctx)
	b.rows, b.err = r.table.NextBatch()
	b.read, b.last = r.read.bytes, b.err == io.EOF
	if b.last {
		b.err = nil
	}
	if b.err != nil {
		if len(b.rows) == 0 {
			b.err = fmt.Errorf("%w to its end: %w", errBadFile, b.err)
			return b
		}
		b.err = nil // these rows come first; reading on returns the error again
	}
	b.err = r.imports.store.View(r.org, func(tx *store.Tx) (err error) {
		b.ready, err = r.importer.Prepare(tx, b.rows, func() { turn.Pause(ctx) })
		return err
	})
	b.encoding, b.unsure, b.warnings = r.table.Encoding(), r.table.EncodingUnsure(), r.importer.Warnings()
	return b
}

// write imports rows of a batch and stores the progress in one transaction. If the process is killed, no row is imported
// twice and none is lost. It returns how many rows are imported, which are not all if others wait to write. The last row
// of the last batch completes the import.
func (r *run) write(ctx context.Context, b *batch) (written int, err error) {
	i, part := r.imports, 0.0
	err = i.store.Update(ctx, r.org, r.by, func(tx *store.Tx) error {
		doc, err := r.current(tx)
		if err != nil {
			return err
		}
		rec := doc.Record
		if r.isAhead { // the transaction is repeated
			if r.report, err = i.reportOf(tx, &rec); err != nil {
				return err
			}
		}
		if rec.Rows != r.report.Rows {
			return fmt.Errorf("import %s: %d rows are imported, but the batch starts after %d", r.id, rec.Rows, r.report.Rows)
		}
		outcomes, err := r.importer.Write(tx, b.ready)
		if err != nil {
			return err
		}
		r.isAhead = true
		for n := range outcomes {
			r.report.Add(&b.rows[n], &outcomes[n])
		}
		written = len(outcomes)
		if err := r.reject(tx, &rec, b.rows[:written], outcomes); err != nil {
			return err
		}
		rec.Encoding, rec.EncodingUnsure, rec.Warnings = shape.Text(b.encoding), b.unsure, b.warnings
		if b.last && written == len(b.rows) {
			part = 1
			return i.finish(tx, doc, rec, &r.report, completed, "")
		}
		part = min(0.99, float64(b.read)/float64(max(1, r.size)))
		rec.Progress = shape.NumberOf(float64(int(100*part)) / 100)
		publish := tx.Now().Sub(r.published) >= publishTime
		if publish {
			r.published = tx.Now()
		}
		_, err = i.put(tx, doc, rec, &r.report, publish)
		return err
	})
	if err != nil {
		return 0, err
	}
	r.isAhead = false
	if r.progress != nil {
		r.progress(part)
	}
	return written, nil
}
