package store

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// repairSets writes the sets that lack a chunk again. If all is set, so are sets without any chunk, of which
// only the other direction is left.
func (tx *Tx) repairSets(all bool) error {
	if tx.orgBkt == nil {
		return nil
	}
	var names []string
	_ = tx.orgBkt.ForEachBucket(func(name []byte) error { // the function never fails
		if set, is := strings.CutSuffix(string(name), ownerSuffix); is {
			names = append(names, set)
		}
		return nil
	})
	for _, name := range names {
		if err := NewSets(name).repair(tx, all); err != nil {
			return err
		}
	}
	return nil
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
	err = tx.look(s.owners, nil, func(key, _ []byte) (bool, error) {
		if len(key) != 32 {
			return true, nil
		}
		id, owner := uuid.UUID(key), uuid.UUID(key[16:])
		if _, has := known[owner]; !has && all {
			broken[owner] = true
		}
		if broken[owner] {
			ids[owner] = append(ids[owner], id)
		}
		return true, nil
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
