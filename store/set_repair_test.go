package store

import (
	"slices"
	"testing"

	"github.com/google/uuid"
)

// TestDropDamagedChunk checks that dropping damaged chunks rewrites the sets from their other direction, and reports
// only those chunks whose ids are gone in both directions.
func TestDropDamagedChunk(t *testing.T) {
	small, large := ownerOf(2), ownerOf(3)
	ids := func(n int) (ids []uuid.UUID) {
		for i := range n {
			ids = append(ids, numberedID(2, i+1))
		}
		return ids
	}
	flip := func(v []byte) []byte { v[99] ^= 4; return v }
	first := func(chunks []idChunk, owner uuid.UUID) []byte {
		c := chunks[slices.IndexFunc(chunks, func(c idChunk) bool { return c.owner == owner })]
		return PairKey(c.owner, c.bound)
	}
	for _, test := range []struct {
		name   string
		damage func(t *testing.T, s *Store, chunks []idChunk)
		lost   int // chunks
		left   int // ids of the small set
	}{
		{"the only chunk", func(t *testing.T, s *Store, chunks []idChunk) {
			plant(t, s, orgA, members.chunks, first(chunks, small), flip)
		}, 0, 50},
		{"one of several chunks", func(t *testing.T, s *Store, chunks []idChunk) {
			plant(t, s, orgA, members.chunks, first(chunks, large), flip)
		}, 0, 50},
		{"every chunk", func(t *testing.T, s *Store, chunks []idChunk) {
			for _, c := range chunks {
				plant(t, s, orgA, members.chunks, PairKey(c.owner, c.bound), flip)
			}
		}, 0, 50},
		{"the key of a chunk", func(t *testing.T, s *Store, chunks []idChunk) {
			var value []byte
			plant(t, s, orgA, members.chunks, first(chunks, small), func(v []byte) []byte { value = slices.Clone(v); return nil })
			other := ownerOf(1)
			plant(t, s, orgA, members.chunks, PairKey(other, lastID), func([]byte) []byte { return value })
		}, 1, 50}, // whose ids it had cannot be known
		{"both directions", func(t *testing.T, s *Store, chunks []idChunk) {
			plant(t, s, orgA, members.chunks, first(chunks, small), flip)
			plant(t, s, orgA, members.owners, PairKey(numberedID(2, 7), small), nothing)
		}, 1, 49},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := open(t, t.TempDir(), newClock().options())
			s.db.NoSync = true
			write(t, s, orgA, func(tx *Tx) error {
				if _, err := members.Add(tx, small, ids(50)); err != nil {
					return err
				}
				_, err := members.Add(tx, large, ids(2000))
				return err
			})
			var chunks []idChunk
			read(t, s, orgA, func(tx *Tx) error {
				for key := range tx.scan(members.chunks, nil) {
					chunks = append(chunks, idChunk{owner: uuid.UUID(key), bound: uuid.UUID(key[16:])})
				}
				return nil
			})
			test.damage(t, s, chunks)
			lost := 0
			read(t, s, orgA, func(tx *Tx) error {
				tx.DamagedEntries(func(string, []byte, []byte) { lost++ })
				return nil
			})
			if lost != test.lost {
				t.Errorf("%d chunks are lost, want %d", lost, test.lost)
			}
			write(t, s, orgA, (*Tx).DropDamagedEntries)
			read(t, s, orgA, func(tx *Tx) error {
				for owner, want := range map[uuid.UUID]int{small: test.left, large: 2000} {
					if got, err := members.All(tx, owner); err != nil || len(got) != want {
						t.Errorf("the set of %s has %d ids, want %d: %v", owner, len(got), want, err)
					}
				}
				return nil
			})
			if found := verifySets(t, s, false); len(found) > 0 {
				t.Errorf("after dropping, a check finds %d problems, such as %q", len(found), found[0])
			}
		})
	}
}
