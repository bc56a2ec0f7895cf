package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// BenchmarkSets changes 10,000 ids of a set that is empty or has 100,000 others, and writes as many
// plain keys to bbolt for comparison. Each is one durable transaction.
func BenchmarkSets(b *testing.B) {
	const some = 10_000
	for _, others := range []int{0, 100_000} {
		ids := shuffledIDs(some + others)
		changed, rest := ids[:some], ids[some:]
		b.Run(fmt.Sprintf("store/%d", others), func(b *testing.B) {
			s, sets, owner := open(b, b.TempDir(), Options{}), NewSets("members"), numberedID(1, 1)
			add := func(ids []uuid.UUID) func(*Tx) error {
				return func(tx *Tx) error { _, err := sets.Add(tx, owner, ids); return err }
			}
			write(b, s, orgA, add(rest))
			for _, op := range []struct {
				name     string
				do, undo func(*Tx) error
			}{
				{"add", add(changed), func(tx *Tx) error { _, err := sets.Remove(tx, owner, changed); return err }},
				{"remove", func(tx *Tx) error { _, err := sets.Remove(tx, owner, changed); return err }, add(changed)},
			} {
				b.Run(op.name, func(b *testing.B) {
					if op.name == "remove" {
						write(b, s, orgA, op.undo)
					}
					for b.Loop() {
						write(b, s, orgA, op.do)
						b.StopTimer()
						write(b, s, orgA, op.undo)
						b.StartTimer()
					}
				})
			}
		})
		b.Run(fmt.Sprintf("bbolt/%d", others), func(b *testing.B) {
			s, owner := open(b, b.TempDir(), Options{}), numberedID(1, 1)
			bare := func(ids []uuid.UUID, do func(b *bolt.Bucket, key []byte) error) {
				err := s.db.Update(func(btx *bolt.Tx) error {
					bucket, err := btx.CreateBucketIfNotExists([]byte("bare"))
					for _, id := range ids {
						if err == nil {
							err = do(bucket, PairKey(id, owner))
						}
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			add := func(b *bolt.Bucket, key []byte) error { return b.Put(key, nil) }
			bare(rest, add)
			sorted := slices.Clone(changed)
			slices.SortFunc(sorted, CompareIDs)
			b.Run("add", func(b *testing.B) {
				for b.Loop() {
					bare(sorted, add)
					b.StopTimer()
					bare(sorted, (*bolt.Bucket).Delete)
					b.StartTimer()
				}
			})
			bare(sorted, add)
			b.Run("remove", func(b *testing.B) {
				for b.Loop() {
					bare(sorted, (*bolt.Bucket).Delete)
					b.StopTimer()
					bare(sorted, add)
					b.StartTimer()
				}
			})
		})
	}
}

// shuffledIDs returns ids as the store makes them, in random order.
func shuffledIDs(n int) []uuid.UUID {
	source, ids := idSource{}, make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = source.next(1_780_000_000_000 + int64(i/4))
	}
	r := rand.New(rand.NewPCG(5, 6))
	r.Shuffle(n, func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids
}
