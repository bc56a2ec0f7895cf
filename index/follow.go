package index

import (
	"errors"
	"fmt"
	"os"

	bleve "github.com/blevesearch/bleve_index_api"
	"github.com/google/uuid"

	"prospector/store"
)

// batchMost is how many documents are written at once: larger batches take gigabytes. readMost is how many changes are
// looked at for them.
const (
	batchMost = 2000
	readMost  = 20_000
)

// load makes the shelf ready for lists: it opens the index that is there and makes one where there is none and the
// records are many.
func (s *shelf) load() error {
	s.mu.Lock()
	loaded := s.loaded
	s.mu.Unlock()
	if loaded {
		return nil
	}
	why, err := s.loadAsIs()
	if why != nil {
		s.warn(why)
	}
	return err
}

// loadAsIs is load, but tells why the index that was there had to be made anew.
func (s *shelf) loadAsIs() (why, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	loaded := s.loaded
	s.mu.Unlock()
	if loaded {
		return nil, nil
	}
	if diskExists(s.path) {
		if why = s.open(); why == nil {
			return nil, nil
		}
	}
	return why, s.restart()
}

func (s *shelf) warn(why error) {
	s.engine.log.Warn("an index is made anew", "organization", s.org, "kind", s.kind.Entity, "reason", why)
}

// open opens the index on the disk, when it is sound and of this store.
func (s *shelf) open() error {
	if err := checkRoot(s.path); err != nil {
		return err
	}
	d, err := openDisk(s.path, s.engine.queue)
	if err != nil {
		return err
	}
	v, err := s.attach(d)
	if err != nil {
		return errors.Join(err, d.close())
	}
	s.disk = d
	s.indexed.Store(d.state.Number)
	s.show(v)
	signal(s.engine.tidy)
	if d.state.Cursor != end || s.lag() > 0 {
		s.engine.stir(s)
	}
	return nil
}

func (s *shelf) attach(d *disk) (*view, error) {
	if err := d.verify(); err != nil {
		return nil, err
	}
	st := &d.state
	if st.Epoch != s.engine.store.Epoch() || st.Org != s.org || st.Kind != s.kind.signature() {
		return nil, fmt.Errorf("%w: it is of another store or version", errIndex)
	}
	err := s.engine.store.View(s.org, func(tx *store.Tx) error {
		last := tx.LastChange(s.kind.table)
		s.told.Store(max(s.told.Load(), last))
		if st.Seen > last {
			return fmt.Errorf("%w: it is ahead of the store", errIndex)
		}
		mark, found, err := markAt(tx, s.kind.table, st.Seen)
		if err == nil && st.Seen > 0 && (!found || mark != st.Mark) {
			err = fmt.Errorf("%w: it is of another past of the store, or one too long ago", errIndex)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	v, err := d.view(s.kind, s.engine.cache, nil)
	if err != nil {
		return nil, err
	}
	if uint64(v.count) != st.Count || v.sum() != st.Sum {
		v.release()
		return nil, fmt.Errorf("%w: it does not hold the records that it should", errIndex)
	}
	return v, nil
}

// markAt gives the mark of a change, when the log still has it.
func markAt(tx *store.Tx, table string, number uint64) (mark uint64, found bool, err error) {
	if number == 0 {
		return 0, false, nil
	}
	err = tx.Changes(table, number-1, func(c store.Change) (bool, error) {
		if c.Number == number {
			mark, found = markOf(&c), true
		}
		return false, nil
	})
	return mark, found, err
}

// restart throws away the index that may be there, and begins another where the records are many. When that cannot be
// done, lists read the store.
func (s *shelf) restart() error {
	s.drop()
	problem := os.RemoveAll(s.path)
	first := state{Epoch: s.engine.store.Epoch(), Org: s.org, Kind: s.kind.signature()}
	count := 0
	err := s.engine.store.View(s.org, func(tx *store.Tx) (err error) {
		count = tx.RecordCount(s.kind.table)
		first.Number = tx.LastChange(s.kind.table)
		first.Seen = first.Number
		first.Mark, _, err = markAt(tx, s.kind.table, first.Seen)
		return err
	})
	if err != nil {
		return err
	}
	s.indexed.Store(first.Number)
	if count <= s.engine.small {
		s.mu.Lock()
		s.loaded = true
		s.mu.Unlock()
		return nil
	}
	s.show(bareView(first.Number))
	if problem == nil {
		problem = s.begin(first)
	}
	if problem != nil {
		s.fail(problem)
		return nil
	}
	s.engine.stir(s)
	return nil
}

// fail says that the index cannot be kept, and lets those go who wait for it.
func (s *shelf) fail(err error) {
	s.engine.log.Error("an index cannot be kept; its lists are slower until it can", "organization", s.org, "kind", s.kind.Entity, "error", err)
	s.indexed.Store(0)
	s.engine.advanced()
}

// begin makes an empty index.
func (s *shelf) begin(first state) error {
	d, err := openDisk(s.path, s.engine.queue)
	if err != nil {
		return err
	}
	var v *view
	if err = d.write(bleve.NewBatch(), first); err == nil {
		v, err = d.view(s.kind, s.engine.cache, nil)
	}
	if err != nil {
		return errors.Join(err, d.close())
	}
	s.disk = d
	s.show(v)
	signal(s.engine.tidy)
	return nil
}

// drop forgets all that the shelf has in memory, and closes its index.
func (s *shelf) drop() {
	s.mu.Lock()
	v := s.view
	s.loaded, s.view, s.rows, s.size, s.now = false, nil, nil, 0, nil
	s.mu.Unlock()
	if v != nil {
		v.release()
		for _, seg := range v.segments {
			s.engine.cache.forget(seg)
		}
	}
	if s.disk != nil {
		if err := s.disk.close(); err != nil {
			s.engine.log.Warn("an index was not closed", "organization", s.org, "kind", s.kind.Entity, "reason", err)
		}
		s.disk = nil
	}
}

// follow takes the next changes into the index, and tells whether there are more. An index that cannot be written or
// read is made anew.
func (s *shelf) follow() (more bool, err error) {
	if err := s.load(); err != nil {
		return false, err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
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

// step writes one batch: what was changed since the last one and, when that is not much, records that the index does
// not hold yet.
func (s *shelf) step() (more bool, err error) {
	batch := bleve.NewBatch()
	next := s.disk.state
	err = s.engine.store.View(s.org, func(tx *store.Tx) error {
		more, err = s.gather(tx, batch, &next)
		return err
	})
	if err != nil || next == s.disk.state {
		return more, err
	}
	if err := s.disk.write(batch, next); err != nil {
		return false, err
	}
	s.mu.Lock()
	before := s.view
	s.mu.Unlock()
	v, err := s.disk.view(s.kind, s.engine.cache, before)
	if err != nil {
		return false, err
	}
	if uint64(v.count) != next.Count {
		v.release()
		return false, fmt.Errorf("%w: it has %d records of %d", errIndex, v.count, next.Count)
	}
	s.show(v)
	s.indexed.Store(next.Number)
	if before.cursor != end && v.cursor == end {
		s.engine.log.Info("an index was built", "organization", s.org, "kind", s.kind.Entity, "records", v.count)
	}
	return more, nil
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

// gather collects a batch and the state that it leads to.
func (s *shelf) gather(tx *store.Tx, batch *bleve.Batch, next *state) (more bool, err error) {
	table := s.kind.table
	last := tx.LastChange(table)
	if next.Number < last {
		reads, records := 0, tx.Reader(table)
		err = tx.Changes(table, next.Number, func(c store.Change) (bool, error) {
			if c.Number != next.Number+1 {
				return false, errGap(next.Number+1, c.Number)
			}
			if len(batch.IndexOps) == s.engine.batch || reads == readMost {
				return false, nil
			}
			reads++
			next.Number = c.Number
			if !s.view.covers(c.ID) {
				return true, nil
			}
			return true, s.take(records, batch, next, &c)
		})
		if err != nil {
			return false, err
		}
		next.Seen = last
		if next.Mark, _, err = markAt(tx, table, last); err != nil {
			return false, err
		}
	}
	if next.Number < last {
		return true, nil
	}
	if next.Cursor == end || len(batch.IndexOps) == s.engine.batch {
		return next.Cursor != end, nil
	}
	cursor := end
	err = tx.Records(table, next.Cursor, func(id uuid.UUID, number uint64, public []byte) (bool, error) {
		if len(batch.IndexOps) == s.engine.batch {
			return false, nil
		}
		cursor = id
		return true, s.add(batch, next, id, number, public)
	})
	if len(batch.IndexOps) < s.engine.batch {
		cursor = end
	}
	next.Cursor = cursor
	return cursor != end, err
}

// take takes a change into a batch. Only the last change of a record does anything: when there are later ones, one of
// them will.
func (s *shelf) take(records *store.Reader, batch *bleve.Batch, next *state, c *store.Change) error {
	number, public, err := records.Public(c.ID)
	if err != nil {
		return err
	}
	if public == nil && c.Op == store.Deleted {
		if _, twice := batch.IndexOps[string(c.ID[:])]; !twice && s.view.find(c.ID).part >= 0 {
			next.Count--
			next.Sum -= idSum(c.ID)
			batch.Delete(string(c.ID[:]))
		}
		return nil
	}
	if public == nil || number != c.Number {
		return nil
	}
	if s.view.find(c.ID).part >= 0 { // it takes the place of what the index has
		next.Count--
		next.Sum -= idSum(c.ID)
	}
	return s.add(batch, next, c.ID, number, public)
}

func (s *shelf) add(batch *bleve.Batch, next *state, id uuid.UUID, number uint64, public []byte) error {
	r, err := s.kind.row(id, number, public)
	if err != nil {
		return err
	}
	batch.Update(s.kind.document(r))
	next.Count++
	next.Sum += idSum(id)
	return nil
}
