package index

import (
	"slices"

	"github.com/google/uuid"

	"prospector/store"
)

const (
	// exportMost is how many records of an export are read at once.
	exportMost = 500
	// exportAhead is how many times that many are read ahead.
	exportAhead = 2
)

// Export gives all records that a plan matches, in its order, to use, some at a time and at least once, a line for each.
// Which they are is decided at one moment, and so is what a set that it is restricted to has. Each is given as it is when it is read, unless it is gone by then or no longer
// matches. While some are used the next are read, but no transaction waits for their use.
func (e *Engine) Export(org uuid.UUID, k *Kind, compile Compiled, use func(cs *Customs, lines []byte) error) error {
	x := &export{engine: e, org: org, kind: k}
	var ids []uuid.UUID
	err := e.list(org, k, compile, func(tx *store.Tx, s *shelf, m *moment, plan *Plan) (err error) {
		x.plan, x.number = plan.Within(nil), tx.LastChange(k.table)
		plan.Page, plan.PageSize = 1, max(1, tx.RecordCount(k.table))
		ids, _, err = s.decide(tx, m, plan)
		return err
	})
	if err != nil {
		return err
	}
	chunks := slices.Collect(slices.Chunk(ids, exportMost))
	if len(chunks) == 0 {
		chunks = [][]uuid.UUID{nil}
	}
	ring := make([]struct {
		read  chan chunk
		lines []byte // of the chunk before that had this place
	}, exportAhead+1)
	for i := range ring {
		ring[i].read = make(chan chunk, 1)
	}
	begun := 0
	for i := range chunks {
		for ; begun < min(i+len(ring), len(chunks)); begun++ {
			place, ids := &ring[begun%len(ring)], chunks[begun]
			go func() { place.read <- x.read(ids, place.lines[:0]) }()
		}
		place := &ring[i%len(ring)]
		c := <-place.read
		place.lines = c.lines
		err := c.err
		if err == nil {
			err = use(c.customs, c.lines)
		}
		if err != nil {
			for i++; i < begun; i++ { // those that are read in vain
				<-ring[i%len(ring)].read
			}
			return err
		}
	}
	return nil
}

// export is one that goes on.
type export struct {
	engine *Engine
	org    uuid.UUID
	kind   *Kind
	plan   *Plan
	number uint64 // of the change before which it was decided what is in it
}

// chunk is some of its records.
type chunk struct {
	customs *Customs
	lines   []byte
	err     error
}

func (x *export) read(ids []uuid.UUID, lines []byte) chunk {
	c := chunk{lines: lines}
	c.err = x.engine.store.View(x.org, func(tx *store.Tx) (err error) {
		if c.customs, err = x.kind.Customs(tx); err != nil {
			return err
		}
		tombs, err := tx.Tombstones(x.kind.table)
		if err != nil {
			return err
		}
		// What was deleted since may be gone from records that were not written since.
		mended := slices.ContainsFunc(tombs, func(t store.Tombstone) bool { return t.Change >= x.number })
		records := tx.Reader(x.kind.table)
		for _, id := range ids {
			change, public, err := records.Public(id)
			if err != nil {
				return err
			}
			if public == nil {
				continue
			}
			if change > x.number || mended {
				r, err := x.kind.row(c.customs, id, public)
				if err != nil {
					return err
				}
				if !x.plan.Match(r) {
					continue
				}
			}
			c.lines = append(append(c.lines, public...), '\n')
		}
		return nil
	})
	return c
}
