// Package imports owns the import of files: CSV and JSON lines that a company already has. A file is
// stored first and then imported by a job, in batches, each with its progress in the same transaction.
// How a file is read and what its cells mean is decided by packages rows, record and crm.
package imports

import (
	"log/slog"
	"time"

	"prospector/index"
	"prospector/internal/crm"
	"prospector/internal/operation"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/internal/worker"
	"prospector/store"
)

// Settings are the settings of the package.
type Settings struct {
	// Dir is where files are stored until their imports end.
	Dir string
	// Retention is how long finished imports are kept.
	Retention time.Duration
	Log       *slog.Logger
}

// Tables are the tables of imports. They are declared before the index is opened, because the index
// needs their list. A store can be checked with its Tables alone.
type Tables struct {
	Imports *store.Table[FileImport]
	List    *index.Kind

	rejects  *store.Parts // CSV, see rejects.go
	problems *store.Parts // the report of a running import, in part 0
}

// NewTables declares the tables of the package. The table imports belongs to TAM Imports.
func NewTables() *Tables {
	t := &Tables{
		Imports: record.NewTable[FileImport]("file_imports", nil, nil).ShortHistory(),
		rejects: store.NewParts("file_imports.rejects"), problems: store.NewParts("file_imports.problems"),
	}
	t.List = index.NewKind("imports", "-created_at", t.Imports, nil)
	t.List.ReadOnly = true
	return t
}

// Lists returns the list kind of imports.
func (t *Tables) Lists() []*index.Kind { return []*index.Kind{t.List} }

// Sources returns the events that the package emits.
func (t *Tables) Sources() []store.Source {
	done := record.Example[FileImport](example)
	stopped := func(status Status, reason string) *FileImport {
		m := done
		m.Status, m.FailureReason = status, shape.Text(reason)
		m.Progress, m.Rows, m.Added = shape.NumberOf(0.4), 1000, 991
		return &m
	}
	return []store.Source{{
		Object: "import",
		Triggers: []store.Trigger{
			{Event: string(completed), Description: "The import of a file is complete."},
			{Event: string(failed), Description: "The import of a file failed. failure_reason contains the reason.",
				Example: stopped(failed, "the file cannot be read to its end: truncated: unexpected EOF")},
			{Event: string(cancelled), Description: "The import of a file was cancelled. Rows that were imported before stay.",
				Example: stopped(cancelled, "")},
		},
		Example: &done,
		Read:    t.Imports.Public,
	}}
}

// Imports imports files.
type Imports struct {
	*Tables
	Settings

	store      *store.Store
	operations *operation.Operations
	crm        *crm.CRM
	busy       *busyImports
}

// New returns the imports of a service.
func New(st *store.Store, tables *Tables, operations *operation.Operations, c *crm.CRM, settings Settings) *Imports {
	return &Imports{Tables: tables, Settings: settings, store: st, operations: operations, crm: c, busy: newBusyImports()}
}

// The kinds of jobs.
const (
	RunJob    = "imports.run"
	expireJob = "imports.expire"
)

// Jobs returns the handlers of the package's jobs.
func (i *Imports) Jobs() map[string]worker.Handler {
	return map[string]worker.Handler{RunJob: i.runJob, expireJob: i.expire}
}
