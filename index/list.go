package index

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/store"
)

// read calls fn with a transaction and the snapshot of the table index that belongs to it.
func (s *tableIndex) read(fn func(tx *store.Tx, at *snapshot) error) error {
	for {
		if err := s.load(); err != nil {
			return err
		}
		err := s.engine.store.View(s.org, func(tx *store.Tx) error {
			at, err := s.snapshotAt(tx)
			if err != nil {
				return err
			}
			defer at.release()
			return fn(tx, at)
		})
		if !errors.Is(err, errStaleTx) && !errors.Is(err, errUnloaded) {
			return err
		}
	}
}

// page reads the page of a plan.
func (s *tableIndex) page(ctx context.Context, tx *store.Tx, at *snapshot, plan *filter.Plan) (Page, error) {
	found, err := s.pageIDs(ctx, tx, at, plan)
	if err != nil {
		return Page{}, err
	}
	page, err := readPage(tx.Reader(s.kind.table), found.ids)
	return Page{Records: page, Total: found.total, Damaged: found.damaged}, err
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
	for _, c := range at.changes {
		if err := ended(ctx); err != nil {
			return found, err
		}
		if c.row != nil {
			rows.add(c.row)
		}
	}
	if at.view != nil && at.view.cursor != end {
		if err := s.scanUnindexed(ctx, tx, at.view.cursor, rows); err != nil {
			return found, err
		}
	}
	rows.sort()
	found.total = rows.total
	// What is counted and cannot be read is in neither the index nor the rows.
	found.damaged = max(0, tx.RecordCount(s.kind.table)-at.readable-rows.scanned)
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
		e := evaluator{segmentView: p, ctx: ctx, plan: plan, stored: func(doc uint32) *filter.Row {
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

// scanUnindexed collects matches among the records above an id, which the index does not contain
// yet.
func (s *tableIndex) scanUnindexed(ctx context.Context, tx *store.Tx, above uuid.UUID, rows *rowCollector) error {
	return tx.Records(s.kind.table, above, func(id uuid.UUID, _ uint64, public []byte) (bool, error) {
		if err := ended(ctx); err != nil {
			return false, err
		}
		rows.scanned++
		if !rows.plan.Members.Has(id) {
			return true, nil // without decoding it
		}
		r, err := s.kind.Row(rows.plan.Custom, id, public)
		if err == nil {
			rows.add(r)
		}
		return true, err
	})
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
	// scanned is the number of readable records that the index does not contain yet.
	scanned int
	rows    []rankedRow
	full    bool // the first limit rows are sorted, and rows after them are not needed
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
