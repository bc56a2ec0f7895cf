package index

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"prospector/store"
)

// Whatever happens between two lists, and however often, each list is right: records change, are deleted and restored, the
// index takes up a batch, is rebuilt, paused or closed, or the service restarts. The engine does nothing on its own
// meanwhile.
func TestListsBetweenSteps(t *testing.T) {
	for seed := range uint64(soaked(60, 3, 1)) {
		w := newLargeFixture(t, 300+seed)
		w.opt.maxBatchDocs = 2 + w.rand.IntN(40)
		w.close()
		w.open()
		steps := []string{fmt.Sprint("batches of ", w.opt.maxBatchDocs)}
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(seed, steps)
			}
		})
		for len(steps) < 300 {
			w.whilePaused(func() {
				for range 50 {
					steps = append(steps, w.step())
				}
			})
			w.close()
			w.open()
			steps = append(steps, "restart")
		}
		w.check()
	}
}

// step does something that lists must not notice, or reads a list, and returns what it did.
func (w *fixture) step() string {
	s := w.engine.tableIndex(w.org, things)
	switch k := w.rand.IntN(40); {
	case k < 13:
		n := 1 + w.rand.IntN(8)
		w.change(n)
		return fmt.Sprint("change ", n)
	case k < 14:
		i := w.rand.IntN(len(w.ids))
		w.gone = append(w.gone, w.ids[i])
		w.update(func(tx *store.Tx) error { return w.remove(tx, i) })
		return "delete"
	case k < 16 && len(w.gone) > 0:
		i := w.rand.IntN(len(w.gone))
		id := w.gone[i]
		w.gone = slices.Delete(w.gone, i, i+1)
		w.update(func(tx *store.Tx) error { return w.insertAs(tx, id) })
		return "restore"
	case k < 26:
		if _, err := s.flush(); !errors.Is(err, errShort) {
			w.must(err)
		}
		return "flush"
	case k == 26:
		w.must(s.rebuildBecause(errors.New("test")))
		return "rebuild"
	case k == 27:
		w.unloadIndex(s)
		return "unload"
	case k == 28:
		s.writing.Lock()
		if s.disk != nil {
			_ = s.pause(errShort)
		}
		s.writing.Unlock()
		return "pause"
	case k < 31:
		w.engine.maintain()
		return "maintain"
	case k == 31:
		w.newestAgrees(s, `{"sort": "-created_at"}`)
		return "newest"
	case k == 32:
		w.agreeFacets(w.body(), w.known())
		return "facets"
	case k == 33:
		w.agreeWithin(things, w.body(), w.someIDs())
		return "members"
	case k < 37:
		w.agree(`{"page_size": 500}`)
		return "all"
	}
	w.agree(w.body())
	return "list"
}
