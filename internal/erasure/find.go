package erasure

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/match"
	"prospector/internal/operation"
	"prospector/store"
)

// erasing is one erasure.
type erasing struct {
	*Erasures
	person
	org   uuid.UUID
	by    store.Actor
	asked string // the address that was given
	// isRole says that the address is one of a role, which is not a person. It is taken from those who have it.
	isRole   bool
	contacts []uuid.UUID
	trashed  []uuid.UUID
	// takers are contacts who have an address of the person, or that of the role, and are somebody else. They lose it.
	takers []uuid.UUID
	people []match.Person
	owned  map[string]bool // keys of records that are deleted as a whole
	next   []string        // addresses of which it is not known yet who has them
	counts map[string]int
	left   leftovers
	// isRepeated says that the person was erased before, perhaps not to the end.
	isRepeated bool
}

// known is what is kept of an erasure until it is finished, so that it can be repeated when the records are gone already.
type known struct {
	person
	Counts map[string]int   `json:"counts"`
	Left   []operation.Left `json:"left"`
	More   int              `json:"more"`
}

// find collects who has the address, what they are called, and what mentions them. If nothing does, the address is probably
// mistyped.
func (w *erasing) find(ctx context.Context) error {
	before, err := w.findContacts()
	if err != nil {
		return err
	}
	err = w.Store.View(catalog.Org, func(tx *store.Tx) error {
		for _, email := range w.all() {
			people, err := w.Catalog.PeopleWith(tx, email)
			if err != nil {
				return err
			}
			for i := range people {
				w.add(string(people[i].Email), string(people[i].LinkedinURL))
				w.addPhone(string(people[i].PhoneNumber))
				w.addName(string(people[i].FirstName), string(people[i].LastName))
			}
			w.count("people", len(people))
		}
		return nil
	})
	if err == nil {
		err = w.findMentions(ctx)
	}
	if err != nil {
		return err
	}
	if before != nil {
		w.counts, w.left = before.Counts, leftovers{before.Left, before.More}
	}
	if len(w.counts)+len(w.takers) == 0 && !w.isRepeated {
		return fault.New(fault.NotFound, "nothing mentions %s; nothing was changed", w.asked)
	}
	return nil
}

// all returns the canonical addresses that are erased.
func (w *erasing) all() []string {
	if w.isRole {
		return []string{address.Key(w.asked)}
	}
	return w.Addresses
}

func (w *erasing) count(kind string, n int) {
	if n > 0 && kind != "" {
		w.counts[kind] += n
	}
}

// findContacts collects the contacts of the person. If an erasure was interrupted, it returns what that knew.
func (w *erasing) findContacts() (before *known, err error) {
	err = w.Store.View(w.org, func(tx *store.Tx) error {
		stored, err := w.CRM.Erased.Unfinished(tx, address.Key(w.asked))
		if err == nil && stored != nil {
			before = &known{}
			err = json.Unmarshal(stored, before)
			w.Texts, w.IDs, w.Names, w.next = before.Texts, before.IDs, before.Names, before.Addresses
		}
		if err != nil {
			return err
		}
		w.isRepeated = w.CRM.IsErased(tx, w.asked)
		w.isRole = match.IsRole(w.asked)
		w.next = append(w.next, w.asked)
		w.add(w.asked, address.Key(w.asked))
		for len(w.next) > 0 {
			email := w.next[0]
			w.next = w.next[1:]
			if w.has(email) {
				continue
			}
			if !w.isRole {
				w.Addresses = append(w.Addresses, address.Key(email))
				w.add(email, address.Key(email))
			}
			if err := w.findWith(tx, email); err != nil {
				return err
			}
		}
		if err := w.refuseUsers(tx); err != nil {
			return err
		}
		if err := w.noteCustomFields(tx); err != nil {
			return err
		}
		w.count("contacts", len(w.contacts))
		w.count("contacts-trash", len(w.trashed))
		if err := w.listTakers(tx); err != nil {
			return err
		}
		for _, id := range w.contacts {
			if err := w.listReferring(tx, id); err != nil {
				return err
			}
		}
		return nil
	})
	return before, err
}

// findWith collects the contacts who have an address, also those in the trash and those that were merged into others.
func (w *erasing) findWith(tx *store.Tx, email string) error {
	has := func(c *crm.Contact) bool {
		return slices.ContainsFunc(c.Addresses(), func(a string) bool { return address.Key(a) == address.Key(email) })
	}
	ids, err := w.CRM.ContactsWith(tx, email)
	if err != nil {
		return err
	}
	var survivors []uuid.UUID
	err = w.CRM.Contacts.EachMerged(tx, func(rec *crm.Contact, survivor uuid.UUID) {
		if has(rec) && w.isPerson(rec, email) {
			survivors = append(survivors, survivor)
		}
	})
	if err != nil {
		return err
	}
	for _, id := range append(ids, survivors...) {
		doc, err := w.CRM.Contacts.Get(tx, id)
		if store.IsDamagedRecord(err) {
			continue
		}
		if err != nil {
			return err
		}
		if slices.Contains(survivors, id) || w.isPerson(&doc.Record, email) {
			err = w.addLive(tx, &doc.Record)
		} else if !slices.Contains(w.takers, id) {
			w.takers = append(w.takers, id)
		}
		if err != nil {
			return err
		}
	}
	return w.CRM.Contacts.EachTrashed(tx, func(rec *crm.Contact) {
		if has(rec) && w.isPerson(rec, email) && !slices.Contains(w.trashed, rec.ID) {
			w.trashed = append(w.trashed, rec.ID)
			w.addContact(rec)
		}
	})
}

// isPerson reports whether a contact who has an address is the person: anybody with the address that was given, unless that is
// of a role, and those with another address of the person whose name may be the same.
func (w *erasing) isPerson(c *crm.Contact, email string) bool {
	if w.isRole {
		return false
	}
	if address.Key(email) == address.Key(w.asked) {
		return true
	}
	one := match.NewPerson(string(c.FirstName), string(c.LastName))
	return slices.ContainsFunc(w.people, func(other match.Person) bool { return match.Compare(&one, &other).Compatible() })
}

// addLive adds a contact with its sequences and those that were merged into it.
func (w *erasing) addLive(tx *store.Tx, c *crm.Contact) error {
	if slices.Contains(w.contacts, c.ID) {
		return nil
	}
	w.contacts = append(w.contacts, c.ID)
	w.addContact(c)
	err := w.CRM.Contacts.EachMerged(tx, func(rec *crm.Contact, survivor uuid.UUID) {
		if survivor == c.ID {
			w.addContact(rec)
		}
	})
	if err != nil {
		return err
	}
	merged, err := w.CRM.Contacts.MergedInto(tx, c.ID)
	if err != nil {
		return err
	}
	w.addIDs(merged...)
	traces, err := w.Sequences.TracesOf(tx, c.ID)
	w.addIDs(traces.Tasks...)
	for _, ids := range [][]uuid.UUID{traces.Sequences, traces.Messages, traces.Tasks} {
		for _, id := range ids {
			w.owned[string(id[:])] = true
		}
	}
	w.count("sequences", len(traces.Sequences))
	w.count("messages", len(traces.Messages))
	w.count("tasks", len(traces.Tasks))
	w.addAddresses(traces.Addresses)
	return err
}

func (w *erasing) addContact(c *crm.Contact) {
	w.addIDs(c.ID)
	w.owned[string(c.ID[:])] = true
	w.add(string(c.LinkedinURL))
	for _, phone := range append([]string{string(c.PhoneNumber)}, c.OtherPhones...) {
		w.addPhone(phone)
	}
	w.addName(string(c.FirstName), string(c.LastName))
	w.people = append(w.people, match.NewPerson(string(c.FirstName), string(c.LastName)))
	w.addAddresses(c.Addresses())
}

// addAddresses adds the personal ones among the addresses of a contact.
func (w *erasing) addAddresses(emails []string) {
	for _, email := range emails {
		if !match.IsRole(email) {
			w.next = append(w.next, email)
			w.add(email)
		}
	}
}

// refuseUsers refuses to erase a user of the organization, who signs in with the address.
func (w *erasing) refuseUsers(tx *store.Tx) error {
	return w.Users.Table.Scan(tx, func(u store.Doc[identity.User]) (bool, error) {
		if slices.Contains(w.all(), address.Key(u.Record.Email)) {
			return false, fault.New(fault.InUse, "user %s of the organization has the address; give the user another one first", u.ID)
		}
		return true, nil
	})
}

// noteCustomFields notes which custom fields of contacts are not personal.
func (w *erasing) noteCustomFields(tx *store.Tx) error {
	customs, err := w.CRM.CustomFields(tx, crm.Entity(w.CRM.Contacts.Entity))
	if err != nil {
		return err
	}
	w.kept = map[string]bool{}
	for i := range customs.Fields {
		w.kept[customs.Fields[i].Key] = customs.Fields[i].Personal == ""
	}
	return nil
}

// findMentions counts what contains the person beside the records that are deleted, and lists what may still tell something.
func (w *erasing) findMentions(ctx context.Context) error {
	places, err := w.Store.FindValues(ctx, w.org, w.matches)
	if err != nil {
		return err
	}
	seen := map[store.Place]bool{}
	err = w.Store.ReadValues(ctx, w.org, w.tables(), places, func(at store.Place, isPrivate bool, value []byte) {
		if !w.owned[at.Key] && !seen[at] && w.edit(at, isPrivate, value) != nil {
			seen[at] = true
			w.count(w.forms.kindOf(at.Bucket), 1)
		}
	})
	if err != nil {
		return err
	}
	return w.listSurnames(ctx)
}

func (w *erasing) tables() (tables []store.ShapedTable) {
	for _, k := range w.Lists() {
		tables = append(tables, k.ShapedTable())
	}
	return tables
}

// describe returns what has to be kept until the erasure is finished.
func (w *erasing) describe() ([]byte, error) {
	b, err := json.Marshal(known{person: w.person, Counts: w.counts, Left: w.left.list, More: w.left.more})
	if err != nil {
		return nil, fmt.Errorf("encode what is known of an erasure: %w", err)
	}
	return b, nil
}
