package index

import (
	"context"
	"errors"
	"fmt"
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
	ids, total, err := s.pageIDs(ctx, tx, at, plan)
	if err != nil {
		return Page{}, err
	}
	page, err := readPage(tx.Reader(s.kind.table), ids)
	return Page{Records: page, Total: total}, err
}

// pageIDs returns the ids of the records on the page of a plan, and the number of records on all
// pages.
func (s *tableIndex) pageIDs(
	ctx context.Context, tx *store.Tx, at *snapshot, plan *filter.Plan,
) (ids []uuid.UUID, total int, err error) {
	rows := &rowCollector{plan: plan, limit: pageEnd(plan)}
	for _, c := range at.changes {
		if err := ended(ctx); err != nil {
			return nil, 0, err
		}
		if c.row != nil {
			rows.add(c.row)
		}
	}
	if at.view != nil && at.view.cursor != end {
		if err := s.scanUnindexed(ctx, tx, at.view.cursor, rows); err != nil {
			return nil, 0, err
		}
	}
	rows.sort()
	total = rows.total
	err = recoverDamage(func() error {
		segments := s.matchSegments(ctx, tx.Reader(s.kind.table), at, plan)
		for i := range segments {
			total += segments[i].count
		}
		if start := pageStart(plan, total); start < total {
			ids = pickPage(plan, segments, rows, start)
		}
		return nil
	})
	return ids, total, err
}

// matchSegments returns the matches of each segment of the view.
func (s *tableIndex) matchSegments(
	ctx context.Context, records *store.Reader, at *snapshot, plan *filter.Plan,
) []segmentMatches {
	matches := make([]segmentMatches, 0, len(at.segments))
	for i, p := range at.segments {
		e := evaluator{segmentView: p, ctx: ctx, plan: plan, stored: func(doc uint32) *filter.Row {
			_, public, err := records.Public(p.ids[doc])
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
	return matches
}

// scanUnindexed collects matches among the records above an id, which the index does not contain
// yet.
func (s *tableIndex) scanUnindexed(ctx context.Context, tx *store.Tx, above uuid.UUID, rows *rowCollector) error {
	return tx.Records(s.kind.table, above, func(id uuid.UUID, _ uint64, public []byte) (bool, error) {
		if err := ended(ctx); err != nil {
			return false, err
		}
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
	for i, id := range ids {
		_, public, err := records.Public(id)
		if err != nil {
			return nil, err
		}
		if public == nil {
			return nil, fmt.Errorf("%w: it contains %s, which is not in the store", errIndex, id)
		}
		page[i] = public
	}
	return page, nil
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
