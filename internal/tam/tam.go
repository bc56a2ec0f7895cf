package tam

import (
	"time"

	"prospector/index"
	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/worker"
	"prospector/store"
)

// Options are the settings of the package.
type Options struct {
	// UnitRate is what one researched answer costs, in AI signal credits.
	UnitRate float64
	// Retention is how long a Preview is kept that is never imported.
	Retention time.Duration
	// Researcher answers the questions of Qualifiers; nil when there is nobody to ask.
	Researcher Researcher
	// AskedAtOnce is how many companies a costly Researcher is asked about at the same time.
	AskedAtOnce int
}

// TAM holds the catalogue, the Previews and their Imports.
type TAM struct {
	*Catalog
	Previews    *store.Table[Preview]
	PreviewList *index.Kind
	Imports     *store.Table[Import]
	ImportList  *index.Kind
	Options
	// Index answers which companies a Preview is about. It is set before anything is prepared.
	Index *index.Engine

	store     *store.Store
	identity  *identity.Identity
	crm       *crm.CRM
	months    *store.Table[amount]     // see balance.go
	answers   *store.Table[heldAnswer] // see ask.go
	members   *store.Parts             // by ordinal
	sets      *store.Parts             // see sets.go
	directory *store.Parts             // see directory.go
	slots     chan struct{}            // holds one for each company that is being asked about
}

// New declares what the package keeps in the store.
func New(st *store.Store, id *identity.Identity, c *crm.CRM, opt Options) *TAM {
	t := &TAM{
		Catalog: newCatalog(), Previews: newPreviews(), Imports: store.NewTable[Import]("imports", nil, nil), Options: opt,
		store: st, identity: id, crm: c, months: newMonths(),
		members: store.NewParts("previews.members"), sets: store.NewParts("previews.sets"), directory: store.NewParts("previews.directory"),
		answers: newAnswers(), slots: make(chan struct{}, max(1, opt.AskedAtOnce)),
	}
	t.PreviewList = index.NewKind("previews", "-created_at", t.Previews, nil)
	t.ImportList = index.NewKind("imports", "-created_at", t.Imports, nil)
	t.PreviewList.ReadOnly, t.ImportList.ReadOnly = true, true
	return t
}

// Lists gives what the lists of each kind need to know.
func (t *TAM) Lists() []*index.Kind {
	return []*index.Kind{t.CompanyList, t.PersonList, t.PreviewList, t.ImportList}
}

// Jobs are the jobs of the package.
func (t *TAM) Jobs() map[string]worker.Handler {
	return map[string]worker.Handler{
		PrepareJob: t.prepareJob, ResearchJob: t.prepareJob, ImportJob: t.importJob, clearKind: t.clearJob, expireKind: t.expireJob,
	}
}

// Verify holds all that the transaction's organization has of the package against its keys, logs and checksums.
func (t *TAM) Verify(tx *store.Tx, report store.Report) error {
	for _, part := range []interface {
		Verify(*store.Tx, store.Report) error
	}{t.Companies, t.People, t.Previews, t.Imports, t.months, t.answers, t.members, t.sets, t.directory} {
		if err := part.Verify(tx, report); err != nil {
			return err
		}
	}
	return nil
}
