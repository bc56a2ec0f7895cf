package index

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/internal/turn"
	"prospector/store"
)

// read calls fn with a transaction and the snapshot of the table index that belongs to it.
func (s *tableIndex) read(fn func(tx *store.Tx, at *snapshot) error) error {
	return s.inTx(func(tx *store.Tx) error { return s.withSnapshot(tx, fn) })
}

// inTx calls fn in a transaction once the table index is loaded, and again if the transaction was older
// than the index.
func (s *tableIndex) inTx(fn func(tx *store.Tx) error) error {
	for {
		if err := s.load(); err != nil {
			return err
		}
		err := s.engine.store.View(s.org, fn)
		if !errors.Is(err, errStaleTx) && !errors.Is(err, errUnloaded) {
			return err
		}
	}
}

// withSnapshot calls fn with the snapshot of a transaction.
func (s *tableIndex) withSnapshot(tx *store.Tx, fn func(tx *store.Tx, at *snapshot) error) error {
	at, err := s.snapshotAt(tx)
	if err != nil {
		return err
	}
	defer at.close()
	return fn(tx, at)
}

// listRun is a list that is being read.
type listRun struct {
	*tableIndex
	patience  time.Duration    // how long it waits for an index that is being built; 0: until it is built
	scans     bool             // it has a slot in Engine.scans
	impatient <-chan time.Time // after patience; nil before it waits
}

// run calls fn in a transaction with the plan that was compiled in it. If reading shows that the index is
// damaged, it starts to rebuild the index and calls fn again.
func (r *listRun) run(ctx context.Context, query Query, fn func(*store.Tx, *filter.Plan) error) error {
	defer r.close()
	for rebuilt := false; ; {
		err := r.inTx(func(tx *store.Tx) error {
			cs, err := r.kind.Customs(tx)
			if err != nil {
				return err
			}
			plan, err := query(tx, cs)
			if err != nil {
				return err
			}
			return fn(tx, plan)
		})
		var unread *unreadableError
		switch {
		case errors.Is(err, errFarBehind), errors.Is(err, errScans):
			if err := r.wait(ctx, err); err != nil {
				return err
			}
		case errors.As(err, &unread) && (rebuilt || !errors.Is(err, errIndex)):
			if !r.leaveOut(unread.ids) {
				return err
			}
		case !errors.Is(err, errIndex):
			return err
		default:
			if err := r.rebuildBecause(err); err != nil {
				return err
			}
			rebuilt = true
		}
	}
}

// page reads the page of a plan.
func (r *listRun) page(ctx context.Context, tx *store.Tx, plan *filter.Plan) (Page, error) {
	found, err := r.find(ctx, tx, plan)
	if err != nil {
		return Page{}, err
	}
	page, err := readPage(tx.Reader(r.kind.table), found.ids)
	return Page{Records: page, Total: found.total, Damaged: found.damaged}, err
}

// find returns the ids of the records on the page of a plan, unless the index must be waited for.
func (r *listRun) find(ctx context.Context, tx *store.Tx, plan *filter.Plan) (found foundIDs, err error) {
	if err := r.admit(r.scans); err != nil {
		return found, err
	}
	err = r.withSnapshot(tx, func(tx *store.Tx, at *snapshot) (err error) {
		found, err = r.pageIDs(ctx, tx, at, plan)
		return err
	})
	return found, err
}

// foundIDs are the ids on a page, the number of records on all pages, and the number of records of
// the table that cannot be read.
type foundIDs struct {
	ids            []uuid.UUID
	total, damaged int
}

// pageIDs returns the ids of the records on the page of a plan.
func (s *tableIndex) pageIDs(
	ctx context.Context, tx *store.Tx, at *snapshot, plan *filter.Plan,
) (found foundIDs, err error) {
	rows := &rowCollector{plan: plan, limit: pageEnd(plan)}
	scanned, err := s.eachRow(ctx, tx, at, plan, rows.add)
	if err != nil {
		return found, err
	}
	rows.sort()
	found.total = rows.total
	found.damaged = s.damagedIn(tx, at, scanned)
	err = recoverDamage(func() error {
		segments, err := s.matchSegments(ctx, tx.Reader(s.kind.table), at, plan)
		for i := range segments {
			found.total += segments[i].count
		}
		if start := pageStart(plan, found.total); err == nil && start < found.total {
			found.ids = pickPage(plan, segments, rows, start)
		}
		return err
	})
	return found, err
}

// matchSegments returns the matches of each segment of the view.
func (s *tableIndex) matchSegments(
	ctx context.Context, records *store.Reader, at *snapshot, plan *filter.Plan,
) ([]segmentMatches, error) {
	var unread unreadableError
	matches := make([]segmentMatches, 0, len(at.segments))
	for i, p := range at.segments {
		e := evaluator{segmentView: p, ctx: ctx, work: turn.Of(ctx), plan: plan, stored: func(doc uint32) *filter.Row {
			_, public, err := records.Public(p.ids[doc])
			if errors.Is(err, store.ErrDamaged) {
				unread.ids = append(unread.ids, p.ids[doc])
				public, err = []byte("{}"), nil // the list is repeated without it
			}
			if err == nil && public == nil {
				err = fmt.Errorf("it contains %s, which is not in the store", p.ids[doc])
			}
			must(err)
			r, err := s.kind.Row(plan.Custom, p.ids[doc], public)
			must(err)
			return r
		}}
		e.check()
		in := at.live(i)
		if plan.Members != nil {
			if in = p.withIDs(plan.Members.IDs, in); in.count() == 0 {
				continue
			}
		}
		found := segmentMatches{segment: p, docs: e.matches(in), count: p.size}
		if found.docs != nil {
			found.count = found.docs.count()
		}
		matches = append(matches, found)
	}
	return matches, unread.orNil()
}

// eachRow calls fn for the rows outside of segments, of which the plan may match some: those of changed records,
// and those that the index does not cover yet. scanned is the number of the latter.
func (s *tableIndex) eachRow(
	ctx context.Context, tx *store.Tx, at *snapshot, plan *filter.Plan, fn func(*filter.Row),
) (scanned int, err error) {
	for _, c := range at.changes {
		if err := ended(ctx); err != nil {
			return 0, err
		}
		if c.row != nil {
			fn(c.row)
		}
	}
	if !at.view.isBuilding() || at.complete {
		return 0, nil
	}
	err = s.eachUncovered(tx, at.view, func(id uuid.UUID, _ uint64, public []byte) error {
		if err := ended(ctx); err != nil {
			return err
		}
		scanned++
		if !plan.Members.Has(id) {
			return nil // without decoding it
		}
		r, err := s.kind.Row(plan.Custom, id, public)
		if err == nil {
			fn(r)
		}
		return err
	})
	return scanned, err
}

// damagedIn returns the number of records that cannot be read. They are counted and are in neither the index nor
// the rows.
func (s *tableIndex) damagedIn(tx *store.Tx, at *snapshot, scanned int) int {
	damaged := max(0, tx.RecordCount(s.kind.table)-at.readable-scanned)
	s.lost.Store(int64(max(0, damaged-s.knownDamaged())))
	return damaged
}

// readPage reads the records of a page.
func readPage(records *store.Reader, ids []uuid.UUID) ([][]byte, error) {
	page := make([][]byte, len(ids))
	var unread, missing unreadableError
	for i, id := range ids {
		_, public, err := records.Public(id)
		switch {
		case errors.Is(err, store.ErrDamaged):
			unread.ids = append(unread.ids, id)
		case err != nil:
			return nil, err
		case public == nil:
			missing.ids = append(missing.ids, id)
		}
		page[i] = public
	}
	if len(missing.ids) > 0 {
		return nil, fmt.Errorf("%w: it contains %s, which is not in the store: %w", errIndex, missing.ids[0], &missing)
	}
	return page, unread.orNil()
}

// unreadableError reports records that the index has and that cannot be read from the store. A list is
// repeated without them.
type unreadableError struct{ ids []uuid.UUID }

func (e *unreadableError) Error() string { return fmt.Sprintf("%d records cannot be read", len(e.ids)) }

func (e *unreadableError) orNil() error {
	if len(e.ids) == 0 {
		return nil
	}
	return e
}

// leaveOut removes unreadable records from the lists of this table index, until they are written
// again. It reports whether that changes anything.
func (s *tableIndex) leaveOut(ids []uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.overlay == nil {
		return true // the index was closed concurrently
	}
	changed := false
	for _, id := range ids {
		if i, known := s.overlay.byID[id]; known && s.overlay.changes[i].row == nil {
			continue
		}
		changed = true
		// The number keeps the change in the overlay when the index is written.
		s.overlay.put(&change{id: id, number: math.MaxUint64})
	}
	s.current = nil
	return changed
}

// rowCollector collects matching rows, and no more of them than a page can need. Once it has
// enough, it only counts rows that come after all of them.
type rowCollector struct {
	plan  *filter.Plan
	limit int // the matches up to the end of the page
	total int
	rows  []rankedRow
	full  bool // the first limit rows are sorted, and rows after them are not needed
}

func (c *rowCollector) add(r *filter.Row) {
	if !c.plan.Match(r) {
		return
	}
	c.total++
	next := rank(c.plan, r)
	if c.full && compareRows(c.plan, next, c.rows[c.limit-1]) >= 0 {
		return
	}
	c.rows = append(c.rows, next)
	if len(c.rows) >= 2*c.limit {
		c.sort()
		clear(c.rows[c.limit:])
		c.rows, c.full = c.rows[:c.limit], true
	}
}

func (c *rowCollector) sort() {
	slices.SortFunc(c.rows, func(a, b rankedRow) int { return compareRows(c.plan, a, b) })
}

// complete reports whether the collector holds every matching row.
func (c *rowCollector) complete() bool { return c.total == len(c.rows) }
