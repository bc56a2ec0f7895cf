package index

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"prospector/store"
)

// findMissing looks for indexes that are not there though the records are many, and removes those of organizations that
// are gone.
func (e *Engine) findMissing() {
	orgs, err := e.store.Organizations()
	if err != nil {
		e.log.Error("the indexes are not looked after", "error", err)
		return
	}
	orgs = append(orgs, uuid.Nil)
	for _, org := range orgs {
		err := e.store.View(org, func(tx *store.Tx) error {
			for _, k := range e.kinds {
				if tx.RecordCount(k.table) > e.small {
					if s := e.shelf(org, k); !diskExists(s.path) {
						e.stir(s)
					}
				}
			}
			return nil
		})
		if err != nil {
			e.log.Error("the indexes are not looked after", "organization", org, "error", err)
		}
	}
	entries, err := os.ReadDir(e.dir)
	if err != nil {
		e.log.Error("the indexes are not looked after", "error", err)
	}
	for _, entry := range entries {
		if org, err := uuid.Parse(entry.Name()); err != nil || !slices.Contains(orgs, org) {
			e.remove(filepath.Join(e.dir, entry.Name()))
			continue
		}
		e.removeUnknown(filepath.Join(e.dir, entry.Name()))
	}
}

// removeUnknown removes the indexes of an organization that are of no kind: one that has another name by now, or is no more.
func (e *Engine) removeUnknown(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		e.log.Error("the indexes are not looked after", "error", err)
	}
	for _, entry := range entries {
		if !slices.ContainsFunc(e.kinds, func(k *Kind) bool { return k.Entity == entry.Name() }) {
			e.remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// Forget closes and removes the indexes of an organization that was deleted.
func (e *Engine) Forget(org uuid.UUID) {
	var its []*shelf
	e.mu.Lock()
	for key, s := range e.shelves {
		if key.org == org {
			its = append(its, s)
			delete(e.shelves, key)
			delete(e.dirty, s)
		}
	}
	e.mu.Unlock()
	for _, s := range its {
		s.writing.Lock()
		s.drop()
		s.told.Store(0)
		s.mu.Lock()
		s.number = 0 // whoever still has the shelf in hand finds no records
		s.mu.Unlock()
		s.writing.Unlock()
	}
	e.advanced()
	e.remove(filepath.Join(e.dir, org.String()))
}

func (e *Engine) remove(path string) {
	if err := os.RemoveAll(path); err != nil {
		e.log.Warn("an index that nobody needs is still there", "path", path, "error", err)
	}
}

// look closes what was not used for a while, and takes into use what was merged. A shelf whose index could not be made
// gets another try.
func (e *Engine) look() {
	for _, s := range e.all() {
		s.mu.Lock()
		if s.idle++; s.used.Load() != s.usedBefore {
			s.idle, s.usedBefore = 0, s.used.Load()
		}
		idle, retry := s.loaded && s.idle >= idleLooks, s.view != nil && s.view.snapshot == nil
		s.mu.Unlock()
		switch {
		case idle:
			s.close()
		case retry:
			e.stir(s)
		default:
			s.refresh()
		}
	}
}

// fit closes shelves, the least used first, until no more indexes are open and no more memory is used than may be. The
// one used last stays, however large it is.
func (e *Engine) fit() {
	type use struct {
		*shelf
		used       uint64
		open, size int
	}
	var uses []use
	open, size := 0, e.cache.size()
	for _, s := range e.all() {
		u := use{shelf: s, used: s.used.Load()}
		u.open, u.size = s.takes()
		uses, open, size = append(uses, u), open+u.open, size+u.size
	}
	slices.SortFunc(uses, func(a, b use) int { return cmp.Compare(a.used, b.used) })
	for _, u := range uses[:max(0, len(uses)-1)] {
		tooMany, tooLarge := open > openMost && u.open > 0, size > e.limit && u.size > 0
		if (tooMany || tooLarge) && u.close() {
			open, size = open-u.open, size-u.size
		}
	}
}

// close closes a shelf; the next list opens it again. One that is being written stays.
func (s *shelf) close() bool {
	if !s.writing.TryLock() {
		return false
	}
	defer s.writing.Unlock()
	s.drop()
	return true
}
