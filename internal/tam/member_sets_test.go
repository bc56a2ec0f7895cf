package tam

import (
	"bytes"
	"context"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/store"
)

// withParts runs fn in a write transaction with a table of parts.
func withParts(t *testing.T, fn func(tx *store.Tx, parts *store.Parts)) {
	t.Helper()
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	err = st.Update(context.Background(), uuid.New(), store.Actor{}, func(tx *store.Tx) error {
		fn(tx, store.NewParts("sets"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMemberSetsFormat pins the stored format: dense bitmaps of little-endian words in pieces of
// 65,536 members. The hexadecimal bytes were written by the code that handled the words itself,
// before it used roaring bitmaps.
func TestMemberSetsFormat(t *testing.T) {
	withParts(t, func(tx *store.Tx, parts *store.Parts) {
		preview := uuid.New()
		var sets newMemberSets
		for _, ordinal := range []int{1, 2, 63, 64, 130} {
			sets.add(people, ordinal)
		}
		for _, ordinal := range []int{pieceSize, pieceSize + 9} {
			sets.add(existingMembers, ordinal)
		}
		sets.put(tx, parts, preview)
		for number, want := range map[uint32]string{
			0:   "060000000000008001000000000000000400000000000000",
			256: strings.Repeat("00", pieceSize/8),
			257: "0102000000000000",
		} {
			stored, err := parts.Get(tx, preview, number)
			if err != nil || hex.EncodeToString(stored) != want {
				t.Errorf("piece %d is %x (%v), want %s", number, stored, err, want)
			}
		}

		// Stored pieces of removed members were padded with zeros to the length of the piece.
		removed, _ := hex.DecodeString("0400000000000000" + "0000000000000000" + "0000000000000000")
		parts.Put(tx, preview, 1280, removed) // removedMembers, piece 0
		s := (&TAM{Tables: &Tables{memberSets: parts}}).memberSetsOf(tx, preview, pieceSize+10)
		if !s.has(removedMembers, 2) || s.has(removedMembers, 1) || s.has(removedMembers, 200) {
			t.Error("the padded piece is read incorrectly")
		}
		s.remove(66)
		s.save()
		stored, err := parts.Get(tx, preview, 1280)
		if want, _ := hex.DecodeString("04000000000000000400000000000000"); err != nil || !bytes.Equal(stored, want) {
			t.Errorf("the saved piece is %x (%v), want %x", stored, err, want)
		}
	})
}

// TestMemberSetsFind compares find, companyOf and endOf with a plain slice of members that spans
// three pieces.
func TestMemberSetsFind(t *testing.T) {
	type member struct{ person, importable, removed bool }
	random := rand.New(rand.NewPCG(1, 2))
	members := make([]member, 2*pieceSize+77)
	withParts(t, func(tx *store.Tx, parts *store.Parts) {
		preview := uuid.New()
		var sets newMemberSets
		for n := range members {
			m := &members[n]
			m.person = n > 0 && random.IntN(4) > 0 || n > pieceSize-300 && n < pieceSize+300
			m.importable = random.IntN(3) > 0
			if m.person {
				sets.add(people, n)
			}
			if m.importable {
				sets.add(importableMembers, n)
			}
		}
		sets.put(tx, parts, preview)
		s := (&TAM{Tables: &Tables{memberSets: parts}}).memberSetsOf(tx, preview, len(members))
		for n := range members {
			if random.IntN(50) == 0 {
				members[n].removed = true
				s.remove(n)
			}
		}
		company := 0
		for n, m := range members {
			if !m.person {
				company = n
			} else if n%1000 < 3 || n > pieceSize-5 && n < pieceSize+5 {
				if got := s.companyOf(n); got != company {
					t.Fatalf("the company of %d is %d, want %d", n, got, company)
				}
			}
		}
		if got := s.endOf(s.companyOf(pieceSize)); got < pieceSize+300 || members[got].person {
			t.Errorf("the people of the company end at %d", got)
		}
		for _, selected := range []bool{true, false} {
			var want []uint32
			for n, m := range members {
				if m.person && (m.importable && !m.removed) == selected {
					want = append(want, uint32(n))
				}
			}
			f := MemberFilter{Kind: kindPerson, Selected: &selected}
			for _, from := range []int{0, 1, 1000, len(want) / 2, len(want) - 1, len(want), len(want) + 5} {
				got, total := s.find(f, from, 50_000)
				if page := want[min(from, len(want)):min(from+50_000, len(want))]; total != len(want) || !slices.Equal(got, page) {
					t.Errorf("from %d find returns %d of %d, want %d of %d", from, len(got), total, len(page), len(want))
				}
			}
		}
		if s.err != nil {
			t.Error(s.err)
		}
	})
}
