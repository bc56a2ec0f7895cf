package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

var members = NewSets("members")

// ownerOf numbers owners. 0 and 3 are the least and the greatest possible id.
func ownerOf(n int) uuid.UUID {
	return []uuid.UUID{{}, numberedID(1, 1), numberedID(1, 2), uuid.Max}[n]
}

// reference is a plain model of sets.
type reference map[uuid.UUID]map[uuid.UUID]bool

func (r reference) clone() reference {
	out := reference{}
	for owner, set := range r {
		out[owner] = maps.Clone(set)
	}
	return out
}

func (r reference) change(owner uuid.UUID, ids []uuid.UUID, add bool) (changed []uuid.UUID) {
	if r[owner] == nil {
		r[owner] = map[uuid.UUID]bool{}
	}
	for _, id := range ids {
		if r[owner][id] == add {
			continue
		}
		changed = append(changed, id)
		if add {
			r[owner][id] = true
		} else {
			delete(r[owner], id)
		}
	}
	slices.SortFunc(changed, CompareIDs)
	return changed
}

// compare returns how the sets differ from the model.
func (r reference) compare(tx *Tx, rnd *rand.Rand) error {
	have := map[uuid.UUID][]uuid.UUID{} // owners by id
	for n := range 4 {
		owner := ownerOf(n)
		want := slices.SortedFunc(maps.Keys(r[owner]), CompareIDs)
		got, err := members.All(tx, owner)
		if err != nil || !slices.Equal(got, want) {
			return fmt.Errorf("the set of %s has %d, not %d: %w", owner, len(got), len(want), err)
		}
		for _, id := range want {
			have[id] = append(have[id], owner)
		}
		for range 20 {
			id := anyID(rnd)
			if len(want) > 0 && rnd.IntN(2) == 0 {
				id = want[rnd.IntN(len(want))]
			}
			if has, err := members.Has(tx, owner, id); err != nil || has != r[owner][id] {
				return fmt.Errorf("%s in %s is %v: %w", id, owner, has, err)
			}
			at, found := slices.BinarySearchFunc(want, id, CompareIDs)
			if found {
				at++
			}
			most := 1 + rnd.IntN(2000)
			page, err := members.After(tx, owner, id, most)
			if err != nil || !slices.Equal(page, want[at:min(at+most, len(want))]) {
				return fmt.Errorf("%s has %d after %s: %w", owner, len(page), id, err)
			}
		}
	}
	for id, want := range have {
		if got, err := members.Owners(tx, id); err != nil || !slices.Equal(got, want) {
			return fmt.Errorf("%s is in %v, not in %v: %w", id, got, want, err)
		}
	}
	return members.Verify(tx, func(_ bool, format string, args ...any) { panic(fmt.Sprintf(format, args...)) })
}

// anyID returns one of a few thousand ids, including the least and the greatest.
func anyID(r *rand.Rand) uuid.UUID {
	switch n := r.IntN(6000); n {
	case 0:
		return uuid.Nil
	case 1:
		return uuid.Max
	default:
		return uuid.UUID{byte(n >> 10), byte(n >> 2), 15: byte(n)}
	}
}

// TestSetsAgreeWithMaps makes random changes, some of which are reverted, and compares within the
// transaction and after it.
func TestSetsAgreeWithMaps(t *testing.T) {
	s := open(t, t.TempDir(), newClock().options())
	s.db.NoSync = true
	r := rand.New(rand.NewPCG(31, 32))
	want := reference{}
	step := func(tx *Tx) error {
		owner, add := ownerOf(r.IntN(4)), r.IntN(5) > 1
		ids := make([]uuid.UUID, []int{0, 1, 3, 50, 1500}[r.IntN(5)])
		for i := range ids {
			ids[i] = anyID(r)
		}
		if from := anyID(r); r.IntN(4) == 0 { // consecutive ones
			var err error
			if ids, err = members.After(tx, owner, from, r.IntN(2500)); err != nil {
				return err
			}
			add = false
		}
		change := members.Add
		if !add {
			change = members.Remove
		}
		before := slices.Clone(ids)
		got, err := change(tx, owner, ids)
		if should := want.change(owner, ids, add); err != nil || !slices.Equal(got, should) {
			return fmt.Errorf("it changed %d, not %d: %w", len(got), len(should), err)
		}
		if !slices.Equal(ids, before) {
			return errors.New("the caller's ids were changed")
		}
		return nil
	}
	for range 80 {
		write(t, s, orgA, func(tx *Tx) error {
			for range 1 + r.IntN(3) {
				before := want.clone()
				refused := r.IntN(4) == 0
				err := tx.Try(func() error {
					if err := step(tx); err != nil {
						return err
					}
					if refused {
						return errRefused
					}
					return nil
				})
				if refused && errors.Is(err, errRefused) {
					want, err = before, nil
				}
				if err != nil {
					return err
				}
			}
			return want.compare(tx, r)
		})
		read(t, s, orgA, func(tx *Tx) error { return want.compare(tx, r) })
		read(t, s, orgB, func(tx *Tx) error { return reference{}.compare(tx, r) })
	}
	for n := range 4 {
		for more := true; more; {
			owner, left := ownerOf(n), len(want[ownerOf(n)])
			most := 1 + r.IntN(1000)
			write(t, s, orgA, func(tx *Tx) (err error) {
				if more, err = members.Drop(tx, owner, most); err != nil {
					return err
				}
				ids, err := members.All(tx, owner)
				if len(ids) != max(0, left-most) || more != (len(ids) > 0) {
					return fmt.Errorf("%d of %d are left after dropping %d, and more is %v: %w", len(ids), left, most, more, err)
				}
				want.change(owner, slices.DeleteFunc(slices.Collect(maps.Keys(want[owner])), func(id uuid.UUID) bool { return slices.Contains(ids, id) }), false)
				return want.compare(tx, r)
			})
		}
	}
	if dump, err := s.Dump(orgA); err != nil || strings.Contains(dump, "  ") {
		t.Errorf("something is left: %v\n%.500s", err, dump)
	}
}

// TestChunksOfLargeSet: chunks are neither too large nor too small, however the set was built.
func TestChunksOfLargeSet(t *testing.T) {
	s := open(t, t.TempDir(), newClock().options())
	s.db.NoSync = true
	ids, owner := shuffledIDs(100_000), ownerOf(1)
	sizes := func() (n, least, most int) {
		least = maxChunk
		read(t, s, orgA, func(tx *Tx) error {
			return members.each(tx, owner, uuid.Nil, func(c idChunk) bool {
				if n++; c.bound != lastID {
					least = min(least, c.len())
				}
				most = max(most, c.len())
				return true
			})
		})
		return n, least, most
	}
	check := func(what string, chunks int) {
		t.Helper()
		if n, least, most := sizes(); n > chunks || least < minChunk || most > maxChunk {
			t.Errorf("%s: %d chunks of %d to %d ids", what, n, least, most)
		}
	}
	for part := range slices.Chunk(ids, 10_000) {
		write(t, s, orgA, func(tx *Tx) error { _, err := members.Add(tx, owner, part); return err })
	}
	check("filled", 100_000/maxChunk*2)
	read(t, s, orgA, func(tx *Tx) error {
		got, err := members.All(tx, owner)
		if slices.SortFunc(ids, CompareIDs); !slices.Equal(got, ids) {
			t.Errorf("it has %d ids", len(got))
		}
		if allocs := testing.AllocsPerRun(1, func() { _, _ = members.All(tx, owner) }); allocs > 1000 {
			t.Errorf("reading all takes %v allocations", allocs)
		}
		return err
	})
	var out []uuid.UUID
	for i, id := range ids {
		if i%50 != 0 {
			out = append(out, id)
		}
	}
	write(t, s, orgA, func(tx *Tx) error { _, err := members.Remove(tx, owner, out); return err })
	check("one of fifty left", 2000/minChunk+1)
	for _, id := range ids[1:400] { // one at a time
		write(t, s, orgA, func(tx *Tx) error { _, err := members.Add(tx, owner, []uuid.UUID{id}); return err })
	}
	check("filled slowly", 2400/minChunk+1)
	write(t, s, orgA, func(tx *Tx) error {
		more, err := members.Drop(tx, owner, 100_000)
		if more || tx.get(members.chunks, PairKey(owner, lastID)) != nil {
			t.Error("it was not dropped")
		}
		return err
	})
}

// damagedSet is a set of two thousand ids with several chunks, and a set of another record that no
// damage may affect.
func damagedSet(t *testing.T) (s *Store, chunks []idChunk) {
	t.Helper()
	s = open(t, t.TempDir(), newClock().options())
	s.db.NoSync = true
	var ids []uuid.UUID
	for n := range 2000 {
		ids = append(ids, numberedID(2, n+1))
	}
	write(t, s, orgA, func(tx *Tx) error {
		_, err := members.Add(tx, ownerOf(1), ids)
		_, other := members.Add(tx, ownerOf(2), ids[:700])
		return errors.Join(err, other)
	})
	read(t, s, orgA, func(tx *Tx) error {
		return members.each(tx, ownerOf(1), uuid.Nil, func(c idChunk) bool {
			c.ids = bytes.Clone(c.ids)
			chunks = append(chunks, c)
			return true
		})
	})
	if len(chunks) < 4 {
		t.Fatalf("%d chunks", len(chunks))
	}
	return s, chunks
}

// sealed returns a chunk as it is stored under a key.
func (c idChunk) sealed(key []byte) []byte {
	return seal((&Tx{org: orgA}).placeSum(members.chunks, key), slices.Concat(c.low[:], c.ids))
}

// TestDamagedChunk checks that a damaged chunk never gives a wrong result. Reading it fails, changes are made in the
// other direction, everything else works, and a check reports it.
func TestDamagedChunk(t *testing.T) {
	last := func(c []idChunk) int { return len(c) - 1 }
	second := func([]idChunk) int { return 1 }
	for _, damage := range []struct {
		name  string
		at    func([]idChunk) int
		plant func(c idChunk, key, v []byte) []byte
		says  string
	}{
		{"a flipped bit", second, func(_ idChunk, _, v []byte) []byte { v[99] ^= 4; return v }, "does not match its checksum"},
		{"of another place", second, func(c idChunk, _, _ []byte) []byte { return c.sealed(PairKey(c.owner, c.low)) }, "does not match its checksum"},
		{"an id cut short", second, func(c idChunk, key, _ []byte) []byte { c.ids = c.ids[:len(c.ids)-1]; return c.sealed(key) }, "does not consist of whole ids"},
		{"nothing in it", second, func(_ idChunk, key, _ []byte) []byte {
			return seal((&Tx{org: orgA}).placeSum(members.chunks, key), nil)
		}, "does not consist of whole ids"},
		{"an id twice", second, func(c idChunk, key, _ []byte) []byte { copy(c.ids[16:], c.ids[:16]); return c.sealed(key) }, "its ids are out of order"},
		{"an id below", second, func(c idChunk, key, _ []byte) []byte { copy(c.ids, c.low[:]); return c.sealed(key) }, "its ids are out of order"},
		{"an id above", second, func(c idChunk, key, _ []byte) []byte {
			copy(c.ids[len(c.ids)-16:], lastID[:])
			return c.sealed(key)
		}, "above its bound"},
		{"another low", second, func(c idChunk, key, _ []byte) []byte { c.low[15]++; c.ids = c.ids[16:]; return c.sealed(key) }, "a chunk is missing"},
		{"missing", second, func(idChunk, []byte, []byte) []byte { return nil }, "a chunk is missing"},
		{"the last missing", last, func(idChunk, []byte, []byte) []byte { return nil }, "a chunk is missing"},
	} {
		t.Run(damage.name, func(t *testing.T) {
			s, chunks := damagedSet(t)
			hit := chunks[damage.at(chunks)]
			key := PairKey(hit.owner, hit.bound)
			within, first := hit.id(0), chunks[0].id(0)
			plant(t, s, orgA, members.chunks, key, func(v []byte) []byte { return damage.plant(hit, key, v) })
			before, err := s.Dump(orgA)
			if err != nil {
				t.Fatal(err)
			}
			write(t, s, orgA, func(tx *Tx) error {
				_, has := members.Has(tx, hit.owner, within)
				_, all := members.All(tx, hit.owner)
				_, page := members.After(tx, hit.owner, first, 1900)
				for i, err := range []error{has, all, page} {
					if !errors.Is(err, ErrDamaged) {
						return fmt.Errorf("the %d. gave %w", i, err)
					}
				}
				// The other direction can be changed, and has the id again afterwards.
				removed, remove := members.Remove(tx, hit.owner, []uuid.UUID{within})
				added, add := members.Add(tx, hit.owner, []uuid.UUID{first, within})
				if want := []uuid.UUID{within}; !slices.Equal(removed, want) || !slices.Equal(added, want) {
					return fmt.Errorf("%v was removed (%w), and %v added (%w), want %v", removed, remove, added, add, want)
				}
				return errRefusedUnless(members.Has(tx, hit.owner, first))
			})
			if after, err := s.Dump(orgA); err != nil || after != before {
				t.Errorf("it was written to: %v", err)
			}
			found := verifySets(t, s, false)
			if len(found) == 0 || !strings.Contains(found[0], damage.says) {
				t.Errorf("a check says %q", found)
			}
			verifySets(t, s, true)
			if after, err := s.Dump(orgA); err != nil || after != before {
				t.Errorf("a repair guessed: %v", err)
			}
			read(t, s, orgA, func(tx *Tx) error {
				if ids, err := members.All(tx, ownerOf(2)); err != nil || len(ids) != 700 {
					t.Errorf("the other set has %d: %v", len(ids), err)
				}
				return nil
			})
		})
	}
}

func errRefusedUnless(ok bool, err error) error {
	if err == nil && !ok {
		return errRefused
	}
	return err
}

func verifySets(t *testing.T, s *Store, repair bool) (found []string) {
	t.Helper()
	verify := func(tx *Tx) error {
		return members.Verify(tx, func(repaired bool, format string, args ...any) {
			line := fmt.Sprintf(format, args...)
			if repaired {
				line = wasRepaired + line
			}
			found = append(found, line)
		})
	}
	if repair {
		write(t, s, orgA, verify)
	} else {
		read(t, s, orgA, verify)
	}
	return found
}

// TestRepairSet restores what follows from the chunks and removes what does not.
func TestRepairSet(t *testing.T) {
	s, _ := damagedSet(t)
	before, err := s.Dump(orgA)
	if err != nil {
		t.Fatal(err)
	}
	id := numberedID(2, 77)
	plant(t, s, orgA, members.owners, PairKey(id, ownerOf(1)), nothing)
	plant(t, s, orgA, members.owners, PairKey(id, ownerOf(0)), exactly([]byte{}))
	plant(t, s, orgA, members.owners, []byte("short"), exactly([]byte{}))
	want := []string{
		fmt.Sprintf("members.owner: %s is in the set of %s but has no entry for it", id, ownerOf(1)),
		fmt.Sprintf("members.owner: %s has an entry for the set of %s but is not in it", id, ownerOf(0)),
		fmt.Sprintf("members.owner: the key %x is not a pair of ids", "short"),
	}
	if found := verifySets(t, s, false); !slices.Equal(found, want) {
		t.Errorf("it found %q", found)
	}
	for i := range want {
		want[i] = wasRepaired + want[i]
	}
	if found := verifySets(t, s, true); !slices.Equal(found, want) {
		t.Errorf("it repaired %q", found)
	}
	if after, err := s.Dump(orgA); err != nil || after != before {
		t.Errorf("it is not what it was: %v\n%s", err, difference(before, after))
	}
	if found := verifySets(t, s, false); found != nil {
		t.Errorf("after the repair: %q", found)
	}
}
