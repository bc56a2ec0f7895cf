package imports

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/operation"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// Upload is a file that is being received. Close must be called in the end.
type Upload struct {
	imports  *Imports
	org      uuid.UUID
	file     *os.File
	path     string
	id       uuid.UUID // of the import; zero before Register
	name     string
	bytes    int64
	unsynced int
	accepted bool
}

// syncBytes is after how many bytes a file is synced while it is received. Syncing a large file at once
// would delay the commits of others.
const syncBytes = 16 << 20

// NewUpload creates the file of an import. It refuses an organization that has too many with too_many_imports.
func (i *Imports) NewUpload(org uuid.UUID) (*Upload, error) {
	files, err := i.filesOf(org)
	if err != nil {
		return nil, err
	}
	if len(files) >= maxFiles {
		return nil, fault.New(fault.TooManyImports, "%d imports of the organization are unfinished; wait until some have ended or cancel them", maxFiles)
	}
	if err := os.MkdirAll(i.Dir, 0o700); err != nil {
		return nil, err
	}
	path := i.pathOf(org, uuid.New())
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, noSpace(err)
	}
	return &Upload{imports: i, org: org, file: file, path: path}, nil
}

// Write appends a part of the file.
func (u *Upload) Write(b []byte) (int, error) {
	n, err := u.file.Write(b)
	u.bytes, u.unsynced = u.bytes+int64(n), u.unsynced+n
	if err == nil && u.unsynced >= syncBytes {
		u.unsynced, err = 0, u.file.Sync()
	}
	return n, noSpace(err)
}

// noSpace returns the error of a caller whose file does not fit on the disk.
func noSpace(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fault.New(fault.Unavailable, "there is no space on the disk for the file; nothing was imported")
	}
	return err
}

// maxName is how many characters of the name of a file are kept.
const maxName = 255

// SetName sets the name of the file, without its directory and without control characters.
func (u *Upload) SetName(name string) {
	name = filepath.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "\ufffd"), `\`, "/"))
	if name == "." || name == "/" {
		return
	}
	printed := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, name))
	u.name = string(printed[:min(len(printed), maxName)])
}

// IsArchive reports whether the file is a zip archive.
func (u *Upload) IsArchive() bool {
	magic := make([]byte, 4)
	_, err := u.file.ReadAt(magic, 0)
	return err == nil && string(magic) == "PK\x03\x04"
}

// Register stores the import with its options as running. It is called as soon as the options are known: if
// the process ends before the upload, the import is there to say so. Its job fails it if nobody else does.
func (u *Upload) Register(ctx context.Context, by store.Actor, o FileImportBody) error {
	err := u.imports.store.Update(ctx, u.org, by, func(tx *store.Tx) (err error) {
		u.id = tx.NewID()
		now := shape.At(tx.Now())
		rec := FileImport{Entity: o.Entity, DryRun: o.DryRun, FileName: shape.Text(u.name), Status: running, Progress: shape.NumberOf(0),
			UserID:  uuid.NullUUID{UUID: by.User, Valid: by.User != uuid.Nil},
			private: importPrivate{By: by, Options: o}}
		rec.ID, rec.CreatedAt, rec.UpdatedAt = u.id, now, now
		if rec.private.Job, err = tx.Enqueue(RunJob, tx.Now().Add(busyDelay), runPayload{u.id}); err != nil {
			return err
		}
		op := operation.Operation{Head: rec.Head, Kind: operation.Import, Entity: shape.Text(o.Entity), DryRun: o.DryRun}
		if _, err = u.imports.operations.Begin(tx, op); err != nil {
			return err
		}
		_, err = u.imports.Imports.Insert(tx, u.id, rec)
		return err
	})
	if err != nil {
		u.id = uuid.Nil
		return err
	}
	u.imports.busy.claim(u.id, func(error) {})
	path := u.imports.pathOf(u.org, u.id)
	if err := os.Rename(u.path, path); err != nil {
		return err
	}
	u.path = path
	return syncDir(u.imports.Dir)
}

// syncDir makes the names of the files in a directory durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// IsRegistered reports whether the import is stored.
func (u *Upload) IsRegistered() bool { return u.id != uuid.Nil }

// Check completes the file. It refuses a file that is empty or no table, and options that do not fit it,
// with validation_failed.
func (u *Upload) Check(o FileImportBody) (Checked, error) {
	var c Checked
	if err := u.file.Sync(); err != nil {
		return c, noSpace(err)
	}
	t, err := open(u.file, o.reading(u.name))
	if err != nil {
		return c, badFile(err)
	}
	defer t.Close()
	c.encoding, c.unsure, c.delimiter = t.Encoding(), t.EncodingUnsure(), t.Delimiter()
	return c, u.imports.store.View(u.org, func(tx *store.Tx) error {
		im, err := u.imports.crm.NewImporter(tx, o.Entity, t, o.record())
		if err == nil {
			c.warnings = im.Warnings()
		}
		return err
	})
}

// Inspect describes the columns of the file, of which only the beginning needs to be there.
func (u *Upload) Inspect(o FileImportBody) (in rows.Inspection, err error) {
	t, err := open(u.file, o.reading(u.name))
	if err != nil {
		return in, badFile(err)
	}
	defer t.Close()
	err = u.imports.store.View(u.org, func(tx *store.Tx) error {
		in, err = u.imports.crm.InspectImport(tx, o.Entity, t, o.record())
		return err
	})
	return in, err
}

// badFile is the error of a file that is not a table, or of options that do not fit it.
func badFile(err error) error {
	var refused *fault.Error
	if errors.As(err, &refused) {
		return err
	}
	var p fault.Problems
	p.Invalid("file", "%v", err)
	return p.Err()
}

// Checked is what is known about a file that can be imported.
type Checked struct {
	encoding, delimiter string
	unsure              bool
	warnings            []string
}

// open starts to read a file.
func open(file io.ReadSeeker, o rows.Options) (*rows.Reader, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return rows.Open(file, o)
}

// isLines reports whether the name of a file says that it contains JSON lines.
func isLines(name string) bool {
	extension := filepath.Ext(strings.TrimSuffix(strings.ToLower(name), ".gz"))
	return extension == ".jsonl" || extension == ".ndjson"
}

// Accept makes the job of the import run. From the commit on, the import survives a restart. An import that was
// cancelled during its upload is returned as it is.
func (u *Upload) Accept(tx *store.Tx, c Checked) (doc store.Doc[FileImport], err error) {
	old, err := u.imports.Imports.Get(tx, u.id)
	if err != nil {
		return doc, err
	}
	if old.Record.hasEnded() {
		return old, nil
	}
	if doc, err = u.received(tx, old, c); err != nil {
		return doc, err
	}
	u.imports.busy.end(u.id) // before the commit, because the job runs at once
	return doc, tx.Reschedule(old.Record.private.Job, tx.Now(), 0)
}

// received notes that the whole file is stored.
func (u *Upload) received(tx *store.Tx, old store.Doc[FileImport], c Checked) (store.Doc[FileImport], error) {
	rec := old.Record
	if rec.hasEnded() {
		return old, notRunning(&rec)
	}
	rec.private.Received = true
	rec.FileName, rec.FileBytes, rec.UpdatedAt = shape.Text(u.name), int(u.bytes), shape.At(tx.Now())
	rec.Encoding, rec.EncodingUnsure, rec.Delimiter, rec.Warnings = shape.Text(c.encoding), c.unsure, shape.Text(c.delimiter), c.warnings
	tx.AfterCommit(func() { u.accepted = true })
	return u.imports.Imports.Update(tx, old, rec, []string{"file_name", "file_bytes", "encoding", "encoding_unsure", "delimiter", "warnings"})
}

// Run imports the file in the foreground, until the import is over or ctx ends. The job of the import continues it if
// the process is killed.
func (u *Upload) Run(ctx context.Context, c Checked, progress func(part float64)) error {
	i := u.imports
	err := i.store.Update(ctx, u.org, store.Actor{Operation: RunJob}, func(tx *store.Tx) error {
		old, err := i.Imports.Get(tx, u.id)
		if err == nil {
			_, err = u.received(tx, old, c)
		}
		return err
	})
	if err != nil {
		return err
	}
	r := &run{imports: i, org: u.org, id: u.id, progress: progress}
	err = r.run(ctx)
	if ctx.Err() == nil && errors.Is(err, errBadFile) {
		return i.fail(ctx, u.org, u.id, err.Error())
	}
	if errors.Is(err, errEnded) { // it was cancelled
		return nil
	}
	return err
}

// Postpone leaves the import to its job in the next process. In this one, which is stopping, no further row is imported, so
// that the counts stay as they are now. The record shows all problems.
func (u *Upload) Postpone(ctx context.Context) error {
	i := u.imports
	i.busy.postpone(u.id)
	return i.store.Update(ctx, u.org, store.Actor{Operation: RunJob}, func(tx *store.Tx) error {
		doc, err := i.Imports.Get(tx, u.id)
		if err != nil || doc.Record.hasEnded() {
			return err
		}
		report, err := i.reportOf(tx, &doc.Record)
		if err != nil {
			return err
		}
		if _, err := i.put(tx, doc, doc.Record, &report, true); err != nil {
			return err
		}
		return tx.Reschedule(doc.Record.private.Job, tx.Now(), 0)
	})
}

// Cancel cancels the import, unless it is over.
func (u *Upload) Cancel(ctx context.Context) error {
	err := u.imports.store.Update(ctx, u.org, store.Actor{Operation: RunJob}, func(tx *store.Tx) error {
		_, err := u.imports.Cancel(tx, u.id)
		return err
	})
	if fault.CodeOf(err) == fault.ImportNotRunning {
		return nil
	}
	return err
}

// Fail fails the import, unless it is over.
func (u *Upload) Fail(ctx context.Context, reason string) error {
	return u.imports.fail(ctx, u.org, u.id, reason)
}

// ID returns the id of the import.
func (u *Upload) ID() uuid.UUID { return u.id }

// Discard removes an import that was refused, as if it had not been registered. It first frees the space of the file,
// without which a full disk does not take even that.
func (u *Upload) Discard(ctx context.Context) error {
	if u.id == uuid.Nil || u.accepted {
		return nil
	}
	if err := u.file.Truncate(0); err != nil {
		return err
	}
	return u.imports.store.Update(ctx, u.org, store.Actor{Operation: RunJob}, func(tx *store.Tx) error {
		doc, err := u.imports.Imports.Get(tx, u.id)
		if err != nil || doc.Record.hasEnded() {
			return err
		}
		if err := tx.Done(doc.Record.private.Job); err != nil {
			return err
		}
		if err := u.imports.operations.Forget(tx, u.id); err != nil {
			return err
		}
		return u.imports.Imports.Delete(tx, doc)
	})
}

// Interrupt fails an import whose upload ended too early.
func (u *Upload) Interrupt(ctx context.Context) error {
	if u.id == uuid.Nil || u.accepted {
		return nil
	}
	return u.imports.fail(ctx, u.org, u.id, incompleteReason)
}

// Close ends the upload. It removes the file unless the import was accepted.
func (u *Upload) Close() error {
	if u.id != uuid.Nil {
		u.imports.busy.end(u.id)
	}
	err := u.file.Close()
	if u.accepted {
		return err
	}
	if removed := os.Remove(u.path); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}
