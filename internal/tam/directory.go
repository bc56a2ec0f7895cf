package tam

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/google/uuid"

	"prospector/store"
)

// The directory of a Preview finds members by what callers know of them: the ids of the source, and websites. It is a table of
// hashed names with ordinals, in pages by the beginning of the hash, so that to find a name is to read one page. It is written
// once, with the Preview, and costs a twentieth of the members.

// name is a hashed name. Half of SHA-256 is enough to be sure that no two names of a Preview are alike.
type name [16]byte

// Names of different kinds are different names.
const (
	companyName = 'c'
	personName  = 'p'
	websiteName = 'w'
)

func nameOf(kind byte, text string) name {
	sum := sha256.Sum256(append([]byte{kind}, text...))
	return name(sum[:16])
}

type dirEntry struct {
	name    name
	ordinal uint32
}

const (
	entrySize = 16 + 4
	// pageEntries is how many entries a page has, about.
	pageEntries = 200
)

// pageOf is the page of a name, of so many.
func pageOf(n name, pages int) uint32 {
	page, _ := bits.Mul64(binary.BigEndian.Uint64(n[:]), uint64(pages))
	return uint32(page)
}

func pagesFor(entries int) int { return (entries + pageEntries - 1) / pageEntries }

// dirPages gives the pages of a directory in order.
func dirPages(entries []dirEntry, use func(page uint32, value []byte) error) error {
	slices.SortFunc(entries, func(a, b dirEntry) int {
		if c := bytes.Compare(a.name[:], b.name[:]); c != 0 {
			return c
		}
		return int(a.ordinal) - int(b.ordinal)
	})
	pages := pagesFor(len(entries))
	for page, at := uint32(0), 0; int(page) < pages; page++ {
		value := []byte{}
		for ; at < len(entries) && pageOf(entries[at].name, pages) == page; at++ {
			value = append(value, entries[at].name[:]...)
			value = binary.BigEndian.AppendUint32(value, entries[at].ordinal)
		}
		if err := use(page, value); err != nil {
			return err
		}
	}
	return nil
}

// lookUp gives the ordinals of the members that have a name, in order.
func (t *TAM) lookUp(tx *store.Tx, preview uuid.UUID, pages int, n name) ([]int, error) {
	if pages == 0 {
		return nil, nil
	}
	page, err := t.directory.Get(tx, preview, pageOf(n, pages))
	if err != nil {
		return nil, err
	}
	entry := func(i int) []byte { return page[i*entrySize : (i+1)*entrySize] }
	count := len(page) / entrySize
	first := 0
	for last := count; first < last; { // the first that is not before the name
		if middle := (first + last) / 2; bytes.Compare(entry(middle)[:16], n[:]) < 0 {
			first = middle + 1
		} else {
			last = middle
		}
	}
	var ordinals []int
	for ; first < count && bytes.Equal(entry(first)[:16], n[:]); first++ {
		ordinals = append(ordinals, int(binary.BigEndian.Uint32(entry(first)[16:])))
	}
	return ordinals, nil
}
