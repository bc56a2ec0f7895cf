// Package tam owns Previews and Imports. A Preview is a fixed selection of companies and people of
// the catalog that an organization asked for. An Import turns the selected members of a Preview into
// Accounts and Contacts, within the organization's monthly balance. The package asks a Researcher
// about companies. It must not know which provider answers.
package tam

import (
	"context"
	"time"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/operation"
	"prospector/internal/record"
	"prospector/internal/worker"
	"prospector/store"
)

// Options are the settings of the package.
type Options struct {
	// UnitRate is the price of one researched answer, in AI signal credits.
	UnitRate float64
	// Retention is how long Previews that are never imported are kept.
	Retention time.Duration
	// Researcher answers the questions of Qualifiers. It is nil when no provider is configured.
	Researcher Researcher
	// MaxConcurrentQuestions is how many questions a costly Researcher is asked at the same time.
	MaxConcurrentQuestions int
}

// Tables are the tables of Previews and Imports. They are declared before the index is opened,
// because the index needs their lists. A store can be checked with its Tables alone.
type Tables struct {
	Previews    *store.Table[Preview]
	PreviewList *index.Kind
	Imports     *store.Table[Import]
	ImportList  *index.Kind

	months     *store.Table[amount]       // see balance.go
	answers    *store.Table[storedAnswer] // see preparation_questions.go
	members    *store.Parts               // by ordinal, see member.go
	memberSets *store.Parts               // see member_sets.go
	directory  *store.Parts               // see member_directory.go
}

// NewTables declares the tables and lists of the package.
func NewTables() *Tables {
	t := &Tables{
		Previews: newPreviews(), Imports: record.NewTable[Import]("imports", nil, nil),
		months: newMonths(), answers: newAnswers(), members: store.NewParts("previews.members"),
		memberSets: store.NewParts("previews.sets"), directory: store.NewParts("previews.directory"),
	}
	t.PreviewList = index.NewKind("previews", "-created_at", t.Previews, nil)
	t.ImportList = index.NewKind("tam-imports", "-created_at", t.Imports, nil)
	t.PreviewList.ReadOnly, t.ImportList.ReadOnly = true, true
	return t
}

// Lists returns the list kinds of Previews and Imports.
func (t *Tables) Lists() []*index.Kind { return []*index.Kind{t.PreviewList, t.ImportList} }

// TAM prepares Previews and imports them.
type TAM struct {
	*Tables
	Options

	store      *store.Store
	index      *index.Engine
	catalog    *catalog.Catalog
	identity   *identity.Identity
	crm        *crm.CRM
	operations *operation.Operations
	running    *runningPreparations
	slots      chan struct{} // one element for each question to a costly Researcher that has no answer yet
}

// New returns a TAM over tables whose lists the index has opened.
func New(
	st *store.Store, ix *index.Engine, tables *Tables, operations *operation.Operations, market *catalog.Catalog,
	id *identity.Identity, c *crm.CRM, opt Options,
) *TAM {
	return &TAM{
		Tables: tables, Options: opt, store: st, index: ix, operations: operations, catalog: market, identity: id, crm: c,
		running: &runningPreparations{stops: map[uuid.UUID]context.CancelCauseFunc{}},
		slots:   make(chan struct{}, max(1, opt.MaxConcurrentQuestions)),
	}
}

// Jobs returns the handlers of the package's jobs.
func (t *TAM) Jobs() map[string]worker.Handler {
	return map[string]worker.Handler{
		PrepareJob: t.prepareJob, ResearchJob: t.prepareJob, ImportJob: t.importJob, clearJob: t.clear, expireJob: t.expire,
	}
}
