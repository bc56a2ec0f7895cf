package index

import (
	"errors"
	"fmt"

	bleve "github.com/blevesearch/bleve_index_api"

	"prospector/store"
)

// load makes the shelf ready for lists: it opens the index that is there and makes one where there is none and the
// records are many.
func (s *shelf) load() error {
	if s.isLoaded() {
		return nil
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.ensure()
}

func (s *shelf) isLoaded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded
}

// ensure is load for whoever holds writing.
func (s *shelf) ensure() error {
	why, err := s.loadAsIs()
	if why != nil {
		s.warn(why)
	}
	return err
}

// loadAsIs is ensure, but tells what was wrong with the index that was there.
func (s *shelf) loadAsIs() (why, err error) {
	if s.isLoaded() {
		return nil, nil
	}
	if diskExists(s.path) {
		err := s.open()
		if err == nil {
			return nil, nil
		}
		if !errors.Is(err, errUnbegun) {
			why = err
		}
	}
	return why, s.restart()
}

func (s *shelf) warn(why error) {
	s.engine.counts.damaged.Add(1)
	s.engine.log.Warn("an index is made anew", "organization", s.org, "kind", s.kind.Entity, "reason", why)
}

// open opens the index on the disk, when it is of this store and nothing of it is damaged.
func (s *shelf) open() error {
	if err := checkRoot(s.path); err != nil {
		return err
	}
	segments, err := keepNewest(s.path)
	if err != nil {
		return err
	}
	if err := checkSegments(s.path, segments); err != nil {
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
	if err := d.readState(); err != nil {
		return nil, err
	}
	st := &d.state
	if st.Epoch != s.engine.store.Epoch() || st.Org != s.org || st.Kind != s.kind.signature() {
		return nil, fmt.Errorf("%w: it is of another store or version", errIndex)
	}
	err := s.engine.store.View(s.org, func(tx *store.Tx) error {
		last := tx.LastChange(s.kind.table)
		s.tell(last)
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
	problem := removeDisk(s.path)
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
	s.engine.counts.failures.Add(1)
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
	if err = d.write(bleve.NewBatch(), first)(); err == nil {
		v, err = d.view(s.kind, s.engine.cache, nil)
	}
	if err != nil {
		return errors.Join(err, d.close())
	}
	s.disk = d
	s.engine.counts.builds.Add(1)
	s.show(v)
	signal(s.engine.tidy)
	return nil
}

// drop forgets all that the shelf has in memory, and closes its index.
func (s *shelf) drop() {
	s.mu.Lock()
	v := s.view
	s.loaded, s.view, s.rows, s.now = false, nil, nil, nil
	s.mu.Unlock()
	s.ahead = nil
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
