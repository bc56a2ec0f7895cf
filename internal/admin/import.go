package admin

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/google/uuid"

	"prospector/internal/imports"
	"prospector/internal/rows"
	"prospector/internal/service"
	"prospector/store"
)

// ImportOptions are the options of an import.
type ImportOptions = imports.FileImportBody

// ImportInput describes a file of records.
type ImportInput struct {
	Org     string        `json:"org"`
	Name    string        `json:"name"` // of the file
	Options ImportOptions `json:"options"`
	Rejects bool          `json:"rejects,omitempty"` // the caller wants the rejects
}

// ImportResult is the report of an import.
type ImportResult struct {
	ID             uuid.UUID `json:"id"`
	DryRun         bool      `json:"dry_run"`
	Encoding       string    `json:"encoding"`
	EncodingUnsure bool      `json:"encoding_unsure,omitempty"`
	Delimiter      string    `json:"delimiter"`
	rows.Counts
	Changes        []rows.ChangedField `json:"changes"`
	Problems       []rows.Problem      `json:"problems"`
	RejectsOmitted int                 `json:"rejects_omitted,omitempty"`
	Warnings       []string            `json:"warnings"`
	Failed         string              `json:"failed,omitempty"`    // why the import stopped early
	Questions      []rows.Question     `json:"questions,omitempty"` // what has to be known before anything is imported

	Rejects *File `json:"rejects,omitempty"` // in the work directory
}

// ImportRecords imports a file in the same way as POST /v1/imports. If the command is interrupted, the import is
// cancelled. If the server stops, it continues the import when it starts again.
var ImportRecords = Operation[ImportInput, ImportResult]{
	name: "import", Unit: Bytes, reports: true,
	doFile: func(ctx context.Context, s *service.Service, in ImportInput, file io.Reader, report Progress) (r ImportResult, err error) {
		org, err := organization(s, in.Org)
		if err != nil {
			return r, err
		}
		id, err := importFile(ctx, s, org.ID, in, file, report)
		if id == uuid.Nil || err != nil {
			return r, err
		}
		if r, err = importResult(ctx, s, org.ID, id); err == nil && in.Rejects {
			r.Rejects, err = importRejects(s, org.ID, id)
		}
		return r, err
	},
}

// importFile stores a file and imports it. It returns an error if nothing was imported.
func importFile(ctx context.Context, s *service.Service, org uuid.UUID, in ImportInput, file io.Reader, report Progress) (id uuid.UUID, err error) {
	u, err := s.Imports.NewUpload(org)
	if err != nil {
		return id, err
	}
	lasting := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, u.Discard(lasting), u.Close()) }()
	u.SetName(filepath.Base(in.Name))
	if err := u.Register(ctx, store.Actor{Operation: "import " + in.Options.Entity}, in.Options); err != nil {
		return id, err
	}
	size, err := io.Copy(u, file)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return id, errors.Join(err, u.Interrupt(lasting))
	}
	checked, err := u.Check(in.Options)
	if err != nil {
		return id, err
	}
	err = u.Run(ctx, checked, func(part float64) { report(int(part*float64(size)), int(size)) })
	switch cause := context.Cause(ctx); {
	case err == nil:
	case errors.Is(cause, errStopping):
		err = u.Postpone(lasting)
	case cause != nil:
		err = u.Cancel(lasting)
	default:
		err = u.Fail(lasting, Message(err))
	}
	return u.ID(), err
}

// importResult returns the report of an import.
func importResult(ctx context.Context, s *service.Service, org, id uuid.UUID) (r ImportResult, err error) {
	err = s.Store.View(org, func(tx *store.Tx) error {
		doc, err := s.Imports.Imports.Get(tx, id)
		m := doc.Record
		r = ImportResult{
			ID: id, DryRun: m.DryRun, Encoding: string(m.Encoding), EncodingUnsure: m.EncodingUnsure, Delimiter: string(m.Delimiter), Counts: m.Counts,
			Changes: m.Changes, Problems: m.Problems, RejectsOmitted: m.RejectsOmitted, Warnings: m.Warnings, Failed: string(m.FailureReason), Questions: m.Questions,
		}
		return err
	})
	if cause := context.Cause(ctx); cause != nil {
		r.Failed = cause.Error()
	}
	if r.Failed != "" {
		s.Log.Info("import stopped early", "import", id, "added", r.Added, "updated", r.Updated, "reason", r.Failed)
	}
	return r, err
}

// importRejects writes the rejects of an import to the work directory.
func importRejects(s *service.Service, org, id uuid.UUID) (*File, error) {
	file, err := makeTemporary(s, func(w io.Writer) error {
		parts := 0
		err := s.Store.View(org, func(tx *store.Tx) (err error) {
			parts, err = s.Imports.Rejects(tx, id)
			return err
		})
		if err != nil {
			return err
		}
		return s.Imports.WriteRejects(w, org, id, parts)
	})
	return &file, err
}
