package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
)

func drop(tx *Tx) error { tx.DropOrganization(); return nil }

func wantOrganizations(t *testing.T, s *Store, want ...uuid.UUID) {
	t.Helper()
	if got, err := s.Organizations(); err != nil || !slices.Equal(got, want) {
		t.Errorf("the organizations are %v, %v, want %v", got, err, want)
	}
}

// wantGone looks for organization A in every way: nothing of it is left, and nothing can be written
// to it.
func wantGone(t *testing.T, s *Store) {
	t.Helper()
	wantOrganizations(t, s, orgB)
	if dump, err := s.Dump(orgA); err != nil || dump != "" {
		t.Errorf("there is left %q, %v", dump, err)
	}
	read(t, s, orgA, func(tx *Tx) error {
		if n, last := people.Count(tx), tx.LastChange("people"); n != 0 || last != 0 {
			t.Errorf("it has %d people, the last change is %d", n, last)
		}
		_, err := people.Get(tx, ann)
		wantCode(t, err, fault.NotFound)
		if _, found := people.Find(tx, "email", []byte("a@x")); found {
			t.Error("a unique key of it is found")
		}
		return nil
	})
	if org, _, found, err := s.Lookup("people", "token", []byte("t")); err != nil || found {
		t.Errorf("a global key of it is found in %s, %v", org, err)
	}
	if jobs, _, err := s.Due(s.Now().Add(99*time.Hour), 99, nil, nil); err != nil || slices.ContainsFunc(jobs, func(j Job) bool { return j.Org == orgA }) {
		t.Errorf("due is %v, %v", jobs, err)
	}
	wantCode(t, tryInsert(s, orgA, person{Name: "again"}), fault.NotFound)
	wantCode(t, s.Update(context.Background(), orgA, boss, drop), fault.NotFound)
	err := s.Update(context.Background(), orgA, boss, func(tx *Tx) error { _, err := tx.Enqueue("mail", tx.Now(), nil); return err })
	wantCode(t, err, fault.NotFound)
	if found := lookAt(t, s, orgB); found != nil {
		t.Errorf("a check finds %q", found)
	}
}

// lookAt checks the file and the people of one organization.
func lookAt(t *testing.T, s *Store, org uuid.UUID) (found findings) {
	t.Helper()
	if err := s.Verify(t.Context(), false, found.report); err != nil {
		t.Fatal(err)
	}
	read(t, s, org, func(tx *Tx) error { return people.Verify(tx, found.report) })
	return found
}

// without returns the content of the file except that of organization A and the record of its
// deletion.
func without(t *testing.T, s *Store, org uuid.UUID) string {
	t.Helper()
	var lines []string
	for l := range strings.Lines(everything(t, s)) {
		of := fmt.Sprintf("%q", org[:])
		if !strings.Contains(l, org.String()) && !strings.Contains(l, of[1:len(of)-1]) && !strings.HasPrefix(l, "gone") && !strings.HasPrefix(l, "trash") {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "")
}

func TestDropOrganization(t *testing.T) {
	dir := t.TempDir()
	clock := newClock()
	opt := clock.options()
	s := open(t, dir, opt)
	for i, org := range []uuid.UUID{orgA, orgB} {
		for j := range 3 {
			insert(t, s, org, person{Name: fmt.Sprint(j), Email: fmt.Sprint(j, "@x"), Tags: []string{"red"}, hidden: hidden{Token: fmt.Sprint("t", i, j)}})
			enqueue(t, s, org, []string{"mail", "sweep", "mail"}[j], clock.after(j))
		}
	}
	insert(t, s, orgA, person{Name: "ann", hidden: hidden{Token: "t"}})
	enqueue(t, s, orgA, "sweep", clock.Now())
	wantOrganizations(t, s, orgA, orgB)
	before := without(t, s, orgA)
	dumpB, err := s.Dump(orgB)
	if err != nil {
		t.Fatal(err)
	}

	write(t, s, orgA, drop)
	for range 2 {
		wantGone(t, s)
		if after := without(t, s, orgA); after != before {
			t.Errorf("of the other organization there changed\n%s", difference(before, after))
		}
		if again, err := s.Dump(orgB); err != nil || again != dumpB {
			t.Errorf("the other organization changed, %v", err)
		}
		wantDue(t, s, clock.after(9), "b:mail b:sweep b:mail")
		wantSound(t, s)
		if err := s.Close(); err != nil { // the same after reopening
			t.Fatal(err)
		}
		s = open(t, dir, opt)
	}
	if err := s.EmptyTrash(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantGone(t, s)
	if all := everything(t, s); strings.Contains(all, "trash/") || strings.Contains(all, orgA.String()) {
		t.Error("the trash is not empty")
	}
	wantSound(t, s)
	insert(t, s, orgB, person{Name: "taken over", hidden: hidden{Token: "t"}}) // its keys are free
	if found := lookAt(t, s, orgB); found != nil {
		t.Errorf("a check finds %q", found)
	}
}

// TestDropInSharedCommit has requests of the organization before and after its deletion in one
// commit.
func TestDropInSharedCommit(t *testing.T) {
	for _, known := range []bool{true, false} { // whether it existed before
		opt, commits := counting()
		s := open(t, t.TempDir(), opt)
		insert(t, s, orgB, person{Name: "b"})
		if known {
			for i := range 50 {
				insert(t, s, orgA, person{Name: "first", Email: fmt.Sprint(i), Tags: []string{"red"}, hidden: hidden{Token: fmt.Sprint("t", i)}})
			}
		}
		commits.Store(0)
		put := func(name string) func(*Tx) error {
			return func(tx *Tx) error {
				if _, err := tx.Enqueue("mail", tx.Now(), nil); err != nil {
					return err
				}
				_, err := people.Insert(tx, tx.NewID(), person{Name: name, Email: name, Tags: []string{"red"}, hidden: hidden{Token: name}})
				return err
			}
		}
		steps := []struct {
			org uuid.UUID
			do  func(*Tx) error
			ok  bool
		}{
			{orgA, put("before"), true},
			{orgB, put("before in b"), true},
			{orgA, func(tx *Tx) error { return errors.Join(put("in it")(tx), drop(tx)) }, true},
			{orgA, put("behind"), false},
			{orgB, put("behind in b"), true},
			{orgA, drop, false},
			{orgB, put("last in b"), true},
		}
		release := hold(t, s)
		errs := make([]error, len(steps))
		var wg sync.WaitGroup
		for i, step := range steps {
			wg.Go(func() { errs[i] = s.Update(context.Background(), step.org, boss, step.do) })
			waitQueued(s, i+1)
		}
		release()
		wg.Wait()
		if n := commits.Load(); n != 1 {
			t.Errorf("%d commits", n)
		}
		for i, step := range steps {
			if errs[i] != nil && (step.ok || fault.CodeOf(errs[i]) != fault.NotFound) || errs[i] == nil && !step.ok {
				t.Errorf("known %t: update %d: %v", known, i, errs[i])
			}
		}
		if got := names(t, s, orgB); got != "b before in b behind in b last in b" {
			t.Errorf("the other organization has %q", got)
		}
		wantDue(t, s, s.Now(), "b:mail b:mail b:mail")
		wantGone(t, s)
		wantSound(t, s)
		if err := s.EmptyTrash(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantGone(t, s)
		wantSound(t, s)
	}
}

func TestADropThatFails(t *testing.T) {
	opt, fail, _ := failingDisk()
	s := open(t, t.TempDir(), opt)
	insert(t, s, orgA, person{Name: "ann", hidden: hidden{Token: "t"}})
	insert(t, s, orgB, person{Name: "b"})
	enqueue(t, s, orgA, "mail", s.Now())
	before := everything(t, s)
	err := s.Update(context.Background(), orgA, boss, func(tx *Tx) error { tx.DropOrganization(); return errRefused })
	if !errors.Is(err, errRefused) {
		t.Error(err)
	}
	if err := s.View(orgA, drop); err == nil {
		t.Error("it was dropped in a view")
	}
	failure := error(&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	fail.Store(&failure)
	wantCode(t, s.Update(context.Background(), orgA, boss, drop), fault.Unavailable)
	fail.Store(nil)
	if after := everything(t, s); after != before {
		t.Errorf("it changed\n%s", difference(before, after))
	}
	insert(t, s, orgA, person{Name: "alive"})
	wantSound(t, s)
}

// TestDropIncompleteOrganization deletes an organization whose records are not completed yet.
func TestDropIncompleteOrganization(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	useShapes(t, s, oldCards)
	insertOldCards(t, s, orgA, 3)
	kept := insertOldCards(t, s, orgB, 3)[0]
	useShapes(t, s, cards)
	write(t, s, orgA, drop)
	wantSound(t, s)
	wantForms(t, s, orgB, kept, completeCard)
	completeAll(t, s)
	wantSound(t, s)
}
