package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/store/repair"
)

// rebuildDir is the directory in which a file is rebuilt.
const rebuildDir = FileName + ".rebuild"

// rebuildFile puts a rebuilt file in the place of a damaged one, which must not be open in this process. The
// damaged file is kept aside.
func (s *Store) rebuildFile(damaged *repair.File) error {
	dir := filepath.Dir(s.path)
	work := filepath.Join(dir, rebuildDir)
	defer os.RemoveAll(work)
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	lost, err := rebuild(damaged, s.path, work)
	var unusable *repair.UnusableError
	if errors.As(err, &unusable) {
		return fmt.Errorf("%w: %v; it cannot be rebuilt: restore a backup", ErrDamaged, unusable)
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
		"damaged_pages", len(damaged.Problems), "first", damaged.Problems[0].Error(), "lost_pages", len(lost), "damaged_file", aside)
	return nil
}

// rebuild copies what can be read of a damaged file, whose path is from, into the new directory to. It returns the
// pages that are lost.
func rebuild(damaged *repair.File, from, to string) (lost []LostPage, err error) {
	db, err := createFile(to)
	if err != nil {
		return nil, err
	}
	rebuilt, err := damaged.Rebuild(db)
	if err == nil {
		err = db.Update(func(btx *bolt.Tx) (err error) {
			if lost, err = noteLost(btx, damaged, rebuilt); err != nil {
				return err
			}
			return correctCounters(btx, rebuilt)
		})
	}
	if err == nil {
		err = carryFile(db, from)
	}
	return lost, errors.Join(err, db.Sync(), db.Close())
}

// noteLost stores in a rebuilt file which pages are lost, and that it was rebuilt.
func noteLost(btx *bolt.Tx, damaged *repair.File, rebuilt *repair.Rebuilt) (lost []LostPage, err error) {
	meta, hasNewContent := btx.Bucket(metaBucket), false
	for i := range rebuilt.Problems {
		p := &rebuilt.Problems[i]
		if len(p.Path) == 0 { // the list of free pages
			continue
		}
		hasNewContent = true
		if p.IsWhole {
			continue
		}
		l := LostPage{Page: p.Page, Cause: p.Cause.Error()}
		if len(p.Path) > 1 && len(p.Path[1]) == 16 {
			l.Organization = uuid.UUID([]byte(p.Path[1]))
		}
		if len(p.Path) != 2 {
			l.Bucket = p.Path[len(p.Path)-1]
		}
		if l.Raw, err = damaged.Raw(p.Page); err != nil {
			return nil, err
		}
		if err := putLost(btx, uint64(i), l); err != nil {
			return nil, err
		}
		lost = append(lost, l)
	}
	if hasNewContent { // indexes may contain what is gone
		epoch, err := uuid.NewRandom()
		if err != nil {
			return nil, err
		}
		if err := meta.Put(epochKey, epoch[:]); err != nil {
			return nil, err
		}
	}
	return lost, meta.Put(rebuiltKey, []byte{1})
}

func putLost(btx *bolt.Tx, number uint64, l LostPage) error {
	b, err := btx.CreateBucketIfNotExists(lostBucket)
	if err != nil {
		return err
	}
	body, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return b.Put(numberKey(number), body)
}

// correctCounters corrects the last number of each change log of a rebuilt file, and counts a record more in tables
// whose bucket may be lost, so that their lists say that something is missing.
func correctCounters(btx *bolt.Tx, rebuilt *repair.Rebuilt) error {
	orgs := btx.Bucket(orgsBucket)
	tables, err := tablesOf(btx)
	if err != nil {
		return err
	}
	return orgs.ForEachBucket(func(org []byte) error {
		b := orgs.Bucket(org)
		for i := range rebuilt.Problems {
			p := &rebuilt.Problems[i]
			if p.IsWhole || len(p.Path) != 2 || p.Path[0] != string(orgsBucket) || p.Path[1] != string(org) {
				continue
			}
			for table := range tables {
				if err := countLost(b, []byte(table+recSuffix), p); err != nil {
					return err
				}
			}
		}
		mayLack := func(bucket ...string) bool {
			return rebuilt.MayLack(append([]string{string(orgsBucket), string(org)}, bucket...)...)
		}
		for _, table := range bucketNames(b, logSuffix) {
			rec, log := table+recSuffix, table+logSuffix
			if err := correctNumber(b.Bucket([]byte(log)), b.Bucket([]byte(rec)), mayLack() || mayLack(rec) || mayLack(log)); err != nil {
				return err
			}
		}
		return nil
	})
}

// tablesOf returns the tables whose shape the file has, or that any organization has.
func tablesOf(btx *bolt.Tx) (map[string]bool, error) {
	tables := map[string]bool{}
	err := btx.Bucket(metaBucket).ForEach(func(key, _ []byte) error {
		if table, is := strings.CutPrefix(string(key), shapePrefix); is {
			tables[table] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	orgs := btx.Bucket(orgsBucket)
	return tables, orgs.ForEachBucket(func(org []byte) error {
		for _, table := range bucketNames(orgs.Bucket(org), recSuffix) {
			tables[table] = true
		}
		return nil
	})
}

// correctNumber raises the last number of a change log to that of its last entry and, if entries may be missing,
// to that of the last written record.
func correctNumber(log, rec *bolt.Bucket, mayLackEntries bool) error {
	last := uint64(0)
	if key, _ := log.Cursor().Last(); len(key) == 8 {
		last = binary.BigEndian.Uint64(key)
	}
	if rec != nil && mayLackEntries {
		_ = rec.ForEach(func(_, value []byte) error { // the function never fails
			if len(value) >= valueHead {
				if n := changeOf(value); n-last < maxMissingChanges {
					last = n
				}
			}
			return nil
		})
	}
	if last <= log.Sequence() {
		return nil
	}
	return log.SetSequence(last)
}

// countLost counts the records of a table whose bucket may have been on a lost page, and one more.
func countLost(org *bolt.Bucket, name []byte, p *repair.Problem) error {
	if bytes.Compare(name, p.From) < 0 || p.To != nil && bytes.Compare(name, p.To) >= 0 {
		return nil
	}
	b := org.Bucket(name)
	switch {
	case b == nil:
		var err error
		if b, err = org.CreateBucket(name); err != nil {
			return err
		}
	case b.Sequence() > 0:
		return nil // it is known
	}
	return b.SetSequence(uint64(b.Stats().KeyN) + 1)
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
			tx.removeOutdated()
			tx.MarkLost()
			return tx.repairSets(true)
		})
		if err != nil {
			return err
		}
	}
	return s.Update(ctx, uuid.Nil, rebuildActor, func(tx *Tx) error { return tx.verifyShared(func(bool, string, ...any) {}) })
}
