package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// plant changes one value directly in the file. If change returns nil, the key is removed.
func plant(t *testing.T, s *Store, org uuid.UUID, bucket string, key []byte, change func(v []byte) []byte) {
	t.Helper()
	err := s.db.Update(func(btx *bolt.Tx) error {
		b := btx.Bucket(orgsBucket).Bucket(org[:]).Bucket([]byte(bucket))
		v := change(slices.Clone(b.Get(key)))
		if v == nil {
			return b.Delete(key)
		}
		return b.Put(key, v)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestVerifyOfAHealthyHistory(t *testing.T) {
	clock := newClock()
	s := open(t, t.TempDir(), clock.options())
	s.db.NoSync = true
	r := rand.New(rand.NewPCG(3, 4))
	orgs := []uuid.UUID{orgA, orgB}
	alive := map[uuid.UUID][]uuid.UUID{}
	random := func() person {
		p := person{Name: fmt.Sprint(r.IntN(100))}
		if r.IntN(2) == 0 {
			p.Email = fmt.Sprint(r.IntN(60))
		}
		for range r.IntN(4) {
			p.Tags = append(p.Tags, fmt.Sprint(r.IntN(5)))
		}
		return p
	}
	for round := range 300 {
		clock.move(time.Duration(r.IntN(48)) * time.Hour)
		org := orgs[r.IntN(2)]
		write(t, s, org, func(tx *Tx) error {
			for range r.IntN(5) {
				ids := alive[org]
				if len(ids) == 0 || r.IntN(3) == 0 {
					// A taken email is refused and changes nothing; the transaction continues.
					if d, err := people.Insert(tx, tx.NewID(), random()); err == nil {
						alive[org] = append(ids, d.ID)
					}
					continue
				}
				i := r.IntN(len(ids))
				d, err := people.Get(tx, ids[i])
				if err != nil {
					return err
				}
				if r.IntN(3) == 0 {
					if err := people.Delete(tx, d); err != nil {
						return err
					}
					alive[org] = slices.Delete(ids, i, i+1)
					continue
				}
				_, _ = people.Update(tx, d, random(), []string{"name"})
			}
			return nil
		})
		if round%50 == 49 {
			for _, org := range orgs {
				if found := problems(t, s, org); found != nil {
					t.Fatalf("round %d: %v", round, found)
				}
			}
		}
	}
	if first := history(t, s, orgA, 0)[0].Number; first == 1 {
		t.Error("nothing was trimmed: the history is too short for this test")
	}
}

// personValue returns a value as it is stored under the key.
func personValue(key []byte, change uint64, private, public []byte) []byte {
	return encodeValue((&Tx{org: orgA}).placeSum("people.rec", key), change, change, private, public)
}

func TestVerifyFindsDamage(t *testing.T) {
	remove := func([]byte) []byte { return nil }
	for _, c := range []struct {
		name  string
		plant func(t *testing.T, s *Store, ann, bob Doc[person])
		want  string
	}{
		{"a record with a flipped bit", func(t *testing.T, s *Store, ann, _ Doc[person]) {
			plant(t, s, orgA, "people.rec", ann.ID[:], func(v []byte) []byte { return flipped(v, len(v)*8-20) })
		}, "does not match its checksum"},
		{"a record that is no JSON", func(t *testing.T, s *Store, ann, _ Doc[person]) {
			plant(t, s, orgA, "people.rec", ann.ID[:], func([]byte) []byte { return personValue(ann.ID[:], 1, []byte("{}"), []byte("{")) })
		}, "unexpected EOF"},
		{"a record under no id", func(t *testing.T, s *Store, ann, _ Doc[person]) {
			plant(t, s, orgA, "people.rec", []byte("short"), func([]byte) []byte { return personValue([]byte("short"), 1, nil, []byte("{}")) })
		}, "is not an id"},
		{"a record that is gone", func(t *testing.T, s *Store, ann, _ Doc[person]) {
			plant(t, s, orgA, "people.rec", ann.ID[:], remove)
		}, "the change log has it, but it does not exist"},
		{"a unique key that is gone", func(t *testing.T, s *Store, _, _ Doc[person]) {
			plant(t, s, orgA, "people.uniq.email", []byte("a@x"), remove)
		}, "its unique key email leads to another record or to none"},
		{"a unique key that points elsewhere", func(t *testing.T, s *Store, _, bob Doc[person]) {
			plant(t, s, orgA, "people.uniq.email", []byte("a@x"), func([]byte) []byte { return bob.ID[:] })
		}, "its unique key email leads to another record or to none"},
		{"a unique key that is left over", func(t *testing.T, s *Store, ann, _ Doc[person]) {
			plant(t, s, orgA, "people.uniq.email", []byte("z@x"), func([]byte) []byte { return ann.ID[:] })
		}, `the unique key email has "z@x", which belongs to no record`},
		{"a global key that is gone", func(t *testing.T, s *Store, _, _ Doc[person]) {
			err := s.db.Update(func(btx *bolt.Tx) error { return btx.Bucket([]byte("global.people.token")).Delete([]byte("t")) })
			if err != nil {
				t.Fatal(err)
			}
		}, "its unique key token leads to another record or to none"},
		{"a key that is gone", func(t *testing.T, s *Store, ann, _ Doc[person]) {
			plant(t, s, orgA, "people.key.tag", append([]byte("red\x00"), ann.ID[:]...), remove)
		}, "its key tag is missing"},
		{"a key that is left over", func(t *testing.T, s *Store, ann, _ Doc[person]) {
			plant(t, s, orgA, "people.key.tag", append([]byte("green\x00"), ann.ID[:]...), func([]byte) []byte { return []byte{} })
		}, "the key tag has"},
		{"a wrong count", func(t *testing.T, s *Store, _, _ Doc[person]) {
			err := s.db.Update(func(btx *bolt.Tx) error {
				return btx.Bucket(orgsBucket).Bucket(orgA[:]).Bucket([]byte("people.rec")).SetSequence(7)
			})
			if err != nil {
				t.Fatal(err)
			}
		}, "the count is 7, but there are 2 records"},
		{"a change that is gone", func(t *testing.T, s *Store, _, _ Doc[person]) {
			plant(t, s, orgA, "people.log", numberKey(2), remove)
		}, "the change log has a gap after 1"},
		{"the last change gone", func(t *testing.T, s *Store, _, _ Doc[person]) {
			plant(t, s, orgA, "people.log", numberKey(3), remove)
		}, "the last change is 2, but the counter says 3"},
		{"a change with a flipped bit", func(t *testing.T, s *Store, _, _ Doc[person]) {
			plant(t, s, orgA, "people.log", numberKey(2), func(v []byte) []byte { return flipped(v, 100) })
		}, "change 0000000000000002: the store is damaged"},
		{"a record without a change", func(t *testing.T, s *Store, ann, _ Doc[person]) {
			id := numberedID(9, 9)
			plant(t, s, orgA, "people.rec", id[:], func([]byte) []byte { return personValue(id[:], 2, []byte("{}"), []byte(`{"name":"x"}`)) })
		}, "it has version 2, but the change log has no entry for it"},
		{"a record of another version", func(t *testing.T, s *Store, ann, _ Doc[person]) {
			plant(t, s, orgA, "people.rec", ann.ID[:], func(v []byte) []byte {
				_, private, public, _ := decodeValue((&Tx{org: orgA}).placeSum("people.rec", ann.ID[:]), v)
				return personValue(ann.ID[:], 1, private, public)
			})
		}, "it has version 1, but the change log says 3 (u)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, t.TempDir(), Options{})
			ann := insert(t, s, orgA, person{Name: "ann", Email: "a@x", Tags: []string{"red"}, hidden: hidden{Token: "t"}})
			bob := insert(t, s, orgA, person{Name: "bob", Email: "b@x"})
			write(t, s, orgA, func(tx *Tx) (err error) {
				ann, err = people.Update(tx, ann, ann.Record, []string{"name"})
				return err
			})
			if found := problems(t, s, orgA); found != nil {
				t.Fatalf("before: %v", found)
			}
			c.plant(t, s, ann, bob)
			if found := problems(t, s, orgA); !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, c.want) }) {
				t.Errorf("found %q, want %q", found, c.want)
			}
			if found := problems(t, s, orgB); found != nil {
				t.Errorf("the other organization: %v", found)
			}
		})
	}
}

func TestVerifyFindsALogThatIsGone(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	insert(t, s, orgA, person{Name: "ann"})
	plant(t, s, orgA, "people.log", numberKey(1), func([]byte) []byte { return nil })
	if found := problems(t, s, orgA); found == nil {
		t.Error("nothing was found")
	}
}

func TestDump(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	empty, err := s.Dump(orgA)
	if err != nil || empty != "" {
		t.Fatalf("%q, %v", empty, err)
	}
	d := insert(t, s, orgA, person{Name: "ann"})
	dump, err := s.Dump(orgA)
	if err != nil || !strings.Contains(dump, fmt.Sprintf("people.rec (1)\n  %x", d.ID[:])) {
		t.Errorf("%q, %v", dump, err)
	}
	insert(t, s, orgB, person{Name: "other"})
	if again, _ := s.Dump(orgA); again != dump {
		t.Error("another organization's write is in it")
	}
}
