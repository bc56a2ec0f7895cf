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
	last := idChunk{bound: lastID}
	ended := func() {
		if last.bound != lastID {
			report(false, "%v", s.errMissing(tx, last.owner, last.bound))
		}
	}
	err := tx.scan(s.chunks, nil, func(key, v []byte) (bool, error) {
		c, err := s.open(tx, key, v)
		if err != nil {
			report(false, "%v", err)
			if len(key) != 32 {
				return true, nil
			}
			c.owner, c.bound = uuid.UUID(key), uuid.UUID(key[16:])
		}
		low := last.bound
		if last.bound == lastID || c.owner != last.owner {
			ended()
			low = uuid.Nil
		}
		if err == nil && c.low != low {
			report(false, "%v", s.errMissing(tx, c.owner, low))
		}
		last = c
		if err != nil {
			return true, nil
		}
		for i := range c.len() {
			entry := PairKey(c.id(i), c.owner)
			sum += maphash.Bytes(seed, entry)
			if tx.get(s.owners, entry) == nil {
				report(tx.repair(func() { tx.put(s.owners, entry, nil) }), "%s: %s is in the set of %s but has no entry for it", s.owners, c.id(i), c.owner)
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	ended()
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
