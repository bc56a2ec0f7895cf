package index

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/store"
)

const (
	// exportChunk is the number of records that an export reads in one transaction.
	exportChunk = 500
	// exportAhead is the number of chunks that are read ahead.
	exportAhead = 2
)

// Export passes all records that a query matches to use, in its order: some lines of JSON at a
// time, and at least one call. One snapshot decides which records are exported. Each record is then
// read in a later transaction. It is exported as it is at that point, unless it has been deleted or
// no longer matches. Export returns how many records it left out because they cannot be read.
//
// Export reads ahead while use runs, but no transaction is open during use. If ctx ends, Export stops
// and returns the cause.
func (e *Engine) Export(
	ctx context.Context, org uuid.UUID, k *Kind, query Query, use func(cs *filter.CustomFields, lines []byte) error,
) (damaged int, err error) {
	x := &export{engine: e, org: org, kind: k}
	var found foundIDs
	r := &listRun{tableIndex: e.tableIndex(org, k)}
	err = r.run(ctx, query, func(tx *store.Tx, plan *filter.Plan) (err error) {
		x.plan, x.number = plan, tx.LastChange(k.table)
		plan.Page, plan.PageSize = 1, max(1, tx.RecordCount(k.table))
		found, err = r.find(ctx, tx, plan)
		return err
	})
	if err != nil {
		return 0, err
	}
	damaged = found.damaged
	chunks := slices.Collect(slices.Chunk(found.ids, exportChunk))
	if len(chunks) == 0 {
		chunks = [][]uuid.UUID{nil}
	}
	ring := make([]struct {
		read  chan chunk
		lines []byte // a buffer to reuse
	}, exportAhead+1)
	for i := range ring {
		ring[i].read = make(chan chunk, 1)
	}
	started := 0
	for i := range chunks {
		for ; started < min(i+len(ring), len(chunks)); started++ {
			slot, ids := &ring[started%len(ring)], chunks[started]
			go func() { slot.read <- x.read(ids, slot.lines[:0]) }()
		}
		slot := &ring[i%len(ring)]
		c := <-slot.read
		slot.lines = c.lines
		damaged += c.damaged
		err := c.err
		if err == nil {
			err = ended(ctx)
		}
		if err == nil {
			err = use(c.custom, c.lines)
		}
		if err != nil {
			for i++; i < started; i++ { // wait for reads that are not needed any more
				<-ring[i%len(ring)].read
			}
			return damaged, err
		}
	}
	return damaged, nil
}

// export is a running export.
type export struct {
	engine *Engine
	org    uuid.UUID
	kind   *Kind
	plan   *filter.Plan
	number uint64 // the change of the snapshot that decided which records are exported
}

// chunk is some of the exported records.
type chunk struct {
	custom  *filter.CustomFields
	lines   []byte
	damaged int // records that cannot be read
	err     error
}

// read reads a chunk and appends it to lines.
func (x *export) read(ids []uuid.UUID, lines []byte) chunk {
	c := chunk{lines: lines}
	c.err = x.engine.store.View(x.org, func(tx *store.Tx) (err error) {
		if c.custom, err = x.kind.Customs(tx); err != nil {
			return err
		}
		tombs, err := tx.Tombstones(x.kind.table)
		if err != nil {
			return err
		}
		// A value that was deleted since the snapshot may be missing from records that were not
		// written since.
		valuesDeleted := slices.ContainsFunc(tombs, func(t store.Tombstone) bool { return t.Change >= x.number })
		records := tx.Reader(x.kind.table)
		for _, id := range ids {
			change, public, err := records.Public(id)
			if errors.Is(err, store.ErrDamaged) {
				c.damaged++
				continue
			}
			if err != nil {
				return err
			}
			if public == nil {
				continue
			}
			if change > x.number || valuesDeleted {
				r, err := x.kind.Row(c.custom, id, public)
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
