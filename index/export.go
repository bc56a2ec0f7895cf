package index

import (
	"github.com/google/uuid"

	"prospector/store"
)

// exportMost is how many records of an export are read at once.
const exportMost = 500

// Export gives all records that a plan matches, in its order, to use, some at a time and at least once. Which they are
// is decided at one moment. Each is given as it is when it is read, unless it is gone by then or no longer matches; no
// transaction is open while they are used.
func (e *Engine) Export(org uuid.UUID, k *Kind, compile Compiled, use func(cs *Customs, records [][]byte) error) error {
	var ids []uuid.UUID
	var number uint64
	var plan *Plan
	err := e.list(org, k, compile, func(tx *store.Tx, s *shelf, m *moment, p *Plan) (err error) {
		plan, number = p, tx.LastChange(k.table)
		plan.Page, plan.PageSize = 1, max(1, tx.RecordCount(k.table))
		ids, _, err = s.decide(tx, m, plan)
		return err
	})
	if err != nil {
		return err
	}
	var text []byte
	for first := true; first || len(ids) > 0; first = false {
		var ends []int
		var cs *Customs
		some := ids[:min(exportMost, len(ids))]
		ids = ids[len(some):]
		text = text[:0]
		err := e.store.View(org, func(tx *store.Tx) (err error) {
			if cs, err = k.Customs(tx); err != nil {
				return err
			}
			records := tx.Reader(k.table)
			for _, id := range some {
				change, public, err := records.Public(id)
				if err != nil {
					return err
				}
				if public == nil {
					continue
				}
				if change > number {
					r, err := k.row(cs, id, public)
					if err != nil {
						return err
					}
					if !plan.Match(r) {
						continue
					}
				}
				text = append(text, public...)
				ends = append(ends, len(text))
			}
			return nil
		})
		if err != nil {
			return err
		}
		records, from := make([][]byte, len(ends)), 0
		for i, end := range ends {
			records[i], from = text[from:end], end
		}
		if err := use(cs, records); err != nil {
			return err
		}
	}
	return nil
}
