package crm

import (
	"cmp"
	"maps"
	"math"
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
	values := map[uuid.UUID]int{} // how many values a record has; one in a running sequence has more than all others
	for _, id := range ids {
		doc, found, err := k.Lookup(tx, id)
		if err != nil {
			return m, err
		}
		if !found {
			continue
		}
		running, err := isRunning(id)
		if err != nil {
			return m, err
		}
		if values[id] = k.Filled(&doc.Record); running {
			values[id] += math.MaxInt32
		}
	}
	all := slices.SortedFunc(maps.Keys(values), func(a, b uuid.UUID) int {
		return cmp.Or(cmp.Compare(values[b], values[a]), store.CompareIDs(a, b))
	})
	if len(all) < 2 {
		return m, fault.New(fault.NotFound, "the records do not exist")
	}
	m.Into, m.IDs = all[0], all[1:min(len(all), 1+MaxMerged)]
	return m, merge(m.Into, m.IDs)
}
