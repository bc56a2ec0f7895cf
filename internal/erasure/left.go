package erasure

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/operation"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// leftovers are what an erasure leaves.
type leftovers struct {
	list []operation.Left
	more int // that are not in the list
}

// maxLeft is the number of fields that an Operation lists.
const maxLeft = 1000

func (l *leftovers) add(kind string, id uuid.UUID, field, why string) {
	if slices.ContainsFunc(l.list, func(o operation.Left) bool { return o.ID == id && o.Field == field }) {
		return
	}
	if len(l.list) == maxLeft {
		l.more++
		return
	}
	l.list = append(l.list, operation.Left{Kind: kind, ID: id, Field: field, Why: why})
}

// Why a field is left.
const (
	removedRole   = "the contact has the address of a role, which is taken out; it may be another person"
	removedShared = "another person has the address too; it is taken out"
	refersText    = "the record was about the person; the address and the full name are replaced, but the text may tell more"
	surnameAlone  = "the text has the last name of the person alone, which may be the name of somebody else"
)

// listTakers lists the contacts who lose an address.
func (w *erasing) listTakers(tx *store.Tx) error {
	why := removedShared
	if w.isRole {
		why = removedRole
	}
	return w.CRM.Contacts.Table.Each(tx, w.takers, func(doc store.Doc[crm.Contact]) error {
		w.left.add(w.CRM.Contacts.Entity, doc.ID, "email", why)
		return nil
	})
}

// listReferring lists the texts of records that refer to a contact.
func (w *erasing) listReferring(tx *store.Tx, contact uuid.UUID) error {
	if err := listReferringOf(w, tx, w.CRM.Tasks, contact); err != nil {
		return err
	}
	if err := listReferringOf(w, tx, w.CRM.Meetings, contact); err != nil {
		return err
	}
	return listReferringOf(w, tx, w.CRM.Opportunities, contact)
}

func listReferringOf[T any](w *erasing, tx *store.Tx, k *record.Kind[T], contact uuid.UUID) error {
	ids, err := k.Table.IDs(tx, "contact_id", contact[:], 0)
	if err != nil {
		return err
	}
	customs, err := w.CRM.CustomFields(tx, crm.Entity(k.Entity))
	if err != nil {
		return err
	}
	s := shape.Of[T]()
	return k.Table.Each(tx, ids, func(doc store.Doc[T]) error {
		if w.owned[string(doc.ID[:])] {
			return nil
		}
		members, _ := membersOf(doc.JSON)
		for _, m := range members {
			f := s.Field(m.name)
			if custom := customs.Find(m.name); custom != nil {
				f = &custom.Field
			}
			if f != nil && f.Personal == shape.PersonalValue && f.IsFreeText() && !isBlank(m.json) {
				w.left.add(k.Entity, doc.ID, m.name, refersText)
			}
		}
		return nil
	})
}

// minSurname is the number of letters of a last name that is searched.
const minSurname = 4

// listSurnames lists the fields of records that have a last name without the first one.
func (w *erasing) listSurnames(ctx context.Context) error {
	var names []string
	for _, name := range w.Names {
		if last := asciiLower(name[1]); utf8.RuneCountInString(last) >= minSurname && !slices.Contains(names, last) {
			names = append(names, last)
		}
	}
	if len(names) == 0 {
		return nil
	}
	has := func(value []byte) bool {
		lower := asciiLower(string(value))
		return slices.ContainsFunc(names, func(name string) bool { return hasWord(lower, name) })
	}
	places, err := w.Store.FindValues(ctx, w.org, has)
	if err != nil {
		return err
	}
	places = slices.DeleteFunc(places, func(p store.Place) bool {
		one, known := w.forms.lists[p.Bucket]
		return !known || w.owned[p.Key] || len(p.Key) != 16 ||
			one.entity == w.Users.Entity || one.entity == w.Operations.List.Entity
	})
	return w.Store.ReadValues(ctx, w.org, w.tables(), places, func(at store.Place, isPrivate bool, value []byte) {
		if isPrivate {
			return
		}
		if edited := w.edit(at, false, value); edited != nil {
			value = edited
		}
		members, _ := membersOf(value)
		for _, m := range members {
			if has(m.json) {
				w.left.add(w.forms.kindOf(at.Bucket), uuid.UUID([]byte(at.Key)), m.name, surnameAlone)
			}
		}
	})
}

// hasWord reports whether a text has a word, not as a part of a longer one.
func hasWord(text, word string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at+i])
		after, _ := utf8.DecodeRuneInString(text[at+i+len(word):])
		if !shape.InWord(before) && !shape.InWord(after) {
			return true
		}
		at += i + len(word)
	}
}

// takeAddresses takes the addresses of the person, or that of the role, from a contact who is somebody else.
func (w *erasing) takeAddresses(ctx context.Context, id uuid.UUID) error {
	return w.Store.Update(ctx, w.org, w.by, func(tx *store.Tx) error {
		doc, err := w.CRM.Contacts.Get(tx, id)
		if fault.CodeOf(err) == fault.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		rec := doc.Record
		rec.DropAddresses(func(email string) bool { return slices.Contains(w.all(), address.Key(email)) })
		_, err = w.CRM.Contacts.Replace(tx, doc, rec)
		return err
	})
}
