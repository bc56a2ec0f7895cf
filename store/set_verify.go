package store

import (
	"hash/maphash"

	"github.com/google/uuid"
)

// Verify reads all sets of the transaction's organization. It reports unreadable and missing
// chunks, and differences between the two directions of a set. In an Update it repairs what follows
// from the chunks alone: which records have an id. It does not touch ids that an unreadable chunk
// may contain.
func (s *Sets) Verify(tx *Tx, report Report) error {
	tx.verifying = true
	seed, sum := maphash.MakeSeed(), uint64(0)
	chunk := func(c idChunk, _, _ []byte, err error) {
		if err != nil {
			report(false, "%v", err)
		}
		for i := range c.len() {
			entry := PairKey(c.id(i), c.owner)
			sum += maphash.Bytes(seed, entry)
			if tx.get(s.owners, entry) == nil {
				repaired := tx.repair(func() { tx.put(s.owners, entry, nil) })
				report(repaired, "%s: %s is in the set of %s but has no entry for it", s.owners, c.id(i), c.owner)
			}
		}
	}
	missing := func(owner, bound uuid.UUID) { report(false, "%v", s.errMissing(tx, owner, bound)) }
	s.walk(tx, setWalk{chunk, missing})
	return s.leftOvers(tx, seed, sum, report)
}

// leftOvers reports ids that claim to be in a set and are not. The sums show first whether there
// can be any.
func (s *Sets) leftOvers(tx *Tx, seed maphash.Seed, sum uint64, report Report) error {
	all := func(_, _ []byte) bool { return true }
	return tx.ifSumDiffers(s.owners, seed, sum, all, func(key, _ []byte) error {
		if len(key) != 32 {
			report(tx.forget(s.owners, key), "%s: the key %x is not a pair of ids", s.owners, key)
			return nil
		}
		id, owner := uuid.UUID(key), uuid.UUID(key[16:])
		if has, err := s.Has(tx, owner, id); err == nil && !has {
			report(tx.forget(s.owners, key), "%s: %s has an entry for the set of %s but is not in it", s.owners, id, owner)
		}
		return nil
	})
}
