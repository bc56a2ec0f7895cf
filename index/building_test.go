package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"prospector/store"
)

// rebuildPaused starts to rebuild the index of things and writes n batches.
func (w *fixture) rebuildPaused(batches int) *tableIndex {
	w.t.Helper()
	s := w.engine.tableIndex(w.org, things)
	w.must(s.rebuildBecause(errors.New("test")))
	for range batches {
		if more, err := s.flush(); !more || err != nil {
			w.t.Fatal(more, err)
		}
	}
	return s
}

// newestAgrees compares a page in the order of creation with the predicate, and reports whether it was
// read from the store.
func (w *fixture) newestAgrees(s *tableIndex, body string) (ok bool) {
	w.t.Helper()
	w.must(w.store.View(w.org, func(tx *store.Tx) error {
		plan, err := compileAt(w.t, tx, things, body)
		if err != nil {
			return err
		}
		var page Page
		if page, ok, err = s.newest(tx, plan); err != nil || !ok {
			return err
		}
		want, err := reference(tx, plan)
		if page.Total != want.Total || !slices.EqualFunc(page.Records, want.Records, slices.Equal) {
			w.t.Errorf("%s\nhas %d: %s\nwant %d: %s", body, page.Total, page.Records, want.Total, want.Records)
		}
		return err
	}))
	return ok
}

// While an index is being built, while it is behind, and while something else changes what lists see, a list in the
// order of creation is read from the store. It is the same as by the predicate.
func TestNewestIsReadFromStore(t *testing.T) {
	w := newLargeFixture(t, 201)
	w.flushAll()
	w.whilePaused(func() {
		s := w.engine.tableIndex(w.org, things)
		w.agree(`{}`)
		if w.newestAgrees(s, `{"sort": "-created_at"}`) {
			t.Error("read from the store although the index has all changes")
		}
		s.mu.Lock()
		if !w.newestAgrees(s, `{"sort": "-created_at"}`) {
			t.Error("not read from the store while another goroutine changes what lists see")
		}
		s.mu.Unlock()
		check := func(state string) {
			t.Helper()
			for page := 1; page <= len(w.ids)/7+3; page++ {
				if !w.newestAgrees(s, fmt.Sprintf(`{"sort": "-created_at", "page": %d, "page_size": 7}`, page)) {
					t.Fatalf("page %d is not read from the store while the index is %s", page, state)
				}
			}
			for _, body := range []string{
				`{"sort": "created_at"}`, `{"sort": "-created_at,name"}`, `{}`, `{"sort": "-created_at", "search": "ann"}`,
				`{"sort": "-created_at", "page": 9999999}`,
				`{"sort": "-created_at", "filters": [{"field": "flag", "condition": "is", "value": true}]}`,
			} {
				if w.newestAgrees(s, body) {
					t.Errorf("%s is read from the store", body)
				}
			}
		}
		w.change(5)
		check("behind")
		w.rebuildPaused(2)
		check("being built")
	})
}

// If the clock was set back, the order of the ids is not the order of creation, and the page is not read
// from the store.
func TestNewestAfterClockWasSetBack(t *testing.T) {
	w := newLargeFixture(t, 202)
	late := uuid.UUID{}
	w.setBack = func(id uuid.UUID) bool { return id == late }
	w.update(func(tx *store.Tx) error {
		late = tx.NewID()
		v, err := w.thing(tx, late)
		if err == nil {
			_, err = thingTable.Insert(tx, late, v)
		}
		w.ids = append(w.ids, late)
		return err
	})
	w.whilePaused(func() {
		s := w.rebuildPaused(1)
		if w.newestAgrees(s, `{"sort": "-created_at", "page_size": 3}`) {
			t.Error("read from the store")
		}
		w.agree(`{"sort": "-created_at", "page_size": 3}`)
	})
}

// A list in another order reads what the index lacks once and keeps it, also when the index advances and
// records change. If the index lacks too many records, List returns an error after a while, and Select
// waits.
func TestListsWhileBuilding(t *testing.T) {
	w := newLargeFixture(t, 203)
	for len(w.ids) < 250 {
		w.change(30)
	}
	w.whilePaused(func() {
		s := w.rebuildPaused(1)
		flush := func() {
			_, err := s.flush()
			w.must(err)
		}
		w.agree(w.body())
		for s.building() {
			if !s.overlay.complete {
				t.Fatal("lists scan the store")
			}
			for range w.rand.IntN(3) { // of these changes no list knows when the index advances
				w.change(2)
				flush()
			}
			w.change(4)
			w.agree(w.body())
			w.agree(`{"page_size": 500}`)
			flush()
			w.agree(`{"page_size": 500}`)
		}

		s = w.rebuildPaused(1)
		w.engine.maxUnindexed = 20
		err := w.engine.List(t.Context(), w.org, things, listQuery(things, `{}`), func(Page) error { return nil })
		var building *BuildingError
		if !errors.As(err, &building) || building.Indexed == 0 || building.Records != len(w.ids) {
			t.Errorf("%v with %d records", err, len(w.ids))
		}
		page := func(Page) error { return nil }
		w.must(w.engine.List(t.Context(), w.org, things, listQuery(things, `{"sort": "-created_at"}`), page))
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errGone)
		if _, _, err := w.engine.Select(ctx, w.org, things, listQuery(things, `{}`), 5); !errors.Is(err, errGone) {
			t.Errorf("Select returned %v", err)
		}
		selected := make(chan error)
		go func() {
			_, total, err := w.engine.Select(t.Context(), w.org, things, listQuery(things, `{}`), 5)
			if err == nil && total != len(w.ids) {
				err = fmt.Errorf("%d of %d records", total, len(w.ids))
			}
			selected <- err
		}()
		for range 20 {
			flush()
		}
		w.must(<-selected)
	})
	w.check()
}

// Records that are created while the index is being built count as changes that it lacks, so that their
// writers wait. They take at most half of a batch.
func TestChangesWhileBuilding(t *testing.T) {
	w := newLargeFixture(t, 204)
	w.whilePaused(func() {
		s := w.rebuildPaused(0)
		w.update(func(tx *store.Tx) error {
			for range 100 {
				if err := w.insert(tx); err != nil {
					return err
				}
			}
			return nil
		})
		for lag := 100; s.building(); {
			if got := int(s.lag()); got > lag || got < lag-w.opt.maxBatchDocs/2 {
				t.Fatalf("the index is %d changes behind after %d", got, lag)
			}
			lag = int(s.lag())
			if st, err := w.engine.Stats(); err != nil || st.Lag != s.lag() || st.Unindexed == 0 {
				t.Fatalf("%+v: %v", st, err)
			}
			progress := w.engine.Progress(w.org)
			if len(progress) != 1 || !progress[0].Building || progress[0].Indexed >= progress[0].Records {
				t.Fatalf("%+v", progress)
			}
			if _, err := s.flush(); err != nil {
				t.Fatal(err)
			}
		}
		w.flushAll()
		st, err := w.engine.Stats()
		if err != nil || st.Lag != 0 || st.Unindexed != 0 || st.Building != 0 {
			t.Errorf("%+v: %v", st, err)
		}
		if p := w.engine.Progress(w.org); len(p) != 1 || p[0].Building || p[0].Indexed != len(w.ids) || p[0].Records != len(w.ids) {
			t.Errorf("%+v", p)
		}
	})
	w.check()
}

// A record that is deleted when the batch with it has been built, but not written, is in no list after that. The list in
// between reads what the index lacks.
func TestDeletedBeforeBatchIsWritten(t *testing.T) {
	w := newLargeFixture(t, 205)
	w.whilePaused(func() {
		s := w.rebuildPaused(1)
		i := slices.IndexFunc(w.ids, func(id uuid.UUID) bool { return s.next.changed[id] })
		w.update(func(tx *store.Tx) error { return w.remove(tx, i) })
		w.agree(`{"page_size": 500}`)
		if more, err := s.flush(); !more || err != nil {
			t.Fatal(more, err)
		}
		w.agree(`{"page_size": 500}`)
	})
}
