package index

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// mark makes something that things refer to.
func (w *world) mark(key string) (id uuid.UUID) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		id = tx.NewID()
		return w.define(tx, def{ID: id, Key: key})
	})
	return id
}

// forget deletes a custom field, or what things refer to, and sweeps up some of it.
func (w *world) forget(id uuid.UUID, some int) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		d, err := defTable.Get(tx, id)
		if err != nil {
			return err
		}
		return forget(tx, d, some)
	})
}

// wantTotal wants a list of so many, which agrees with the predicate.
func (w *world) wantTotal(body string, want int, when string) {
	w.t.Helper()
	w.agree(body)
	if _, page := w.list(body); page.Total != want {
		w.t.Errorf("%s: %s has %d, not %d", when, body, page.Total, want)
	}
}

// filterBody is a list of what one rule leaves.
func filterBody(field string, cond filter.Condition, values ...any) string {
	rule := map[string]any{"field": field, "condition": cond}
	if len(values) > 0 {
		rule["value"] = values
	}
	b, _ := json.Marshal(map[string]any{"page_size": 500, "filters": []any{rule}})
	return string(b)
}

// TestGone deletes a tag and an owner that many records have. From the next list on nothing has
// them, be it in the index, beside it, above its cursor or in memory alone, and however far they
// are swept up.
func TestGone(t *testing.T) {
	places := []string{"index", "rows", "building", "memory"}
	if raceDetector { // ten times as slow; what happens at the same time is in TestForgottenWhileBusy
		places = places[2:3]
	}
	for _, where := range places {
		t.Run(where, func(t *testing.T) {
			w := newWorld(t, 131)
			w.close()
			if where == "memory" {
				w.opt.maxSmall = 10_000
			}
			w.open()
			tag, other, owner, boss := w.mark("tags"), w.mark("tags"), w.mark("owner"), w.mark("owner")
			write := func(id uuid.UUID, i int) {
				w.update(func(tx *store.Tx) error {
					v := thing{ID: id, Name: shape.Text(fmt.Sprint("n", i%7)), Tags: [][]uuid.UUID{nil, {tag}, {tag, other}, {other}}[i%4]}
					v.Owner = uuid.NullUUID{Valid: i%3 > 0, UUID: []uuid.UUID{{}, owner, boss}[i%3]}
					return upsert(tx, v)
				})
			}
			for i := range 120 {
				id, err := uuid.NewV7()
				w.must(err)
				w.ids = append(w.ids, id)
				write(id, i)
			}
			w.flushAll()
			w.list(`{"sort": "owner"}`) // whose column and order are kept from now on
			w.list(`{"sort": "-owner,name"}`)
			s := w.engine.tableIndex(w.org, things)
			w.still(func() {
				switch where {
				case "rows":
					for i := range 60 {
						write(w.ids[2*i], 2*i)
					}
					w.list(`{}`)
				case "building":
					w.must(s.rebuildBecause(errors.New("asked for")))
					for range 3 {
						_, err := s.flush()
						w.must(err)
					}
				}
				look := func(when string, tagged, owned int) {
					t.Helper()
					w.wantTotal(filterBody("tags", filter.Contains, tag), tagged, when)
					w.wantTotal(filterBody("tags", filter.Contains, tag, other), tagged/2, when)
					w.wantTotal(filterBody("tags", filter.Is, tag), tagged, when)
					w.wantTotal(filterBody("tags", filter.Is, tag, other), 60+tagged/2, when)
					w.wantTotal(filterBody("tags", filter.IsNot, tag), 120-tagged, when)
					w.wantTotal(filterBody("tags", filter.NotContains, tag, other), 120-tagged/2, when)
					w.wantTotal(filterBody("tags", filter.IsEmpty), 60-tagged/2, when)
					w.wantTotal(filterBody("tags", filter.IsNotEmpty), 60+tagged/2, when)
					w.wantTotal(filterBody("owner", filter.Is, owner), owned, when)
					w.wantTotal(filterBody("owner", filter.IsNot, owner), 120-owned, when)
					w.wantTotal(filterBody("owner", filter.IsEmpty), 80-owned, when)
					w.wantTotal(filterBody("owner", filter.IsNotEmpty), 40+owned, when)
					for _, sort := range []string{"owner", "-owner", "owner,-name", "-owner,name", "name,owner"} {
						w.agree(fmt.Sprintf(`{"sort": %q, "page_size": 500}`, sort))
						w.agree(fmt.Sprintf(`{"sort": %q, "page_size": 7, "page": 9, "filters": [{"field": "owner", "condition": "is_not", "value": %q}]}`, sort, owner))
					}
					w.check()
				}
				look("before", 60, 40)
				w.forget(tag, 0)
				look("a tag is gone", 0, 40)
				w.update(func(tx *store.Tx) error {
					tombs, err := tx.Tombstones(thingTable.Name())
					if err == nil {
						_, err = thingTable.Sweep(tx, tombs[0], 25)
					}
					return err
				})
				look("some of it is swept up", 0, 40)
				w.sweep()
				look("all of it is swept up", 0, 40)
				w.forget(owner, 7)
				look("an owner is gone", 0, 0)
				w.must(s.flushAll())
				look("the index has seen it", 0, 0)
				w.must(s.rebuildBecause(errors.New("asked for")))
				w.must(s.flushAll())
				look("it was made anew meanwhile", 0, 0)
				w.sweep()
				w.must(s.flushAll())
				look("it was swept up", 0, 0)
			})
		})
	}
}

// A document that the index took in between two deletions has what the one took from it and not the
// other. It is sound.
func TestCheckBetweenTombstones(t *testing.T) {
	w := newWorld(t, 132)
	first, second := w.mark("tags"), w.mark("tags")
	w.many(40, thing{Tags: shape.IDs{first, second}})
	w.flushAll()
	w.forget(first, 1)
	w.must(w.engine.tableIndex(w.org, things).rebuildBecause(errors.New("asked for")))
	w.flushAll()
	w.check()
	w.forget(second, 1)
	w.check()
}

// So is one that still has a tag that was deleted, and the value of a deleted field whose key a
// field of another type has.
func TestCheckFieldMadeAgain(t *testing.T) {
	w := newWorld(t, 133)
	tag, field := w.mark("tags"), w.field("again", shape.TypeText)
	w.many(40, thing{Tags: shape.IDs{tag}, Custom: shape.Custom{shape.CustomPrefix + "again": "quagga"}})
	w.flushAll()
	w.forget(tag, 1)
	w.check()
	w.forget(field, 1)
	w.check()
	w.field("again", shape.TypeNumber)
	w.check()
}

// graves are the ids of what was deleted for good.
type graves struct {
	mu  sync.Mutex
	ids []uuid.UUID
}

func (g *graves) add(id uuid.UUID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ids = append(g.ids, id)
}

func (g *graves) all() []uuid.UUID {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.ids)
}

// busy is the world for one of several goroutines.
func (w *world) busy(n int) *world {
	here := *w
	here.rand, here.ids = rand.New(rand.NewPCG(uint64(n), 5)), nil
	return &here
}

func (w *world) tryUpdate(fn func(tx *store.Tx) error) {
	if err := w.store.Update(context.Background(), w.org, store.Actor{RequestID: fmt.Sprint(w.rand.Uint64())}, fn); err != nil {
		w.t.Error(err)
	}
}

// named makes a record of which each text in a custom field is the id of that field.
func (w *world) named(tx *store.Tx, id uuid.UUID) error {
	v, err := w.thing(tx, id)
	if err != nil {
		return err
	}
	defs, err := defsOf(tx)
	for _, d := range defs {
		if key := shape.CustomPrefix + d.Record.Key; d.Record.Type == shape.TypeText && v.Custom[key] != nil {
			v.Custom[key] = d.ID.String()
		}
	}
	if err != nil {
		return err
	}
	return upsert(tx, v)
}

// searcher lists until it is told to stop: what it asks for may be gone by then, and what was gone
// before is not shown.
func (w *world) searcher(gone *graves, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		before := gone.all()
		k := w.known()
		k.ids = append(k.ids, before...)
		body := randomBody(w.rand, k)
		if len(before) > 0 && w.rand.IntN(3) == 0 {
			id := pick(w.rand, before)
			body = pick(w.rand, []string{filterBody("tags", filter.Contains, id), filterBody("owner", filter.Is, id), fmt.Sprintf(`{"search": %q}`, id)})
			if _, page := w.list(body); page.Total != 0 {
				w.t.Errorf("%s has %d: %s", body, page.Total, page.Records)
			}
			continue
		}
		plan, page, err := w.tryList(body)
		if code := fault.CodeOf(err); err != nil && code != fault.InvalidFilter && code != fault.InvalidSort {
			w.t.Errorf("%s: %v", body, err)
		}
		if err != nil {
			continue
		}
		w.isTrue(body, plan, page)
		for _, public := range page.Records {
			for _, id := range before {
				if bytes.Contains(public, []byte(id.String())) {
					w.t.Errorf("%s: shows %s of what was gone: %s", body, id, public)
				}
			}
		}
	}
}

// TestForgottenWhileBusy deletes tags, owners and custom fields and makes others, some with the
// keys of those, while records are written, lists read, and the index is followed, closed and made
// anew. A deletion rewrites at least one record itself, so that no list can take the moments before
// and after it for the same.
func TestForgottenWhileBusy(t *testing.T) {
	const many = 4
	rounds := 40
	if raceDetector { // ten times as slow
		rounds = 15
	}
	w := newWorld(t, 23)
	for range 4 {
		w.change(50)
	}
	var gone graves
	var workers, others sync.WaitGroup
	stop := make(chan struct{})
	until := func(n int, fn func(i int, w *world)) {
		others.Go(func() {
			here := w.busy(n)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					fn(i, here)
				}
			}
		})
	}
	for n := range many {
		others.Go(func() { w.busy(n).searcher(&gone, stop) })
		workers.Go(func() {
			w := w.busy(10 + n)
			for range rounds {
				w.tryUpdate(func(tx *store.Tx) error {
					id := tx.NewID()
					if len(w.ids) > 5 && w.rand.IntN(2) == 0 {
						id = pick(w.rand, w.ids)
					} else {
						w.ids = append(w.ids, id)
					}
					return w.named(tx, id)
				})
			}
		})
	}
	workers.Go(func() {
		w := w.busy(20)
		for range rounds {
			var dead uuid.UUID
			w.tryUpdate(func(tx *store.Tx) error {
				defs, err := defsOf(tx)
				if err != nil {
					return err
				}
				d := pick(w.rand, defs)
				dead = d.ID
				if err := forget(tx, d, 1+w.rand.IntN(5)); err != nil {
					return err
				}
				d.Record.ID, d.Record.Allowed = tx.NewID(), nil
				if d.Record.Type != "" {
					d.Record.Type = pick(w.rand, append(customTypes, shape.TypeText, shape.TypeText, shape.TypeText))
				}
				return w.define(tx, d.Record)
			})
			gone.add(dead)
		}
	})
	until(21, func(_ int, w *world) {
		w.tryUpdate(func(tx *store.Tx) error {
			tombs, err := tx.Tombstones(thingTable.Name())
			if err == nil && len(tombs) > 0 {
				_, err = thingTable.Sweep(tx, pick(w.rand, tombs), 5)
			}
			return err
		})
	})
	until(22, func(i int, w *world) {
		s := w.engine.tableIndex(w.org, things)
		if _, err := s.flush(); err != nil {
			t.Error(err)
		}
		switch i % 40 {
		case 13:
			s.close()
		case 26:
			if err := s.rebuildBecause(fmt.Errorf("try %d", i)); err != nil {
				t.Error(err)
			}
		}
	})
	workers.Wait()
	close(stop)
	others.Wait()
	w.ids = nil
	w.must(w.store.View(w.org, func(tx *store.Tx) error {
		return tx.Records(things.table, uuid.Nil, func(id uuid.UUID, _ uint64, _ []byte) (bool, error) {
			w.ids = append(w.ids, id)
			return true, nil
		})
	}))
	w.check()
	w.flushAll()
	w.check()
	for range 50 {
		w.agree(w.body())
	}
}
