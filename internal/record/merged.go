package record

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// merged is what is left of a record that was merged into another. It is stored under the id of the record.
type merged struct {
	Into       uuid.UUID  `json:"into"` // may have been merged since
	At         shape.Time `json:"at"`
	ExternalID string     `json:"external_id,omitzero"`
	OtherIDs   []string   `json:"other_external_ids,omitzero"`
	Source     string     `json:"source,omitzero"` // see MergeRules.SourceOf

	// Original is the whole record as it was, until the merge can no longer be undone.
	Original jsontext.Value `json:"original,omitzero"`
	Kept     kept           `json:"kept,omitzero"`
}

// The secondary keys of merged records.
const (
	mergedInto   = "into"
	mergedSource = "source"
)

func newMerged(entity string) *store.Table[merged] {
	return store.NewTable(entity+"-merged", nil, []store.Key[merged]{
		{Name: mergedInto, Of: func(_ *store.Tx, m *merged) ([][]byte, error) { return [][]byte{m.Into[:]}, nil }},
		{Name: externalID, Of: func(_ *store.Tx, m *merged) (keys [][]byte, err error) {
			for _, id := range append([]string{m.ExternalID}, m.OtherIDs...) {
				if id != "" {
					keys = append(keys, []byte(shape.Fold(id)))
				}
			}
			return keys, nil
		}},
		store.TextKey(mergedSource, func(m *merged) string { return m.Source }),
	}).Unlogged()
}

// toMerged deletes a record that was merged into another, and keeps what leads from it to the other.
func (k *Kind[T]) toMerged(tx *store.Tx, old *store.Doc[T], into uuid.UUID) error {
	current, err := k.Table.Get(tx, old.ID)
	if err != nil {
		return err
	}
	m := merged{Into: into, At: shape.At(tx.Now()), ExternalID: k.textField(externalID)(&old.Record), OtherIDs: k.further(externalID, &old.Record)}
	if k.rules.Merge.SourceOf != nil {
		m.Source = k.rules.Merge.SourceOf(&old.Record)
	}
	m.Original = old.JSON
	if m.Kept, err = k.keep(tx, &old.Record); err != nil {
		return err
	}
	if err := k.Table.Delete(tx, current); err != nil {
		return err
	}
	if _, err := k.merged.Insert(tx, old.ID, m); err != nil {
		return err
	}
	return k.emitGone(tx, old.ID)
}

// ForgetOriginals forgets the records that an operation has merged, which can no longer be undone. What leads from their
// ids to the surviving record stays.
func (s *Set) ForgetOriginals(tx *store.Tx, entity string, operation uuid.UUID, ids []uuid.UUID) error {
	k := s.find(entity)
	if k == nil || k.merged == nil {
		return nil
	}
	for _, id := range ids {
		doc, err := k.merged.Get(tx, id)
		if store.IsGone(err) || err == nil && doc.Record.Kept.Operation != operation {
			continue
		}
		if err != nil {
			return err
		}
		m := doc.Record
		m.Original, m.Kept = nil, kept{}
		if _, err := k.merged.Update(tx, doc, m, nil); err != nil {
			return err
		}
	}
	return nil
}

// Survivor returns the record that the record id lives on in, if it was merged and the other still exists.
func (k *kind) Survivor(tx *store.Tx, id uuid.UUID) (survivor uuid.UUID, found bool, err error) {
	if k.merged == nil {
		return id, false, nil
	}
	for range maxMerges {
		doc, was, err := lookup(k.merged.Get(tx, id))
		if err != nil {
			return id, false, err
		}
		if !was {
			break
		}
		id, found = doc.Record.Into, true
	}
	return id, found && k.table.Has(tx, id), nil
}

// maxMerges bounds how often a record was merged on.
const maxMerges = 10_000

// EachMerged calls fn for every record that was merged into another, as it was then, with the id of the one that it lives on in.
// Those whose merge can no longer be undone are left out.
func (k *Kind[T]) EachMerged(tx *store.Tx, fn func(rec *T, survivor uuid.UUID)) error {
	return k.merged.Scan(tx, func(d store.Doc[merged]) (bool, error) {
		if d.Record.Original == nil {
			return true, nil
		}
		var rec T
		if err := decode(d.Record.Original, d.Record.Kept.Private, &rec); err != nil {
			return false, err
		}
		survivor, found, err := k.Survivor(tx, d.ID)
		if found {
			fn(&rec, survivor)
		}
		return true, err
	})
}

// missing adds the survivor of a merged record to the error that it does not exist.
func (k *kind) missing(tx *store.Tx, id uuid.UUID, err error) error {
	if !errors.Is(err, fault.ErrNotFound) {
		return err
	}
	survivor, found, failed := k.Survivor(tx, id)
	if failed != nil || !found {
		return errors.Join(failed, err)
	}
	why := "merged into " + survivor.String()
	return &fault.Error{Code: fault.NotFound, Message: "Resource not found: it was " + why, Details: []fault.Detail{{
		Path: "id", Message: why, ID: survivor.String(),
	}}}
}

// findMerged returns the survivor of the oldest merged record with a key.
func (k *kind) findMerged(tx *store.Tx, key, value string) (uuid.UUID, bool, error) {
	if k.merged == nil || value == "" || k.merged.Count(tx) == 0 {
		return uuid.Nil, false, nil
	}
	id, found, err := k.merged.Oldest(tx, key, []byte(value))
	if err != nil || !found {
		return uuid.Nil, false, err
	}
	return k.Survivor(tx, id)
}

// FindMergedSource returns the record that lives on for a record with the given MergeRules.SourceOf that was merged.
func (k *kind) FindMergedSource(tx *store.Tx, source string) (uuid.UUID, bool, error) {
	return k.findMerged(tx, mergedSource, source)
}

// MergedInto returns the records that were merged into a record, also through others, up to a bound.
func (k *kind) MergedInto(tx *store.Tx, id uuid.UUID) (all []uuid.UUID, err error) {
	if k.merged == nil || k.merged.Count(tx) == 0 {
		return nil, nil
	}
	const most = 1000
	for next := []uuid.UUID{id}; len(next) > 0 && len(all) < most; next = next[1:] {
		ids, err := k.merged.IDs(tx, mergedInto, next[0][:], most)
		if err != nil {
			return nil, err
		}
		all, next = append(all, ids...), append(slices.Clip(next), ids...)
	}
	return all, nil
}
