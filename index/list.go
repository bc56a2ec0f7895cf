package index

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"prospector/store"
)

// list answers a plan at the moment of a transaction of its own.
func (s *shelf) list(plan *Plan) (page Page, err error) {
	err = s.engine.store.View(s.org, func(tx *store.Tx) error {
		m, err := s.at(tx)
		if err != nil {
			return err
		}
		defer m.release()
		page, err = s.page(tx, m, plan)
		return err
	})
	return page, err
}

// page decides which records are on the page, and reads them.
func (s *shelf) page(tx *store.Tx, m *moment, plan *Plan) (Page, error) {
	rows := &collector{plan: plan, most: plan.reach()}
	for _, r := range m.rows {
		rows.add(r)
	}
	if m.view != nil && m.view.cursor != end {
		if err := s.scan(tx, m.view.cursor, rows); err != nil {
			return Page{}, err
		}
	}
	rows.sort()
	var ids []uuid.UUID
	total := rows.total
	err := guarded(func() error {
		parts := s.matches(tx, m, plan)
		for i := range parts {
			total += parts[i].count
		}
		if from := plan.from(total); from < total {
			ids = plan.pick(parts, rows, from)
		}
		return nil
	})
	if err != nil {
		return Page{}, err
	}
	records, err := s.read(tx, ids)
	return Page{Records: records, Total: total}, err
}

// matches gives the matches of each part of the view.
func (s *shelf) matches(tx *store.Tx, m *moment, plan *Plan) []matched {
	if m.view == nil {
		return nil
	}
	parts := make([]matched, 0, len(m.view.parts))
	for i, p := range m.view.parts {
		in := p.live
		if m.masks[i] != nil {
			in = m.masks[i]
		}
		e := evaluator{part: p, plan: plan, read: func(doc uint32) *row {
			number, public, err := tx.Public(s.kind.table, p.ids[doc])
			if err == nil && public == nil {
				err = fmt.Errorf("it has %s, which the store has not", p.ids[doc])
			}
			must(err)
			r, err := s.kind.row(p.ids[doc], number, public)
			must(err)
			return r
		}}
		found := matched{part: p, docs: e.matches(in), count: p.size}
		if found.docs != nil {
			found.count = found.docs.count()
		}
		parts = append(parts, found)
	}
	return parts
}

// scan decides the records that the index does not hold yet. Few lists do so at once: each takes a while.
func (s *shelf) scan(tx *store.Tx, above uuid.UUID, rows *collector) error {
	s.engine.scans <- struct{}{}
	defer func() { <-s.engine.scans }()
	return tx.Records(s.kind.table, above, func(id uuid.UUID, number uint64, public []byte) (bool, error) {
		r, err := s.kind.row(id, number, public)
		if err == nil {
			rows.add(r)
		}
		return true, err
	})
}

// read reads the records of a page.
func (s *shelf) read(tx *store.Tx, ids []uuid.UUID) ([][]byte, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	ends := make([]int, len(ids))
	var all []byte
	for i, id := range ids {
		_, public, err := tx.Public(s.kind.table, id)
		if err != nil {
			return nil, err
		}
		if public == nil {
			return nil, fmt.Errorf("%w: it has %s, which the store has not", errIndex, id)
		}
		if i == 0 {
			all = make([]byte, 0, (len(public)+64)*len(ids))
		}
		all = append(all, public...)
		ends[i] = len(all)
	}
	records, from := make([][]byte, len(ids)), 0
	for i, to := range ends {
		records[i] = all[from:to:to]
		from = to
	}
	return records, nil
}

// collector gathers matching rows, and of those no more than a page can need.
type collector struct {
	plan  *Plan
	most  int
	total int
	rows  []keyed
}

func (c *collector) add(r *row) {
	if !c.plan.Match(r) {
		return
	}
	c.total++
	c.rows = append(c.rows, c.plan.keyed(r))
	if len(c.rows) > 2*c.most+smallMost {
		c.sort()
		clear(c.rows[c.most:])
		c.rows = c.rows[:c.most]
	}
}

func (c *collector) sort() { slices.SortFunc(c.rows, c.plan.order) }

// complete tells whether nothing was left out.
func (c *collector) complete() bool { return c.total == len(c.rows) }
