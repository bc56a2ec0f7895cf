package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// rebuild copies everything that can be read of a damaged file, whose path is from, into a new file in the directory to. Whether
// an entry of a damaged page, or of a page that nothing leads to any more, is right and where it belongs is
// known from its checksum. It returns the pages that are lost, and fails if the file cannot be used without
// them.
func (w *pageWalk) rebuild(from, to string) (lost []LostPage, err error) {
	if err := os.Mkdir(to, 0o700); err != nil {
		return nil, err
	}
	db, err := bolt.Open(filepath.Join(to, FileName), 0o600, &bolt.Options{
		NoSync: true, FreelistType: bolt.FreelistMapType, Timeout: lockWait,
	})
	if err != nil {
		return nil, err
	}
	r := &rebuilder{db: db, walk: w, touched: map[string][]string{}, pages: map[uint64]bool{}, names: map[string]bool{}}
	if err = w.prepare(); err == nil {
		w.sink = r
		err = w.run()
	}
	if err == nil {
		err = r.usable()
	}
	if err == nil {
		err = r.salvage()
	}
	if err == nil {
		lost, err = r.finish()
	}
	if r.tx != nil {
		err = errors.Join(err, r.tx.Rollback())
	}
	if err == nil {
		err = carryFile(db, from)
	}
	return lost, errors.Join(err, db.Sync(), db.Close())
}

// prepare finds out from a first walk which pages are in the place of another one and which are named twice.
func (w *pageWalk) prepare() error {
	w.moved, w.twice = map[uint64]uint64{}, map[uint64]bool{}
	head := make([]byte, pageHead)
	pageAt := func(id uint64) (page, error) {
		_, err := w.file.ReadAt(head, int64(id)*int64(w.meta.pageSize))
		return parsePage(head), err
	}
	for id := uint64(2); id < w.meta.pages; id++ {
		if w.used[id] > 1 {
			w.twice[id] = true
		}
		p, err := pageAt(id)
		if err != nil {
			return err
		}
		isPage := p.typ == leafPage || p.typ == branchPage || p.typ == freelistPage
		if isPage && p.id != id && p.id >= 2 && p.id < w.meta.pages && w.used[id] == 0 {
			w.moved[p.id] = id
		}
	}
	for id := range w.moved { // only pages that are not where they should be
		p, err := pageAt(id)
		if err != nil {
			return err
		}
		if p.id == id {
			delete(w.moved, id)
		}
	}
	return nil
}

// usable returns an error if a page is lost without which nothing can be found.
func (r *rebuilder) usable() error {
	for i := range r.walk.problems {
		p := &r.walk.problems[i]
		isFreelist := len(p.path) == 0 && p.page == r.walk.meta.freelist
		isNeeded := len(p.path) == 0 && !isFreelist || len(p.path) == 1 && slices.Contains(neededBuckets, p.path[0])
		if isNeeded && !p.isWhole {
			return fmt.Errorf("%w: %v; it cannot be rebuilt: restore a backup", ErrDamaged, p)
		}
	}
	for _, name := range neededBuckets {
		if r.tx == nil || r.tx.Bucket([]byte(name)) == nil {
			return fmt.Errorf("%w: it has no bucket %q; it cannot be rebuilt: restore a backup", ErrDamaged, name)
		}
	}
	return nil
}

// neededBuckets are those without which nothing can be found.
var neededBuckets = []string{string(metaBucket), string(orgsBucket)}

// rebuildDir is the directory in which a file is rebuilt.
const rebuildDir = FileName + ".rebuild"

// rebuildFile puts a rebuilt file in the place of a damaged one, which must not be open in this process. The
// damaged file is kept aside.
func (s *Store) rebuildFile(w *pageWalk) error {
	dir := filepath.Dir(s.path)
	work := filepath.Join(dir, rebuildDir)
	defer os.RemoveAll(work)
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	problems := w.problems
	lost, err := w.rebuild(s.path, work)
	if errors.Is(err, ErrDamaged) {
		return err
	}
	if err != nil {
		return fmt.Errorf("cannot rebuild the damaged store: %w", err)
	}
	aside, err := Replace(dir, work, s.Now())
	if err != nil {
		return err
	}
	for i := range lost {
		l := &lost[i]
		s.opt.Log.Error("page of the store is lost", "organization", l.Organization, "bucket", l.Bucket, "page", l.Page, "error", l.Cause)
	}
	s.opt.Log.Error("store file had damaged pages and was rebuilt; run 'prospector check --repair --drop FILE'",
		"damaged_pages", len(problems), "first", problems[0].Error(), "lost_pages", len(lost), "damaged_file", aside)
	return nil
}

// rebuiltKey is in the bucket meta of a rebuilt file until FinishRebuild removes it, so that a crash in between
// does not leave the consequences of lost pages unnoticed.
var rebuiltKey = []byte("rebuilt")

// Rebuilt reports whether the file was rebuilt and FinishRebuild was not called since. Keys and other derived
// data may then differ from the records.
func (s *Store) Rebuilt() bool { return s.rebuilt }

// FinishRebuild records that derived data was compared with the records of a rebuilt file.
func (s *Store) FinishRebuild(ctx context.Context) error {
	err := s.Update(ctx, uuid.Nil, rebuildActor, func(tx *Tx) error {
		tx.delete(metaShared, rebuiltKey)
		return nil
	})
	if err == nil {
		s.rebuilt = false
	}
	return err
}

var rebuildActor = Actor{Operation: "rebuild"}

// afterRebuild finds out which records are lost and repairs what follows from the rest. It may run again.
func (s *Store) afterRebuild(ctx context.Context) error {
	orgs, err := s.Organizations()
	if err != nil {
		return err
	}
	for _, org := range append(orgs, uuid.Nil) {
		err := s.Update(ctx, org, rebuildActor, func(tx *Tx) error {
			if err := tx.removeOutdated(); err != nil {
				return err
			}
			if err := tx.MarkLost(); err != nil {
				return err
			}
			return tx.repairSets(true)
		})
		if err != nil {
			return err
		}
	}
	return s.Update(ctx, uuid.Nil, rebuildActor, func(tx *Tx) error { return tx.verifyShared(func(bool, string, ...any) {}) })
}
