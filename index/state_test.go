package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"log/slog"
	"slices"
	"strings"
	"testing"

	bleve "github.com/blevesearch/bleve_index_api"
	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/store"
)

// A state is decoded as it was encoded, and an error is returned if a bit of it has changed.
func TestStateChecksum(t *testing.T) {
	a := indexState{Epoch: uuid.New(), Kind: 1, Number: 2, Seen: 3, Mark: 4, Cursor: uuid.New(), Count: 5, Sum: 6, Top: uuid.New()}
	b := a.encode()
	var back indexState
	if err := back.decode(b); err != nil || back != a {
		t.Errorf("%+v: %v", back, err)
	}
	for i := range b {
		bad := slices.Clone(b)
		bad[i] ^= 4
		if err := new(indexState).decode(bad); !errors.Is(err, errIndex) {
			t.Errorf("byte %d: %v", i, err)
		}
		if err := new(indexState).decode(b[:i]); !errors.Is(err, errIndex) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
}

// A state that was written before Top was introduced is read as one whose records above the cursor are
// all missing.
func TestStateWithoutTop(t *testing.T) {
	old := struct {
		Epoch, Org               uuid.UUID
		Kind, Number, Seen, Mark uint64
		Cursor                   uuid.UUID
		Count, Sum               uint64
	}{uuid.New(), uuid.New(), 1, 2, 3, 4, uuid.New(), 5, 6}
	b, err := binary.Append(nil, binary.BigEndian, &old)
	if err != nil {
		t.Fatal(err)
	}
	var got indexState
	err = got.decode(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
	want := indexState{old.Epoch, old.Org, 1, 2, 3, 4, old.Cursor, 5, 6, end}
	if err != nil || got != want {
		t.Errorf("%+v, want %+v: %v", got, want, err)
	}
}

// tamper writes a batch and a state that do not agree with the store.
func (w *fixture) tamper(batch *bleve.Batch, change func(st *indexState)) *tableIndex {
	w.t.Helper()
	s := w.engine.tableIndex(w.org, things)
	w.must(s.load())
	s.writing.Lock()
	next := s.disk.state
	change(&next)
	w.must(s.disk.write(batch, next)())
	s.writing.Unlock()
	w.unloadIndex(s)
	return s
}

// An index is opened only if everything in its state is correct.
func TestStateIsVerified(t *testing.T) {
	w := newLargeFixture(t, 121)
	w.whilePaused(func() {
		for name, change := range map[string]func(st *indexState){
			"nothing": func(*indexState) {},
			"epoch":   func(st *indexState) { st.Epoch = uuid.New() },
			"kind":    func(st *indexState) { st.Kind++ },
			"mark":    func(st *indexState) { st.Mark++ },
			"seen":    func(st *indexState) { st.Seen++ },
			"count":   func(st *indexState) { st.Count++ },
			"sum":     func(st *indexState) { st.Sum++ },
		} {
			w.flushAll()
			s := w.tamper(bleve.NewBatch(), change)
			why, err := s.tryLoad()
			want := errIndex
			switch name {
			case "nothing":
				want = nil
			case "epoch", "kind":
				want = errOutdated
			}
			if err != nil || !errors.Is(why, want) {
				t.Errorf("%s: %v, %v", name, why, err)
			}
			w.agree(`{"page_size": 500}`)
		}
	})
}

// Check finds a record that the index lacks, one that is not in the store, and one that differs,
// and repairs them if asked to.
func TestCheckFindsDifferences(t *testing.T) {
	w := newLargeFixture(t, 122)
	some := func(id uuid.UUID) (v thing) {
		w.must(w.store.View(w.org, func(tx *store.Tx) (err error) {
			v, err = w.thing(tx, id)
			return err
		}))
		return v
	}
	stranger := some(uuid.New())
	row := func(v thing) *filter.Row {
		r := &filter.Row{ID: v.ID}
		for i := range things.Fields {
			r.Values = append(r.Values, filter.ValueOf(things.Fields[i].Listed(&v)))
		}
		return r
	}
	w.whilePaused(func() {
		for want, damage := range map[string]func(b *bleve.Batch, st *indexState){
			"lacks " + w.ids[0].String() + ", which is in the store": func(b *bleve.Batch, st *indexState) {
				b.Delete(string(w.ids[0][:]))
				st.Count--
				st.Sum -= idSum(w.ids[0])
			},
			"contains " + stranger.ID.String() + ", which is not in the store": func(b *bleve.Batch, st *indexState) {
				b.Update(newDocument(things, row(stranger), scratch{}))
				st.Count++
				st.Sum += idSum(stranger.ID)
			},
			w.ids[1].String() + " differs from the record in the store": func(b *bleve.Batch, _ *indexState) {
				other := some(w.ids[1])
				other.Name = "differs from all others"
				b.Update(newDocument(things, row(other), scratch{}))
			},
		} {
			w.flushAll()
			batch := bleve.NewBatch()
			w.tamper(batch, func(st *indexState) { damage(batch, st) })
			for _, repair := range []bool{false, true} {
				var found []string
				n, err := w.engine.Check(t.Context(), repair, noProgress, func(what string, repaired bool) {
					found = append(found, what)
					if repaired != repair {
						t.Errorf("%s: repaired is %t", what, repaired)
					}
				}, func(string) {})
				if err != nil || n != len(w.ids) || len(found) != 1 || !strings.Contains(found[0], want) {
					t.Errorf("checked %d records, found %q, want %q: %v", n, found, want, err)
				}
			}
			w.check()
		}
	})
}

// A transaction that is older than what the index has seen cannot use it: if a record was changed
// twice since, the index has neither version.
func TestStaleTransaction(t *testing.T) {
	w := newLargeFixture(t, 123)
	some := slices.Clone(w.ids[:w.opt.maxBatchDocs+4])
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
	w.whilePaused(func() {
		s := w.engine.tableIndex(w.org, things)
		w.must(s.flushAll())
		touch()
		w.must(w.store.View(w.org, func(tx *store.Tx) error {
			some = some[:2]
			touch()
			if more, err := s.flush(); !more || err != nil {
				t.Fatalf("flush: more %t, %v", more, err)
			}
			if last := tx.LastChange(things.table); last < s.view.number {
				t.Fatalf("the transaction is at change %d, the index at %d", last, s.view.number)
			}
			if _, err := s.snapshotAt(tx); !errors.Is(err, errStaleTx) {
				t.Errorf("snapshotAt returns %v", err)
			}
			return nil
		}))
		w.agree(`{"page_size": 500}`)
	})
}

// A record that is in a batch but was deleted before the view of the batch is published is not in
// the next list.
func TestDeletedWhileWritten(t *testing.T) {
	w := newLargeFixture(t, 124)
	w.whilePaused(func() {
		s := w.engine.tableIndex(w.org, things)
		w.must(s.flushAll())
		w.update(w.insert)
		w.agree(`{"page_size": 500}`)
		s.writing.Lock()
		g, err := s.buildBatch(s.disk.state, nil)
		w.must(err)
		w.must(s.disk.write(g.batch, g.state)())
		v, err := s.disk.view(things, w.engine.cache, s.view)
		w.must(err)
		w.update(func(tx *store.Tx) error { return w.remove(tx, len(w.ids)-1) })
		w.agree(`{"page_size": 500}`)
		s.publish(v)
		s.writing.Unlock()
		w.agree(`{"page_size": 500}`)
		w.must(s.flushAll())
	})
	w.check()
}

// An intact index is never rebuilt, neither after changes of every kind nor after it was closed and
// opened.
func TestIntactIndexIsKept(t *testing.T) {
	var log bytes.Buffer
	w := newFixture(t, 125)
	w.close()
	w.opt.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	w.open()
	for range 15 {
		for range 3 { // so that a batch has several changes of one record
			w.change(12)
		}
		w.flushAll()
		w.agree(w.body())
		w.close()
		w.open()
	}
	w.flushAll()
	w.check()
	w.close()
	if log.Len() > 0 {
		t.Error(log.String())
	}
	w.open()
}
