package index

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	bleve "github.com/blevesearch/bleve_index_api"
	"github.com/google/uuid"

	"prospector/store"
)

// A state comes back as it was, and not at all when a bit of it has changed.
func TestStateChecksum(t *testing.T) {
	a := state{Epoch: uuid.New(), Kind: 1, Number: 2, Seen: 3, Mark: 4, Cursor: uuid.New(), Count: 5, Sum: 6}
	b := a.encode()
	var back state
	if err := back.decode(b); err != nil || back != a {
		t.Errorf("%+v: %v", back, err)
	}
	for i := range b {
		bad := slices.Clone(b)
		bad[i] ^= 4
		if err := new(state).decode(bad); !errors.Is(err, errIndex) {
			t.Errorf("byte %d: %v", i, err)
		}
		if err := new(state).decode(b[:i]); !errors.Is(err, errIndex) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
}

// tamper writes a batch with a state that does not follow from the store.
func (w *world) tamper(batch *bleve.Batch, change func(st *state)) *shelf {
	w.t.Helper()
	s := w.engine.shelf(w.org, things)
	w.must(s.load())
	s.writing.Lock()
	next := s.disk.state
	change(&next)
	w.must(s.disk.write(batch, next)())
	s.writing.Unlock()
	w.closeShelf(s)
	return s
}

// An index is opened only when all that it says about itself holds.
func TestStateIsHeldAgainst(t *testing.T) {
	w := grown(t, 121)
	w.still(func() {
		for name, change := range map[string]func(st *state){
			"nothing": func(*state) {},
			"epoch":   func(st *state) { st.Epoch = uuid.New() },
			"kind":    func(st *state) { st.Kind++ },
			"mark":    func(st *state) { st.Mark++ },
			"seen":    func(st *state) { st.Seen++ },
			"count":   func(st *state) { st.Count++ },
			"sum":     func(st *state) { st.Sum++ },
		} {
			w.settle()
			s := w.tamper(bleve.NewBatch(), change)
			why, err := s.loadAsIs()
			if err != nil || errors.Is(why, errIndex) != (name != "nothing") {
				t.Errorf("%s: %v, %v", name, why, err)
			}
			w.agree(`{"page_size": 500}`)
		}
	})
}

// Check finds a record that the index lacks, one that it has and the store has not, and one that is another there; and
// mends them when it is told to.
func TestCheckFinds(t *testing.T) {
	w := grown(t, 122)
	some := func(id uuid.UUID) (v thing) {
		w.must(w.store.View(w.org, func(tx *store.Tx) (err error) {
			v, err = w.thing(tx, id)
			return err
		}))
		return v
	}
	stranger := some(uuid.New())
	row := func(v thing) *row {
		r := &row{id: v.ID}
		for i := range things.Fields {
			r.values = append(r.values, valueOf(things.Fields[i].Listed(&v)))
		}
		return r
	}
	w.still(func() {
		for want, damage := range map[string]func(b *bleve.Batch, st *state){
			"it has not " + w.ids[0].String(): func(b *bleve.Batch, st *state) {
				b.Delete(string(w.ids[0][:]))
				st.Count--
				st.Sum -= idSum(w.ids[0])
			},
			"it has " + stranger.ID.String() + ", which the store has not": func(b *bleve.Batch, st *state) {
				b.Update(things.document(row(stranger), scratch{}))
				st.Count++
				st.Sum += idSum(stranger.ID)
			},
			"it has " + w.ids[1].String() + " other": func(b *bleve.Batch, _ *state) {
				other := some(w.ids[1])
				other.Name = "other than any"
				b.Update(things.document(row(other), scratch{}))
			},
		} {
			w.settle()
			batch := bleve.NewBatch()
			w.tamper(batch, func(st *state) { damage(batch, st) })
			for _, repair := range []bool{false, true} {
				var found []string
				n, err := w.engine.Check(t.Context(), repair, quiet, func(what string, repaired bool) {
					found = append(found, what)
					if repaired != repair {
						t.Errorf("%s: repaired is %t", what, repaired)
					}
				})
				if err != nil || n != len(w.ids) || len(found) != 1 || !strings.Contains(found[0], want) {
					t.Errorf("looked at %d, found %q, not %q: %v", n, found, want, err)
				}
			}
			w.check()
		}
	})
}

// A transaction older than what the index has seen is not answered from it: of a record changed twice since, the index
// has neither version.
func TestOlderTransaction(t *testing.T) {
	w := grown(t, 123)
	some := slices.Clone(w.ids[:w.opt.batch+4])
	touch := func() {
		w.update(func(tx *store.Tx) error {
			for _, id := range some {
				if err := w.replace(tx, id); err != nil {
					return err
				}
			}
			return nil
		})
	}
	w.still(func() {
		s := w.engine.shelf(w.org, things)
		w.must(s.settle())
		touch()
		w.must(w.store.View(w.org, func(tx *store.Tx) error {
			some = some[:2]
			touch()
			if more, err := s.follow(); !more || err != nil {
				t.Fatalf("there is more to follow: %t, %v", more, err)
			}
			if last := tx.LastChange(things.table); last < s.view.number {
				t.Fatalf("the transaction is of change %d, the index of %d", last, s.view.number)
			}
			if _, err := s.at(tx); !errors.Is(err, errBehind) {
				t.Errorf("answered: %v", err)
			}
			return nil
		}))
		w.agree(`{"page_size": 500}`)
	})
}

// A record that is made before a batch is gathered and deleted before its view is shown is not in the next list.
func TestDeletedWhileWritten(t *testing.T) {
	w := grown(t, 124)
	w.still(func() {
		s := w.engine.shelf(w.org, things)
		w.must(s.settle())
		w.update(w.insert)
		w.agree(`{"page_size": 500}`)
		s.writing.Lock()
		g, err := s.gather(s.disk.state, nil)
		w.must(err)
		w.must(s.disk.write(g.batch, g.state)())
		v, err := s.disk.view(things, w.engine.cache, s.view)
		w.must(err)
		w.update(func(tx *store.Tx) error { return w.remove(tx, len(w.ids)-1) })
		w.agree(`{"page_size": 500}`)
		s.show(v)
		s.writing.Unlock()
		w.agree(`{"page_size": 500}`)
		w.must(s.settle())
	})
	w.check()
}

// What is sound is never made anew: not by changes of every kind, nor by being closed and opened.
func TestSoundIsKept(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, 125)
	w.close()
	w.opt.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	w.open()
	for range 15 {
		for range 3 { // so that one batch has several changes of a record
			w.change(12)
		}
		w.settle()
		w.agree(w.body())
		w.close()
		w.open()
	}
	w.settle()
	w.check()
	w.close()
	if log.Len() > 0 {
		t.Error(log.String())
	}
	w.open()
}

// The cache keeps what was used last within its limit, and makes again what it dropped or failed to make.
func TestCache(t *testing.T) {
	c, owner, other := newCache(100), &segment{}, &segment{}
	built := 0
	get := func(owner *segment, name string) {
		if c.make(owner, name, func() (any, int) { built++; return name, 30 }) != name {
			t.Errorf("%s is another", name)
		}
	}
	for _, name := range []string{"a", "b", "c", "a", "d"} { // d is one too many, and b the least used
		get(owner, name)
	}
	names := c.names(owner)
	if slices.Sort(names); !slices.Equal(names, []string{"a", "c", "d"}) || c.size() != 90 || built != 4 {
		t.Errorf("keeps %v, %d bytes, built %d", names, c.size(), built)
	}
	get(owner, "b")
	get(other, "b")
	if built != 6 || c.size() != 90 || len(c.names(other)) != 1 {
		t.Errorf("built %d, %d bytes", built, c.size())
	}
	c.forget(owner)
	if len(c.names(owner)) != 0 || c.size() != 30 {
		t.Errorf("keeps %v, %d bytes", c.names(owner), c.size())
	}
	get(owner, "e") // whose views are gone: it is made, but not kept
	if len(c.names(owner)) != 0 || c.size() != 30 {
		t.Errorf("keeps %v, %d bytes", c.names(owner), c.size())
	}
	owner = &segment{}
	if err := guarded(func() error { c.make(owner, "bad", func() (any, int) { panic("no") }); return nil }); !errors.Is(err, errIndex) {
		t.Error(err)
	}
	if _, ok := c.get(owner, "bad"); ok {
		t.Error("what could not be made is there")
	}
	get(owner, "bad")
	if v, ok := c.get(owner, "bad"); !ok || v != "bad" {
		t.Errorf("%v is not there", v)
	}
	if c.make(owner, "large", func() (any, int) { return 1, 1000 }) != 1 || c.size() != 1000 {
		t.Errorf("%d bytes", c.size())
	}
}
