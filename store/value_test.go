package store

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestValueRoundTripAndEveryFlippedBit(t *testing.T) {
	for _, version := range []uint64{7, 3} {
		v := encodeValue(9, 7, version, []byte(`{"p":1}`), []byte(`{"name":"ann"}`))
		change, private, public, err := decodeValue(9, v)
		if err != nil || change != 7 || versionOf(v) != version || string(private) != `{"p":1}` || string(public) != `{"name":"ann"}` {
			t.Fatalf("%d %s %s %v", change, private, public, err)
		}
		for bit := range len(v) * 8 {
			if _, _, _, err := decodeValue(9, flipped(v, bit)); !errors.Is(err, ErrDamaged) {
				t.Errorf("value, bit %d: %v", bit, err)
			}
		}
		for n := range v {
			if _, _, _, err := decodeValue(9, v[:n]); !errors.Is(err, ErrDamaged) {
				t.Errorf("value, first %d bytes: %v", n, err)
			}
		}
	}
	sealed := seal(9, []byte("body"))
	if body, err := unseal(9, sealed); err != nil || string(body) != "body" {
		t.Fatalf("%s %v", body, err)
	}
	for bit := range len(sealed) * 8 {
		if _, err := unseal(9, flipped(sealed, bit)); !errors.Is(err, ErrDamaged) {
			t.Errorf("sealed, bit %d: %v", bit, err)
		}
	}
}

func flipped(b []byte, bit int) []byte {
	b = bytes.Clone(b)
	b[bit/8] ^= 1 << (bit % 8)
	return b
}

func TestIDs(t *testing.T) {
	clock := newClock()
	dir := t.TempDir()
	var all []uuid.UUID
	make := func(s *Store, n int) {
		write(t, s, orgA, func(tx *Tx) error {
			for range n {
				all = append(all, tx.NewID())
			}
			_, err := people.Insert(tx, all[len(all)-1], person{Name: "p"})
			return err
		})
	}
	s := open(t, dir, clock.options())
	make(s, 1)
	if sec, nsec := all[0].Time().UnixTime(); !time.Unix(sec, nsec).Equal(clock.Now()) {
		t.Errorf("an id tells %v, the clock %v", time.Unix(sec, nsec), clock.Now())
	}
	make(s, 10_000) // more than the 4,096 that fit into one millisecond
	clock.move(-time.Hour)
	make(s, 10)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	clock.move(-time.Hour)
	s = open(t, dir, clock.options())
	make(s, 10)
	clock.move(24 * time.Hour)
	make(s, 1)

	if !slices.IsSortedFunc(all, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }) {
		t.Error("ids run backwards")
	}
	if n := len(slices.Compact(slices.Clone(all))); n != len(all) {
		t.Errorf("%d of %d ids are the same as the one before", len(all)-n, len(all))
	}
	for _, id := range all {
		if id.Version() != 7 || id.Variant() != uuid.RFC4122 {
			t.Fatalf("%s has version %d and variant %s", id, id.Version(), id.Variant())
		}
	}
	if sec, _ := all[len(all)-1].Time().UnixTime(); sec != clock.Now().Unix() {
		t.Error("ids do not come back to the clock")
	}
}

// History is kept for 90 days.
func TestHistoryIsKeptAsPromised(t *testing.T) {
	if historyKept != 90*24*time.Hour {
		t.Error(historyKept)
	}
}
