package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/service"
	"prospector/store"
)

// EraseInput names a person. Without Confirmed, EraseOperation only counts.
type EraseInput struct {
	Org       string `json:"org"`
	Email     string `json:"email"`
	Confirmed bool   `json:"confirmed"`
}

// Erased counts what was erased, or would be.
type Erased struct {
	Contacts  int `json:"contacts"`
	Trashed   int `json:"trashed"`
	Sequences int `json:"sequences"`
	Messages  int `json:"messages"`
	People    int `json:"people"` // of the catalog
	// Values are other records, members of Previews, events and jobs that mention the person. Before the erasure they
	// include the person's own records.
	Values int `json:"values"`
}

// Erase removes a person from an organization and from the catalog. What is left is a keyed hash of the address, which
// keeps the person suppressed.
var Erase = Operation[EraseInput, Erased]{
	name: "erase", patience: erasePatience,
	do: func(ctx context.Context, s *service.Service, in EraseInput) (done Erased, err error) {
		if !address.IsEmail(in.Email) {
			return done, fmt.Errorf("%q is not an email address", in.Email)
		}
		org, err := organization(s, in.Org)
		if err != nil {
			return done, err
		}
		w := &erasing{s: s, org: org.ID, email: in.Email, eraser: eraser{email: address.Key(in.Email)}}
		w.add(in.Email, address.Key(in.Email))
		if err := w.find(ctx); err != nil || !in.Confirmed {
			return w.done, err
		}
		return w.done, w.run(ctx)
	},
}

// erasePatience is how long an erasure waits for others without a server, each of which rewrites the store file.
const erasePatience = 10 * time.Minute

var eraseActor = store.Actor{Operation: "erase"}

// erasing is one erasure.
type erasing struct {
	eraser
	s        *service.Service
	org      uuid.UUID
	email    string
	contacts []uuid.UUID
	trashed  []uuid.UUID
	done     Erased
	// isRepeated says that the person was erased before, perhaps not to the end.
	isRepeated bool
}

// find collects the contacts and people with the address, and what they are called, and counts what mentions them. If
// nothing does, the address is probably mistyped.
func (w *erasing) find(ctx context.Context) error {
	if err := w.findContacts(); err != nil {
		return err
	}
	err := w.s.Store.View(catalog.Org, func(tx *store.Tx) error {
		people, err := w.s.Catalog.PeopleWith(tx, w.email)
		for _, p := range people {
			w.add(string(p.Email), string(p.LinkedinURL))
			w.addName(string(p.FirstName), string(p.LastName))
		}
		w.done.People = len(people)
		return err
	})
	if err != nil {
		return err
	}
	places, err := w.s.Store.FindValues(ctx, w.org, w.mentions)
	if err != nil {
		return err
	}
	if w.done.Values = len(places); w.done == (Erased{}) && !w.isRepeated {
		return fmt.Errorf("nothing mentions %s; nothing was changed", w.email)
	}
	return nil
}

// findContacts collects the contacts with the address. If an erasure was interrupted, it is continued.
func (w *erasing) findContacts() error {
	return w.s.Store.View(w.org, func(tx *store.Tx) error {
		known, err := w.s.CRM.Erasures.Unfinished(tx, w.eraser.email)
		if err == nil && known != nil {
			err = json.Unmarshal(known, &w.eraser)
		}
		if err != nil {
			return err
		}
		w.isRepeated = w.s.CRM.IsErased(tx, w.email)
		if w.contacts, err = w.s.CRM.Contacts.FindAll(tx, "email", w.email); err != nil {
			return err
		}
		err = w.s.CRM.Contacts.Table.Each(tx, w.contacts, func(doc store.Doc[crm.Contact]) error {
			w.addContact(&doc.Record)
			merged, err := w.s.CRM.Contacts.MergedInto(tx, doc.ID)
			if err != nil {
				return err
			}
			w.addIDs(merged...)
			sequences, messages, tasks, err := w.s.Sequences.Of(tx, doc.ID)
			w.addIDs(tasks...)
			w.done.Sequences, w.done.Messages = w.done.Sequences+sequences, w.done.Messages+messages
			return err
		})
		if err != nil {
			return err
		}
		err = w.s.CRM.Contacts.Trashed(tx, func(rec *crm.Contact) {
			if address.Key(string(rec.Email)) == w.eraser.email {
				w.trashed = append(w.trashed, rec.ID)
				w.addContact(rec)
			}
		})
		if err != nil {
			return err
		}
		w.done.Contacts, w.done.Trashed = len(w.contacts), len(w.trashed)
		return w.checkMerged(tx)
	})
}

// checkMerged refuses to erase the address of a contact that lives on in one with another address, who is the same person
// and would still be written to.
func (w *erasing) checkMerged(tx *store.Tx) error {
	var survivors []uuid.UUID
	err := w.s.CRM.Contacts.Merged(tx, func(rec *crm.Contact, survivor uuid.UUID) {
		if address.Key(string(rec.Email)) == w.eraser.email && !slices.Contains(w.contacts, survivor) {
			survivors = append(survivors, survivor)
		}
	})
	if err != nil {
		return err
	}
	return w.s.CRM.Contacts.Table.Each(tx, survivors, func(doc store.Doc[crm.Contact]) error {
		if doc.Record.Email == "" {
			return fmt.Errorf("the contact with %s was merged into %s, which has no address: delete that one with permanent=true first", w.email, doc.ID)
		}
		return fmt.Errorf("the contact with %s was merged into %s: erase %s first", w.email, doc.ID, doc.Record.Email)
	})
}

func (w *erasing) addContact(c *crm.Contact) {
	w.addIDs(c.ID)
	w.add(string(c.Email), string(c.LinkedinURL))
	if digits := strings.Map(onlyDigits, string(c.PhoneNumber)); len(digits) >= minPhone {
		w.add(string(c.PhoneNumber))
	}
	w.addName(string(c.FirstName), string(c.LastName))
}

// minPhone is the number of digits that tell a phone number from other numbers.
const minPhone = 7

func onlyDigits(r rune) rune {
	if r < '0' || r > '9' {
		return -1
	}
	return r
}

// addName adds a full name, in both orders.
func (w *erasing) addName(first, last string) {
	if first != "" && last != "" {
		w.add(first+" "+last, last+", "+first)
		w.Names = append(w.Names, [2]string{first, last})
	}
}

// run erases. It can be interrupted and repeated: first the address is suppressed, so that nothing new is sent or prepared,
// and what is known of the person is kept until the end.
func (w *erasing) run(ctx context.Context) error {
	w.done.Sequences, w.done.Messages = 0, 0
	st := w.s.Store
	_, err := w.s.Imports.Erase(ctx, w.org, w.isNamed)
	if err != nil {
		return err // an import is running
	}
	known, err := json.Marshal(&w.eraser)
	if err != nil {
		return err
	}
	err = st.Update(ctx, w.org, eraseActor, func(tx *store.Tx) error {
		if err := w.s.CRM.SuppressErased(tx, w.email); err != nil {
			return err
		}
		return w.s.CRM.Erasures.SetUnfinished(tx, w.eraser.email, known)
	})
	if err != nil {
		return err
	}
	err = st.Update(ctx, catalog.Org, eraseActor, func(tx *store.Tx) error { return w.s.Catalog.ErasePeople(tx, w.email) })
	if err != nil {
		return err
	}
	referring, err := w.editPlaces(ctx, isReferring)
	if err != nil {
		return err
	}
	for _, id := range w.contacts {
		sequences, messages, err := w.eraseContact(ctx, id)
		if err != nil {
			return err
		}
		w.done.Sequences, w.done.Messages = w.done.Sequences+sequences, w.done.Messages+messages
	}
	for _, id := range w.trashed {
		if _, _, err := w.eraseContact(ctx, id); err != nil {
			return err
		}
	}
	if err := w.s.API.EraseResponses(ctx, w.org, w.matches); err != nil {
		return err
	}
	if w.done.Values, err = w.editPlaces(ctx, func(store.Place) bool { return true }); err != nil {
		return err
	}
	w.done.Values += referring
	for _, org := range []uuid.UUID{w.org, catalog.Org} {
		if err := w.s.Index.ReindexOrganization(ctx, org); err != nil {
			return err
		}
	}
	return st.Update(ctx, w.org, eraseActor, func(tx *store.Tx) error {
		return w.s.CRM.Erasures.SetUnfinished(tx, w.eraser.email, nil)
	})
}

// isReferring reports whether a place is a record that may refer to a contact. Its event says that it no longer does, so
// what it says of the contact is erased before.
func isReferring(p store.Place) bool {
	return p.Bucket == "tasks.rec" || p.Bucket == "meetings.rec" || p.Bucket == "opportunities.rec"
}

// editPlaces erases the person from the stored values at some places, and returns how many there were.
func (w *erasing) editPlaces(ctx context.Context, isOne func(store.Place) bool) (edited int, err error) {
	places, err := w.s.Store.FindValues(ctx, w.org, w.matches)
	if err != nil {
		return 0, err
	}
	places = slices.DeleteFunc(places, func(p store.Place) bool { return !isOne(p) })
	var tables []store.ShapedTable
	for _, k := range w.s.Lists() {
		tables = append(tables, k.ShapedTable())
	}
	return w.s.Store.EditValues(ctx, w.org, eraseActor, tables, places, w.edit)
}

// eraseContact erases a contact, which may be in the trash, and returns how many of its sequences and messages it erased.
func (w *erasing) eraseContact(ctx context.Context, id uuid.UUID) (sequences, messages int, err error) {
	err = w.s.Store.Update(ctx, w.org, eraseActor, func(tx *store.Tx) error {
		if err := w.s.Kinds.ForgetValues(tx, w.s.CRM.Contacts.Entity, id); err != nil {
			return err
		}
		if err := w.s.CRM.Contacts.Erase(tx, id, nil); err != nil {
			return err
		}
		var err error
		if sequences, messages, err = w.s.Sequences.EraseContact(tx, id, w.email); err != nil {
			return err
		}
		return w.s.CRM.Contacts.EraseMerged(tx, id)
	})
	return sequences, messages, err
}
