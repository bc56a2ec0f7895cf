package index

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/store"
)

const (
	// maintainEvery is how often maintain runs. An index is closed after it was unused for
	// maxIdleRounds.
	maintainEvery = time.Minute
	maxIdleRounds = 10
)

// reconcile compares the index directory with the store when the engine starts. It schedules
// indexes that are missing, and removes indexes of organizations and kinds that no longer exist.
func (e *Engine) reconcile() {
	orgs, err := e.store.Organizations()
	if err != nil {
		e.log.Error("cannot read organizations, index maintenance skipped", "error", err)
		return
	}
	orgs = append(orgs, uuid.Nil)
	for _, org := range orgs {
		err := e.store.View(org, func(tx *store.Tx) error {
			for _, k := range e.kinds {
				if tx.RecordCount(k.table) > e.maxSmall {
					if s := e.tableIndex(org, k); !diskIndexExists(s.path) {
						e.markDirty(s)
					}
				}
			}
			return nil
		})
		if err != nil {
			e.log.Error("cannot read organization, index maintenance skipped", "organization", org, "error", err)
		}
	}
	entries, err := os.ReadDir(e.dir)
	if err != nil {
		e.log.Error("cannot read index directory", "path", e.dir, "error", err)
	}
	for _, entry := range entries {
		path := filepath.Join(e.dir, entry.Name())
		if org, err := uuid.Parse(entry.Name()); err != nil || !slices.Contains(orgs, org) {
			e.removeUnused(path)
			continue
		}
		e.removeUnknownKinds(path)
	}
}

// removeUnknownKinds removes the indexes of an organization whose kind was renamed or removed.
func (e *Engine) removeUnknownKinds(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		e.log.Error("cannot read index directory", "path", dir, "error", err)
	}
	for _, entry := range entries {
		if !slices.ContainsFunc(e.kinds, func(k *Kind) bool { return k.Entity == entry.Name() }) {
			e.removeUnused(filepath.Join(dir, entry.Name()))
		}
	}
}

// RemoveOrganization closes and removes the indexes of an organization that was deleted.
func (e *Engine) RemoveOrganization(org uuid.UUID) {
	var removed []*tableIndex
	e.mu.Lock()
	for key, s := range e.tables {
		if key.org == org {
			removed = append(removed, s)
			delete(e.tables, key)
			delete(e.dirty, s)
		}
	}
	e.mu.Unlock()
	for _, s := range removed {
		s.writing.Lock()
		s.unload()
		s.lastChange.Store(0)
		s.mu.Lock()
		s.number = 0 // a list that still uses the table index finds no records
		s.mu.Unlock()
		s.writing.Unlock()
	}
	e.signalProgress()
	e.removeUnused(filepath.Join(e.dir, org.String()))
}

func (e *Engine) removeUnused(path string) {
	if err := os.RemoveAll(path); err != nil {
		e.log.Warn("cannot remove unused index", "path", path, "error", err)
	}
}

// maintain closes indexes that have been idle, publishes merged segments, and retries to create or open
// indexes that could not be created or are paused.
func (e *Engine) maintain() {
	for _, s := range e.tableIndexes() {
		s.mu.Lock()
		if s.idleRounds++; s.used.Load() != s.usedBefore {
			s.idleRounds, s.usedBefore = 0, s.used.Load()
		}
		idle := s.loaded.Load() && s.idleRounds >= maxIdleRounds
		failed := s.view != nil && s.view.bleveSnapshot == nil
		s.mu.Unlock()
		switch {
		case s.paused.Load() != nil && !idle:
			s.resume()
		case idle:
			s.close()
		case failed:
			e.markDirty(s)
		default:
			s.refresh()
		}
	}
}

// enforceLimits closes the least recently used table indexes until the number of open indexes and
// the memory in use are within their limits. It keeps the most recently used one, whatever its
// size.
func (e *Engine) enforceLimits() {
	type use struct {
		*tableIndex
		used       uint64
		open, size int
	}
	var uses []use
	open, size := 0, e.cache.size()
	for _, s := range e.tableIndexes() {
		u := use{tableIndex: s, used: s.used.Load()}
		u.open, u.size = s.usage()
		uses, open, size = append(uses, u), open+u.open, size+u.size
	}
	slices.SortFunc(uses, func(a, b use) int { return cmp.Compare(a.used, b.used) })
	for _, u := range uses[:max(0, len(uses)-1)] {
		tooMany, tooLarge := open > e.maxOpen && u.open > 0, size > e.cacheBytes && u.size > 0
		if (tooMany || tooLarge) && u.close() {
			open, size = open-u.open, size-u.size
		}
	}
}

// close closes the table index unless it is being written, and reports whether it did. The next
// list opens it again.
func (s *tableIndex) close() bool {
	if !s.writing.TryLock() {
		return false
	}
	defer s.writing.Unlock()
	s.unload()
	return true
}

// refresh publishes a view of the segments that bleve has merged. Fewer segments are faster, and
// the files of the others can be deleted.
func (s *tableIndex) refresh() {
	if !s.writing.TryLock() {
		return
	}
	defer s.writing.Unlock()
	if s.disk == nil || !s.disk.hasMerged(s.view) {
		return
	}
	v, err := s.disk.view(s.kind, s.engine.cache, s.view)
	switch {
	case err == nil:
		s.publish(v)
		return
	case isShortage(err):
		_ = s.pause(err) // it is reported
		return
	}
	s.reportDamage(err)
	if err := s.rebuild(); err != nil {
		s.reportFailure(err)
	}
}
