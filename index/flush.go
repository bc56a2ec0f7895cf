package index

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"

	bleve "github.com/blevesearch/bleve_index_api"
	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/store"
)

// The limits of a batch. Larger batches use more memory and save no time.
const (
	maxBatchDocs    = 1500
	maxBatchBytes   = 2 << 20 // of records
	maxBatchChanges = 20_000  // read from the change log
)

// flush writes the next batch of changes to the index, and reports whether there are more. It
// rebuilds an index that it finds damaged. It returns errShort for an index that is paused.
func (s *tableIndex) flush() (more bool, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.loadLocked(); err != nil {
		return false, err
	}
	defer s.engine.signalProgress()
	if paused := s.paused.Load(); paused != nil {
		return false, *paused
	}
	if s.disk == nil {
		return s.createIfLarge()
	}
	if err = s.disk.failure(); err == nil {
		more, err = s.flushNext()
	}
	switch {
	case errors.Is(err, errShort):
		return false, s.pause(err)
	case errors.Is(err, errIndex):
		s.reportDamage(err)
		return true, s.rebuild()
	}
	return more, err
}

// createIfLarge creates an index if the table is no longer small, and reports whether it did.
func (s *tableIndex) createIfLarge() (created bool, err error) {
	count := 0
	err = s.engine.store.View(s.org, func(tx *store.Tx) error {
		count = tx.RecordCount(s.kind.table)
		s.indexed.Store(tx.LastChange(s.kind.table))
		return nil
	})
	if err != nil || count <= s.engine.maxSmall {
		return false, err
	}
	err = s.rebuild()
	return s.disk != nil, err
}

// flushNext writes one batch: the records that were changed since the last one and, if the batch
// has room, records that the index does not contain yet. While bleve writes a batch, the next one
// is built.
func (s *tableIndex) flushNext() (more bool, err error) {
	b := s.next
	s.next = nil
	if b == nil {
		if b, err = s.buildBatch(s.disk.state, nil); err != nil {
			return false, err
		}
	}
	if b.state == s.disk.state {
		s.reportSuccess()
		return false, nil
	}
	wait := s.disk.write(b.batch, b.state)
	var next *flushBatch
	if b.more {
		next, err = s.buildBatch(b.state, b.changed)
	}
	if err := errors.Join(err, wait()); err != nil {
		return false, err
	}
	s.next = next

	before := s.view
	v, err := s.disk.view(s.kind, s.engine.cache, before)
	if err != nil {
		return false, err
	}
	if uint64(v.count) != b.state.Count {
		v.endUse()
		return false, fmt.Errorf("%w: it has %d records instead of %d", errIndex, v.count, b.state.Count)
	}
	s.publish(v)
	s.indexed.Store(b.state.Number)
	s.reportSuccess()
	if s.unindexed.Add(-int64(b.old)); b.state.Cursor == end {
		s.unindexed.Store(0)
	}
	if before.cursor != end && v.cursor == end {
		s.engine.log.Info("index built", "organization", s.org, "kind", s.kind.Entity, "records", v.count)
		debug.FreeOSMemory() // building uses much memory that is not needed again soon
	}
	return b.more, nil
}

// building reports whether the index does not contain all records yet.
func (s *tableIndex) building() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view.isBuilding()
}

// flushAll writes all changes to the index.
func (s *tableIndex) flushAll() error { return s.flushEach(func() error { return nil }) }

// flushEach writes all changes to the index. It calls after for each batch and stops if that
// returns an error.
func (s *tableIndex) flushEach(after func() error) error {
	for {
		if more, err := s.flush(); err != nil || !more {
			return err
		}
		if err := after(); err != nil {
			return err
		}
	}
}

// flushBatch is a batch for bleve and the state that the index has after it.
type flushBatch struct {
	batch   *bleve.Batch
	changed map[uuid.UUID]bool // the records in the batch: whether the index contains them after it
	state   indexState
	more    bool // changes remain after it
	old     int  // the records in the batch that existed when the index was created
}

// buildBatch builds the batch that follows a state. pending is flushBatch.changed of the batch that
// leads to the state, if that is still being written.
func (s *tableIndex) buildBatch(from indexState, pending map[uuid.UUID]bool) (*flushBatch, error) {
	b := &batchBuilder{
		tableIndex: s,
		pending:    pending,
		flushBatch: flushBatch{batch: bleve.NewBatch(), changed: map[uuid.UUID]bool{}, state: from},
	}
	if err := s.engine.store.View(s.org, b.collect); err != nil {
		return nil, err
	}
	// Documents are made outside of the transaction, because a long one keeps the store from
	// reusing pages.
	known, shared := s.knownRows(b.records), scratch{}
	for i, r := range b.records {
		row := known[i]
		if row == nil {
			var err error
			if row, err = s.kind.Row(b.custom, r.id, r.public); err != nil {
				return nil, err
			}
		}
		b.batch.Update(newDocument(s.kind, row, shared))
	}
	return &b.flushBatch, nil
}

// knownRows returns the rows of those records that lists have decoded already; nil for the others.
func (s *tableIndex) knownRows(records []storedRecord) []*filter.Row {
	known := make([]*filter.Row, len(records))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range records {
		if at, has := s.overlay.byID[r.id]; has && s.overlay.changes[at].number == r.number {
			known[i] = s.overlay.changes[at].row
		}
	}
	return known
}

type batchBuilder struct {
	*tableIndex
	flushBatch
	pending map[uuid.UUID]bool
	records []storedRecord
	bytes   int // of records
	custom  *filter.CustomFields
}

type storedRecord struct {
	id     uuid.UUID
	number uint64
	public []byte
}

// full reports whether the batch has its share of documents.
func (b *batchBuilder) full(share int) bool {
	return len(b.changed) >= b.engine.maxBatchDocs/share || b.bytes >= maxBatchBytes/share
}

// collect reads the records of the batch.
func (b *batchBuilder) collect(tx *store.Tx) (err error) {
	table := b.kind.table
	if b.custom, err = b.kind.Customs(tx); err != nil {
		return err
	}
	last := tx.LastChange(table)
	if b.state.Number < last {
		if err := b.collectChanges(tx, last); err != nil {
			return err
		}
	}
	if b.state.Cursor != end {
		err = b.collectOld(tx)
	}
	b.more = b.state.Number < last || b.state.Cursor != end
	return err
}

// collectOld reads the next of the records that existed when the index was created.
func (b *batchBuilder) collectOld(tx *store.Tx) error {
	remain, cursor := false, b.state.Cursor
	err := tx.Records(b.kind.table, cursor, func(id uuid.UUID, number uint64, public []byte) (bool, error) {
		if bytes.Compare(id[:], b.state.Top[:]) > 0 {
			return false, nil
		}
		if remain = b.full(1); remain {
			return false, nil
		}
		cursor = id
		b.add(id, number, public)
		b.old++
		return true, nil
	})
	if !remain {
		cursor = end
	}
	b.state.Cursor = cursor
	return err
}

// collectChanges reads the next changes of the change log. While the index is being built, they take
// half of a batch, so that building goes on however much is written.
func (b *batchBuilder) collectChanges(tx *store.Tx, last uint64) error {
	share := 1
	if b.state.Cursor != end {
		share = 2
	}
	reads, records := 0, tx.Reader(b.kind.table)
	err := tx.Changes(b.kind.table, b.state.Number, func(c store.Change) (bool, error) {
		if c.Number != b.state.Number+1 {
			return false, errGap(b.state.Number+1, c.Number)
		}
		if b.full(share) || reads == maxBatchChanges {
			return false, nil
		}
		reads++
		b.state.Number = c.Number
		if bytes.Compare(c.ID[:], b.state.Cursor[:]) > 0 && bytes.Compare(c.ID[:], b.state.Top[:]) <= 0 {
			return true, nil // collectOld reads it with the other records above the cursor
		}
		return true, b.addChange(records, &c)
	})
	if err != nil {
		return unreadableLog(err)
	}
	b.state.Seen = last
	b.state.Mark, _, err = markAt(tx, b.kind.table, last)
	return err
}

// addChange adds a change to the batch, unless a later change of the same record follows.
func (b *batchBuilder) addChange(records *store.Reader, c *store.Change) error {
	number, public, err := records.Public(c.ID)
	unreadable := errors.Is(err, store.ErrDamaged)
	if err != nil && !unreadable {
		return err
	}
	deleted := unreadable || public == nil && c.Op == store.Deleted
	if !deleted && (public == nil || number != c.Number) {
		return nil
	}
	if b.contains(c.ID) {
		b.state.Count--
		b.state.Sum -= idSum(c.ID)
	}
	if deleted {
		b.changed[c.ID] = false
		b.batch.Delete(string(c.ID[:]))
		return nil
	}
	b.add(c.ID, number, public)
	return nil
}

// contains reports whether the index contains the record once everything collected so far is
// written.
func (b *batchBuilder) contains(id uuid.UUID) bool {
	for _, changed := range []map[uuid.UUID]bool{b.changed, b.pending} {
		if has, known := changed[id]; known {
			return has
		}
	}
	return b.view.find(id) != nowhere
}

func (b *batchBuilder) add(id uuid.UUID, number uint64, public []byte) {
	b.records = append(b.records, storedRecord{id, number, bytes.Clone(public)})
	b.bytes += len(public)
	b.changed[id] = true
	b.state.Count++
	b.state.Sum += idSum(id)
}
