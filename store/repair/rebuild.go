package repair

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// Rebuilt is what is known about a file that was rebuilt.
type Rebuilt struct {
	// Problems are those of the damaged file. What was on pages that are not whole may be lost.
	Problems []Problem

	touched map[string][]string
}

// MayLack reports whether entries of a bucket may be missing.
func (r *Rebuilt) MayLack(path ...string) bool { return r.touched[strings.Join(path, "\x00")] != nil }

// UnusableError says what a file lacks without which nothing in it can be found.
type UnusableError struct{ cause string }

func (e *UnusableError) Error() string { return e.cause }

// Rebuild copies everything that can be read of a damaged file into a new one. Whether an entry of a damaged page, or
// of a page that nothing leads to any more, is right and where it belongs is known from its checksum. It returns an
// UnusableError if a page is lost without which nothing can be found.
func (f *File) Rebuild(db *bolt.DB) (*Rebuilt, error) {
	w := newWalk(f.walk.file, f.walk.meta, f.walk.layout)
	if err := w.locate(f.walk.used); err != nil {
		return nil, err
	}
	r := &rebuilder{walk: w, db: db, touched: map[string][]string{}, pages: map[uint64]bool{}, names: map[string]bool{}}
	w.into = r
	err := w.run()
	if err == nil {
		err = r.usable()
	}
	if err == nil {
		err = r.salvage()
	}
	switch {
	case r.tx == nil:
	case err != nil:
		err = errors.Join(err, r.tx.Rollback())
	default:
		err = r.tx.Commit()
	}
	return &Rebuilt{w.problems, r.touched}, err
}

// locate finds out which pages are in the place of another one, and which are named twice. used is that of an earlier
// walk.
func (w *walk) locate(used []byte) error {
	w.moved, w.twice = map[uint64]uint64{}, map[uint64]bool{}
	inPlace := make([]bool, w.meta.pages)
	head := make([]byte, pageHead)
	for id := uint64(2); id < w.meta.pages; id++ {
		if used[id] > 1 {
			w.twice[id] = true
		}
		if _, err := w.file.ReadAt(head, int64(id)*int64(w.meta.pageSize)); err != nil {
			return err
		}
		p := parsePage(head)
		isPage := p.typ == leafPage || p.typ == branchPage || p.typ == freelistPage
		switch {
		case p.id == id:
			inPlace[id] = true
		case isPage && p.id >= 2 && p.id < w.meta.pages && used[id] == 0:
			w.moved[p.id] = id
		}
	}
	for id := range w.moved {
		if inPlace[id] {
			delete(w.moved, id)
		}
	}
	return nil
}

// rebuilder writes the new file.
type rebuilder struct {
	*walk
	db      *bolt.DB
	tx      *bolt.Tx
	path    []string
	current *bolt.Bucket
	written int
	// touched are the buckets of which entries are missing, and pages the leaf pages that may have them.
	touched map[string][]string
	pages   map[uint64]bool
	torn    []tornEntry
	names   map[string]bool // of the buckets that organizations have
}

// tornEntry is an entry of a damaged page that does not match its checksum.
type tornEntry struct {
	path       []string
	key, value []byte
}

// commitBytes is how much is written in one transaction.
const commitBytes = 16 << 20

// at returns a bucket of the new file.
func (r *rebuilder) at(path []string) (b *bolt.Bucket, err error) {
	if r.tx != nil && r.written > commitBytes {
		if err := r.tx.Commit(); err != nil {
			return nil, err
		}
		r.tx = nil
	}
	if r.tx == nil {
		if r.tx, err = r.db.Begin(true); err != nil {
			return nil, err
		}
		r.written, r.current = 0, nil
	}
	if r.current != nil && slices.Equal(path, r.path) {
		return r.current, nil
	}
	if b, err = r.tx.CreateBucketIfNotExists([]byte(path[0])); err != nil {
		return nil, err
	}
	for _, name := range path[1:] {
		if b, err = b.CreateBucketIfNotExists([]byte(name)); err != nil {
			return nil, err
		}
	}
	b.FillPercent = 0.9
	r.path, r.current = slices.Clone(path), b
	return b, nil
}

func (r *rebuilder) put(path []string, key, value []byte) error {
	b, err := r.at(path)
	if err != nil || len(key) > bolt.MaxKeySize {
		return err
	}
	r.written += len(key) + len(value)
	return b.Put(bytes.Clone(key), bytes.Clone(value))
}

// putNew adds an entry unless there is one with the same key.
func (r *rebuilder) putNew(path []string, key, value []byte) error {
	b, err := r.at(path)
	if err != nil || b.Get(key) != nil {
		return err
	}
	return r.put(path, key, value)
}

// addBucket adds a bucket that the walk has reached.
func (r *rebuilder) addBucket(path []string, sequence uint64, of trust) error {
	b, err := r.at(path)
	if err != nil {
		return err
	}
	if of != sound {
		r.touch(path)
	}
	if r.layout.isSealed(path) {
		r.names[path[2]] = true
	}
	return b.SetSequence(sequence)
}

// addEntry adds an entry that the walk has reached, unless salvage decides about it.
func (r *rebuilder) addEntry(path []string, e element, page uint64, of trust) error {
	if of == sound || !r.layout.isSealed(path) {
		return r.put(path, e.key, e.value)
	}
	r.touch(path)
	r.pages[page] = true
	if of == torn && !r.layout.matches(path, e) {
		r.torn = append(r.torn, tornEntry{slices.Clone(path), bytes.Clone(e.key), bytes.Clone(e.value)})
	}
	return nil
}

func (r *rebuilder) touch(path []string) { r.touched[strings.Join(path, "\x00")] = slices.Clone(path) }

// usable returns an error if a page is lost without which nothing can be found.
func (r *rebuilder) usable() error {
	for i := range r.problems {
		p := &r.problems[i]
		isFreelist := len(p.Path) == 0 && p.Page == r.meta.freelist
		isNeeded := len(p.Path) == 0 && !isFreelist || len(p.Path) == 1 && slices.Contains(r.layout.Needed, p.Path[0])
		if isNeeded && !p.IsWhole {
			return &UnusableError{p.Error()}
		}
	}
	for _, name := range r.layout.Needed {
		if r.tx == nil || r.tx.Bucket([]byte(name)) == nil {
			return &UnusableError{fmt.Sprintf("it has no bucket %q", name)}
		}
	}
	return nil
}
