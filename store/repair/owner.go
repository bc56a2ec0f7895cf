package repair

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/google/uuid"
)

// Which bucket a page belongs to is known from the checksums of its entries, because they cover the organization,
// the bucket and the key.

func (l *Layout) isOrganization(path []string) bool {
	return len(path) == 2 && path[0] == l.Organizations
}

// listsOrganizations reports whether a bucket has a bucket for each organization, deleted ones for example.
func (l *Layout) listsOrganizations(path []string) bool { return len(path) == 1 && l.HasBuckets(path) }

// isSealed reports whether the entries of a bucket have checksums.
func (l *Layout) isSealed(path []string) bool {
	return len(path) == 3 && path[0] == l.Organizations && len(path[1]) == 16 && l.IsSealed(path[2])
}

// matches reports whether an element is an entry with the checksum that it has in a sealed bucket.
func (l *Layout) matches(path []string, e element) bool {
	return !e.isBucket && l.Matches(uuid.UUID([]byte(path[1])), path[2], e.key, e.value)
}

func (l *Layout) matchesAny(path []string, elements []element) bool {
	return slices.ContainsFunc(elements, func(e element) bool { return l.matches(path, e) })
}

// mendName reports whether the first entries of a bucket match its name. If they match another name that differs in
// one bit, it returns the path with that name. Of up to two entries that do not match, each may be damaged itself.
func (w *walk) mendName(path []string, value []byte, depth int) (mended []string, isMended, isRight bool) {
	if !w.layout.isSealed(path) {
		return path, false, true
	}
	entries := slices.DeleteFunc(w.firstEntries(value, depth+1), func(e element) bool { return bytes.Equal(e.value, w.layout.Placeholder) })
	if len(entries) == 0 || w.layout.matchesAny(path, entries) {
		return path, false, true
	}
	if name, ok := w.layout.nameOf(path, entries); ok {
		return []string{path[0], path[1], name}, true, true
	}
	return path, false, len(entries) < 3
}

// nameOf returns the name of the bucket of an organization that the entries match and that differs in one bit.
func (l *Layout) nameOf(path []string, entries []element) (string, bool) {
	for name := range oneBitOff(path[2]) {
		if other := []string{path[0], path[1], name}; l.isSealed(other) && l.matchesAny(other, entries) {
			return name, true
		}
	}
	return "", false
}

// oneBitOff returns the names that differ from a name in one bit.
func oneBitOff(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for bit := range len(name) * 8 {
			b := []byte(name)
			if b[bit/8] ^= 1 << (bit % 8); !yield(string(b)) {
				return
			}
		}
	}
}

// firstEntries returns the entries on the first page of a bucket.
func (w *walk) firstEntries(value []byte, depth int) (elements []element) {
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		return w.firstLeaf(root, depth)
	}
	if len(value) < bucketHead+pageHead {
		return nil
	}
	p := parsePage(value[bucketHead:])
	p.typ = leafPage
	elements, _ = p.elements(0)
	return elements
}

// firstLeaf returns the elements of the first leaf below a page, or nothing if it cannot be read.
func (w *walk) firstLeaf(id uint64, depth int) []element {
	for range maxDepth {
		p, err := w.read(id, depth)
		if err != nil {
			return nil
		}
		elements, err := p.elements(w.meta.pageSize)
		if err != nil || len(elements) == 0 || p.typ == leafPage {
			return elements
		}
		id = elements[0].child
	}
	return nil
}

// maxDepth is more levels than any bucket has.
const maxDepth = 64

// owns reports whether a bucket is the one of several to which a page belongs. Only checksums tell. What has
// none can be derived again.
func (w *walk) owns(path []string, id uint64, depth int) bool {
	switch elements := w.firstLeaf(id, depth+1); {
	case w.layout.isSealed(path):
		return w.layout.matchesAny(path, elements)
	case w.layout.isOrganization(path):
		return w.hasTables(path, elements, depth+2)
	}
	return len(path) < 2
}

// hasTables reports whether an organization has any of the entries of the listed tables.
func (w *walk) hasTables(path []string, tables []element, depth int) bool {
	return slices.ContainsFunc(tables, func(e element) bool {
		table := append(path[:2:2], string(e.key))
		return e.isBucket && w.layout.isSealed(table) && len(e.value) >= bucketHead && w.layout.matchesAny(table, w.firstEntries(e.value, depth))
	})
}

// mendID corrects one wrong bit in the id of an organization, if its tables show that it is wrong.
func (w *walk) mendID(path []string, value []byte, depth int) []string {
	tables := w.firstEntries(value, depth+1)
	if w.hasTables(path, tables, depth+2) {
		return path
	}
	for id := range oneBitOff(path[1]) {
		if mended := []string{path[0], id}; w.hasTables(mended, tables, depth+2) {
			return mended
		}
	}
	return path
}
