package store

import (
	"bytes"
	"iter"
	"maps"
	"slices"

	"github.com/google/uuid"
)

// repairSets rewrites the sets with damaged or missing chunks from their other direction. If all is set, so are
// sets without any chunk, of which only the other direction is left.
func (tx *Tx) repairSets(all bool) error {
	for _, s := range tx.sets() {
		if err := s.repair(tx, all); err != nil {
			return err
		}
	}
	return nil
}

// sets returns the sets of the organization.
func (tx *Tx) sets() (sets []*Sets) {
	for _, name := range bucketNames(tx.orgBkt, ownerSuffix) {
		sets = append(sets, NewSets(name))
	}
	return sets
}

// lostChunks calls fn for each damaged chunk that repair cannot restore: the other direction has fewer ids for it
// than the chunk had.
func (s *Sets) lostChunks(tx *Tx, fn func(key, value []byte)) {
	type damaged struct {
		idChunk
		key, value []byte
		lacking    int // how many of its ids the other direction does not have
	}
	var found []*damaged
	byOwner := map[uuid.UUID][]*damaged{}
	chunk := func(c idChunk, key, value []byte, err error) {
		if err != nil {
			d := &damaged{c, key, value, max(1, (len(value)-4)/16-1)}
			found, byOwner[c.owner] = append(found, d), append(byOwner[c.owner], d)
		}
	}
	s.walk(tx, setWalk{chunk, func(uuid.UUID, uuid.UUID) {}})
	if len(found) == 0 {
		return
	}
	for owner, id := range s.members(tx) {
		for _, d := range byOwner[owner] {
			if CompareIDs(id, d.low) > 0 && CompareIDs(id, d.bound) <= 0 {
				d.lacking--
			}
		}
	}
	for _, d := range found {
		if d.lacking > 0 {
			fn(d.key, d.value)
		}
	}
}

// members returns the ids of all sets with the record that each belongs to, as the other direction of the sets has them.
func (s *Sets) members(tx *Tx) iter.Seq2[uuid.UUID, uuid.UUID] {
	return func(yield func(owner, id uuid.UUID) bool) {
		for key := range tx.scan(s.owners, nil) {
			if len(key) == 32 && !yield(uuid.UUID(key[16:]), uuid.UUID(key)) {
				return
			}
		}
	}
}

// repair writes the sets with damaged or missing chunks again.
func (s *Sets) repair(tx *Tx, all bool) error {
	ids := map[uuid.UUID][]uuid.UUID{} // by owner, from both directions
	known, broken := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	s.walk(tx, setWalk{
		chunk: func(c idChunk, key, _ []byte, err error) {
			if len(key) != 32 {
				return
			}
			if known[c.owner] = true; err != nil {
				broken[c.owner], all = true, true // the owner in the key may be wrong too
			}
			for i := range c.len() {
				ids[c.owner] = append(ids[c.owner], c.id(i))
			}
		},
		missing: func(owner, _ uuid.UUID) { broken[owner] = true },
	})
	for owner, id := range s.members(tx) {
		if !known[owner] && all {
			broken[owner] = true
		}
		if broken[owner] {
			ids[owner] = append(ids[owner], id)
		}
	}
	for _, owner := range slices.SortedFunc(maps.Keys(broken), CompareIDs) {
		isOwn := func(key, _ []byte) bool { return bytes.HasPrefix(key, owner[:]) }
		tx.deleteWhere(s.chunks, isOwn)
		if _, err := s.Add(tx, owner, ids[owner]); err != nil {
			return err
		}
	}
	return nil
}
