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

// list asks the engine for a page.
func (w *world) list(body string) (*filter.Plan, Page) {
	w.t.Helper()
	plan, page, err := w.tryList(body)
	if err != nil {
		w.t.Errorf("%s: %v", body, err)
	}
	return plan, page
}

// tryList is list for a body that may be refused.
func (w *world) tryList(body string) (plan *filter.Plan, page Page, err error) {
	w.t.Helper()
	times := 0
	err = w.engine.List(w.org, things, func(_ *store.Tx, cs *filter.CustomFields) (*filter.Plan, error) {
		p, err := compileFor(things, cs, body)
		plan = p
		return p, err
	}, func(p Page) error {
		page = p.clone()
		times++
		return nil
	})
	if err == nil && times != 1 {
		w.t.Errorf("%s: given out %d times", body, times)
	}
	return plan, page, err
}

// wants checks that the records with the name are as many as said, by an exact filter and by the
// search of a word.
func (w *world) wants(name string, want int, when string) {
	w.t.Helper()
	for _, body := range []string{
		fmt.Sprintf(`{"filters": [{"field": "name", "condition": "is", "value": %q}]}`, name),
		fmt.Sprintf(`{"search": %q, "sort": "-size"}`, name),
	} {
		if _, page := w.list(body); page.Total != want || len(page.Records) != want {
			w.t.Errorf("%s, %s: %d of %d, and %d records", when, body, page.Total, want, len(page.Records))
		}
	}
}

// writer makes, changes and deletes records of its own, and looks for each right after it was told
// that it is written.
func (w *world) writer(n, rounds int) {
	r := rand.New(rand.NewPCG(uint64(n), 2))
	write := func(fn func(tx *store.Tx) error) {
		if err := w.store.Update(context.Background(), w.org, store.Actor{RequestID: fmt.Sprint(r.Uint64())}, fn); err != nil {
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
		w.wants(first, 1, "made")
		put(id, second)
		w.wants(first, 0, "changed")
		w.wants(second, 1, "changed")
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
		w.wants(second, 0, "deleted")
	}
}

// reader lists until it is told to stop: all that a page shows matches, is in order, and is there
// once.
func (w *world) reader(n int, stop <-chan struct{}) {
	r := rand.New(rand.NewPCG(uint64(n), 3))
	for {
		select {
		case <-stop:
			return
		default:
		}
		body := randomBody(r, w.known())
		plan, page := w.list(body)
		w.isTrue(body, plan, page)
	}
}

// isTrue wants all that a page shows to match, to be in order and to be there once.
func (w *world) isTrue(body string, plan *filter.Plan, page Page) {
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
			w.t.Errorf("%s: shows %s", body, public)
		}
		key := matchOf(plan, row)
		if before != nil && compareMatches(plan, before, &key) >= 0 {
			w.t.Errorf("%s: %s is not behind %s", body, head.ID, before.id)
		}
		before = &key
	}
}

// TestManyAtOnce has writers see their own writes in the next list, and readers pages that are
// true, while the index is filled, followed, closed and made anew.
func TestManyAtOnce(t *testing.T) {
	const many = 16
	rounds := 9
	w := newWorld(t, 21)
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
			// What the engine does by the clock, and more often than it would.
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
	n, err := w.engine.Check(context.Background(), false, quiet, func(what string, _ bool) { t.Error(what) })
	if want := len(w.ids) + many*((rounds+2)/3); err != nil || n != want {
		t.Errorf("checked %d of %d: %v", n, want, err)
	}
	w.agree(`{"page_size": 500}`)
}

// A list takes place at one moment: records that swap a mark in one transaction are never shown
// with both or none.
func TestOneMoment(t *testing.T) {
	w := newWorld(t, 22)
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
				_, page := w.list(`{"filters": [{"field": "color", "condition": "is", "value": "red"}, {"field": "name", "condition": "is", "value": "pair"}]}`)
				if page.Total != 1 || len(page.Records) != 1 || !bytes.Contains(page.Records[0], []byte(`"red"`)) {
					t.Errorf("%d records: %s", page.Total, page.Records)
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

// upsert makes a thing, or puts it in the place of the one that has its id.
func upsert(tx *store.Tx, v thing) error {
	doc, err := thingTable.Get(tx, v.ID)
	if err != nil {
		_, err = thingTable.Insert(tx, v.ID, v)
		return err
	}
	_, err = thingTable.Update(tx, doc, v, nil)
	return err
}
