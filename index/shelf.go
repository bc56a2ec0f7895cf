package index

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"prospector/store"
)

// smallMost is how many records a kind of an organization may have without an index of its own on the disk: that many
// are kept as rows, and each is decided by the predicate.
const smallMost = 2000

// shelf is the records of one kind of one organization, as lists see them: the view of an index and, in rows, every
// record that was changed since. A shelf of few records has no index, and all of them in rows.
type shelf struct {
	engine *Engine
	org    uuid.UUID
	kind   *Kind
	path   string

	// writing is held by whoever opens, fills, throws away or closes the index.
	writing sync.Mutex
	disk    *disk
	ahead   *gathered // the next batch, when it was collected while the last one was written

	mu     sync.Mutex
	loaded bool
	view   *view   // nil for few records
	rows   *rows   // nil while not read
	number uint64  // the change that rows are true for
	now    *moment // of that number; nil when it was not asked for since
	gone   gone    // what rows and moments are without

	idle       int // for how many looks of the engine it was not used
	usedBefore uint64

	used    atomic.Uint64 // when it was last used, as the engine counts
	told    atomic.Uint64 // the last change that was told of
	indexed atomic.Uint64 // the change that the index holds; told for few records
}

// moment is one moment of a shelf. It never changes.
type moment struct {
	view    *view
	parts   []*part // those of the view
	changes []*change
	masks   []set
}

// errBehind says that a transaction is older than what the shelf holds: its caller takes a newer one. errUnloaded, that
// the shelf was closed meanwhile.
var (
	errBehind   = errors.New("the shelf is ahead of the transaction")
	errUnloaded = errors.New("the shelf is not loaded")
)

// at gives the moment of a transaction, for which it reads what was changed since the last one. The caller releases it.
func (s *shelf) at(tx *store.Tx) (*moment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := tx.LastChange(s.kind.table)
	switch {
	case !s.loaded:
		return nil, errUnloaded
	case last < s.number || s.view != nil && last < s.view.floor:
		return nil, errBehind
	}
	if err := s.bury(tx); err != nil {
		return nil, err
	}
	switch {
	case s.rows == nil:
		if err := s.readAll(tx, last); err != nil {
			return nil, err
		}
	case last > s.number:
		if err := s.catchUp(tx, last); err != nil {
			return nil, err
		}
	}
	if s.now == nil {
		s.now = s.rows.moment(s.gone)
	}
	if s.view != nil {
		s.view.hold()
	}
	return s.now, nil
}

// live gives the documents of a part that are true at the moment; nil: all.
func (m *moment) live(part int) set {
	if m.masks[part] != nil {
		return m.masks[part]
	}
	return m.view.parts[part].live
}

func (m *moment) release() {
	if m.view != nil {
		m.view.release()
	}
}

// readAll reads the rows of a shelf without an index.
func (s *shelf) readAll(tx *store.Tx, last uint64) error {
	all := newRows(nil)
	cs, err := s.kind.Customs(tx)
	if err != nil {
		return err
	}
	err = tx.Records(s.kind.table, uuid.Nil, func(id uuid.UUID, number uint64, public []byte) (bool, error) {
		r, err := s.kind.row(cs, id, public)
		if err == nil {
			all.put(&change{id: id, number: number, row: r, at: nowhere})
		}
		return true, err
	})
	if err != nil {
		return err
	}
	s.rows, s.number, s.now = all, last, nil
	signal(s.engine.tidy)
	return nil
}

// catchUp reads what was changed after the number of the rows.
func (s *shelf) catchUp(tx *store.Tx, last uint64) error {
	deleted := map[uuid.UUID]uint64{}
	changed := make([]uuid.UUID, 0, last-s.number)
	next := s.number
	err := tx.Changes(s.kind.table, s.number, func(c store.Change) (bool, error) {
		if next++; c.Number != next {
			return false, errGap(next, c.Number)
		}
		if s.view == nil || s.view.covers(c.ID) {
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
		return err
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
		if err != nil {
			return err
		}
		c := &change{id: id, number: number}
		if public == nil {
			c.number = deleted[id]
		} else if c.row, err = s.kind.row(cs, id, public); err != nil {
			return err
		}
		s.rows.put(c)
	}
	s.number, s.now = last, nil
	return nil
}

// errGap says that the change log no longer has what the shelf has not seen. Its index must be made anew.
func errGap(want, have uint64) error {
	return fmt.Errorf("%w: the change log goes on with %d where %d is needed", errIndex, have, want)
}

// show puts a newer view in the place of the one that lists use, and takes from the rows what the view holds.
func (s *shelf) show(v *view) {
	var places map[*change]place
	s.mu.Lock()
	old, before := s.view, s.rows
	sameCursor := old != nil && old.cursor == v.cursor
	if sameCursor {
		places = make(map[*change]place, len(before.changes))
		for _, c := range before.changes {
			if c.number > v.number {
				places[c] = nowhere
			}
		}
	}
	s.mu.Unlock()
	// Finding each of them in the new view takes a while, in which lists go on.
	for c := range places {
		places[c] = v.find(c.id)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	rest := newRows(v)
	if sameCursor {
		for _, c := range s.rows.changes {
			if c.number <= v.number {
				continue
			}
			at, known := places[c]
			if !known {
				at = v.find(c.id)
			}
			rest.add(&change{id: c.id, number: c.number, row: c.row, at: at})
		}
		s.number = max(s.number, v.number)
	} else {
		// Rows were kept for the records that the old view covered only: those of the new one are read again.
		s.number = v.number
	}
	s.rows, s.view, s.now, s.loaded = rest, v, nil, true
	if old != nil {
		old.release()
		for id, seg := range old.segments {
			if v.segments[id] != seg {
				s.engine.cache.forget(seg)
			}
		}
	}
}
