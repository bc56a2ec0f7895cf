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

// strayFile is a segment that no index of these tests has come to yet.
const strayFile = "0000000000ff.zap"

// leave is what can be left of an index.
type leave struct {
	name    string
	damaged bool // by more than a kill: check says so
	make    func(w *world, path string)
}

var leaves = []leave{
	{"no directory of the organization", false, func(w *world, path string) { w.must(os.RemoveAll(filepath.Dir(path))) }},
	{"no directory", false, func(w *world, path string) { w.must(os.RemoveAll(path)) }},
	{"an empty directory", false, func(w *world, path string) { w.empty(path) }},
	{"an empty root file", false, func(w *world, path string) {
		w.empty(path)
		w.must(os.WriteFile(filepath.Join(path, rootFile), nil, 0o600))
	}},
	{"the first page of a root file", false, func(w *world, path string) {
		w.unbegun(path)
		w.must(os.Truncate(filepath.Join(path, rootFile), int64(os.Getpagesize())))
	}},
	{"a root file without a snapshot", false, func(w *world, path string) { w.unbegun(path) }},
	{"a root file without a snapshot, and a segment", false, func(w *world, path string) {
		w.unbegun(path)
		w.must(os.WriteFile(filepath.Join(path, strayFile), []byte("half"), 0o600))
	}},
	{"one that was begun", false, func(w *world, path string) { w.halfMade(path, 0) }},
	{"one that is half made", false, func(w *world, path string) { w.halfMade(path, 1) }},
	{"a root file that was removed before its segments", false, func(w *world, path string) {
		w.must(os.Remove(filepath.Join(path, rootFile)))
	}},
	{"a segment that is half written", false, func(w *world, path string) { w.stray(path, 2) }},
	{"a segment that no snapshot has", false, func(w *world, path string) { w.stray(path, 1) }},
	{"snapshots that are not removed yet", false, func(w *world, path string) { w.laterSnapshots(path, 2, "") }},
	{"a snapshot of a segment that is gone", true, func(w *world, path string) { w.laterSnapshots(path, 1, strayFile) }},
	{"snapshots of a segment that is gone", true, func(w *world, path string) { w.laterSnapshots(path, 2, strayFile) }},
	{"snapshots of a segment that is cut", true, func(w *world, path string) {
		w.laterSnapshots(path, 2, strayFile)
		w.stray(path, 2)
	}},
	{"a snapshot that cannot be read", true, func(w *world, path string) {
		w.laterSnapshots(path, 1, "")
		w.snapshots(path, func(all *bolt.Bucket, last []byte) error { return all.Bucket(last).DeleteBucket(util.BoltMetaDataKey) })
	}},
}

// TestWhatIsLeft: whatever a kill, or damage before it, leaves of an index, no command fails over
// it. What is damaged is told of once, and after any one of them the index is whole.
func TestWhatIsLeft(t *testing.T) {
	for name, visit := range map[string]func(w *world, damaged bool){
		"check":  func(w *world, damaged bool) { w.finds(damaged, false) },
		"repair": func(w *world, damaged bool) { w.finds(damaged, true) },
		"serve":  func(w *world, _ bool) { w.listAgrees(`{"page_size": 500}`) },
		"reindex": func(w *world, _ bool) {
			if n, err := w.engine.Reindex(w.t.Context(), quiet); n != len(w.ids) || err != nil {
				w.t.Errorf("made %d of %d anew: %v", n, len(w.ids), err)
			}
		},
	} {
		for _, l := range leaves {
			t.Run(name+" finds "+l.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, 181)
				w.many(40, thing{Name: "someone"})
				w.flushAll()
				path := w.path()
				w.still(func() {
					w.closeIndex(w.engine.tableIndex(w.org, things))
					l.make(w, path)
					clear(w.engine.dirty) // the one to find it is the visit
				})
				visit(w, l.damaged)
				for range 3 {
					for range 2 { // a snapshot each, and no segment
						w.update(func(tx *store.Tx) error { return w.remove(tx, 0) })
						w.flushAll()
					}
					w.again()
					w.check()
					w.listAgrees(`{"page_size": 500}`)
				}
			})
		}
	}
}

// again closes the engine and opens it anew.
func (w *world) again() {
	w.t.Helper()
	w.close()
	w.open()
}

// finds checks the index, which is to be found damaged or not.
func (w *world) finds(damaged, repair bool) {
	w.t.Helper()
	var found []string
	n, err := w.engine.Check(w.t.Context(), repair, quiet, func(what string, repaired bool) {
		found = append(found, what)
		if repaired != repair {
			w.t.Errorf("%s: repaired is %t", what, repaired)
		}
	})
	if n != len(w.ids) || err != nil || (len(found) == 1) != damaged || len(found) > 1 {
		w.t.Errorf("looked at %d of %d, found %q: %v", n, len(w.ids), found, err)
	}
}

// empty leaves an empty directory.
func (w *world) empty(path string) {
	w.t.Helper()
	w.must(os.RemoveAll(path))
	w.must(os.Mkdir(path, 0o700))
}

// unbegun leaves an index that nothing was written to.
func (w *world) unbegun(path string) {
	w.t.Helper()
	w.must(os.RemoveAll(path))
	d, err := openDiskIndex(path, w.engine.queue)
	w.must(err)
	w.must(d.close())
}

// halfMade leaves an index that so many batches were written to.
func (w *world) halfMade(path string, batches int) {
	w.t.Helper()
	s := w.engine.tableIndex(w.org, things)
	w.must(s.rebuildBecause(nil))
	for range batches {
		more, err := s.flush()
		if w.must(err); !more {
			w.t.Fatal("it is made")
		}
	}
	w.closeIndex(s)
}

// stray leaves a segment that is a copy of another, or of its first half, third and so on.
func (w *world) stray(path string, part int) {
	w.t.Helper()
	b, err := os.ReadFile(w.file(path, ".zap"))
	w.must(err)
	w.must(os.WriteFile(filepath.Join(path, strayFile), b[:len(b)/part], 0o600))
}

// laterSnapshots leaves so many more snapshots as copies of the last one. They have a segment more,
// when it has a name.
func (w *world) laterSnapshots(path string, n int, segment string) {
	w.t.Helper()
	w.snapshots(path, func(all *bolt.Bucket, last []byte) error {
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

// snapshots changes the snapshots of an index, of which the last has the key.
func (w *world) snapshots(path string, change func(all *bolt.Bucket, last []byte) error) {
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
