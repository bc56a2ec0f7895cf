package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// TestGlobalKeyOfOtherOrganization has a global key that leads to another organization. Each
// organization reports only what it can know.
func TestGlobalKeyOfOtherOrganization(t *testing.T) {
	s, _ := healthy(t)
	before := everything(t, s)
	names := append(bytes.Clone(orgB[:]), eve[:]...)
	plantShared(t, s, tokens, []byte("t"), exactly(names))
	alsoB := fmt.Sprintf("people %s: its unique key token also belongs to %x", ann, names)
	stray := strayUnique("token", "t")

	if found := look(t, s, true); !slices.Equal(found, findings{alsoB, stray}) {
		t.Errorf("it found %q", found)
	}
	if found := look(t, s, true); !slices.Equal(found, findings{noToken}) {
		t.Errorf("and then %q", found)
	}
	if after := everything(t, s); after != before {
		t.Errorf("it is not what it was:\n%s", difference(before, after))
	}
	if found := look(t, s, true); found != nil {
		t.Errorf("after the repair: %q", found)
	}
}

// TestGlobalKeyOfTwoOrganizations has one global key in records of two organizations. It stays with
// the record that it leads to.
func TestGlobalKeyOfTwoOrganizations(t *testing.T) {
	s, _ := healthy(t)
	rewriteB := encodeValue((&Tx{org: orgB}).placeSum("people.rec", eve[:]), 1, 1, []byte(`{"token":"t"}`), []byte(`{"name":"eve","email":"a@x","tags":["red"]}`))
	plant(t, s, orgB, "people.rec", eve[:], exactly(rewriteB))
	plantShared(t, s, tokens, []byte("e"), nothing)
	planted := everything(t, s)
	also := fmt.Sprintf("people %s: its unique key token also belongs to %x", eve, append(bytes.Clone(orgA[:]), ann[:]...))
	for range 2 {
		if found := look(t, s, true); !slices.Equal(found, findings{also}) {
			t.Errorf("it found %q", found)
		}
	}
	if after := everything(t, s); after != planted {
		t.Errorf("it changed:\n%s", difference(planted, after))
	}
}

// TestGlobalKeyOfDeletedOrganization removes the key of a deleted organization and gives it back to
// the record that has it, in the same check.
func TestGlobalKeyOfDeletedOrganization(t *testing.T) {
	s, _ := healthy(t)
	before := everything(t, s)
	plantShared(t, s, tokens, []byte("t"), exactly(append(bytes.Clone(nobody[:]), ann[:]...)))
	want := findings{
		fmt.Sprintf(wasRepaired+"%s: the key %x belongs to an organization that does not exist", tokens, "t"), noToken,
	}
	if found := look(t, s, true); !slices.Equal(found, want) {
		t.Errorf("it found %q", found)
	}
	if after := everything(t, s); after != before {
		t.Errorf("it is not what it was:\n%s", difference(before, after))
	}
}

// TestRepairedJobWakes: a repaired job wakes the worker, which would not look for it otherwise.
func TestRepairedJobWakes(t *testing.T) {
	s, jobs := healthy(t)
	plantShared(t, s, "due", jobs[0].dueKey(), nothing)
	write(t, s, orgB, func(*Tx) error { return nil }) // all earlier signals were sent before this
	select {
	case <-s.Wake():
	default:
	}
	look(t, s, true)
	write(t, s, orgB, func(*Tx) error { return nil })
	select {
	case <-s.Wake():
	default:
		t.Error("nobody was woken")
	}
	if got, _ := dueKinds(t, s, s.Now(), 9); got != "a:mail b:mail" {
		t.Errorf("due is %q", got)
	}
}

// TestVerifyUnderTombstone ignores keys that a sweep has not reached yet, and reports other stray
// keys.
func TestVerifyUnderTombstone(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	table, dead, live := notes(nil), numberedID(9, 1), numberedID(9, 2)
	var ids []uuid.UUID
	var tomb Tombstone
	write(t, s, orgA, func(tx *Tx) error {
		for range 4 {
			d, err := table.Insert(tx, tx.NewID(), note{Tags: []uuid.UUID{dead, live}})
			if err != nil {
				return err
			}
			ids = append(ids, d.ID)
		}
		var err error
		tomb, err = table.AddTombstone(tx, deadReference("tags", dead))
		return err
	})
	check := func(repair bool) (found findings) {
		t.Helper()
		verify := func(tx *Tx) error { return table.Verify(tx, found.report) }
		if repair {
			write(t, s, orgA, verify)
		} else {
			read(t, s, orgA, verify)
		}
		return found
	}
	before := everything(t, s)
	if found := check(true); found != nil {
		t.Errorf("under a tombstone: %q", found)
	}
	if after := everything(t, s); after != before {
		t.Errorf("it changed:\n%s", difference(before, after))
	}
	plant(t, s, orgA, "notes.key.tags", keyEntry(live[:], ids[1]), nothing)
	plant(t, s, orgA, "notes.key.tags", keyEntry(live[:], nobody), exactly([]byte{}))
	stray := fmt.Sprintf("notes: the key tags has %q, which belongs to no record", keyEntry(live[:], nobody))
	missing := fmt.Sprintf("notes %s: its key tags is missing", ids[1])
	if found := check(false); !slices.Equal(found, findings{missing, stray}) {
		t.Errorf("beside a tombstone: %q", found)
	}
	if found := check(true); !slices.Equal(found, findings{wasRepaired + missing, wasRepaired + stray}) {
		t.Errorf("beside a tombstone: %q", found)
	}
	if after := everything(t, s); after != before {
		t.Errorf("it is not what it was:\n%s", difference(before, after))
	}
	write(t, s, orgA, func(tx *Tx) error {
		more, err := table.Sweep(tx, tomb, 9)
		if more {
			err = errors.New("there is more to sweep")
		}
		return err
	})
	if found := check(false); found != nil {
		t.Errorf("after the sweep: %q", found)
	}
}

// TestVerifyFails: a repair that fails keeps none of its changes.
func TestVerifyFails(t *testing.T) {
	s, _ := healthy(t)
	plant(t, s, orgA, tags, tagged("blue", ann), nothing)
	planted := everything(t, s)
	err := s.Update(context.Background(), orgA, boss, func(tx *Tx) error {
		return errors.Join(people.Verify(tx, func(bool, string, ...any) {}), errRefused)
	})
	if !errors.Is(err, errRefused) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Verify(ctx, true, func(bool, string, ...any) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("it was cancelled: %v", err)
	}
	if after := everything(t, s); after != planted {
		t.Errorf("it changed:\n%s", difference(planted, after))
	}
}

// TestKeysOutOfOrder has a key on its page where no lookup finds it.
func TestKeysOutOfOrder(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	insert(t, s, orgA, person{Name: "p", Tags: []string{"aaaa", "mmmm", "pppp"}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FileName)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(file, []byte("mmmm\x00"), []byte("zzzz\x00")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, Options{})
	wantLine(t, err, fmt.Sprintf("of orgs/%s/people.key.tag: its keys are out of order", orgA))
}

// TestRecordOutOfOrder has a record with a damaged id on its page. The file is rebuilt with both ids: that
// of the page, and the one that the change log has.
func TestRecordOutOfOrder(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	write(t, s, orgA, func(tx *Tx) error {
		for i := range 3 {
			if _, err := people.Insert(tx, numberedID(1, i+1), person{Name: fmt.Sprint(i)}); err != nil {
				return err
			}
		}
		return nil
	})
	var there []byte // the key and the value that follows it
	read(t, s, orgA, func(tx *Tx) error {
		there = append(bytes.Clone(ann[:]), tx.get("people.rec", ann[:])...)
		return nil
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FileName)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(file, there, append(nobody[:], there[16:]...)), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{Rebuild: true})
	if err := s.UseShapes(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := problems(t, s, orgA)
	for _, want := range []string{
		fmt.Sprintf("people %s: the store is damaged: a value does not match its checksum", nobody),
		fmt.Sprintf("people %s: the store is damaged: a value has an unknown format", ann),
	} {
		if !slices.Contains(found, want) {
			t.Errorf("it found %q, not %q", found, want)
		}
	}
}

// TestEveryPageIsRead makes the pages of a store unreadable, one at a time. Every page in use is noticed.
func TestEveryPageIsRead(t *testing.T) {
	sam, page := newSample(t), os.Getpagesize()
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	if err := os.WriteFile(path, sam.file, 0o600); err != nil {
		t.Fatal(err)
	}
	used := map[int]bool{}
	s := open(t, dir, Options{})
	err := s.db.View(func(btx *bolt.Tx) error {
		for n := 2; n < len(sam.file)/page; n++ {
			info, err := btx.Page(n)
			if err != nil {
				return err
			}
			used[n] = info.Type == "leaf" || info.Type == "branch"
		}
		return nil
	})
	if err := errors.Join(err, s.Verify(t.Context(), false, func(_ bool, format string, args ...any) {
		t.Errorf("before: "+format, args...)
	}), s.Close()); err != nil {
		t.Fatal(err)
	}
	looked := 0
	for n := range used {
		file := bytes.Clone(sam.file)
		clear(file[n*page:][:page])
		if err := errors.Join(os.Remove(path), os.WriteFile(path, file, 0o600)); err != nil {
			t.Fatal(err)
		}
		inTime(t, fmt.Sprint("page ", n), func() {
			s, err := Open(dir, Options{})
			if err == nil {
				err = s.Verify(t.Context(), false, func(bool, string, ...any) {})
				_ = s.Close()
				looked++
			}
			if used[n] && !errors.Is(err, ErrDamaged) || !used[n] && err != nil && !errors.Is(err, ErrDamaged) {
				t.Errorf("page %d, used %t: %v", n, used[n], err)
			}
		})
	}
	if looked == 0 {
		t.Error("a page that is not in use was noticed too")
	}
}
