package index

import (
	"errors"
	"fmt"
	"path/filepath"

	bleve "github.com/blevesearch/bleve_index_api"

	"prospector/store"
)

// load makes the table index ready for lists. It opens the index on disk, or creates one if there
// is none and the table is not small.
func (s *tableIndex) load() error {
	if s.loaded.Load() {
		return nil
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.loadLocked()
}

// loadLocked is load for callers that hold writing.
func (s *tableIndex) loadLocked() error {
	damage, err := s.tryLoad()
	switch {
	case errors.Is(damage, errOutdated):
		s.engine.log.Info("index is of an earlier state, rebuilding it",
			"organization", s.org, "kind", s.kind.Entity, "reason", damage)
	case damage != nil:
		s.reportDamage(damage)
	}
	return err
}

// errOutdated wraps the error of an index that is whole but cannot be used, because it was written before an upgrade, a
// restore, or all changes that the store still knows.
var errOutdated = errors.New("the index is old but not damaged, and is rebuilt")

// tryLoad is loadLocked without a report. damage is what was wrong with the index on disk, which is
// being rebuilt then.
func (s *tableIndex) tryLoad() (damage, err error) {
	if s.loaded.Load() {
		return nil, nil
	}
	if diskIndexExists(s.path) {
		err := s.open()
		if err == nil {
			return nil, nil
		}
		if isShortage(err) {
			if err := s.pause(err); !s.loaded.Load() {
				return nil, err
			}
			return nil, nil
		}
		if !errors.Is(err, errNotStarted) {
			damage = err
		}
	}
	return damage, s.rebuild()
}

func (s *tableIndex) reportDamage(why error) {
	s.engine.counts.damaged.Add(1)
	s.engine.log.Warn("index damaged, rebuilding it",
		"organization", s.org, "kind", s.kind.Entity, "reason", why)
}

// open opens the index on disk, if it belongs to this store and is not damaged.
func (s *tableIndex) open() error {
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
	const others = 4 // that opening needs besides the segments
	root := filepath.Join(s.path, rootFile)
	if err := checkHandles(root, len(segments)+others); err != nil {
		return err
	}
	d, err := s.openDisk()
	if err != nil {
		return err
	}
	v, err := s.verify(d)
	if err != nil {
		return errors.Join(err, d.close(), checkHandles(root, len(segments)+others))
	}
	s.disk = d
	s.paused.Store(nil)
	s.indexed.Store(d.state.Number)
	s.publish(v)
	signal(s.engine.limitsDue)
	if d.state.Cursor != end || s.failed.Load() || s.lag() > 0 {
		s.engine.markDirty(s)
	}
	return nil
}

// verify returns a view of an index, if the index agrees with the store and contains what its state
// says.
func (s *tableIndex) verify(d *diskIndex) (*view, error) {
	if err := d.readState(); err != nil {
		return nil, err
	}
	st := &d.state
	switch {
	case st.Org != s.org:
		return nil, fmt.Errorf("%w: it belongs to another organization", errIndex)
	case st.Epoch != s.engine.store.Epoch() || st.Kind != s.kind.signature():
		return nil, fmt.Errorf("%w: it belongs to another store or version", errOutdated)
	}
	err := s.engine.store.View(s.org, func(tx *store.Tx) error {
		last := tx.LastChange(s.kind.table)
		s.noteChange(last)
		s.unindexed.Store(0)
		if st.Cursor != end {
			s.unindexed.Store(int64(tx.RecordCount(s.kind.table)) - int64(st.Count))
		}
		if st.Seen > last {
			return fmt.Errorf("%w: it is at change %d, ahead of the store at %d", errIndex, st.Seen, last)
		}
		mark, found, err := markAt(tx, s.kind.table, st.Seen)
		if err == nil && st.Seen > 0 && (!found || mark != st.Mark) {
			why := errIndex
			if !found && isBeforeLog(tx, s.kind.table, st.Seen) {
				why = errOutdated
			}
			err = fmt.Errorf("%w: change %d is not in the change log or is another change", why, st.Seen)
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
		v.endUse()
		return nil, fmt.Errorf("%w: its records are not those that were written to it", errIndex)
	}
	return v, nil
}

// isBeforeLog reports whether the log of a table begins after a change.
func isBeforeLog(tx *store.Tx, table string, number uint64) (before bool) {
	_ = tx.Changes(table, 0, func(c store.Change) (bool, error) { // a damaged log shows nothing
		before = c.Number > number
		return false, nil
	})
	return before
}

// rebuildBecause rebuilds the index. If why is not nil, the index is damaged, and it reports that.
func (s *tableIndex) rebuildBecause(why error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if why != nil {
		s.reportDamage(why)
	}
	return s.rebuild()
}

// rebuild removes the index on disk and, unless the table is small, creates an empty one that the
// next flushes fill. If it cannot create one, lists scan the store. The caller holds writing.
func (s *tableIndex) rebuild() error {
	s.unload()
	s.paused.Store(nil)
	problem := removeDiskIndex(s.path)
	first := indexState{Epoch: s.engine.store.Epoch(), Org: s.org, Kind: s.kind.signature()}
	count := 0
	err := s.engine.store.View(s.org, func(tx *store.Tx) (err error) {
		count = tx.RecordCount(s.kind.table)
		first.Number, first.Top = tx.LastChange(s.kind.table), tx.LastID(s.kind.table)
		first.Seen = first.Number
		first.Mark, _, err = markAt(tx, s.kind.table, first.Seen)
		return err
	})
	if err != nil {
		return err
	}
	s.indexed.Store(first.Number)
	s.unindexed.Store(0)
	if count <= s.engine.maxSmall {
		s.mu.Lock()
		s.loaded.Store(true)
		s.mu.Unlock()
		return nil
	}
	s.unindexed.Store(int64(count))
	s.publish(emptyView(first.Number))
	if problem == nil {
		problem = s.create(first)
	}
	if problem != nil {
		s.reportFailure(problem)
		return nil
	}
	s.engine.markDirty(s)
	return nil
}

// reportFailure reports that the index cannot be written. Commits no longer wait for it.
func (s *tableIndex) reportFailure(err error) {
	s.engine.counts.failures.Add(1)
	s.engine.log.Error("index cannot be written, its lists are slower until it can",
		"organization", s.org, "kind", s.kind.Entity, "error", err)
	s.failed.Store(true)
	s.engine.signalProgress()
}

// reportSuccess reports that the index can be written, if it could not be before.
func (s *tableIndex) reportSuccess() {
	if s.failed.Swap(false) {
		s.engine.log.Info("index can be written again", "organization", s.org, "kind", s.kind.Entity)
	}
}

// create creates an empty index.
func (s *tableIndex) create(first indexState) error {
	d, err := s.openDisk()
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
	s.reportSuccess()
	s.engine.counts.builds.Add(1)
	s.publish(v)
	signal(s.engine.limitsDue)
	return nil
}

// unload closes the index and releases all memory of the table index. The caller holds writing.
func (s *tableIndex) unload() {
	s.mu.Lock()
	v := s.view
	s.view, s.overlay, s.current = nil, nil, nil
	s.loaded.Store(false)
	s.mu.Unlock()
	s.next = nil
	if v != nil {
		v.endUse()
		for _, seg := range v.byID {
			s.engine.cache.drop(seg)
		}
	}
	s.closeDisk()
}

// openDisk opens the index on disk. When bleve fails in the background, the index is flushed, which finds
// the failure.
func (s *tableIndex) openDisk() (*diskIndex, error) {
	return openDiskIndex(s.path, s.engine.queue, func() { s.engine.markDirty(s) })
}

// closeDisk closes the index on disk, if it is open.
func (s *tableIndex) closeDisk() {
	if s.disk == nil {
		return
	}
	if err := s.disk.close(); err != nil {
		s.engine.log.Warn("cannot close index", "organization", s.org, "kind", s.kind.Entity, "error", err)
	}
	s.disk = nil
}
