package index

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// list returns a page of the engine.
func (w *fixture) list(body string) (*filter.Plan, Page) {
	w.t.Helper()
	plan, page, err := w.tryList(body)
	if err != nil {
		w.t.Errorf("%s: %v", body, err)
	}
	return plan, page
}

// tryList is list for a body that may be invalid.
func (w *fixture) tryList(body string) (plan *filter.Plan, page Page, err error) {
	w.t.Helper()
	times := 0
	err = w.engine.List(w.t.Context(), w.org, things, func(_ *store.Tx, cs *filter.CustomFields) (*filter.Plan, error) {
		p, err := compileFor(things, cs, body)
		plan = p
		return p, err
	}, func(p Page) error {
		page = p.clone()
		times++
		return nil
	})
	if err == nil && times != 1 {
		w.t.Errorf("%s: use was called %d times", body, times)
	}
	return plan, page, err
}

// wantNamed reports an error unless want records have the name, by a filter and by a search.
func (w *fixture) wantNamed(name string, want int, when string) {
	w.t.Helper()
	for _, body := range []string{
		fmt.Sprintf(`{"filters": [{"field": "name", "condition": "is", "value": %q}]}`, name),
		fmt.Sprintf(`{"search": %q, "sort": "-size"}`, name),
	} {
		if _, page := w.list(body); page.Total != want || len(page.Records) != want {
			w.t.Errorf("%s, %s: total %d and %d records, want %d", when, body, page.Total, len(page.Records), want)
		}
	}
}

// writer inserts, updates and deletes its own records, and lists each of them right after it was
// committed.
func (w *fixture) writer(n, rounds int) {
	r := rand.New(rand.NewPCG(uint64(n), 2))
	write := func(fn func(tx *store.Tx) error) {
		actor := store.Actor{RequestID: fmt.Sprint(r.Uint64())}
		if err := w.store.Update(context.Background(), w.org, actor, fn); err != nil {
			w.t.Error(err)
		}
	}
	put := func(id uuid.UUID, name string) {
		write(func(tx *store.Tx) error {
			return upsert(tx, thing{ID: id, Name: shape.Text(name), Size: shape.Number{Valid: true, Float: float64(r.IntN(9))}})
		})
	}
	for round := range rounds {
		id, err := uuid.NewV7()
		if err != nil {
			w.t.Error(err)
		}
		first, second := fmt.Sprintf("writer%dround%dfirst", n, round), fmt.Sprintf("writer%dround%dsecond", n, round)
		put(id, first)
		w.wantNamed(first, 1, "inserted")
		put(id, second)
		w.wantNamed(first, 0, "updated")
		w.wantNamed(second, 1, "updated")
		if round%3 == 0 {
			continue
		}
		write(func(tx *store.Tx) error {
			doc, err := thingTable.Get(tx, id)
			if err != nil {
				return err
			}
			return thingTable.Delete(tx, doc)
		})
		w.wantNamed(second, 0, "deleted")
	}
}

// reader lists and checks random pages until stop is closed.
func (w *fixture) reader(n int, stop <-chan struct{}) {
	r := rand.New(rand.NewPCG(uint64(n), 3))
	for {
		select {
		case <-stop:
			return
		default:
		}
		body := randomBody(r, w.known())
		plan, page := w.list(body)
		w.checkPage(body, plan, page)
	}
}

// checkPage reports an error unless all records of a page match, are in order and are there once.
func (w *fixture) checkPage(body string, plan *filter.Plan, page Page) {
	w.t.Helper()
	if page.Total < len(page.Records) || len(page.Records) > plan.PageSize {
		w.t.Errorf("%s: %d of %d records", body, len(page.Records), page.Total)
	}
	var before *match
	for _, public := range page.Records {
		var head struct{ ID uuid.UUID }
		if err := json.Unmarshal(public, &head); err != nil {
			w.t.Error(err)
		}
		row, err := things.Row(plan.Custom, head.ID, public)
		if err != nil {
			w.t.Error(err)
			return
		}
		if !plan.Match(row) {
			w.t.Errorf("%s: %s does not match", body, public)
		}
		key := matchOf(plan, row)
		if before != nil && compareMatches(plan, before, &key) >= 0 {
			w.t.Errorf("%s: %s does not come after %s", body, head.ID, before.id)
		}
		before = &key
	}
}

// Writers see their own writes in the next list, and readers get correct pages, while the index is
// built, flushed, closed and rebuilt.
func TestConcurrentListsAndWrites(t *testing.T) {
	const many = 16
	rounds := 9
	w := newFixture(t, 21)
	for range 4 {
		w.change(50)
	}
	var writers, others sync.WaitGroup
	stop := make(chan struct{})
	for n := range many {
		writers.Go(func() { w.writer(n, rounds) })
		others.Go(func() { w.reader(n, stop) })
	}
	others.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			// The engine does this too, but less often.
			if _, err := w.engine.tableIndex(w.org, things).flush(); err != nil {
				t.Error(err)
			}
			switch i % 40 {
			case 13:
				w.engine.tableIndex(w.org, things).close()
			case 26:
				if err := w.engine.tableIndex(w.org, things).rebuildBecause(fmt.Errorf("try %d", i)); err != nil {
					t.Error(err)
				}
			}
		}
	})
	writers.Wait()
	close(stop)
	others.Wait()
	w.flushAll()
	n, err := w.engine.Check(context.Background(), false, noProgress, func(what string, _ bool) { t.Error(what) }, func(string) {})
	if want := len(w.ids) + many*((rounds+2)/3); err != nil || n != want {
		t.Errorf("checked %d of %d: %v", n, want, err)
	}
	w.agree(`{"page_size": 500}`)
}

// A list is consistent: of two records that swap a color in one transaction, a list never shows
// both or neither with it.
func TestListIsConsistent(t *testing.T) {
	w := newFixture(t, 22)
	w.change(200)
	var pair [2]uuid.UUID
	marked := func(tx *store.Tx, id uuid.UUID, color shape.Text) error {
		return upsert(tx, thing{ID: id, Color: color, Name: "pair"})
	}
	swap := func(i int) {
		w.update(func(tx *store.Tx) error {
			if i == 0 {
				pair = [2]uuid.UUID{tx.NewID(), tx.NewID()}
			}
			if err := marked(tx, pair[i%2], "red"); err != nil {
				return err
			}
			return marked(tx, pair[1-i%2], "blue")
		})
	}
	swap(0)
	w.ids = append(w.ids, pair[:]...)
	w.flushAll()
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				_, page := w.list(`{"filters": [{"field": "color", "condition": "is", "value": "red"},
					{"field": "name", "condition": "is", "value": "pair"}]}`)
				if page.Total != 1 || len(page.Records) != 1 || !bytes.Contains(page.Records[0], []byte(`"red"`)) {
					t.Errorf("%d red records: %s", page.Total, page.Records)
					return
				}
			}
		})
	}
	for i := range 150 {
		swap(i + 1)
		if i%10 == 0 {
			w.flushAll()
		}
	}
	close(stop)
	readers.Wait()
	w.flushAll()
	w.check()
}

// upsert inserts a thing, or updates the one with its id.
func upsert(tx *store.Tx, v thing) error {
	doc, err := thingTable.Get(tx, v.ID)
	if err != nil {
		_, err = thingTable.Insert(tx, v.ID, v)
		return err
	}
	_, err = thingTable.Update(tx, doc, v, nil)
	return err
}
