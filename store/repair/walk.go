package repair

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// walk reads every page of a file that its root leads to, and compares the pages with each other: each is what it
// says it is, in order, within the bounds of the page that names it, named once, and not free.
type walk struct {
	file     io.ReaderAt
	layout   *Layout
	meta     metaPage
	used     []byte // by page: how often it is named, up to 2
	free     []byte // by page: 1 if it is free
	buffers  [][]byte
	problems []Problem

	// The rest is for a rebuild, which reads damaged pages too. What they lead to is walked later, after
	// everything that sound pages lead to, so that a wrong page number cannot claim the page of another bucket.
	into  *rebuilder        // receives what is read
	moved map[uint64]uint64 // pages that are stored in the place of another one
	twice map[uint64]bool   // pages that are named twice
	later []func() error
}

// trust is how far something that was read from a page can be relied on.
type trust int

const (
	untrusted trust = iota // it may belong elsewhere or be outdated
	torn                   // its page is damaged
	sound
)

func newWalk(file io.ReaderAt, meta metaPage, layout *Layout) *walk {
	return &walk{file: file, layout: layout, meta: meta, used: make([]byte, meta.pages), free: make([]byte, meta.pages)}
}

// run walks the file.
func (w *walk) run() error {
	listErr := w.readFreelist()
	if err := w.tree(nil, w.meta.root, nil, nil, 0, sound); err != nil {
		return err
	}
	for len(w.later) > 0 {
		next := w.later[0]
		w.later = w.later[1:]
		if err := next(); err != nil {
			return err
		}
	}
	if listErr == nil {
		listErr = w.compareFreelist()
	}
	if listErr != nil {
		w.fail(nil, w.meta.freelist, nil, nil, fmt.Errorf("the list of free pages: %w", listErr))
	}
	return nil
}

func (w *walk) fail(path []string, id uint64, from, to []byte, cause error) {
	w.problems = append(w.problems, Problem{
		Path: append([]string(nil), path...), Page: id, From: bytes.Clone(from), To: bytes.Clone(to), Cause: cause,
	})
}

// read reads a page into the buffer of a depth. It returns what it can even if the page is not the one that
// is wanted.
func (w *walk) read(id uint64, depth int) (p page, err error) {
	if id < 2 || id >= w.meta.pages {
		return p, fmt.Errorf("page %d is outside of the file", id)
	}
	at := id
	if to, ok := w.moved[id]; ok {
		at = to
	}
	for len(w.buffers) <= depth {
		w.buffers = append(w.buffers, make([]byte, w.meta.pageSize))
	}
	b := w.buffers[depth][:w.meta.pageSize]
	offset := int64(at) * int64(w.meta.pageSize)
	if _, err := w.file.ReadAt(b, offset); err != nil {
		return p, err
	}
	p = parsePage(b)
	if p.id != id {
		return p, fmt.Errorf("it says that it is page %d", p.id)
	}
	if p.overflow >= w.meta.pages-max(id, at) {
		return p, errors.New("it goes beyond the end of the file")
	}
	if p.overflow > 0 {
		n := int(p.overflow+1) * w.meta.pageSize
		if cap(w.buffers[depth]) < n {
			w.buffers[depth] = make([]byte, n)
		}
		p.data = w.buffers[depth][:n]
		if _, err := w.file.ReadAt(p.data, offset); err != nil {
			return p, err
		}
	}
	return p, nil
}

// mark counts a page and those that continue it as used.
func (w *walk) mark(p *page) (err error) {
	for i := p.id; i <= p.id+p.overflow; i++ {
		if w.used[i]++; w.used[i] > 1 {
			w.used[i] = 2
			err = errors.New("it is in use twice")
		}
	}
	return err
}

// tree walks a page and those below it. Its keys must be from the key from on and below the key to; both
// are nil for the root of a bucket.
func (w *walk) tree(path []string, id uint64, from, to []byte, depth int, of trust) error {
	p, err := w.read(id, depth)
	var elements []element
	if err == nil {
		elements, err = w.elements(path, &p)
	}
	if err == nil {
		err = within(elements, from, to, from == nil && to == nil && p.typ == leafPage)
	}
	if err == nil && w.twice[id] && !w.owns(path, id, depth) {
		err = errors.New("it is in use twice")
	}
	if err == nil {
		err = w.mark(&p)
	}
	if err != nil {
		w.fail(path, id, from, to, err)
		w.readDamaged(path, id, len(w.problems)-1)
		return nil
	}
	if w.into != nil && (w.twice[id] || w.free[id] > 0) {
		of = untrusted
	}
	if p.typ == branchPage {
		return w.branch(path, elements, to, depth, of)
	}
	return w.leaf(path, elements, id, depth, of)
}

// elements returns the elements of a page, and an error if the page does not fit into the bucket.
func (w *walk) elements(path []string, p *page) (found []element, err error) {
	if p.typ != leafPage && p.typ != branchPage {
		return nil, errors.New("it is neither a leaf nor a branch")
	}
	if found, err = p.elements(w.meta.pageSize); err == nil && p.typ == leafPage {
		err = w.layout.kinds(path, found)
	}
	return found, err
}

// within checks that the keys of a page are within its bounds.
func within(elements []element, from, to []byte, mayBeEmpty bool) error {
	switch {
	case len(elements) == 0 && !mayBeEmpty:
		return errors.New("it is empty")
	case len(elements) == 0:
		return nil
	case from != nil && !bytes.Equal(elements[0].key, from), // bbolt relies on that
		to != nil && bytes.Compare(elements[len(elements)-1].key, to) >= 0:
		return errors.New("its keys do not belong there")
	}
	return nil
}

// kinds checks that a leaf has buckets or entries as its place requires.
func (l *Layout) kinds(path []string, elements []element) error {
	for i := range elements {
		e := &elements[i]
		if e.isBucket != l.HasBuckets(path) {
			return errors.New("it has an entry in place of a bucket, or a bucket in place of an entry")
		}
		if e.isBucket && !l.IsName(path, string(e.key)) {
			return fmt.Errorf("it has a bucket %q", bucketName(string(e.key)))
		}
		if e.isBucket && (len(e.value) < bucketHead || binary.LittleEndian.Uint64(e.value) != 0 && len(e.value) != bucketHead) {
			return errors.New("it has a bucket of the wrong size")
		}
	}
	return nil
}

func (w *walk) branch(path []string, elements []element, to []byte, depth int, of trust) error {
	for i := range elements {
		end := to
		if i+1 < len(elements) {
			end = elements[i+1].key
		}
		if err := w.tree(path, elements[i].child, elements[i].key, end, depth+1, of); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) leaf(path []string, elements []element, id uint64, depth int, of trust) error {
	for i := range elements {
		e := &elements[i]
		switch {
		case w.layout.HasBuckets(path) && e.isBucket && len(e.value) >= bucketHead:
			if err := w.bucket(append(path[:len(path):len(path)], string(e.key)), e.value, id, depth, of); err != nil {
				return err
			}
		case !w.layout.HasBuckets(path) && !e.isBucket && w.into != nil:
			if err := w.into.addEntry(path, *e, id, of); err != nil {
				return err
			}
		}
	}
	return nil
}

// bucket walks a bucket, whose page is part of the value if it is small.
func (w *walk) bucket(path []string, value []byte, id uint64, depth int, of trust) error {
	if w.into != nil && w.layout.isOrganization(path) {
		path = w.mendID(path, value, depth)
	}
	path, isMended, isRight := w.mendName(path, value, depth)
	if isMended || !isRight && of == sound {
		w.fail(path[:2], id, nil, nil, fmt.Errorf("the entries of its bucket %s do not match the name", path[2]))
		w.problems[len(w.problems)-1].IsWhole = isMended
	}
	switch {
	case isMended && w.into == nil:
		return nil
	case !isRight && of == sound:
		if w.into != nil {
			value = bytes.Clone(value)
			w.later = append(w.later, func() error { return w.bucket(path, value, id, depth, untrusted) })
		}
		return nil
	case !isRight && !w.into.names[path[2]], of != sound && !w.layout.IsName(path[:len(path)-1], path[len(path)-1]):
		return nil
	}
	root, sequence := binary.LittleEndian.Uint64(value), binary.LittleEndian.Uint64(value[8:])
	if w.into != nil {
		if err := w.into.addBucket(path, sequence, of); err != nil {
			return err
		}
	}
	if root != 0 {
		return w.tree(path, root, nil, nil, depth+1, of)
	}
	return w.inlineBucket(path, value, id, depth, of)
}

func (w *walk) inlineBucket(path []string, value []byte, id uint64, depth int, of trust) error {
	if len(value) < bucketHead+pageHead {
		w.fail(path, id, nil, nil, errors.New("it is too short"))
		return nil
	}
	p := parsePage(value[bucketHead:])
	elements, err := p.elements(0)
	if err == nil && p.typ != leafPage {
		err = errors.New("it is not a leaf")
	}
	if err == nil {
		err = w.layout.kinds(path, elements)
	}
	if err != nil {
		w.fail(path, id, nil, nil, err)
		of = min(of, torn)
	}
	if p.typ != leafPage {
		return nil
	}
	return w.leaf(path, elements, id, depth, of)
}

// readFreelist reads the list of free pages.
func (w *walk) readFreelist() error {
	if w.meta.freelist == noFreelist {
		return nil
	}
	p, err := w.read(w.meta.freelist, 0)
	if err != nil {
		return err
	}
	ids, err := p.freePages()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if id < 2 || id >= w.meta.pages || w.free[id] > 0 {
			clear(w.free)
			return fmt.Errorf("it has page %d, which cannot be free", id)
		}
		w.free[id] = 1
	}
	return w.mark(&p)
}

// compareFreelist compares the list of free pages with the used ones.
func (w *walk) compareFreelist() (err error) {
	if w.meta.freelist == noFreelist {
		return nil
	}
	for id := uint64(2); id < w.meta.pages; id++ {
		switch {
		case w.used[id] > 0 && w.free[id] > 0:
			err = fmt.Errorf("it has page %d, which is in use", id)
		case w.used[id] == 0 && w.free[id] == 0 && err == nil:
			err = fmt.Errorf("it lacks page %d, which is not in use", id)
		}
	}
	return err
}
