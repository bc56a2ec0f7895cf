package index

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"

	bleve "github.com/blevesearch/bleve_index_api"
	"github.com/google/uuid"

	"prospector/store"
)

// batchMost is how many documents are written at once, and batchBytes about how many bytes their records have: larger
// batches take more memory and save no time. readMost is how many changes are looked at for them.
const (
	batchMost  = 1500
	batchBytes = 2 << 20
	readMost   = 20_000
)

// follow takes the next changes into the index, and tells whether there are more. An index that cannot be written or
// read is made anew.
func (s *shelf) follow() (more bool, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.ensure(); err != nil {
		return false, err
	}
	defer s.engine.advanced()
	if s.disk == nil {
		return s.grow()
	}
	more, err = s.step()
	if errors.Is(err, errIndex) {
		s.warn(err)
		return true, s.restart()
	}
	return more, err
}

// grow begins an index when the records of the shelf have become many, and tells whether there is one to fill then.
func (s *shelf) grow() (more bool, err error) {
	count := 0
	err = s.engine.store.View(s.org, func(tx *store.Tx) error {
		count = tx.RecordCount(s.kind.table)
		s.indexed.Store(tx.LastChange(s.kind.table))
		return nil
	})
	if err != nil || count <= s.engine.small {
		return false, err
	}
	err = s.restart()
	return s.disk != nil, err
}

// gathered is a batch that was collected, with the state that it leads to.
type gathered struct {
	batch *bleve.Batch
	held  map[uuid.UUID]bool // the records that it changes: whether the index has them after it
	state state
	more  bool // there is more to collect after it
}

// step writes one batch: what was changed since the last one and, when that is not much, records that the index does
// not hold yet. While bleve writes one batch the next is collected, when there is enough for it.
func (s *shelf) step() (more bool, err error) {
	g := s.ahead
	s.ahead = nil
	if g == nil {
		if g, err = s.gather(s.disk.state, nil); err != nil {
			return false, err
		}
	}
	if g.state == s.disk.state {
		return false, nil
	}
	wait := s.disk.write(g.batch, g.state)
	var ahead *gathered
	if g.more {
		ahead, err = s.gather(g.state, g.held)
	}
	if err := errors.Join(err, wait()); err != nil {
		return false, err
	}
	s.ahead = ahead

	before := s.view
	v, err := s.disk.view(s.kind, s.engine.cache, before)
	if err != nil {
		return false, err
	}
	if uint64(v.count) != g.state.Count {
		v.release()
		return false, fmt.Errorf("%w: it has %d records of %d", errIndex, v.count, g.state.Count)
	}
	s.show(v)
	s.indexed.Store(g.state.Number)
	if before.cursor != end && v.cursor == end {
		s.engine.log.Info("an index was built", "organization", s.org, "kind", s.kind.Entity, "records", v.count)
		debug.FreeOSMemory() // building took much that nothing will need again soon
	}
	return g.more, nil
}

// gather collects the batch that follows a state. writing has what becomes of the records of a batch that leads to the
// state but is not in the view yet.
func (s *shelf) gather(from state, writing map[uuid.UUID]bool) (*gathered, error) {
	g := &gatherer{shelf: s, writing: writing, gathered: gathered{batch: bleve.NewBatch(), held: map[uuid.UUID]bool{}, state: from}}
	if err := s.engine.store.View(s.org, g.collect); err != nil {
		return nil, err
	}
	// The documents are made outside of the transaction: what a reader holds for long, writers cannot use again.
	known, shared := s.knownRows(g.records), scratch{}
	for i, r := range g.records {
		row := known[i]
		if row == nil {
			var err error
			if row, err = s.kind.row(g.customs, r.id, r.public); err != nil {
				return nil, err
			}
		}
		g.batch.Update(s.kind.document(row, shared))
	}
	return &g.gathered, nil
}

// knownRows gives the rows of those records that lists have read already; nil for the others.
func (s *shelf) knownRows(records []record) []*row {
	known := make([]*row, len(records))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range records {
		if at, has := s.rows.byID[r.id]; has && s.rows.changes[at].number == r.number {
			known[i] = s.rows.changes[at].row
		}
	}
	return known
}

type gatherer struct {
	*shelf
	gathered
	writing map[uuid.UUID]bool
	records []record
	bytes   int // of the records
	customs *Customs
}

// record is a record as it is stored.
type record struct {
	id     uuid.UUID
	number uint64
	public []byte
}

func (g *gatherer) full() bool { return len(g.held) == g.engine.batch || g.bytes >= batchBytes }

func (g *gatherer) collect(tx *store.Tx) (err error) {
	table := g.kind.table
	if g.customs, err = g.kind.Customs(tx); err != nil {
		return err
	}
	last := tx.LastChange(table)
	if g.state.Number < last {
		if err := g.collectChanges(tx, last); err != nil {
			return err
		}
	}
	g.more = g.state.Number < last || g.state.Cursor != end
	if g.state.Number < last || g.state.Cursor == end || g.full() {
		return nil
	}
	cursor := end
	err = tx.Records(table, g.state.Cursor, func(id uuid.UUID, number uint64, public []byte) (bool, error) {
		if g.full() { // there is one more
			return false, nil
		}
		cursor = id
		g.add(id, number, public)
		return true, nil
	})
	if !g.full() {
		cursor = end
	}
	g.state.Cursor, g.more = cursor, cursor != end
	return err
}

// collectChanges takes the next changes of the log.
func (g *gatherer) collectChanges(tx *store.Tx, last uint64) error {
	reads, records := 0, tx.Reader(g.kind.table)
	err := tx.Changes(g.kind.table, g.state.Number, func(c store.Change) (bool, error) {
		if c.Number != g.state.Number+1 {
			return false, errGap(g.state.Number+1, c.Number)
		}
		if g.full() || reads == readMost {
			return false, nil
		}
		reads++
		g.state.Number = c.Number
		if bytes.Compare(c.ID[:], g.state.Cursor[:]) > 0 {
			return true, nil // it is read with the others above the cursor
		}
		return true, g.take(records, &c)
	})
	if err != nil {
		return err
	}
	g.state.Seen = last
	g.state.Mark, _, err = markAt(tx, g.kind.table, last)
	return err
}

// take takes a change into the batch. Only the last change of a record does anything: when there are later ones, one of
// them will.
func (g *gatherer) take(records *store.Reader, c *store.Change) error {
	number, public, err := records.Public(c.ID)
	if err != nil {
		return err
	}
	gone := public == nil && c.Op == store.Deleted
	if !gone && (public == nil || number != c.Number) {
		return nil
	}
	if g.holds(c.ID) { // it takes the place of what the index has
		g.state.Count--
		g.state.Sum -= idSum(c.ID)
	}
	if gone {
		g.held[c.ID] = false
		g.batch.Delete(string(c.ID[:]))
		return nil
	}
	g.add(c.ID, number, public)
	return nil
}

// holds tells whether the index has the record once everything collected so far is written.
func (g *gatherer) holds(id uuid.UUID) bool {
	for _, held := range []map[uuid.UUID]bool{g.held, g.writing} {
		if has, changed := held[id]; changed {
			return has
		}
	}
	return g.view.find(id).part >= 0
}

func (g *gatherer) add(id uuid.UUID, number uint64, public []byte) {
	g.records = append(g.records, record{id, number, bytes.Clone(public)})
	g.bytes += len(public)
	g.held[id] = true
	g.state.Count++
	g.state.Sum += idSum(id)
}

// building tells whether the index is still to take in records that it never had.
func (s *shelf) building() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view != nil && s.view.cursor != end
}

// refresh takes what bleve has merged meanwhile into use: fewer segments are faster, and the files of the others can go.
func (s *shelf) refresh() {
	if !s.writing.TryLock() {
		return
	}
	defer s.writing.Unlock()
	if s.disk == nil || !s.disk.merged(s.view) {
		return
	}
	v, err := s.disk.view(s.kind, s.engine.cache, s.view)
	if err == nil {
		s.show(v)
		return
	}
	s.warn(err)
	if err := s.restart(); err != nil {
		s.fail(err)
	}
}
