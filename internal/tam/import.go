package tam

import (
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// ImportStatus is how far an Import is.
type ImportStatus string

const (
	importAccepted  ImportStatus = "accepted"
	importRunning   ImportStatus = "running"
	importCompleted ImportStatus = "completed"
	importFailed    ImportStatus = "failed"
)

// Import makes Accounts and Contacts of the selected members of a Preview.
type Import struct {
	OperationID   uuid.UUID    `json:"operation_id" label:"Operation ID" rule:"required"`
	PreviewID     uuid.UUID    `json:"preview_id" label:"Preview ID" rule:"required" doc:"It may be deleted once the Import is over."`
	Status        ImportStatus `json:"status" rule:"required,enum=accepted|running|completed|failed"`
	Progress      shape.Number `json:"progress" doc:"From 0 to 1."`
	Accounts      ImportCounts `json:"accounts"`
	Contacts      ImportCounts `json:"contacts"`
	Charged       *Cost        `json:"charged" doc:"What the research of the companies costs; null without a Qualifier."`
	CreatedAt     shape.Time   `json:"created_at" rule:"required"`
	FinishedAt    shape.Time   `json:"finished_at"`
	FailureReason shape.Text   `json:"failure_reason" rule:"enum=internal" doc:"Why it failed; what it had made by then stays."`

	kept importKept
}

// ImportCounts is what became of the members of one kind so far.
type ImportCounts struct {
	Created int `json:"created"`
	Reused  int `json:"reused" doc:"Those that were there already."`
	Skipped int `json:"skipped" doc:"Those that were suppressed since the Preview was READY, with the people of such a company, and those that would go over the limit because what was there before is gone."`
}

// importKept is what an Import keeps and does not show.
type importKept struct {
	By       store.Actor `json:"by"`       // who accepted it
	Members  int         `json:"members"`  // how many are selected
	Done     int         `json:"done"`     // how many of them are, in their order
	Reserved amount      `json:"reserved"` // of the rest, what the month was told that they would add
	// Account is that of the last company, which people may still follow. There is none when the company was skipped; when it
	// was because it is suppressed, they are too.
	Account    uuid.NullUUID `json:"account,omitzero"`
	Suppressed bool          `json:"suppressed,omitzero"`
}

// Private is kept beside the record and never answered.
func (m *Import) Private() any { return &m.kept }

func (m *Import) isOver() bool { return m.Status == importCompleted || m.Status == importFailed }

func (m *Import) counts(person bool) *ImportCounts {
	if person {
		return &m.Contacts
	}
	return &m.Accounts
}

// importJobBody is what the job of an Import carries.
type importJobBody struct {
	Import uuid.UUID `json:"import"`
}

// Accept accepts the Import of a Preview that is READY: its members are fixed, what they may create is taken from the month's
// balance, and its research is charged. A Preview whose Import was accepted before answers that one. One that would go over
// the balance is import_limit_exceeded, one with nothing selected nothing_to_import.
func (t *TAM) Accept(tx *store.Tx, preview uuid.UUID) (doc store.Doc[Import], created bool, err error) {
	old, err := t.Previews.Get(tx, preview)
	if err != nil {
		return doc, false, err
	}
	p := old.Record
	if p.OperationID.Valid {
		doc, err = t.Imports.Get(tx, p.OperationID.UUID)
		return doc, false, err
	}
	if p.Status != Ready {
		return doc, false, fault.New(fault.PreviewNotReady, "the Preview is %s; one that is READY can be imported", p.Status)
	}
	members := p.Result.Accounts.Eligible + p.Result.Contacts.Eligible
	if members == 0 {
		return doc, false, fault.New(fault.NothingToImport, "no member of the Preview is selected")
	}
	reserved, err := t.reserve(tx, &p)
	if err != nil {
		return doc, false, err
	}
	id := tx.NewID()
	rec := Import{OperationID: id, PreviewID: preview, Status: importAccepted, Progress: shape.NumberOf(0), CreatedAt: shape.At(tx.Now()),
		kept: importKept{By: tx.Actor(), Members: members, Reserved: reserved}}
	rec.Charged = charge(&p, id)
	p.OperationID, p.UpdatedAt = uuid.NullUUID{UUID: id, Valid: true}, shape.At(tx.Now())
	if _, err := t.Previews.Update(tx, old, p, []string{"operation_id", "research"}); err != nil {
		return doc, false, err
	}
	if doc, err = t.Imports.Insert(tx, id, rec); err != nil {
		return doc, false, err
	}
	if _, err = tx.Enqueue(ImportJob, tx.Now(), importJobBody{id}); err != nil {
		return doc, false, err
	}
	return doc, true, emitImport(tx, doc)
}

// reserve takes from the month's balance what the Import of a Preview may create.
func (t *TAM) reserve(tx *store.Tx, p *Preview) (amount, error) {
	b, err := t.balance(tx, p)
	if err != nil {
		return amount{}, err
	}
	if err := b.refusal(); err != nil {
		return amount{}, err
	}
	more := amount{p.Result.Accounts.New, p.Result.Contacts.New}
	return more, t.use(tx, tx.Now(), amount{b.Accounts.Used + more.Accounts, b.Contacts.Used + more.Contacts})
}

// charge says in a Preview that its research is charged by the Import, and gives what for; nil without a Qualifier.
func charge(p *Preview, operation uuid.UUID) *Cost {
	if p.kept.Named.Signal == nil || p.Research.Cost == nil {
		return nil
	}
	research, cost := *p.Research, *p.Research.Cost
	cost.Charged, cost.ChargedOperationID = true, uuid.NullUUID{UUID: operation, Valid: true}
	research.Cost = &cost
	p.Research = &research
	return &cost
}

// emitImport tells whoever wants to know that an Import was accepted, or is over.
func emitImport(tx *store.Tx, doc store.Doc[Import]) error {
	return tx.Emit(store.Event{Trigger: "tam_import." + string(doc.Record.Status), ID: doc.ID, Data: doc.JSON})
}

// mustRest refuses that a Preview goes whose Import still needs it.
func (t *TAM) mustRest(tx *store.Tx, p *Preview) error {
	if !p.OperationID.Valid {
		return nil
	}
	doc, err := t.Imports.Get(tx, p.OperationID.UUID)
	if err == nil && !doc.Record.isOver() {
		err = fault.New(fault.ImportAccepted, "the Import %s of the Preview is %s; it can be deleted when that is over", doc.ID, doc.Record.Status)
	}
	return err
}
