package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"prospector/internal/filter"
	"prospector/store"
)

const (
	// maxUnindexed is the number of records that lists keep in memory because an index that is being
	// built does not contain them yet. With more, building goes first and lists wait.
	maxUnindexed = 25_000
	// listPatience is how long a list waits for an index that is being built.
	listPatience = 500 * time.Millisecond
)

// BuildingError reports that a list needs an index that is being built and still lacks more records than
// lists read without it.
type BuildingError struct {
	Entity           string
	Indexed, Records int
}

func (e *BuildingError) Error() string {
	return fmt.Sprintf("the index of %s is being built: %d of %d records are indexed", e.Entity, e.Indexed, e.Records)
}

var (
	// errFarBehind reports that the index lacks more than maxUnindexed records. The caller waits for
	// it outside of the transaction.
	errFarBehind = errors.New("the index is far behind")
	// errScans reports that the list must scan the store because the index cannot be written. The
	// caller waits for a slot outside of the transaction.
	errScans = errors.New("the list scans the store")
)

// wait waits for what keeps the list from running, which err tells.
func (r *listRun) wait(ctx context.Context, err error) error {
	if errors.Is(err, errScans) {
		select {
		case r.engine.scans <- struct{}{}:
			r.scans = true
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if r.impatient == nil && r.patience > 0 {
		r.impatient = time.After(r.patience)
	}
	r.engine.mu.Lock()
	progress := r.engine.progress
	r.engine.mu.Unlock()
	if !errors.Is(r.admit(r.scans), errFarBehind) {
		return nil
	}
	select {
	case <-progress:
		return nil
	case <-r.impatient:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p := r.progress()
	return &BuildingError{p.Entity, p.Indexed, p.Records}
}

func (r *listRun) close() {
	if r.scans {
		<-r.engine.scans
	}
}

// admit returns nil if a list may run now. scans tells that it has a slot to scan the store.
func (s *tableIndex) admit(scans bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.view.isBuilding() || s.overlay.complete:
		return nil
	case s.cannotBuild():
		if scans {
			return nil
		}
		return errScans
	case s.unindexed.Load() > int64(s.engine.maxUnindexed):
		return errFarBehind
	}
	return nil
}

// cannotBuild reports whether the index could not be created or written. The caller holds mu.
func (s *tableIndex) cannotBuild() bool { return s.view.bleveSnapshot == nil || s.failed.Load() }

// completeOverlay reads the records that an index does not contain yet because it is being built, unless
// there are too many. Lists need not scan the store for them then. The caller holds mu.
func (s *tableIndex) completeOverlay(tx *store.Tx, last uint64) error {
	if !s.view.isBuilding() || s.overlay.complete || s.cannotBuild() ||
		s.unindexed.Load() > int64(s.engine.maxUnindexed) {
		return nil
	}
	before, number := s.overlay, s.number
	s.overlay, s.number = newOverlay(s.view), s.view.number
	s.overlay.complete = true
	// The deletions are needed, too: a batch that was built before one may contain the record.
	err := s.catchUp(tx, last)
	if err == nil {
		err = s.addUncovered(tx)
	}
	if err != nil {
		s.overlay, s.number = before, number
		return err
	}
	s.current = nil
	signal(s.engine.limitsDue)
	return nil
}

// addUncovered adds the records to the overlay that the view does not cover.
func (s *tableIndex) addUncovered(tx *store.Tx) error {
	cs, err := s.kind.Customs(tx)
	if err != nil {
		return err
	}
	return s.eachUncovered(tx, s.view, func(id uuid.UUID, number uint64, public []byte) error {
		row, err := s.kind.Row(cs, id, public)
		if err == nil && !s.overlay.has(id) {
			s.overlay.add(&change{id: id, number: number, row: row, at: nowhere})
		}
		return err
	})
}

// eachUncovered calls fn for the readable records that a view does not cover.
func (s *tableIndex) eachUncovered(
	tx *store.Tx, v *view, fn func(id uuid.UUID, number uint64, public []byte) error,
) error {
	return tx.Records(s.kind.table, v.cursor, func(id uuid.UUID, number uint64, public []byte) (bool, error) {
		if bytes.Compare(id[:], v.top[:]) > 0 {
			return false, nil
		}
		return true, fn(id, number, public)
	})
}

// Progress is how far the index of a kind is built.
type Progress struct {
	Entity   string
	Building bool
	Indexed  int // records that the index contains
	Records  int // records that it has to contain
}

// Progress returns how far the indexes of an organization are built, for the kinds that have one.
func (e *Engine) Progress(org uuid.UUID) (all []Progress) {
	for _, k := range e.kinds {
		e.mu.Lock()
		s := e.tables[tableKey{org, k.table}]
		e.mu.Unlock()
		if s != nil {
			if p := s.progress(); p.Records > 0 {
				all = append(all, p)
			}
		}
	}
	return all
}

// progress returns how far the index is built. A small table has no records to index.
func (s *tableIndex) progress() Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := Progress{Entity: s.kind.Entity, Building: s.view.isBuilding()}
	if s.view != nil {
		p.Indexed = s.view.count
		p.Records = p.Indexed + int(max(0, s.unindexed.Load()))
	}
	return p
}

// maxNewest is the number of records that a list reads from the store at most to reach its page.
const maxNewest = 10_000

// newest reads the page of a plan that lists all records, newest first, from the store. The order of
// the ids is that order, so that no index is needed. ok is false for another plan, for a page far from
// the newest record, and if the index has everything in memory.
func (s *tableIndex) newest(tx *store.Tx, plan *filter.Plan) (page Page, ok bool, err error) {
	if !plan.IsNewestFirst() || pageEnd(plan) > maxNewest || !s.isBehind(tx) {
		return Page{}, false, nil
	}
	skip, inOrder := pageStart(plan, maxNewest), true
	var want []byte
	err = tx.RecordsDown(s.kind.table, func(id uuid.UUID, public []byte) (bool, error) {
		want = filter.AppendCreated(want[:0], id)
		if inOrder = bytes.Contains(public, want); !inOrder {
			return false, nil
		}
		if skip--; skip < 0 {
			page.Records = append(page.Records, public)
		}
		return len(page.Records) < plan.PageSize, nil
	})
	if err != nil || !inOrder {
		return Page{}, false, err
	}
	page.Damaged = int(s.lost.Load()) + s.knownDamaged()
	page.Total = max(0, tx.RecordCount(s.kind.table)-page.Damaged)
	return page, true, nil
}

// knownDamaged returns the number of records of the table that were found to be unreadable.
func (s *tableIndex) knownDamaged() int {
	if s.engine.store.DamagedRecords() == 0 {
		return 0
	}
	return len(s.engine.store.DamagedIDs(s.org)[s.kind.table])
}

// isBehind reports whether a list would have to read records that are neither in the index nor in memory, or to wait
// until others have been read.
func (s *tableIndex) isBehind(tx *store.Tx) bool {
	last := tx.LastChange(s.kind.table)
	if !s.mu.TryLock() {
		return true
	}
	defer s.mu.Unlock()
	return s.view != nil && (s.view.isBuilding() || last > s.number)
}
