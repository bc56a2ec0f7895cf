package tam

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"

	"github.com/google/uuid"

	"prospector/store"
)

// The directory of a Preview finds members by what callers know of them: the ids of the source, and websites. It is a table of
// hashed names with ordinals, in pages by the beginning of the hash, so that to find a name is to read one page. It is written
// once, with the Preview, and costs a twentieth of the members.

// name is a hashed name. Half of SHA-256 is enough to be sure that no two names of a Preview are alike.
type name struct{ high, low uint64 }

func (n name) compare(other name) int {
	if n.high != other.high {
		return cmp.Compare(n.high, other.high)
	}
	return cmp.Compare(n.low, other.low)
}

// Names of different kinds are different names.
const (
	companyName = 'c'
	personName  = 'p'
	websiteName = 'w'
)

func nameOf(kind byte, text string) name {
	sum := sha256.Sum256(append([]byte{kind}, text...))
	return name{binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])}
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
	page, _ := bits.Mul64(n.high, uint64(pages))
	return uint32(page)
}

func pagesFor(entries int) int { return (entries + pageEntries - 1) / pageEntries }

// dirPages gives the pages of a directory in order.
func dirPages(entries []dirEntry) [][]byte {
	slices.SortFunc(entries, func(a, b dirEntry) int {
		if c := a.name.compare(b.name); c != 0 {
			return c
		}
		return cmp.Compare(a.ordinal, b.ordinal)
	})
	pages := make([][]byte, pagesFor(len(entries)))
	for _, e := range entries {
		page := &pages[pageOf(e.name, len(pages))]
		*page = binary.BigEndian.AppendUint64(*page, e.name.high)
		*page = binary.BigEndian.AppendUint64(*page, e.name.low)
		*page = binary.BigEndian.AppendUint32(*page, e.ordinal)
	}
	return pages
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
	at := func(i int) name {
		return name{binary.BigEndian.Uint64(page[i*entrySize:]), binary.BigEndian.Uint64(page[i*entrySize+8:])}
	}
	count := len(page) / entrySize
	first := sort.Search(count, func(i int) bool { return at(i).compare(n) >= 0 })
	var ordinals []int
	for ; first < count && at(first) == n; first++ {
		ordinals = append(ordinals, int(binary.BigEndian.Uint32(page[first*entrySize+16:])))
	}
	return ordinals, nil
}
