package store

import (
	"bytes"
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
func (s *Sets) lostChunks(tx *Tx, fn func(key, value []byte)) error {
	type damaged struct {
		key, value []byte
		low        uuid.UUID
		missing    int
	}
	var found []*damaged
	byOwner := map[uuid.UUID][]*damaged{}
	var owner, low uuid.UUID
	err := tx.look(s.chunks, nil, func(key, v []byte) (bool, error) {
		_, err := s.open(tx, key, v)
		if len(key) == 32 && uuid.UUID(key) != owner {
			owner, low = uuid.UUID(key), uuid.Nil
		}
		if err != nil {
			d := &damaged{key: key, value: v, low: low, missing: max(1, (len(v)-4)/16-1)}
			found = append(found, d)
			if len(key) == 32 {
				byOwner[owner] = append(byOwner[owner], d)
			}
		}
		if len(key) == 32 {
			low = uuid.UUID(key[16:])
		}
		return true, nil
	})
	if err != nil || len(found) == 0 {
		return err
	}
	err = s.eachMember(tx, func(owner, id uuid.UUID) {
		for _, d := range byOwner[owner] {
			if CompareIDs(id, d.low) > 0 && bytes.Compare(id[:], d.key[16:]) <= 0 {
				d.missing--
			}
		}
	})
	if err != nil {
		return err
	}
	for _, d := range found {
		if d.missing > 0 {
			fn(d.key, d.value)
		}
	}
	return nil
}

// eachMember calls fn for the ids of all sets, which the other direction of the sets has.
func (s *Sets) eachMember(tx *Tx, fn func(owner, id uuid.UUID)) error {
	return tx.look(s.owners, nil, func(key, _ []byte) (bool, error) {
		if len(key) == 32 {
			fn(uuid.UUID(key[16:]), uuid.UUID(key))
		}
		return true, nil
	})
}

func (s *Sets) repair(tx *Tx, all bool) error {
	ids := map[uuid.UUID][]uuid.UUID{} // by owner, from both directions
	known, broken := map[uuid.UUID]uuid.UUID{}, map[uuid.UUID]bool{}
	err := tx.look(s.chunks, nil, func(key, v []byte) (bool, error) {
		if len(key) != 32 {
			return true, nil
		}
		owner := uuid.UUID(key)
		c, err := s.open(tx, key, v)
		if err != nil {
			c, all = idChunk{}, true // the owner in the key may be wrong too
		}
		if err != nil || c.low != known[owner] {
			broken[owner] = true
		}
		known[owner] = uuid.UUID(key[16:])
		for i := range c.len() {
			ids[owner] = append(ids[owner], c.id(i))
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for owner, bound := range known {
		if bound != lastID {
			broken[owner] = true
		}
	}
	err = s.eachMember(tx, func(owner, id uuid.UUID) {
		if _, has := known[owner]; !has && all {
			broken[owner] = true
		}
		if broken[owner] {
			ids[owner] = append(ids[owner], id)
		}
	})
	if err != nil {
		return err
	}
	for _, owner := range slices.SortedFunc(maps.Keys(broken), CompareIDs) {
		isOwn := func(key, _ []byte) bool { return bytes.HasPrefix(key, owner[:]) }
		if err := tx.deleteWhere(s.chunks, isOwn); err != nil {
			return err
		}
		if _, err := s.Add(tx, owner, ids[owner]); err != nil {
			return err
		}
	}
	return nil
}
