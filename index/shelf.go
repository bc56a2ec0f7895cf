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
	view   *view                 // nil for few records
	rows   map[uuid.UUID]*change // nil while not read
	number uint64                // the change that rows are true for
	size   int                   // of rows, about, in bytes
	now    *moment               // of that number; nil when it was not asked for since

	idle       int // for how many looks of the engine it was not used
	usedBefore uint64

	used    atomic.Uint64 // when it was last used, as the engine counts
	told    atomic.Uint64 // the last change that was told of
	indexed atomic.Uint64 // the change that the index holds; told for few records
}

// change is what became of a record since the view.
type change struct {
	number uint64
	row    *row // nil: it was deleted
	at     place
}

// moment is one moment of a shelf. It never changes.
type moment struct {
	view  *view
	rows  []*row
	masks []set // by part: the live documents that rows have not replaced; nil: those of the part
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
		s.now = s.newMoment()
	}
	if s.view != nil {
		s.view.hold()
	}
	return s.now, nil
}

func (m *moment) release() {
	if m.view != nil {
		m.view.release()
	}
}

// readAll reads the rows of a shelf without an index.
func (s *shelf) readAll(tx *store.Tx, last uint64) error {
	rows := map[uuid.UUID]*change{}
	err := tx.Records(s.kind.table, uuid.Nil, func(id uuid.UUID, number uint64, public []byte) (bool, error) {
		r, err := s.kind.row(id, number, public)
		if err == nil {
			rows[id] = &change{number: number, row: r, at: place{part: -1}}
			s.size += r.bytes()
		}
		return true, err
	})
	if err != nil {
		s.size = 0
		return err
	}
	s.rows, s.number, s.now = rows, last, nil
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
		c := &change{number: number}
		if public == nil {
			c.number = deleted[id]
		} else if c.row, err = s.kind.row(id, number, public); err != nil {
			return err
		}
		s.put(id, c)
	}
	s.number, s.now = last, nil
	return nil
}

// errGap says that the change log no longer has what the shelf has not seen. Its index must be made anew.
func errGap(want, have uint64) error {
	return fmt.Errorf("%w: the change log goes on with %d where %d is needed", errIndex, have, want)
}

func (s *shelf) put(id uuid.UUID, c *change) {
	if known := s.rows[id]; known != nil {
		c.at = known.at
		if known.row != nil {
			s.size -= known.row.bytes()
		}
	} else {
		c.at = s.view.find(id)
	}
	if c.row == nil && s.view == nil {
		delete(s.rows, id)
		return
	}
	// With an index the deletion is kept even of a record that the view has not: the next view may have it.
	if c.row != nil {
		s.size += c.row.bytes()
	}
	s.rows[id] = c
}

func (s *shelf) newMoment() *moment {
	m := &moment{view: s.view, rows: make([]*row, 0, len(s.rows))}
	if s.view != nil {
		m.masks = make([]set, len(s.view.parts))
	}
	for _, c := range s.rows {
		if c.row != nil {
			m.rows = append(m.rows, c.row)
		}
		if c.at.part < 0 {
			continue
		}
		mask := m.masks[c.at.part]
		if mask == nil {
			p := s.view.parts[c.at.part]
			if mask = fullSet(p.size); p.live != nil {
				mask.and(p.live)
			}
			m.masks[c.at.part] = mask
		}
		mask.remove(c.at.doc)
	}
	return m
}

// show puts a newer view in the place of the one that lists use, and takes from the rows what the view holds.
func (s *shelf) show(v *view) {
	s.mu.Lock()
	rest := map[uuid.UUID]*change{}
	sameCursor := s.view != nil && s.view.cursor == v.cursor
	if sameCursor {
		for id, c := range s.rows {
			if c.number > v.number {
				rest[id] = c
			}
		}
	}
	s.mu.Unlock()
	// Finding each of them in the new view takes a while, in which lists go on.
	places := make(map[*change]place, len(rest))
	for id, c := range rest {
		places[c] = v.find(id)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.view
	rows := map[uuid.UUID]*change{}
	s.size = 0
	if sameCursor {
		for id, c := range s.rows {
			if c.number <= v.number {
				continue
			}
			at, known := places[c]
			if !known {
				at = v.find(id)
			}
			rows[id] = &change{number: c.number, row: c.row, at: at}
			if c.row != nil {
				s.size += c.row.bytes()
			}
		}
		s.number = max(s.number, v.number)
	} else {
		// Rows were kept for the records that the old view covered only: those of the new one are read again.
		s.number = v.number
	}
	s.rows, s.view, s.now, s.loaded = rows, v, nil, true
	if old != nil {
		old.release()
		for id, seg := range old.segments {
			if v.segments[id] != seg {
				s.engine.cache.forget(seg)
			}
		}
	}
}
