package store

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Which bucket a page belongs to is known from the checksums of its entries, because they cover the organization,
// the bucket and the key.

func isOrganization(path []string) bool { return len(path) == 2 && path[0] == string(orgsBucket) }

// listsOrganizations reports whether a bucket has a bucket for each organization.
func listsOrganizations(path []string) bool {
	return len(path) == 1 && (path[0] == string(orgsBucket) || path[0] == string(trashBucket))
}

// hasBuckets reports whether a bucket contains buckets.
func hasBuckets(path []string) bool {
	switch len(path) {
	case 0:
		return true
	case 1, 2:
		return listsOrganizations(path[:1])
	}
	return false
}

// isSealed reports whether the entries of a bucket have checksums.
func isSealed(path []string) bool {
	return len(path) == 3 && path[0] == string(orgsBucket) && len(path[1]) == 16 &&
		(hasChecksums(path[2]) || strings.HasSuffix(path[2], ".tomb"))
}

// matches reports whether an entry matches the checksum that it has in this bucket.
func matches(path []string, key, value []byte) bool {
	place := (&Tx{org: uuid.UUID([]byte(path[1]))}).place(path[2], key)
	if strings.HasSuffix(path[2], ".rec") {
		_, _, _, err := decodeValue(place, value)
		return err == nil
	}
	_, err := unseal(place, value)
	return err == nil
}

// rootBuckets are the buckets of the root with a fixed name. The bucket held is one of older formats.
var rootBuckets = []string{"due", "gone", "held", "incomplete", "lost", "meta", "orgs", "trash"}

// isName reports whether a bucket in the path may have the name.
func isName(path []string, name string) bool {
	switch len(path) {
	case 0:
		return strings.HasPrefix(name, globalPrefix) || slices.Contains(rootBuckets, name)
	case 1:
		return len(name) == 16
	}
	for _, suffix := range []string{".rec", ".log", ".gone", ".tomb", partSuffix, setSuffix, ownerSuffix, ".counter"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return name == jobsBucket || name == probeBucket || strings.Contains(name, ".uniq.") || strings.Contains(name, ".key.")
}

// mendName reports whether the first entries of a bucket match its name. If they match another name that differs in
// one bit, it returns the path with that name. Of up to two entries that do not match, each may be damaged itself.
func (w *pageWalk) mendName(path []string, value []byte, depth int) (mended []string, isMended, isRight bool) {
	if !isSealed(path) {
		return path, false, true
	}
	entries := slices.DeleteFunc(w.firstEntries(value, depth+1), func(e element) bool { return bytes.Equal(e.value, lostValue) })
	if len(entries) == 0 || matchesAny(path, entries) {
		return path, false, true
	}
	if name, ok := nameOf(path, entries); ok {
		return []string{path[0], path[1], name}, true, true
	}
	return path, false, len(entries) < 3
}

// nameOf returns the name of the bucket of an organization that the entries match and that differs in one bit.
func nameOf(path []string, entries []element) (string, bool) {
	for name := range oneBitOff(path[2]) {
		if other := []string{path[0], path[1], name}; isSealed(other) && matchesAny(other, entries) {
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
func (w *pageWalk) firstEntries(value []byte, depth int) (elements []element) {
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
func (w *pageWalk) firstLeaf(id uint64, depth int) []element {
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

func matchesAny(path []string, elements []element) bool {
	return slices.ContainsFunc(elements, func(e element) bool { return !e.isBucket && matches(path, e.key, e.value) })
}

// owns reports whether a bucket is the one of several to which a page belongs. Only checksums tell. What has
// none can be derived again.
func (w *pageWalk) owns(path []string, id uint64, depth int) bool {
	switch elements := w.firstLeaf(id, depth+1); {
	case isSealed(path):
		return matchesAny(path, elements)
	case isOrganization(path):
		return w.hasTables(path, elements, depth+2)
	}
	return len(path) < 2
}

// hasTables reports whether an organization has any of the entries of the listed tables.
func (w *pageWalk) hasTables(path []string, tables []element, depth int) bool {
	return slices.ContainsFunc(tables, func(e element) bool {
		table := append(path[:2:2], string(e.key))
		return e.isBucket && isSealed(table) && len(e.value) >= bucketHead && matchesAny(table, w.firstEntries(e.value, depth))
	})
}

// mendID corrects one wrong bit in the id of an organization, if its tables show that it is wrong.
func (w *pageWalk) mendID(path []string, value []byte, depth int) []string {
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
