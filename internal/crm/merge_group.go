package crm

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/operation"
	"prospector/internal/record"
	"prospector/store"
)

// MergeContactGroup merges contacts that are the same. The one in a running sequence survives, otherwise the one with the most
// values, otherwise the oldest. It merges up to MaxMerged into that one.
func (c *CRM) MergeContactGroup(tx *store.Tx, ids []uuid.UUID) (operation.Merged, error) {
	return mergeGroup(tx, c.Contacts, ids, func(id uuid.UUID) (bool, error) { return c.follower.IsRunning(tx, id) }, func(into uuid.UUID, ids []uuid.UUID) error {
		_, err := c.MergeContacts(tx, into, MergeBody{IDs: ids})
		return err
	})
}

// MergeAccountGroup is MergeContactGroup for accounts.
func (c *CRM) MergeAccountGroup(tx *store.Tx, ids []uuid.UUID) (operation.Merged, error) {
	return mergeGroup(tx, c.Accounts, ids, func(uuid.UUID) (bool, error) { return false, nil }, func(into uuid.UUID, ids []uuid.UUID) error {
		_, err := c.MergeAccounts(tx, into, MergeBody{IDs: ids})
		return err
	})
}

func mergeGroup[T any](
	tx *store.Tx, k *record.Kind[T], ids []uuid.UUID, isRunning func(uuid.UUID) (bool, error), merge func(uuid.UUID, []uuid.UUID) error,
) (m operation.Merged, err error) {
	type candidate struct {
		id        uuid.UUID
		isRunning int
		filled    int
	}
	var all []candidate
	for _, id := range ids {
		if !k.Table.Has(tx, id) {
			continue
		}
		doc, err := k.Get(tx, id)
		if err != nil {
			return m, err
		}
		one := candidate{id: id, filled: k.Filled(&doc.Record)}
		running, err := isRunning(id)
		if err != nil {
			return m, err
		}
		if running {
			one.isRunning = 1
		}
		all = append(all, one)
	}
	if len(all) < 2 {
		return m, fault.New(fault.NotFound, "the records do not exist")
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.isRunning, a.isRunning), cmp.Compare(b.filled, a.filled), store.CompareIDs(a.id, b.id))
	})
	m.Into = all[0].id
	for _, other := range all[1:min(len(all), 1+MaxMerged)] {
		m.IDs = append(m.IDs, other.id)
	}
	return m, merge(m.Into, m.IDs)
}
