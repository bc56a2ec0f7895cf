package tam

import (
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/operation"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// ImportStatus is the status of an Import.
type ImportStatus string

const (
	importAccepted  ImportStatus = "accepted"
	importRunning   ImportStatus = "running"
	importCompleted ImportStatus = "completed"
	importFailed    ImportStatus = "failed"
)

// Import creates Accounts and Contacts from the selected members of a Preview.
type Import struct {
	OperationID uuid.UUID    `json:"operation_id" label:"Operation ID" rule:"required"`
	PreviewID   uuid.UUID    `json:"preview_id" label:"Preview ID" rule:"required" doc:"The Preview may have been deleted after the Import ended."`
	Status      ImportStatus `json:"status" rule:"required,enum=accepted|running|completed|failed"`
	Progress    shape.Number `json:"progress" doc:"From 0 to 1."`
	Accounts    ImportCounts `json:"accounts"`
	Contacts    ImportCounts `json:"contacts"`
	ImportMax
	Charged       *Cost      `json:"charged" doc:"The cost of research. Null without a Qualifier."`
	CreatedAt     shape.Time `json:"created_at" rule:"required"`
	FinishedAt    shape.Time `json:"finished_at"`
	FailureReason shape.Text `json:"failure_reason" rule:"enum=internal" doc:"Why the Import failed. Records that it created before stay."`

	private importPrivate
}

// ImportCounts counts the imported members of one kind by outcome.
type ImportCounts struct {
	Created int `json:"created"`
	Reused  int `json:"reused" doc:"Records that existed already."`
	Skipped int `json:"skipped" doc:"Members beyond max_accounts and max_contacts, members that were suppressed after the Preview was READY, the people of such companies, and members whose existing record was deleted when a new one would exceed the monthly limit."`
}

// importPrivate is the part of an Import that is stored but never shown.
type importPrivate struct {
	By       store.Actor `json:"by"`       // who accepted the Import
	Members  int         `json:"members"`  // the number of selected members
	Done     int         `json:"done"`     // how many of them are imported, in their order
	Reserved amount      `json:"reserved"` // how much of the balance is reserved for the others
	// HasSet is set if the members with a reservation are stored as reservedMembers. If it is not, an
	// earlier version accepted the Import and reserved those that the Preview shows as new.
	HasSet bool `json:"has_set,omitzero"`
	// Account is the Account of the last company, for the people that follow it. It is not set if
	// the company was skipped. SkipsPeople is set if its people are skipped too, because it is
	// suppressed or beyond max_accounts.
	Account     uuid.NullUUID `json:"account,omitzero"`
	SkipsPeople bool          `json:"suppressed,omitzero"`
}

// Private returns the part of the record that is stored but never shown.
func (m *Import) Private() any { return &m.private }

func (m *Import) hasEnded() bool { return m.Status == importCompleted || m.Status == importFailed }

func (m *Import) counts(person bool) *ImportCounts {
	if person {
		return &m.Contacts
	}
	return &m.Accounts
}

// importJobBody is the payload of an Import's job.
type importJobBody struct {
	Import uuid.UUID `json:"import"`
}

// Accept accepts the Import of a READY Preview for which plan was made. From then on the members of
// the Preview cannot change. Accept reserves the records that the Import would create in the monthly
// balance and charges the research. If an Import with the same maxima was accepted before, Accept
// returns that Import. If it has other maxima, the error is import_accepted. The error is
// import_limit_exceeded if the Import would exceed the balance, and nothing_to_import if no member
// is selected or the maxima leave none.
func (t *TAM) Accept(tx *store.Tx, plan *ImportPlan) (doc store.Doc[Import], created bool, err error) {
	old, err := t.Previews.Get(tx, plan.preview)
	if err != nil {
		return doc, false, err
	}
	p := old.Record
	if p.OperationID.Valid {
		doc, err = t.Imports.Get(tx, p.OperationID.UUID)
		if err == nil && doc.Record.ImportMax != plan.max {
			err = fault.New(fault.ImportAccepted,
				"Import %s of the Preview was accepted with other values of max_accounts and max_contacts; prepare another Preview", doc.ID)
		}
		return doc, false, err
	}
	if plan.status != Ready {
		return doc, false, fault.New(fault.PreviewNotReady, "the Preview is %s; only a READY Preview can be imported", plan.status)
	}
	members := p.Result.Accounts.Eligible + p.Result.Contacts.Eligible
	if members == 0 {
		return doc, false, fault.New(fault.NothingToImport, "the Preview has no selected members")
	}
	if err := t.reserve(tx, &p, plan); err != nil {
		return doc, false, err
	}
	id := tx.NewID()
	rec := Import{OperationID: id, PreviewID: plan.preview, Status: importAccepted, Progress: shape.NumberOf(0), ImportMax: plan.max,
		CreatedAt: shape.At(tx.Now()), private: importPrivate{By: tx.Actor(), Members: members, Reserved: plan.add, HasSet: true}}
	rec.Charged = charge(&p, id)
	p.OperationID, p.UpdatedAt = uuid.NullUUID{UUID: id, Valid: true}, shape.At(tx.Now())
	if _, err := t.Previews.Update(tx, old, p, []string{"operation_id", "research"}); err != nil {
		return doc, false, err
	}
	op := operation.Operation{Head: record.Head{ID: id}, Kind: operation.TAMImport, Matched: members}
	if _, err := t.operations.Begin(tx, op); err != nil {
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

// reserve reserves the records that a plan would create in the monthly balance, and stores for which
// members.
func (t *TAM) reserve(tx *store.Tx, p *Preview, plan *ImportPlan) error {
	s := t.memberSetsOf(tx, plan.preview, p.private.Members)
	if plan.keep(s); s.err != nil {
		return s.err
	}
	if plan.max != (ImportMax{}) && plan.reused == 0 && plan.missing.IsEmpty() {
		return fault.New(fault.NothingToImport, "max_accounts and max_contacts leave no member to import")
	}
	b, err := t.balance(tx, plan)
	if err != nil {
		return err
	}
	if err := b.limitError(); err != nil {
		return err
	}
	putSet(tx, t.memberSets, plan.preview, reservedMembers, &plan.missing)
	used := amount{b.Accounts.Used + plan.add.Accounts, b.Contacts.Used + plan.add.Contacts}
	return t.setUsed(tx, tx.Now(), used)
}

// charge marks the research of a Preview as charged by an Import and returns its cost. It returns
// nil without a Qualifier.
func charge(p *Preview, operation uuid.UUID) *Cost {
	if p.private.Named.Signal == nil || p.Research.Cost == nil {
		return nil
	}
	research, cost := *p.Research, *p.Research.Cost
	cost.Charged, cost.ChargedOperationID = true, uuid.NullUUID{UUID: operation, Valid: true}
	research.Cost = &cost
	p.Research = &research
	return &cost
}

// emitImport emits an event with the status of an Import.
func emitImport(tx *store.Tx, doc store.Doc[Import]) error {
	return tx.Emit(store.Event{Trigger: "tam_import." + string(doc.Record.Status), ID: doc.ID, Data: doc.JSON})
}

// checkNoRunningImport returns an import_accepted error if a running Import still needs the
// Preview.
func (t *TAM) checkNoRunningImport(tx *store.Tx, p *Preview) error {
	if !p.OperationID.Valid {
		return nil
	}
	doc, err := t.Imports.Get(tx, p.OperationID.UUID)
	if err == nil && !doc.Record.hasEnded() {
		err = fault.New(fault.ImportAccepted,
			"Import %s of the Preview is %s; the Preview can be deleted when the Import has ended", doc.ID, doc.Record.Status)
	}
	return err
}
