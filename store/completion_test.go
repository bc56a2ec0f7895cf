package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// oldCard and card are the same kind of record before and after it gained the members note and stage. New cards and
// cards that were stored before have the stage "new".
type (
	oldCard struct {
		Title string   `json:"title"`
		Tags  []string `json:"tags"`
	}
	card struct {
		Title string   `json:"title"`
		Note  *string  `json:"note"`
		Tags  []string `json:"tags"`
		Stage string   `json:"stage"`
	}
)

func tagKeys(tags []string) (keys [][]byte, err error) {
	for _, tag := range tags {
		keys = append(keys, []byte(tag))
	}
	return keys, nil
}

var oldCards = NewTable("cards", nil, []Key[oldCard]{
	{Name: "tag", Of: func(_ *Tx, c *oldCard) ([][]byte, error) { return tagKeys(c.Tags) }},
}).WithShape(Shape{Fingerprint: "title tags"})

var cards = NewTable("cards", nil, []Key[card]{
	{Name: "tag", Of: func(_ *Tx, c *card) ([][]byte, error) { return tagKeys(c.Tags) }},
	TextKey("stage", func(c *card) string { return c.Stage }),
}).WithShape(Shape{Fingerprint: "title note tags stage", SetDefaults: func(public []byte) ([]byte, error) {
	if bytes.Contains(public, []byte(`"stage":`)) {
		return public, nil
	}
	return append(bytes.Clone(public[:len(public)-1]), `,"stage":"new"}`...), nil
}})

func useShapes(t testing.TB, s *Store, tables ...ShapedTable) {
	t.Helper()
	if err := s.UseShapes(t.Context(), tables...); err != nil {
		t.Fatal(err)
	}
}

func reopen(t testing.TB, s *Store) *Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, filepath.Dir(s.path), Options{Clock: s.opt.Clock})
}

// insertOldCards stores n cards as the program without note and stage does.
func insertOldCards(t testing.TB, s *Store, org uuid.UUID, n int) (ids []uuid.UUID) {
	t.Helper()
	write(t, s, org, func(tx *Tx) error {
		for i := range n {
			d, err := oldCards.Insert(tx, tx.NewID(), oldCard{Title: fmt.Sprint("card ", i), Tags: []string{"red"}})
			if err != nil {
				return err
			}
			ids = append(ids, d.ID)
		}
		return nil
	})
	return ids
}

// cardForms returns the JSON of a card as every way out of the store shows it.
func cardForms(tx *Tx, id uuid.UUID) (map[string]string, error) {
	forms := map[string]string{}
	got, err := cards.Get(tx, id)
	if err != nil {
		return nil, err
	}
	forms["Get"] = string(got.JSON)
	decoded, err := json.Marshal(got.Record)
	if err != nil {
		return nil, err
	}
	forms["Get, decoded"] = string(decoded)
	public, err := cards.Public(tx, id)
	forms["Public"] = string(public)
	if err != nil {
		return nil, err
	}
	undecoded, _, err := cards.GetUndecoded(tx, id)
	forms["GetUndecoded"] = string(undecoded.JSON)
	if err != nil {
		return nil, err
	}
	if undecoded.Version() != got.Version() {
		return nil, fmt.Errorf("versions %s and %s", undecoded.Version(), got.Version())
	}
	again, err := cards.Reload(tx, got)
	forms["Reload"] = string(again.JSON)
	if err != nil {
		return nil, err
	}
	_, public, err = tx.Reader("cards").Public(id)
	forms["Reader"] = string(public)
	if err != nil {
		return nil, err
	}
	err = tx.Records("cards", uuid.Nil, func(other uuid.UUID, _ uint64, public []byte) (bool, error) {
		if other == id {
			forms["Records"] = string(public)
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return forms, cards.Scan(tx, func(d Doc[card]) (bool, error) {
		if d.ID == id {
			forms["Scan"] = string(d.JSON)
		}
		return true, nil
	})
}

func wantForms(t testing.TB, s *Store, org, id uuid.UUID, want string) {
	t.Helper()
	read(t, s, org, func(tx *Tx) error {
		forms, err := cardForms(tx, id)
		for way, form := range forms {
			if form != want {
				t.Errorf("%s: %s, want %s", way, form, want)
			}
		}
		if len(forms) != 8 {
			t.Errorf("%d ways", len(forms))
		}
		return err
	})
}

func cardProblems(t testing.TB, s *Store, org uuid.UUID, repair bool) (found findings) {
	t.Helper()
	verify := func(tx *Tx) error { return cards.Verify(tx, found.report) }
	if repair {
		write(t, s, org, verify)
	} else {
		read(t, s, org, verify)
	}
	return found
}

func versionOfCard(t testing.TB, s *Store, org, id uuid.UUID) (version string) {
	t.Helper()
	read(t, s, org, func(tx *Tx) error {
		d, err := cards.Get(tx, id)
		version = d.Version()
		return err
	})
	return version
}

// completeAll runs the jobs that complete records until none is left.
func completeAll(t testing.TB, s *Store) {
	t.Helper()
	for {
		jobs, _, err := s.Due(s.Now(), 9, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(jobs) == 0 {
			return
		}
		for _, job := range jobs {
			if job.Kind != CompleteJob {
				t.Fatalf("job %s is due", job.Kind)
			}
			if err := s.CompleteRecords(t.Context(), job); err != nil {
				t.Fatal(err)
			}
		}
	}
}

const completeCard = `{"title":"card 0","note":null,"tags":["red"],"stage":"new"}`

// TestComplete follows records of an older shape from the first read until the job has rewritten them.
func TestComplete(t *testing.T) {
	clock := newClock()
	s := open(t, t.TempDir(), clock.options())
	useShapes(t, s, oldCards)
	ids := insertOldCards(t, s, orgA, 2*completeLimit+7)
	other := insertOldCards(t, s, orgB, 1)[0]
	stored := versionOfCard(t, s, orgA, ids[0])
	s = reopen(t, s)
	before := everything(t, s)
	useShapes(t, s, oldCards)
	if after := everything(t, s); after != before {
		t.Errorf("the same shape changed\n%s", difference(before, after))
	}
	clock.move(time.Hour)

	useShapes(t, s, cards)
	if n := len(slices.Collect(dueJobs(t, s))); n != 2 {
		t.Errorf("%d jobs, want one for each organization", n)
	}
	wantForms(t, s, orgA, ids[0], completeCard)
	wantForms(t, s, orgB, other, completeCard)
	shown := versionOfCard(t, s, orgA, ids[0])
	if shown == stored {
		t.Errorf("the version is %s with and without the new members", shown)
	}
	if found := cardProblems(t, s, orgA, false); found != nil {
		t.Errorf("while records are incomplete: %q", found)
	}

	// A record that is changed before the job runs is complete, and its history has both changes.
	write(t, s, orgA, func(tx *Tx) error {
		d, err := cards.Get(tx, ids[1])
		if err != nil {
			return err
		}
		rec := d.Record
		rec.Stage = "won"
		_, err = cards.Update(tx, d, rec, []string{"stage"})
		return err
	})
	wantForms(t, s, orgA, ids[1], `{"title":"card 1","note":null,"tags":["red"],"stage":"won"}`)
	if err := s.BeginEpoch(t.Context()); err != nil { // a backup of it is restored
		t.Fatal(err)
	}
	s = reopen(t, s)
	useShapes(t, s, cards)
	wantForms(t, s, orgA, ids[0], completeCard)
	if version := versionOfCard(t, s, orgA, ids[0]); version != shown {
		t.Errorf("the version was %s and is %s after a restart", shown, version)
	}

	completeAll(t, s)
	wantForms(t, s, orgA, ids[0], completeCard)
	wantForms(t, s, orgA, ids[len(ids)-1], fmt.Sprintf(`{"title":"card %d","note":null,"tags":["red"],"stage":"new"}`, len(ids)-1))
	if version := versionOfCard(t, s, orgA, ids[0]); version == shown || version == stored {
		t.Errorf("the rewritten record has the version %s of another form", version)
	}
	for _, org := range []uuid.UUID{orgA, orgB} {
		if found := cardProblems(t, s, org, false); found != nil {
			t.Errorf("at the end: %q", found)
		}
	}
	read(t, s, orgA, func(tx *Tx) error {
		for id, want := range map[uuid.UUID][][]string{
			ids[0]: {{"upgrade", "note", "stage"}, {boss.Operation}},
			ids[1]: {{boss.Operation, "stage"}, {"upgrade", "note", "stage"}, {boss.Operation}},
		} {
			var got [][]string
			err := tx.History("cards", id, func(c Change) (bool, error) {
				got = append(got, append([]string{c.Actor.Operation}, c.Fields...))
				return true, nil
			})
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("the history is %q, %v, want %q", got, err, want)
			}
		}
		if staged, err := cards.IDs(tx, "stage", []byte("new"), 0); err != nil || len(staged) != len(ids)-1 {
			t.Errorf("%d records have the key of the new member: %v", len(staged), err)
		}
		if tx.get(incompleteShared, incompleteKey(orgA, "cards")) != nil {
			t.Error("the mark is still there")
		}
		return nil
	})
	if after := reopen(t, s); true {
		useShapes(t, after, cards)
		if n := len(slices.Collect(dueJobs(t, after))); n != 0 {
			t.Errorf("%d jobs after all records were completed", n)
		}
		if after.mayBeIncomplete.Load() {
			t.Error("reads look for marks that nobody made")
		}
	}
}

func dueJobs(t testing.TB, s *Store) func(func(Job) bool) {
	jobs, _, err := s.Due(s.Now(), 99, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Values(jobs)
}

// TestCompleteKilled ends the process after each commit of the job, by opening a copy of the file as it is then.
func TestCompleteKilled(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	useShapes(t, s, oldCards)
	ids := insertOldCards(t, s, orgA, 2*completeLimit+7)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	copies := 0
	s = open(t, dir, Options{commit: func(btx *bolt.Tx) error {
		if err := btx.Commit(); err != nil {
			return err
		}
		copies++
		whole, err := os.ReadFile(filepath.Join(dir, FileName))
		if err != nil {
			return err
		}
		at := filepath.Join(dir, fmt.Sprint("copy", copies))
		return errors.Join(os.Mkdir(at, 0o700), os.WriteFile(filepath.Join(at, FileName), whole, 0o600))
	}})
	useShapes(t, s, cards)
	completeAll(t, s)
	if copies != 4 { // the mark, and three batches
		t.Errorf("%d commits", copies)
	}
	for n := range copies {
		t.Run(fmt.Sprint("commit ", n+1), func(t *testing.T) {
			s := open(t, filepath.Join(dir, fmt.Sprint("copy", n+1)), Options{})
			useShapes(t, s, cards)
			for _, when := range []string{"before", "after"} {
				wantForms(t, s, orgA, ids[0], completeCard)
				wantForms(t, s, orgA, ids[completeLimit], fmt.Sprintf(`{"title":"card %d","note":null,"tags":["red"],"stage":"new"}`, completeLimit))
				if found := cardProblems(t, s, orgA, false); found != nil {
					t.Errorf("%s the rest is completed: %q", when, found)
				}
				completeAll(t, s)
			}
			read(t, s, orgA, func(tx *Tx) error {
				if last := tx.LastChange("cards"); last != 2*uint64(len(ids)) {
					t.Errorf("%d changes for %d records: some were rewritten twice", last, len(ids))
				}
				return nil
			})
		})
	}
}

// TestCompleteInterrupted cancels the job; the next run continues after the records that are done.
func TestCompleteInterrupted(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	useShapes(t, s, oldCards)
	insertOldCards(t, s, orgA, 2*completeLimit)
	useShapes(t, s, cards)
	job := slices.Collect(dueJobs(t, s))[0]
	ctx, cancel := context.WithCancel(t.Context())
	s.opt.Committed = func(context.Context, uuid.UUID, map[string]uint64) { cancel() }
	if err := s.CompleteRecords(ctx, job); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	read(t, s, orgA, func(tx *Tx) error {
		at, err := tx.incompleteRange("cards")
		if err != nil || at == nil || at.After == uuid.Nil {
			t.Errorf("the mark is %+v, %v", at, err)
		}
		return nil
	})
	s.opt.Committed = nil
	completeAll(t, s)
	if found := cardProblems(t, s, orgA, false); found != nil {
		t.Errorf("at the end: %q", found)
	}
}

// TestShapeChangesAgain marks records again before those of the first change are rewritten.
func TestShapeChangesAgain(t *testing.T) {
	type newest struct {
		card
		Done bool `json:"done"`
	}
	newestCards := NewTable[newest]("cards", nil, nil).WithShape(Shape{Fingerprint: "and done"})
	s := open(t, t.TempDir(), Options{})
	useShapes(t, s, oldCards)
	id := insertOldCards(t, s, orgA, 3)[0]
	useShapes(t, s, cards)
	first := versionOfCard(t, s, orgA, id)
	useShapes(t, s, newestCards)
	if n := len(slices.Collect(dueJobs(t, s))); n != 1 {
		t.Errorf("%d jobs", n)
	}
	check := func(when string) {
		read(t, s, orgA, func(tx *Tx) error {
			d, err := newestCards.Get(tx, id)
			if want := `{"title":"card 0","note":null,"tags":["red"],"stage":"","done":false}`; string(d.JSON) != want {
				t.Errorf("%s: %s", when, d.JSON)
			}
			if d.Version() == first {
				t.Errorf("%s: version %s names two forms", when, first)
			}
			return err
		})
	}
	check("marked again")
	completeAll(t, s)
	check("completed")
}

// TestVerifyIncomplete has a record that lacks members in a table without a mark.
func TestVerifyIncomplete(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	useShapes(t, s, cards)
	write(t, s, orgA, func(tx *Tx) error {
		_, err := cards.Insert(tx, tx.NewID(), card{Title: "whole", Stage: "won"})
		return err
	})
	if found := cardProblems(t, s, orgA, false); found != nil {
		t.Errorf("a new record: %q", found)
	}
	id := insertOldCards(t, s, orgA, 1)[0]
	want := fmt.Sprintf("cards %s: it was written before note, stage existed and was not completed", id)
	if found := cardProblems(t, s, orgA, false); !slices.Contains(found, want) {
		t.Errorf("found %q", found)
	}
	if found := cardProblems(t, s, orgA, true); !slices.Contains(found, wasRepaired+want) {
		t.Errorf("found %q", found)
	}
	wantForms(t, s, orgA, id, completeCard)
	if found := cardProblems(t, s, orgA, false); found != nil {
		t.Errorf("after the repair: %q", found)
	}
}

// TestCompleteUnderTombstone completes records from which a tag was deleted.
func TestCompleteUnderTombstone(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	useShapes(t, s, oldCards)
	id := insertOldCards(t, s, orgA, 3)[0]
	useShapes(t, s, cards)
	tomb := Tombstone{Field: "tags", Value: "red", Key: "tag", Prefix: []byte("red\x00")}
	completed := versionOfCard(t, s, orgA, id)
	write(t, s, orgA, func(tx *Tx) (err error) {
		tomb, err = cards.AddTombstone(tx, tomb)
		return err
	})
	const want = `{"title":"card 0","note":null,"tags":[],"stage":"new"}`
	wantForms(t, s, orgA, id, want)
	if version := versionOfCard(t, s, orgA, id); version == completed {
		t.Errorf("version %s names two forms", version)
	}
	completeAll(t, s)
	wantForms(t, s, orgA, id, want)
	write(t, s, orgA, func(tx *Tx) error {
		more, err := cards.Sweep(tx, tomb, 9)
		if more {
			t.Error("there is more to sweep")
		}
		return err
	})
	wantForms(t, s, orgA, id, want)
	if found := cardProblems(t, s, orgA, false); found != nil {
		t.Errorf("at the end: %q", found)
	}
}

// TestTouchIncomplete: the version of a touched record names neither of its earlier forms.
func TestTouchIncomplete(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	useShapes(t, s, oldCards)
	id := insertOldCards(t, s, orgA, 1)[0]
	stored := versionOfCard(t, s, orgA, id)
	useShapes(t, s, cards)
	shown := versionOfCard(t, s, orgA, id)
	write(t, s, orgA, func(tx *Tx) error {
		d, err := cards.Get(tx, id)
		if err != nil {
			return err
		}
		rec := d.Record
		rec.Title = "touched"
		return cards.Touch(tx, d, rec, []string{"title"})
	})
	if version := versionOfCard(t, s, orgA, id); version == stored || version == shown {
		t.Errorf("version %s names two forms", version)
	}
}
