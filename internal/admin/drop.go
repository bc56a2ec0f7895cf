package admin

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/service"
	"prospector/store"
)

// Dropped is a damaged record or history entry that was taken out of the store.
type Dropped struct {
	Organization uuid.UUID     `json:"organization"`
	Kind         string        `json:"kind"`
	ID           uuid.NullUUID `json:"id"`               // null for a history entry
	Change       uint64        `json:"change,omitempty"` // the number of a history entry
}

// salvage is what can be saved of something that is dropped. Its content may be wrong.
type salvage struct {
	Dropped
	Record json.RawMessage `json:"record,omitempty"` // if it still is JSON
	Raw    []byte          `json:"raw"`              // the stored bytes
}

// dropDamaged takes unreadable records and history entries out of the store. Before it changes
// anything, it passes what can be saved of them to save, unless there are none.
func dropDamaged(ctx context.Context, s *service.Service, save func([]salvage) error) ([]Dropped, error) {
	err := checkStore(ctx, s, false, func(string, bool) {}) // finds all damaged records
	if err != nil {
		return nil, err
	}
	orgs, err := s.Store.Organizations()
	if err != nil {
		return nil, err
	}
	orgs = append(orgs, uuid.Nil)
	var found []salvage
	for _, org := range orgs {
		err := s.Store.View(org, func(tx *store.Tx) error {
			some, err := findDamaged(s, tx, org)
			found = append(found, some...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		return []Dropped{}, nil
	}
	if err := save(found); err != nil {
		return nil, err
	}
	dropped := make([]Dropped, len(found))
	for i := range found {
		dropped[i] = found[i].Dropped
		if d := &found[i].Dropped; d.ID.Valid {
			if err := dropRecord(ctx, s, d); err != nil {
				return nil, err
			}
		}
	}
	for _, org := range orgs {
		if err := s.Store.Update(ctx, org, dropper, (*store.Tx).DropDamagedChanges); err != nil {
			return nil, err
		}
	}
	return dropped, nil
}

// dropper is the actor of the changes that dropping makes.
var dropper = store.Actor{Operation: "check"}

// findDamaged returns the damaged records and history entries of an organization.
func findDamaged(s *service.Service, tx *store.Tx, org uuid.UUID) (found []salvage, err error) {
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
	err = tx.DamagedChanges(func(table string, key, value []byte) {
		d := salvage{Dropped: Dropped{Organization: org, Kind: table}, Raw: slices.Clone(value)}
		if len(key) == 8 {
			d.Change = binary.BigEndian.Uint64(key)
		}
		found = append(found, d)
	})
	return found, err
}

// dropRecord deletes a damaged record with all references to it. If a rule of its kind forbids that, it
// deletes the record alone.
func dropRecord(ctx context.Context, s *service.Service, d *Dropped) error {
	plain := func(tx *store.Tx) error { return tx.DeleteDamaged(d.Kind, d.ID.UUID) }
	err := s.Store.Update(ctx, d.Organization, dropper, func(tx *store.Tx) error {
		ok, err := s.Kinds.DeleteDamaged(tx, d.Kind, d.ID.UUID)
		if err == nil && !ok {
			err = plain(tx)
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		return s.Store.Update(ctx, d.Organization, dropper, plain)
	}
	return err
}

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
