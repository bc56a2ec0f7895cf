package store

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// word is a record that is found by a text in a form that changes between versions.
type word struct {
	Text string `json:"text"`
}

func wordTable(version string, form func(string) string) *Table[word] {
	return NewTable("words", nil, []Key[word]{
		TextKey("form", func(w *word) string { return form(w.Text) }).At(version),
		TextKey("plain", func(w *word) string { return w.Text }),
	}).WithShape(Shape{Fingerprint: "1"})
}

// TestKeyVersions checks that keys with another version are rebuilt, in every organization, and that
// nothing else changes.
func TestKeyVersions(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	orgs := []uuid.UUID{uuid.New(), uuid.New(), uuid.Nil}
	exact := wordTable("1", func(s string) string { return s })
	use := func(table *Table[word]) {
		t.Helper()
		if err := s.UseShapes(t.Context(), table); err != nil {
			t.Fatal(err)
		}
	}
	use(exact)
	for _, org := range orgs {
		err := s.Update(t.Context(), org, Actor{}, func(tx *Tx) error {
			for _, text := range []string{"a", "A", "b", ""} {
				if _, err := exact.Insert(tx, tx.NewID(), word{text}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	found := func(table *Table[word], text string) []int {
		t.Helper()
		var counts []int
		for _, org := range orgs {
			err := s.View(org, func(tx *Tx) error {
				ids, err := table.IDs(tx, "form", []byte(text), 0)
				counts = append(counts, len(ids))
				if err == nil {
					err = table.Verify(tx, func(_ bool, format string, args ...any) { t.Errorf(format, args...) })
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return counts
	}
	folded := wordTable("2", strings.ToLower)
	use(folded)
	if got := found(folded, "a"); !slices.Equal(got, []int{2, 2, 2}) {
		t.Errorf("a folded key finds %v records", got)
	}
	none := wordTable("3", func(string) string { return "" })
	use(none)
	if got := found(none, "a"); !slices.Equal(got, []int{0, 0, 0}) {
		t.Errorf("a key without values finds %v records", got)
	}
	before, err := s.Dump(orgs[0])
	if err != nil {
		t.Fatal(err)
	}
	use(none) // has nothing to do
	use(wordTable("4", func(string) string { return "" }))
	if after, err := s.Dump(orgs[0]); err != nil || after != before {
		t.Errorf("a rebuild without differences changed something (%v)", err)
	}
	use(exact)
	if got := found(exact, "A"); !slices.Equal(got, []int{1, 1, 1}) {
		t.Errorf("the exact key finds %v records", got)
	}
}

// TestUpgradeOnce checks that an upgrade runs until it succeeds, and then never again.
func TestUpgradeOnce(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 {
		if err := s.Update(t.Context(), uuid.New(), Actor{}, func(tx *Tx) error { tx.put("x", []byte("k"), nil); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	runs := 0
	upgrade := func(result error) error {
		return s.upgradeOnce(t.Context(), "test", func(uuid.UUID, Actor) error { runs++; return result })
	}
	if err := upgrade(ErrDamaged); err == nil || runs != 1 {
		t.Errorf("a failed upgrade returned %v after %d runs", err, runs)
	}
	for range 2 {
		if err := upgrade(nil); err != nil || runs != 3 {
			t.Errorf("%v after %d runs", err, runs)
		}
	}
}
