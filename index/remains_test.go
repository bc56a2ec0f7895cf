package index

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/blevesearch/bleve/v2/util"
	bolt "go.etcd.io/bbolt"

	"prospector/store"
)

// strayFile is a segment with a number that no index of these tests reaches.
const strayFile = "0000000000ff.zap"

// remain is a state that an index can be left in.
type remain struct {
	name    string
	damaged bool // by more than a killed process, so that check reports it
	make    func(w *fixture, path string)
}

var remains = []remain{
	{"no organization directory", false, func(w *fixture, path string) { w.must(os.RemoveAll(filepath.Dir(path))) }},
	{"no directory", false, func(w *fixture, path string) { w.must(os.RemoveAll(path)) }},
	{"an empty directory", false, func(w *fixture, path string) { w.leaveEmptyDir(path) }},
	{"an empty root file", false, func(w *fixture, path string) {
		w.leaveEmptyDir(path)
		w.must(os.WriteFile(filepath.Join(path, rootFile), nil, 0o600))
	}},
	{"the first page of a root file", false, func(w *fixture, path string) {
		w.leaveNotStarted(path)
		w.must(os.Truncate(filepath.Join(path, rootFile), int64(os.Getpagesize())))
	}},
	{"a root file without a snapshot", false, func(w *fixture, path string) { w.leaveNotStarted(path) }},
	{"a root file without a snapshot, and a segment", false, func(w *fixture, path string) {
		w.leaveNotStarted(path)
		w.must(os.WriteFile(filepath.Join(path, strayFile), []byte("half"), 0o600))
	}},
	{"an empty index", false, func(w *fixture, path string) { w.leaveHalfBuilt(path, 0) }},
	{"a half built index", false, func(w *fixture, path string) { w.leaveHalfBuilt(path, 1) }},
	{"segments without a root file", false, func(w *fixture, path string) {
		w.must(os.Remove(filepath.Join(path, rootFile)))
	}},
	{"a half written segment", false, func(w *fixture, path string) { w.leaveStraySegment(path, 2) }},
	{"an unused segment", false, func(w *fixture, path string) { w.leaveStraySegment(path, 1) }},
	{"old snapshots", false, func(w *fixture, path string) { w.leaveSnapshots(path, 2, "") }},
	{"a snapshot with a missing segment", true, func(w *fixture, path string) { w.leaveSnapshots(path, 1, strayFile) }},
	{"snapshots with a missing segment", true, func(w *fixture, path string) { w.leaveSnapshots(path, 2, strayFile) }},
	{"snapshots with a truncated segment", true, func(w *fixture, path string) {
		w.leaveSnapshots(path, 2, strayFile)
		w.leaveStraySegment(path, 2)
	}},
	{"an unreadable snapshot", true, func(w *fixture, path string) {
		w.leaveSnapshots(path, 1, "")
		w.editSnapshots(path, func(all *bolt.Bucket, last []byte) error {
			return all.Bucket(last).DeleteBucket(util.BoltMetaDataKey)
		})
	}},
}

// Whatever state a killed process or earlier damage leaves an index in, no command fails. Damage is
// reported once, and afterwards the index is intact.
func TestRemainsOfKilledProcess(t *testing.T) {
	for name, visit := range map[string]func(w *fixture, damaged bool){
		"check":  func(w *fixture, damaged bool) { w.wantDamage(damaged, false) },
		"repair": func(w *fixture, damaged bool) { w.wantDamage(damaged, true) },
		"serve":  func(w *fixture, _ bool) { w.listAgrees(`{"page_size": 500}`) },
		"reindex": func(w *fixture, _ bool) {
			if n, err := w.engine.Reindex(w.t.Context(), noProgress); n != len(w.ids) || err != nil {
				w.t.Errorf("rebuilt %d of %d records: %v", n, len(w.ids), err)
			}
		},
	} {
		for _, l := range remains {
			t.Run(name+" finds "+l.name, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, 181)
				w.insertMany(40, thing{Name: "someone"})
				w.flushAll()
				path := w.path()
				w.whilePaused(func() {
					w.unloadIndex(w.engine.tableIndex(w.org, things))
					l.make(w, path)
					clear(w.engine.dirty) // so that the command finds it first
				})
				visit(w, l.damaged)
				for range 3 {
					for range 2 { // each writes a snapshot, but no segment
						w.update(func(tx *store.Tx) error { return w.remove(tx, 0) })
						w.flushAll()
					}
					w.reopen()
					w.check()
					w.listAgrees(`{"page_size": 500}`)
				}
			})
		}
	}
}

// reopen closes the engine and opens it again.
func (w *fixture) reopen() {
	w.t.Helper()
	w.close()
	w.open()
}

// wantDamage runs Check and reports an error unless it finds damage as expected.
func (w *fixture) wantDamage(damaged, repair bool) {
	w.t.Helper()
	var found []string
	n, err := w.engine.Check(w.t.Context(), repair, noProgress, func(what string, repaired bool) {
		found = append(found, what)
		if repaired != repair {
			w.t.Errorf("%s: repaired is %t", what, repaired)
		}
	}, func(string) {})
	if n != len(w.ids) || err != nil || (len(found) == 1) != damaged || len(found) > 1 {
		w.t.Errorf("checked %d of %d records, found %q: %v", n, len(w.ids), found, err)
	}
}

// leaveEmptyDir leaves an empty directory.
func (w *fixture) leaveEmptyDir(path string) {
	w.t.Helper()
	w.must(os.RemoveAll(path))
	w.must(os.Mkdir(path, 0o700))
}

// leaveNotStarted leaves an index that nothing was written to.
func (w *fixture) leaveNotStarted(path string) {
	w.t.Helper()
	w.must(os.RemoveAll(path))
	d, err := openDiskIndex(path, w.engine.queue, func() {})
	w.must(err)
	w.must(d.close())
}

// leaveHalfBuilt leaves an index after the given number of batches.
func (w *fixture) leaveHalfBuilt(path string, batches int) {
	w.t.Helper()
	s := w.engine.tableIndex(w.org, things)
	w.must(s.rebuildBecause(nil))
	for range batches {
		more, err := s.flush()
		if w.must(err); !more {
			w.t.Fatal("the index is complete")
		}
	}
	w.unloadIndex(s)
}

// leaveStraySegment leaves a segment that is a copy of another one, cut to 1/divisor of its size.
func (w *fixture) leaveStraySegment(path string, divisor int) {
	w.t.Helper()
	b, err := os.ReadFile(w.file(path, ".zap"))
	w.must(err)
	w.must(os.WriteFile(filepath.Join(path, strayFile), b[:len(b)/divisor], 0o600))
}

// leaveSnapshots adds n copies of the newest snapshot. Each has the given segment in addition,
// unless that is empty.
func (w *fixture) leaveSnapshots(path string, n int, segment string) {
	w.t.Helper()
	w.editSnapshots(path, func(all *bolt.Bucket, last []byte) error {
		id, _ := all.Bucket(last).Cursor().Last() // the segments come after the rest
		another := []byte{id[0] + 1}
		for i := range n {
			later, err := all.CreateBucket([]byte{last[0] + byte(i+1)})
			if err == nil {
				err = copyBucket(later, all.Bucket(last))
			}
			if err == nil && segment != "" {
				var more *bolt.Bucket
				if more, err = later.CreateBucket(another); err == nil {
					err = more.Put(util.BoltPathKey, []byte(segment))
				}
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// editSnapshots changes the snapshots of an index. last is the key of the newest one.
func (w *fixture) editSnapshots(path string, change func(all *bolt.Bucket, last []byte) error) {
	w.t.Helper()
	db, err := bolt.Open(filepath.Join(path, rootFile), 0o600, nil)
	w.must(err)
	w.must(errors.Join(db.Update(func(tx *bolt.Tx) error {
		all := tx.Bucket(util.BoltSnapshotsBucket)
		last, _ := all.Cursor().Last()
		if len(last) != 1 {
			w.t.Fatalf("the last snapshot has the key %x", last)
		}
		return change(all, bytes.Clone(last))
	}), db.Close()))
}

func copyBucket(to, from *bolt.Bucket) error {
	return from.ForEach(func(k, v []byte) error {
		if v != nil {
			return to.Put(k, v)
		}
		inner, err := to.CreateBucket(k)
		if err != nil {
			return err
		}
		return copyBucket(inner, from.Bucket(k))
	})
}
