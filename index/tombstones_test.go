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

// newReference creates a record that things can refer to in the field with the key.
func (w *fixture) newReference(key string) (id uuid.UUID) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		id = tx.NewID()
		return w.define(tx, definition{ID: id, Key: key})
	})
	return id
}

// deleteDefinition deletes a definition and sweeps some of the records that have it.
func (w *fixture) deleteDefinition(id uuid.UUID, some int) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		d, err := definitionTable.Get(tx, id)
		if err != nil {
			return err
		}
		return deleteDefinition(tx, d, some)
	})
}

// wantTotal reports an error unless a list has want records and agrees with the predicate.
func (w *fixture) wantTotal(body string, want int, when string) {
	w.t.Helper()
	w.agree(body)
	if _, page := w.list(body); page.Total != want {
		w.t.Errorf("%s: %s has %d records, want %d", when, body, page.Total, want)
	}
}

// filterBody returns a list body with one rule.
func filterBody(field string, cond filter.Condition, values ...any) string {
	rule := map[string]any{"field": field, "condition": cond}
	if len(values) > 0 {
		rule["value"] = values
	}
	b, _ := json.Marshal(map[string]any{"page_size": 500, "filters": []any{rule}})
	return string(b)
}

// A tag and an owner that many records have are deleted. From then on no list shows them, whether
// the records are in the index, in the overlay, above the cursor or in memory only, and however
// many are swept.
func TestTombstones(t *testing.T) {
	places := []string{"index", "rows", "building", "memory"}
	if raceDetector { // ten times as slow; TestConcurrentDeletions covers concurrency
		places = places[2:3]
	}
	for _, where := range places {
		t.Run(where, func(t *testing.T) {
			w := newFixture(t, 131)
			w.close()
			if where == "memory" {
				w.opt.maxSmall = 10_000
			}
			w.open()
			tag, other := w.newReference("tags"), w.newReference("tags")
			owner, boss := w.newReference("owner"), w.newReference("owner")
			write := func(id uuid.UUID, i int) {
				w.update(func(tx *store.Tx) error {
					v := thing{ID: id, Name: shape.Text(fmt.Sprint("n", i%7))}
					v.Tags = [][]uuid.UUID{nil, {tag}, {tag, other}, {other}}[i%4]
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
			w.list(`{"sort": "owner"}`) // puts the column and the order into the cache
			w.list(`{"sort": "-owner,name"}`)
			s := w.engine.tableIndex(w.org, things)
			w.whilePaused(func() {
				switch where {
				case "rows":
					for i := range 60 {
						write(w.ids[2*i], 2*i)
					}
					w.list(`{}`)
				case "building":
					w.must(s.rebuildBecause(errors.New("test")))
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
						w.agree(fmt.Sprintf(`{"sort": %q, "page_size": 7, "page": 9, "filters": [
							{"field": "owner", "condition": "is_not", "value": %q}]}`, sort, owner))
					}
					w.check()
				}
				look("before", 60, 40)
				w.deleteDefinition(tag, 0)
				look("a tag is deleted", 0, 40)
				w.update(func(tx *store.Tx) error {
					tombs, err := tx.Tombstones(thingTable.Name())
					if err == nil {
						_, err = thingTable.Sweep(tx, tombs[0], 25)
					}
					return err
				})
				look("the tag is partly swept", 0, 40)
				w.sweep()
				look("the tag is swept", 0, 40)
				w.deleteDefinition(owner, 7)
				look("an owner is deleted", 0, 0)
				w.must(s.flushAll())
				look("the deletion is flushed", 0, 0)
				w.must(s.rebuildBecause(errors.New("test")))
				w.must(s.flushAll())
				look("the index was rebuilt", 0, 0)
				w.sweep()
				w.must(s.flushAll())
				look("the owner is swept", 0, 0)
			})
		})
	}
}

// A document that was indexed between two deletions lacks the first value but has the second. Check
// accepts it.
func TestCheckBetweenTombstones(t *testing.T) {
	w := newFixture(t, 132)
	first, second := w.newReference("tags"), w.newReference("tags")
	w.insertMany(40, thing{Tags: shape.IDs{first, second}})
	w.flushAll()
	w.deleteDefinition(first, 1)
	w.must(w.engine.tableIndex(w.org, things).rebuildBecause(errors.New("test")))
	w.flushAll()
	w.check()
	w.deleteDefinition(second, 1)
	w.check()
}

// Check accepts a document that still has a deleted tag, or the value of a deleted custom field
// whose key belongs to a field of another type now.
func TestCheckFieldCreatedAgain(t *testing.T) {
	w := newFixture(t, 133)
	tag, field := w.newReference("tags"), w.newField("again", shape.TypeText)
	w.insertMany(40, thing{Tags: shape.IDs{tag}, Custom: shape.Custom{shape.CustomPrefix + "again": "quagga"}})
	w.flushAll()
	w.deleteDefinition(tag, 1)
	w.check()
	w.deleteDefinition(field, 1)
	w.check()
	w.newField("again", shape.TypeNumber)
	w.check()
}

// deletedIDs are the ids of definitions whose deletion is committed.
type deletedIDs struct {
	mu  sync.Mutex
	ids []uuid.UUID
}

func (g *deletedIDs) add(id uuid.UUID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ids = append(g.ids, id)
}

func (g *deletedIDs) all() []uuid.UUID {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.ids)
}

// forGoroutine returns a copy of the fixture for one of several goroutines.
func (w *fixture) forGoroutine(n int) *fixture {
	here := *w
	here.rand, here.ids = rand.New(rand.NewPCG(uint64(n), 5)), nil
	return &here
}

func (w *fixture) tryUpdate(fn func(tx *store.Tx) error) {
	actor := store.Actor{RequestID: fmt.Sprint(w.rand.Uint64())}
	if err := w.store.Update(context.Background(), w.org, actor, fn); err != nil {
		w.t.Error(err)
	}
}

// named upserts a record in which every text of a custom field is the id of that field.
func (w *fixture) named(tx *store.Tx, id uuid.UUID) error {
	v, err := w.thing(tx, id)
	if err != nil {
		return err
	}
	defs, err := definitions(tx)
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

// searcher lists until stop is closed. The query may use a field that was deleted since, but no
// record may show what was deleted before.
func (w *fixture) searcher(deleted *deletedIDs, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		before := deleted.all()
		k := w.known()
		k.ids = append(k.ids, before...)
		body := randomBody(w.rand, k)
		if len(before) > 0 && w.rand.IntN(3) == 0 {
			id := pick(w.rand, before)
			body = pick(w.rand, []string{
				filterBody("tags", filter.Contains, id),
				filterBody("owner", filter.Is, id),
				fmt.Sprintf(`{"search": %q}`, id),
			})
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
		w.checkPage(body, plan, page)
		for _, public := range page.Records {
			for _, id := range before {
				if bytes.Contains(public, []byte(id.String())) {
					w.t.Errorf("%s: shows the deleted %s: %s", body, id, public)
				}
			}
		}
	}
}

// Tags, owners and custom fields are deleted and created again, some with the same keys, while
// records are written, lists are read, and the index is flushed, closed and rebuilt. A deletion
// sweeps at least one record, so that the change number distinguishes the states before and after
// it.
func TestConcurrentDeletions(t *testing.T) {
	const many = 4
	rounds := 40
	if raceDetector { // ten times as slow
		rounds = 15
	}
	w := newFixture(t, 23)
	for range 4 {
		w.change(50)
	}
	var deleted deletedIDs
	var workers, others sync.WaitGroup
	stop := make(chan struct{})
	until := func(n int, fn func(i int, w *fixture)) {
		others.Go(func() {
			here := w.forGoroutine(n)
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
		others.Go(func() { w.forGoroutine(n).searcher(&deleted, stop) })
		workers.Go(func() {
			w := w.forGoroutine(10 + n)
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
		w := w.forGoroutine(20)
		for range rounds {
			var dead uuid.UUID
			w.tryUpdate(func(tx *store.Tx) error {
				defs, err := definitions(tx)
				if err != nil {
					return err
				}
				d := pick(w.rand, defs)
				dead = d.ID
				if err := deleteDefinition(tx, d, 1+w.rand.IntN(5)); err != nil {
					return err
				}
				d.Record.ID, d.Record.Allowed = tx.NewID(), nil
				if d.Record.Type != "" {
					d.Record.Type = pick(w.rand, append(customTypes, shape.TypeText, shape.TypeText, shape.TypeText))
				}
				return w.define(tx, d.Record)
			})
			deleted.add(dead)
		}
	})
	until(21, func(_ int, w *fixture) {
		w.tryUpdate(func(tx *store.Tx) error {
			tombs, err := tx.Tombstones(thingTable.Name())
			if err == nil && len(tombs) > 0 {
				_, err = thingTable.Sweep(tx, pick(w.rand, tombs), 5)
			}
			return err
		})
	})
	until(22, func(i int, w *fixture) {
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
