package admin

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/store"
)

// Dropped is something damaged that was taken out of the store. A record has an ID, a history entry has a
// Change, and a part of a record, a job or a tombstone has the key of its Entry.
type Dropped struct {
	Organization uuid.UUID     `json:"organization"`
	Kind         string        `json:"kind"`
	ID           uuid.NullUUID `json:"id"`
	Change       uint64        `json:"change,omitempty"`
	Entry        string        `json:"entry,omitempty"`
	// Page is the number of a page of the file that could not be read. The records that were on it are
	// listed too, as far as their ids are known.
	Page uint64 `json:"page,omitempty"`
	// Missing is a number of records of which nothing is left, not even their ids.
	Missing int `json:"missing,omitempty"`
	// Replaced reports that a new record is in the place of the damaged one, with the same ID.
	Replaced bool `json:"replaced,omitempty"`
	// Warning says what no longer works as it should because it is gone.
	Warning string `json:"warning,omitempty"`
}

// salvage is what can be saved of something that is dropped. Its content may be wrong.
type salvage struct {
	Dropped
	Record json.RawMessage `json:"record,omitempty"` // if it still is JSON
	Raw    []byte          `json:"raw"`              // the stored bytes
}

// dropDamaged takes everything unreadable out of the store. It goes through all organizations several times:
//
//  1. What was on pages that cannot be read is marked as lost, and everything damaged is found.
//  2. What can be saved of it is passed to save, unless there is nothing.
//  3. Parts of records, jobs and tombstones are dropped.
//  4. Records are dropped, with all references to them.
//  5. History entries are dropped.
//  6. Organizations that are gone without a trace are replaced, and the numbers of records corrected.
func dropDamaged(ctx context.Context, s *service.Service, save func([]salvage) error) ([]Dropped, error) {
	orgs, err := s.Store.Organizations()
	if err != nil {
		return nil, err
	}
	d := &dropping{ctx: ctx, service: s, orgs: append(orgs, uuid.Nil), dropped: []Dropped{}}
	var found []salvage
	for _, pass := range []func() error{
		func() error { return d.update(func(tx *store.Tx) error { tx.MarkLost(); return nil }) },
		func() error { return checkStore(ctx, s, false, func(string, bool) {}) }, // finds all damaged records
		func() (err error) {
			if found, err = findAllDamaged(s, d.orgs); err == nil && len(found) > 0 {
				err = save(found)
			}
			return err
		},
		func() error { return d.update((*store.Tx).DropDamagedEntries) },
		func() error { return d.dropRecords(found) },
		func() error { return d.update((*store.Tx).DropDamagedChanges) },
		func() error { return d.update(d.correct) },
	} {
		if err := pass(); err != nil {
			return d.dropped, err
		}
	}
	return d.dropped, nil
}

// dropping is what dropDamaged has dropped so far.
type dropping struct {
	ctx     context.Context
	service *service.Service
	orgs    []uuid.UUID
	dropped []Dropped
}

func (d *dropping) update(fn func(tx *store.Tx) error) error {
	for _, org := range d.orgs {
		if err := d.service.Store.Update(d.ctx, org, dropper, fn); err != nil {
			return err
		}
	}
	return nil
}

func (d *dropping) add(one Dropped) {
	one.Warning = warningOf(d.service, &one)
	d.dropped = append(d.dropped, one)
}

// dropRecords drops the records among what was found. The other things are listed only.
func (d *dropping) dropRecords(found []salvage) (err error) {
	s := d.service
	for i := range found {
		one := found[i].Dropped
		if one.ID.Valid && one.Entry == "" {
			if one.Replaced, err = dropRecord(d.ctx, s, &one); err != nil {
				return err
			}
		}
		if one.Kind == membersOf(s) { // contacts of a dynamic audience join again
			restored := func(tx *store.Tx) error { return s.Outreach.Restored(tx, one.ID.UUID) }
			if err := s.Store.Update(d.ctx, one.Organization, dropper, restored); err != nil {
				return err
			}
		}
		d.add(one)
	}
	return nil
}

// correct replaces the organization of a transaction if nothing is left of its record, and corrects the numbers of records.
func (d *dropping) correct(tx *store.Tx) error {
	org, identity := tx.Org(), d.service.Identity
	if kind := identity.Organizations; org == uuid.Nil {
		tx.ForgetLostPages()
	} else if !kind.Table.Has(tx, org) {
		if _, err := identity.StandIn(tx, kind.Entity, org); err != nil {
			return err
		}
		d.add(Dropped{Organization: org, Kind: kind.Entity, ID: uuid.NullUUID{UUID: org, Valid: true}, Replaced: true})
	}
	tx.CorrectCounts(func(table string, missing int) {
		d.add(Dropped{Organization: org, Kind: table, Missing: missing})
	})
	return nil
}

// findAllDamaged returns everything damaged in the store.
func findAllDamaged(s *service.Service, orgs []uuid.UUID) (found []salvage, err error) {
	for _, org := range orgs {
		err := s.Store.View(org, func(tx *store.Tx) error {
			found = append(found, findDamaged(s, tx, org)...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	err = s.Store.View(uuid.Nil, func(tx *store.Tx) error {
		lost, err := tx.LostPages()
		for _, l := range lost {
			d := Dropped{Organization: l.Organization, Kind: l.Bucket, Page: l.Page}
			found = append(found, salvage{Dropped: d, Raw: l.Raw})
		}
		return err
	})
	return found, err
}

// dropper is the actor of the changes that dropping makes.
var dropper = store.Actor{Operation: "check"}

// findDamaged returns the damaged records and history entries of an organization.
func findDamaged(s *service.Service, tx *store.Tx, org uuid.UUID) (found []salvage) {
	damaged := s.Store.DamagedIDs(org)
	for _, table := range slices.Sorted(maps.Keys(damaged)) {
		for _, id := range damaged[table] {
			raw, public := tx.Raw(table, id)
			d := salvage{Dropped: Dropped{Organization: org, Kind: table, ID: uuid.NullUUID{UUID: id, Valid: true}}, Raw: slices.Clone(raw)}
			if json.Valid(public) {
				d.Record = slices.Clone(public)
			}
			found = append(found, d)
		}
	}
	tx.DamagedChanges(func(table string, key, value []byte) {
		d := salvage{Dropped: Dropped{Organization: org, Kind: table}, Raw: slices.Clone(value)}
		if len(key) == 8 {
			d.Change = binary.BigEndian.Uint64(key)
		}
		found = append(found, d)
	})
	tx.DamagedEntries(func(bucket string, key, value []byte) {
		d := salvage{Dropped: Dropped{Organization: org, Kind: bucket, Entry: hex.EncodeToString(key)}, Raw: slices.Clone(value)}
		if len(key) >= 16 {
			d.ID = uuid.NullUUID{UUID: uuid.UUID(key[:16]), Valid: true}
		}
		found = append(found, d)
	})
	return found
}

// dropRecord deletes a damaged record with all references to it. If a rule of its kind forbids that, it
// deletes the record alone. An organization, a user or a suppression gets a new record instead.
func dropRecord(ctx context.Context, s *service.Service, d *Dropped) (replaced bool, err error) {
	plain := func(tx *store.Tx) error { return tx.DeleteDamaged(d.Kind, d.ID.UUID) }
	err = s.Store.Update(ctx, d.Organization, dropper, func(tx *store.Tx) (err error) {
		var ok bool
		if replaced, err = s.Identity.StandIn(tx, d.Kind, d.ID.UUID); err != nil || replaced {
			return err
		}
		if ok, replaced, err = s.CRM.StandIn(tx, d.Kind, d.ID.UUID); err != nil || ok {
			return err
		}
		if ok, err = s.Kinds.DeleteDamaged(tx, d.Kind, d.ID.UUID); err != nil || ok {
			return err
		}
		return plain(tx)
	})
	if err != nil && ctx.Err() == nil {
		return false, s.Store.Update(ctx, d.Organization, dropper, plain)
	}
	return replaced, err
}

// warningOf returns what the loss of something means for people who must not receive email, or should, or "".
func warningOf(s *service.Service, d *Dropped) string {
	suppressions := s.CRM.Suppressions.Table.Name()
	switch {
	case d.Kind == suppressions && (d.Missing > 0 || d.ID.Valid && d.Entry == "" && !d.Replaced):
		return "what it suppressed is not known and can receive email again; restore it from a backup"
	case d.Kind == record.ErasedAddressesName+".part":
		return "addresses of people who were erased can receive email again if they are added again; restore a backup"
	case d.Kind == membersOf(s):
		return "contacts are no longer in this audience, and their sequences stop; add them again or restore a backup"
	}
	return ""
}

// membersOf returns the kind under which lost contacts of audiences are listed.
func membersOf(s *service.Service) string { return s.Outreach.MembersName() + ".set" }

// writeSalvage writes one JSON object per line.
func writeSalvage(w io.Writer, found []salvage) error {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	var errs []error
	for i := range found {
		errs = append(errs, lines.Encode(&found[i]))
	}
	return errors.Join(errs...)
}
