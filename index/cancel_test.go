package index

import (
	"context"
	"errors"
	"strings"
	"testing"

	"prospector/internal/filter"
	"prospector/store"
)

var errGone = errors.New("the caller has gone")

// cancelWhileCompiling returns a context, and a query that ends it. Everything after compiling must stop.
func cancelWhileCompiling(t *testing.T, body string) (context.Context, Query) {
	ctx, cancel := context.WithCancelCause(t.Context())
	query := listQuery(things, body)
	return ctx, func(tx *store.Tx, cs *filter.CustomFields) (*filter.Plan, error) {
		cancel(errGone)
		return query(tx, cs)
	}
}

// Lists, selections and exports stop when their caller has gone, and the index is not mistaken for a damaged
// one.
func TestCallerHasGone(t *testing.T) {
	states := []struct {
		name string
		make func(*fixture)
	}{
		{"in memory", func(w *fixture) { w.opt.maxSmall = 10_000; w.close(); w.open() }},
		{"not indexed", func(w *fixture) { w.must(w.engine.tableIndex(w.org, things).rebuildBecause(errors.New("test"))) }},
		{"indexed", func(w *fixture) { w.flushAll() }},
	}
	for _, state := range states {
		t.Run(state.name, func(t *testing.T) {
			w := newFixture(t, 3)
			for range 5 {
				w.change(30)
			}
			state.make(w)
			damaged := w.engine.counts.damaged.Load()
			for _, body := range []string{
				`{}`, `{"search": "a"}`, `{"filters": [{"field": "remark", "condition": "contains", "value": "a"}]}`,
				`{"filters": [{"field": "remark", "condition": "contains", "value": "a "}]}`,
				`{"filters": [{"field": "name", "condition": "is", "value": "ann"}]}`,
			} {
				ctx, query := cancelWhileCompiling(t, body)
				err := w.engine.List(ctx, w.org, things, query, func(Page) error { t.Error("listed a page"); return nil })
				if !errors.Is(err, errGone) {
					t.Errorf("List %s: %v", body, err)
				}
				ctx, query = cancelWhileCompiling(t, body)
				if _, _, err := w.engine.Select(ctx, w.org, things, query, 10); !errors.Is(err, errGone) {
					t.Errorf("Select %s: %v", body, err)
				}
				ctx, query = cancelWhileCompiling(t, body)
				_, err = w.engine.Export(ctx, w.org, things, query, func(*filter.CustomFields, []byte) error {
					t.Error("exported records")
					return nil
				})
				if !errors.Is(err, errGone) {
					t.Errorf("Export %s: %v", body, err)
				}
			}
			if now := w.engine.counts.damaged.Load(); now != damaged {
				t.Error("the index was taken for damaged")
			}
			w.agree(`{}`)
		})
	}
}

// An export stops between two chunks.
func TestExportStopsBetweenChunks(t *testing.T) {
	w := newFixture(t, 4)
	w.update(func(tx *store.Tx) error {
		for range 2*exportChunk + 1 {
			if err := w.insert(tx); err != nil {
				return err
			}
		}
		return nil
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	lines := 0
	_, err := w.engine.Export(ctx, w.org, things, listQuery(things, `{}`), func(_ *filter.CustomFields, some []byte) error {
		lines += strings.Count(string(some), "\n")
		cancel(errGone)
		return nil
	})
	if !errors.Is(err, errGone) || lines != exportChunk {
		t.Errorf("%d records, then %v", lines, err)
	}
}

// A list that waits because others scan the store stops waiting.
func TestWaitingListStops(t *testing.T) {
	w := newFixture(t, 5)
	w.change(60)
	s := w.engine.tableIndex(w.org, things)
	w.must(s.rebuildBecause(errors.New("test")))
	s.reportFailure(errors.New("no room"))
	for range cap(w.engine.scans) {
		w.engine.scans <- struct{}{}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errGone)
	err := w.engine.List(ctx, w.org, things, listQuery(things, `{}`), func(Page) error { return nil })
	for range cap(w.engine.scans) {
		<-w.engine.scans
	}
	if !errors.Is(err, errGone) {
		t.Error(err)
	}
}

// Evaluation stops in the middle: at the record, word or value after which the caller has gone.
func TestEvaluationStops(t *testing.T) {
	w := newFixture(t, 6)
	for range 5 {
		w.change(30)
	}
	w.flushAll()
	w.evaluate(`{"filters": [{"field": "remark", "condition": "contains", "value": " "}]}`, func(e *evaluator, reads *int) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stored := e.stored
		e.ctx, e.stored = ctx, func(doc uint32) *filter.Row {
			cancel(errGone)
			return stored(doc)
		}
		err := recoverDamage(func() error { e.matches(nil); return nil })
		if *reads > 1 || *reads == 1 && !errors.Is(err, errGone) && e.withValue(things.Field("remark")).count() > 1 {
			t.Errorf("%d records were read, then %v", *reads, err)
		}
	})
}
