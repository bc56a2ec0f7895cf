package index

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"prospector/store"
)

// maxSmall is the number of records that a table of an organization may have without an index on
// disk. The rows of a small table are kept in memory, and lists evaluate the predicate on each of
// them.
const maxSmall = 2000

// tableIndex is the index of one kind in one organization. It consists of a view of the index on
// disk and an overlay of all records that have changed since. A small table has no index on disk
// and all records in the overlay.
type tableIndex struct {
	engine *Engine
	org    uuid.UUID
	kind   *Kind
	path   string

	// writing is held while the index on disk is opened, written, removed or closed.
	writing sync.Mutex
	disk    *diskIndex
	next    *flushBatch // the next batch, if it was built while the last one was written

	mu         sync.Mutex
	view       *view      // nil for a small table
	overlay    *overlay   // nil for a small table whose records have not been read
	number     uint64     // the change that the overlay is at
	current    *snapshot  // at that change; nil if no list has needed one since
	tombstones tombstones // that were applied to overlay and current

	idleRounds int    // how often the engine has found it unused
	usedBefore uint64 // the value of used when the engine looked last

	loaded     atomic.Bool   // changed only with mu held
	used       atomic.Uint64 // Engine.useClock when it was last used
	lastChange atomic.Uint64 // the last change that was committed
	indexed    atomic.Uint64 // the change that the index is at; lastChange for a small table
	unindexed  atomic.Int64  // at most this many records that existed when the index was created are not in it yet
	failed     atomic.Bool   // the index could not be written when that was last tried
	lost       atomic.Int64  // records that are counted but not in the table, as of the last list
	// paused is an errShort while the index on disk is not used because something is short.
	paused atomic.Pointer[error]
}

// snapshot is the state of a table index at one change. It is immutable.
type snapshot struct {
	view     *view
	segments []*segmentView // those of the view, with tombstones applied
	changes  []*change
	masks    []docSet // see overlay
	readable int      // the number of records in the segments and changes
	complete bool     // see overlay
}

var (
	// errStaleTx reports that a transaction is older than the table index. The caller opens a new
	// one.
	errStaleTx = errors.New("the transaction is older than the index")
	// errUnloaded reports that the table index was closed concurrently. The caller loads it again.
	errUnloaded = errors.New("the index is not loaded")
)

// snapshotAt returns the snapshot of a transaction. It reads the records that have changed since
// the last snapshot. The caller must release the result.
func (s *tableIndex) snapshotAt(tx *store.Tx) (*snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := tx.LastChange(s.kind.table)
	switch {
	case !s.loaded.Load():
		return nil, errUnloaded
	case last < s.number || s.view != nil && last < s.view.floor:
		return nil, errStaleTx
	}
	if err := s.applyTombstones(tx); err != nil {
		return nil, err
	}
	switch {
	case s.overlay == nil:
		if err := s.readAll(tx, last); err != nil {
			return nil, err
		}
	case last > s.number:
		if err := s.catchUp(tx, last); err != nil {
			return nil, err
		}
	}
	if err := s.completeOverlay(tx, last); err != nil {
		return nil, err
	}
	if s.current == nil {
		s.current = s.overlay.snapshot(s.tombstones)
	}
	if s.view != nil {
		s.view.retain()
	}
	return s.current, nil
}

// live returns the documents of a segment that no change has replaced; nil for all.
func (at *snapshot) live(segment int) docSet {
	if at.masks[segment] != nil {
		return at.masks[segment]
	}
	return at.view.segments[segment].live
}

func (at *snapshot) close() {
	if at.view != nil {
		at.view.endUse()
	}
}

// readAll reads all records of a small table.
func (s *tableIndex) readAll(tx *store.Tx, last uint64) error {
	all := newOverlay(nil)
	cs, err := s.kind.Customs(tx)
	if err != nil {
		return err
	}
	err = tx.Records(s.kind.table, uuid.Nil, func(id uuid.UUID, number uint64, public []byte) (bool, error) {
		r, err := s.kind.Row(cs, id, public)
		if err == nil {
			all.put(&change{id: id, number: number, row: r, at: nowhere})
		}
		return true, err
	})
	if err != nil {
		return err
	}
	s.overlay, s.number, s.current = all, last, nil
	signal(s.engine.limitsDue)
	return nil
}

// catchUp reads the records that were changed after the change that the overlay is at.
func (s *tableIndex) catchUp(tx *store.Tx, last uint64) error {
	deleted := map[uuid.UUID]uint64{}
	changed := make([]uuid.UUID, 0, last-s.number)
	next := s.number
	err := tx.Changes(s.kind.table, s.number, func(c store.Change) (bool, error) {
		if next++; c.Number != next {
			return false, errGap(next, c.Number)
		}
		if s.view == nil || s.overlay.complete || s.view.covers(c.ID) {
			changed = append(changed, c.ID)
			if c.Op == store.Deleted {
				deleted[c.ID] = c.Number
			}
		}
		return true, nil
	})
	if err == nil && next != last {
		err = errGap(next+1, last)
	}
	if err != nil {
		return unreadableLog(err)
	}
	cs, err := s.kind.Customs(tx)
	if err != nil {
		return err
	}
	records, read := tx.Reader(s.kind.table), make(map[uuid.UUID]bool, len(changed))
	for _, id := range changed {
		if read[id] {
			continue // it was changed more than once
		}
		read[id] = true
		number, public, err := records.Public(id)
		unreadable := errors.Is(err, store.ErrDamaged)
		if err != nil && !unreadable {
			return err
		}
		c := &change{id: id, number: number}
		if unreadable {
			c.number = last
		} else if public == nil {
			c.number = deleted[id]
		} else if c.row, err = s.kind.Row(cs, id, public); err != nil {
			return err
		}
		s.overlay.put(c)
	}
	s.number, s.current = last, nil
	return nil
}

// errGap reports that the change log no longer has a change that the index needs. The index must be
// rebuilt.
func errGap(want, have uint64) error {
	return fmt.Errorf("%w: change %d is needed, but the change log continues with %d", errIndex, want, have)
}

// unreadableLog turns damage to the change log into damage to the index, which is then rebuilt from
// the records and needs the log no longer.
func unreadableLog(err error) error {
	if errors.Is(err, store.ErrDamaged) {
		return fmt.Errorf("%w: %v", errIndex, err)
	}
	return err
}

// publish makes lists use a newer view, and removes the changes from the overlay that the view
// contains.
func (s *tableIndex) publish(v *view) {
	var places map[*change]position
	s.mu.Lock()
	old, before := s.view, s.overlay
	keep := old != nil && (old.cursor == v.cursor && old.top == v.top || before.complete)
	if keep {
		places = make(map[*change]position, len(before.changes))
		for _, c := range before.changes {
			if c.number > v.number {
				places[c] = nowhere
			}
		}
	}
	s.mu.Unlock()
	// Finding each of them in the new view takes a while. Lists continue with the old one.
	for c := range places {
		places[c] = v.find(c.id)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	rest := newOverlay(v)
	if keep {
		rest.complete = s.overlay.complete
		for _, c := range s.overlay.changes {
			if c.number <= v.number && v.covers(c.id) {
				continue
			}
			at, known := places[c]
			if !known {
				at = v.find(c.id)
			}
			rest.add(&change{id: c.id, number: c.number, row: c.row, at: at})
		}
		// A complete overlay also has records that the view does not cover. Of their changes it knows those up to
		// s.number only.
		if !rest.complete || !v.isBuilding() {
			s.number = max(s.number, v.number)
		}
	} else {
		// The overlay has changes only of the records that the old view covers. Those of the new
		// view are read again.
		s.number = v.number
	}
	s.overlay, s.view, s.current = rest, v, nil
	s.loaded.Store(true)
	if old != nil {
		old.endUse()
		for id, seg := range old.byID {
			if v.byID[id] != seg {
				s.engine.cache.drop(seg)
			}
		}
	}
}
