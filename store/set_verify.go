package store

import (
	"hash/maphash"

	"github.com/google/uuid"
)

// setWalk receives what a walk through the chunks of all sets finds.
type setWalk struct {
	// chunk is called for every chunk. If it cannot be read, err says why, and c has no ids but what the key and the chunk
	// before it say. A key that is not the key of a chunk says nothing.
	chunk func(c idChunk, key, value []byte, err error)
	// missing is called where a chunk is missing, with the last bound before it.
	missing func(owner, bound uuid.UUID)
}

// walk reads the chunks of all sets in order. The functions of w may write to the sets.
func (s *Sets) walk(tx *Tx, w setWalk) error {
	last := idChunk{bound: lastID}
	endSet := func() {
		if last.bound != lastID {
			w.missing(last.owner, last.bound)
		}
	}
	err := tx.scanWhileWriting(s.chunks, nil, func(key, value []byte) (bool, error) {
		c, err := s.open(tx, key, value)
		if len(key) != 32 {
			w.chunk(idChunk{}, key, value, err)
			return true, nil
		}
		owner, low := uuid.UUID(key), last.bound
		if owner != last.owner || low == lastID {
			endSet()
			low = uuid.Nil
		}
		if err != nil {
			c = idChunk{owner: owner, low: low, bound: uuid.UUID(key[16:])}
		} else if c.low != low {
			w.missing(owner, low)
		}
		last = c
		w.chunk(c, key, value, err)
		return true, nil
	})
	if err == nil {
		endSet()
	}
	return err
}

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
				report(tx.repair(func() { tx.put(s.owners, entry, nil) }), "%s: %s is in the set of %s but has no entry for it", s.owners, c.id(i), c.owner)
			}
		}
	}
	missing := func(owner, bound uuid.UUID) { report(false, "%v", s.errMissing(tx, owner, bound)) }
	if err := s.walk(tx, setWalk{chunk, missing}); err != nil {
		return err
	}
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
