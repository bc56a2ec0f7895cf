package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
)

// noteWorld is a table with a plain model of its records.
type noteWorld struct {
	s       *Store
	rng     *rand.Rand
	table   *Table[note]
	members memberIDs
	refs    []uuid.UUID
	tombs   []Tombstone // those that are not fully swept
	order   []uuid.UUID
	model   map[uuid.UUID]note
	forms   map[string]string // the form of each version of each record
	made    int
}

// check compares every way of reading with the model.
func (w *noteWorld) check(tx *Tx) error {
	var complaints []error
	complain := func(format string, args ...any) { complaints = append(complaints, fmt.Errorf(format, args...)) }
	reader, others := tx.Reader("notes"), 0
	for _, id := range w.order {
		want := encoded(w.model[id])
		d, err := w.table.Get(tx, id)
		if err != nil || d.ID != id || string(d.JSON) != want || encoded(d.Record) != want {
			complain("get %s: %s with %s, want %s, %w", id, d.JSON, encoded(d.Record), want, errors.Join(err))
		}
		if change, public, err := reader.Public(id); err != nil || string(public) != want || change != d.Change {
			complain("reader %s: %d %s, want %d %s, %w", id, change, public, d.Change, want, errors.Join(err))
		}
		version := id.String() + " " + d.Version()
		if form, known := w.forms[version]; known && form != want {
			complain("version %s was %s and is %s", version, form, want)
		}
		w.forms[version] = want
	}
	err := w.table.Scan(tx, func(d Doc[note]) (bool, error) {
		if others >= len(w.order) || d.ID != w.order[others] || string(d.JSON) != encoded(w.model[d.ID]) {
			complain("scan %d: %s %s", others, d.ID, d.JSON)
		}
		others++
		return true, nil
	})
	if err != nil || others != len(w.order) || w.table.Count(tx) != others {
		complain("scan: %d of %d, %w", others, len(w.order), errors.Join(err))
	}
	others = 0
	err = tx.Records("notes", uuid.Nil, func(id uuid.UUID, _ uint64, public []byte) (bool, error) {
		if others >= len(w.order) || id != w.order[others] || string(public) != encoded(w.model[id]) {
			complain("records %d: %s %s", others, id, public)
		}
		others++
		return true, nil
	})
	if err != nil || others != len(w.order) {
		complain("records: %d of %d, %w", others, len(w.order), errors.Join(err))
	}
	complaints = append(complaints, w.table.Verify(tx, func(_ bool, format string, args ...any) { complain(format, args...) }))
	return errors.Join(complaints...)
}

func (w *noteWorld) text() string {
	texts := []string{"", "plain", "\"\\\n<é>", `"custom_field_x":`, `{"tags":[]}`}
	if len(w.refs) > 0 {
		texts = append(texts, w.refs[w.rng.IntN(len(w.refs))].String(), `"`+w.refs[0].String()+`"`)
	}
	return texts[w.rng.IntN(len(texts))]
}

func (w *noteWorld) note() note {
	n := note{Text: w.text(), Last: w.text(), Custom: map[string]any{}}
	for _, ref := range w.refs {
		if w.rng.IntN(3) == 0 {
			n.Tags = append(n.Tags, ref)
		}
		if w.rng.IntN(4) == 0 {
			n.Owner = uuid.NullUUID{UUID: ref, Valid: true}
		}
	}
	if len(n.Tags) > 0 && w.rng.IntN(4) == 0 {
		n.Tags = append(n.Tags, n.Tags[0])
	}
	for _, member := range slices.Sorted(maps.Keys(w.members)) { // in the same order in every run
		switch w.rng.IntN(4) {
		case 0:
			n.Custom[member] = w.text() + "!"
		case 1:
			n.Custom[member] = []any{"a" + w.text(), "b"}
		}
	}
	return n
}

func (w *noteWorld) id() uuid.UUID {
	w.made++
	// Not in order of creation: a later tombstone must also come first in the bucket.
	return uuid.UUID{byte(w.rng.IntN(256)), 14: byte(w.made >> 8), 15: byte(w.made)}
}

// bury adds a tombstone and sweeps a few records at once, as the kinds of the service do.
func (w *noteWorld) bury(tx *Tx, tomb Tombstone) error {
	tomb, err := w.table.AddTombstone(tx, tomb)
	if err != nil {
		return err
	}
	w.tombs = append(w.tombs, tomb)
	return w.sweep(tx, len(w.tombs)-1, 1)
}

func (w *noteWorld) sweep(tx *Tx, i, most int) error {
	more, err := w.table.Sweep(tx, w.tombs[i], most)
	if !more {
		w.tombs = slices.Delete(w.tombs, i, i+1)
	}
	return err
}

// step changes the table and the model in the same way.
func (w *noteWorld) step(tx *Tx) (err error) {
	var id uuid.UUID
	if len(w.order) > 0 {
		id = w.order[w.rng.IntN(len(w.order))]
	}
	switch n := w.rng.IntN(20); {
	case n < 6 || id == uuid.Nil:
		n := w.note()
		d, err := w.table.Insert(tx, tx.NewID(), n)
		w.order, w.model[d.ID] = append(w.order, d.ID), n
		return err
	case n < 10:
		d, err := w.table.Get(tx, id)
		if err != nil {
			return err
		}
		n := w.note()
		if w.rng.IntN(2) == 0 { // only one text changes
			n = d.Record
			n.Text = w.text()
		}
		_, err = w.table.Update(tx, d, n, []string{"text"})
		w.model[id] = n
		return err
	case n < 11:
		d, err := w.table.Get(tx, id)
		if err == nil {
			err = w.table.Delete(tx, d)
		}
		delete(w.model, id)
		w.order = slices.DeleteFunc(w.order, func(other uuid.UUID) bool { return other == id })
		return err
	case n < 13:
		w.refs = append(w.refs, w.id())
	case n < 15 && len(w.refs) > 0:
		gone := w.refs[w.rng.IntN(len(w.refs))]
		w.refs = slices.DeleteFunc(w.refs, func(ref uuid.UUID) bool { return ref == gone })
		for id, n := range w.model {
			w.model[id] = n.without(gone)
		}
		return errors.Join(w.bury(tx, deadReference("tags", gone)), w.bury(tx, deadReference("owner", gone)))
	case n < 17:
		member := []string{"custom_field_x", "custom_field_y"}[w.rng.IntN(2)]
		was, there := w.members[member]
		if !there {
			w.members[member] = w.id()
			return nil
		}
		for id, n := range w.model {
			w.model[id] = n.withoutMember(member)
		}
		err := w.bury(tx, deadMember(member, was))
		delete(w.members, member)
		return err
	case len(w.tombs) > 0:
		return w.sweep(tx, w.rng.IntN(len(w.tombs)), 1+w.rng.IntN(3))
	}
	return nil
}

// TestTombstonesAgainstModel makes small steps in transactions of one or several, and compares
// every way of reading with the model after each. In the end everything is swept, and nothing that
// was deleted is left.
func TestTombstonesAgainstModel(t *testing.T) {
	for seed := range uint64(3) {
		dir, clock := t.TempDir(), newClock()
		w := &noteWorld{rng: rand.New(rand.NewPCG(seed, 1)), members: memberIDs{}, model: map[uuid.UUID]note{}, forms: map[string]string{}}
		w.table = notes(w.members)
		w.s = open(t, dir, clock.options())
		waiting := 0
		for round := range 70 {
			if w.rng.IntN(15) == 0 {
				if err := w.s.Close(); err != nil {
					t.Fatal(err)
				}
				w.s = open(t, dir, clock.options())
			}
			w.s.db.NoSync = true
			write(t, w.s, orgA, func(tx *Tx) error {
				for range 1 + w.rng.IntN(2)*w.rng.IntN(6) {
					if err := w.step(tx); err != nil {
						return err
					}
					if err := w.check(tx); err != nil {
						return fmt.Errorf("seed %d round %d: %w", seed, round, err)
					}
				}
				return nil
			})
			read(t, w.s, orgA, w.check)
			waiting = max(waiting, len(w.tombs))
		}
		if waiting < 3 || len(w.order) < 10 {
			t.Errorf("seed %d: at most %d tombstones at once and %d records are no test", seed, waiting, len(w.order))
		}
		for len(w.tombs) > 0 {
			write(t, w.s, orgA, func(tx *Tx) error { return w.sweep(tx, len(w.tombs)-1, 2) })
			read(t, w.s, orgA, w.check)
		}
		read(t, w.s, orgA, func(tx *Tx) error {
			if tombs, err := tx.Tombstones("notes"); err != nil || len(tombs) > 0 {
				t.Errorf("seed %d: left are %v, %v", seed, tombs, err)
			}
			for _, id := range w.order {
				d, _ := w.table.Get(tx, id)
				if stored, err := storedNote(tx, id); err != nil || d.applied != nil || !bytes.Equal(stored, d.JSON) {
					t.Errorf("seed %d: %s is stored as %s and read as %s, %v", seed, id, stored, d.JSON, err)
				}
			}
			return nil
		})
	}
}
