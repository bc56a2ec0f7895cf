// Package erasure removes a person from an organization and from the catalog. What is personal is said by the tags of the Go
// types. What is left is a keyed hash of each of the person's addresses, which keeps the person suppressed. The package owns
// how a person is found and erased; it must not know who asks for it.
package erasure

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/address"
	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/imports"
	"prospector/internal/operation"
	"prospector/internal/record"
	"prospector/internal/sequence"
	"prospector/internal/shape"
	"prospector/store"
)

// Options are what has something of people.
type Options struct {
	Store      *store.Store
	Kinds      *record.Set
	Users      *record.Kind[identity.User]
	CRM        *crm.CRM
	Catalog    *catalog.Catalog
	Imports    *imports.Imports
	Sequences  *sequence.Engine
	Operations *operation.Operations
	Index      *index.Engine
	Lists      func() []*index.Kind
	// Portions are what features store beside the records of lists. Their Personal says what is about people.
	Portions []store.Portion
	// ForgetResponses forgets the stored responses to requests whose bodies match.
	ForgetResponses func(ctx context.Context, org uuid.UUID, matches func(body []byte) bool) error
}

// Erasures erases people.
type Erasures struct {
	Options
	types *forms
}

// New returns the erasures of a service.
func New(o Options) *Erasures { return &Erasures{Options: o, types: newForms(o.Lists(), o.Portions)} }

// Request names a person.
type Request struct {
	Email  string
	Reason string
	DryRun bool // only counts
}

// Result is what an erasure has removed, or would remove, and what it leaves.
type Result struct {
	Erased      []operation.Erased `json:"erased"`
	Left        []operation.Left   `json:"left"`
	LeftOmitted int                `json:"left_omitted"`
}

// actorName is the operation in the history of what an erasure changes.
const actorName = "erase"

func (e *Erasures) begin(org uuid.UUID, email string) *erasing {
	w := &erasing{Erasures: e, org: org, asked: email, by: store.Actor{Operation: actorName}, owned: map[string]bool{}, counts: map[string]int{}}
	w.forms = e.types
	return w
}

// CheckAddress returns an error about a text that is no email address.
func CheckAddress(email string) error {
	if address.IsEmail(email) {
		return nil
	}
	var p fault.Problems
	p.Invalid("email", "%s is not an email address", shape.Quote(email))
	return p.Err()
}

// Run erases a person and stores an Operation about that, unless it only counts. It can be interrupted and repeated. If
// nothing mentions the address, that is not_found, unless the person was erased before. While an import of a file is running,
// or a user of the organization has the address, that is in_use.
func (e *Erasures) Run(ctx context.Context, org uuid.UUID, r Request) (Result, error) {
	if err := CheckAddress(r.Email); err != nil {
		return Result{}, err
	}
	w := e.begin(org, r.Email)
	err := w.find(ctx)
	if err == nil && !r.DryRun {
		err = w.run(ctx)
	}
	if err != nil || r.DryRun {
		return w.result(), err
	}
	return w.result(), e.Store.Update(ctx, org, w.by, func(tx *store.Tx) error {
		doc, err := e.Operations.Begin(tx, operation.Operation{Kind: operation.Erasure})
		if err != nil {
			return err
		}
		return w.finish(tx, doc, r.Reason, nil)
	})
}

// finish ends the Operation of an erasure, and forgets whom it was about. refused is why nothing was erased, or nil.
func (w *erasing) finish(tx *store.Tx, doc store.Doc[operation.Operation], reason string, refused *fault.Error) error {
	rec := doc.Record
	rec.Reason = shape.Text(w.text(reason))
	if refused != nil {
		rec.Problems = []operation.OperationProblem{{Code: string(refused.Code), Message: w.text(refused.Message), Count: 1}}
		_, err := w.Operations.End(tx, doc, rec, operation.Failed)
		return err
	}
	w.fill(&rec)
	if _, err := w.Operations.End(tx, doc, rec, operation.Completed); err != nil || rec.DryRun {
		return err
	}
	return w.CRM.Erased.SetUnfinished(tx, address.Key(w.asked), nil)
}

// fill sets the results of an Operation.
func (w *erasing) fill(op *operation.Operation) {
	r := w.result()
	op.Erased, op.Left, op.LeftOmitted = r.Erased, r.Left, r.LeftOmitted
	op.Matched = 0
	for _, of := range r.Erased {
		op.Matched += of.Count
	}
	if !op.DryRun {
		op.Changed = op.Matched
	}
}

func (w *erasing) result() Result {
	r := Result{Erased: []operation.Erased{}, Left: append([]operation.Left{}, w.left.list...), LeftOmitted: w.left.more}
	for _, kind := range slices.Sorted(maps.Keys(w.counts)) {
		r.Erased = append(r.Erased, operation.Erased{Kind: kind, Count: w.counts[kind]})
	}
	return r
}

// run erases. First the addresses are suppressed, so that nothing new is sent or prepared, and what is known of the person is
// kept until the end.
func (w *erasing) run(ctx context.Context) error {
	if _, err := w.Imports.Erase(ctx, w.org, w.isNamed); err != nil {
		return err // an import is running
	}
	known, err := w.describe()
	if err != nil {
		return err
	}
	err = w.Store.Update(ctx, w.org, w.by, func(tx *store.Tx) error {
		for _, email := range w.all() {
			if err := w.CRM.SuppressErased(tx, email); err != nil {
				return err
			}
		}
		return w.CRM.Erased.SetUnfinished(tx, address.Key(w.asked), known)
	})
	if err == nil {
		err = w.Store.Update(ctx, catalog.Org, w.by, func(tx *store.Tx) error {
			for _, email := range w.all() {
				if err := w.Catalog.ErasePeople(tx, email); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err == nil {
		err = w.editValues(ctx, w.isReferring)
	}
	for _, id := range append(slices.Clone(w.contacts), w.trashed...) {
		if err == nil {
			err = w.eraseContact(ctx, id)
		}
	}
	for _, id := range w.takers {
		if err == nil {
			err = w.takeAddresses(ctx, id)
		}
	}
	if err == nil {
		err = w.ForgetResponses(ctx, w.org, w.matches)
	}
	if err == nil {
		err = w.editValues(ctx, func(store.Place) bool { return true })
	}
	for _, org := range []uuid.UUID{w.org, catalog.Org} {
		if err == nil {
			err = w.Index.ReindexOrganization(ctx, org)
		}
	}
	return err
}

// isReferring reports whether a place is a record that may refer to a contact. Its event says that it no longer does, so
// what it says of the contact is erased before.
func (w *erasing) isReferring(p store.Place) bool {
	referring := []string{w.CRM.Tasks.Entity, w.CRM.Meetings.Entity, w.CRM.Opportunities.Entity}
	return slices.Contains(referring, w.forms.lists[p.Bucket].entity)
}

// editValues erases the person from the stored values at some places.
func (w *erasing) editValues(ctx context.Context, isOne func(store.Place) bool) error {
	places, err := w.Store.FindValues(ctx, w.org, w.matches)
	if err != nil {
		return err
	}
	places = slices.DeleteFunc(places, func(p store.Place) bool { return !isOne(p) })
	_, err = w.Store.EditValues(ctx, w.org, w.by, w.tables(), places, w.edit)
	return err
}

// eraseContact erases a contact, which may be in the trash.
func (w *erasing) eraseContact(ctx context.Context, id uuid.UUID) error {
	return w.Store.Update(ctx, w.org, w.by, func(tx *store.Tx) error {
		if err := w.Kinds.ForgetValues(tx, w.CRM.Contacts.Entity, id); err != nil {
			return err
		}
		if err := w.CRM.Contacts.Erase(tx, id, nil); err != nil && fault.CodeOf(err) != fault.NotFound {
			return err
		}
		if err := w.Sequences.EraseContact(tx, id, w.all()); err != nil {
			return err
		}
		return w.CRM.Contacts.EraseMerged(tx, id)
	})
}
