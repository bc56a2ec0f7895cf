package index

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"prospector/store"
)

// read calls fn with a transaction and the moment of the shelf that belongs to it.
func (s *shelf) read(fn func(tx *store.Tx, m *moment) error) error {
	for {
		if err := s.load(); err != nil {
			return err
		}
		err := s.engine.store.View(s.org, func(tx *store.Tx) error {
			m, err := s.at(tx)
			if err != nil {
				return err
			}
			defer m.release()
			return fn(tx, m)
		})
		if !errors.Is(err, errBehind) && !errors.Is(err, errUnloaded) {
			return err
		}
	}
}

// page decides which records are on the page, and reads them.
func (s *shelf) page(tx *store.Tx, m *moment, plan *Plan) (Page, error) {
	ids, total, err := s.decide(tx, m, plan)
	if err != nil {
		return Page{}, err
	}
	page, err := readPage(tx.Reader(s.kind.table), ids)
	return Page{Records: page, Total: total}, err
}

// decide gives the ids of the records that are on the page, and how many match in all.
func (s *shelf) decide(tx *store.Tx, m *moment, plan *Plan) (ids []uuid.UUID, total int, err error) {
	rows := &collector{plan: plan, most: plan.reach()}
	for _, c := range m.changes {
		if c.row != nil {
			rows.add(c.row)
		}
	}
	if m.view != nil && m.view.cursor != end {
		if err := s.scan(tx, m.view.cursor, rows); err != nil {
			return nil, 0, err
		}
	}
	rows.sort()
	total = rows.total
	err = guarded(func() error {
		parts := s.matches(tx.Reader(s.kind.table), m, plan)
		for i := range parts {
			total += parts[i].count
		}
		if from := plan.from(total); from < total {
			ids = plan.pick(parts, rows, from)
		}
		return nil
	})
	return ids, total, err
}

// matches gives the matches of each part of the view.
func (s *shelf) matches(records *store.Reader, m *moment, plan *Plan) []matched {
	parts := make([]matched, 0, len(m.parts))
	for i, p := range m.parts {
		e := evaluator{part: p, plan: plan, stored: func(doc uint32) *row {
			_, public, err := records.Public(p.ids[doc])
			if err == nil && public == nil {
				err = fmt.Errorf("it has %s, which the store has not", p.ids[doc])
			}
			must(err)
			r, err := s.kind.row(plan.customs, p.ids[doc], public)
			must(err)
			return r
		}}
		in := m.live(i)
		if plan.within != nil {
			if in = p.among(plan.members, in); in.count() == 0 {
				continue
			}
		}
		found := matched{part: p, docs: e.matches(in), count: p.size}
		if found.docs != nil {
			found.count = found.docs.count()
		}
		parts = append(parts, found)
	}
	return parts
}

// scan decides the records that the index does not hold yet.
func (s *shelf) scan(tx *store.Tx, above uuid.UUID, rows *collector) error {
	return tx.Records(s.kind.table, above, func(id uuid.UUID, _ uint64, public []byte) (bool, error) {
		if !rows.plan.has(id) {
			return true, nil // without decoding it
		}
		r, err := s.kind.row(rows.plan.customs, id, public)
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
			return nil, fmt.Errorf("%w: it has %s, which the store has not", errIndex, id)
		}
		page[i] = public
	}
	return page, nil
}

// collector gathers matching rows, and of those no more than a page can need: once it has enough, a row that comes
// behind all of them is only counted.
type collector struct {
	plan  *Plan
	most  int
	total int
	rows  []ranked
	full  bool // the first most of rows are in order: what comes behind them is not needed
}

func (c *collector) add(r *row) {
	if !c.plan.Match(r) {
		return
	}
	c.total++
	next := c.plan.ranked(r)
	if c.full && c.plan.order(next, c.rows[c.most-1]) >= 0 {
		return
	}
	c.rows = append(c.rows, next)
	if len(c.rows) >= 2*c.most {
		c.sort()
		clear(c.rows[c.most:])
		c.rows, c.full = c.rows[:c.most], true
	}
}

func (c *collector) sort() { slices.SortFunc(c.rows, c.plan.order) }

// complete tells whether nothing was left out.
func (c *collector) complete() bool { return c.total == len(c.rows) }
