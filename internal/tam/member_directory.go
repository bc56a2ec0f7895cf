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

// The directory of a Preview finds the ordinals of members by their catalog ids and websites
// ("names"). It is a sorted table of hashed names and ordinals, split into pages by the first bits
// of the hash. A lookup therefore reads one page. The directory is written once, at the end of the
// preparation, and needs about 5% of the space of the members.

// nameHash is the first half of the SHA-256 of a name, which is long enough to exclude collisions.
type nameHash struct{ high, low uint64 }

func (n nameHash) compare(other nameHash) int {
	if n.high != other.high {
		return cmp.Compare(n.high, other.high)
	}
	return cmp.Compare(n.low, other.low)
}

// The kinds of names. The kind is part of the hash.
const (
	companyName = 'c'
	personName  = 'p'
	websiteName = 'w'
)

func hashName(kind byte, text string) nameHash {
	sum := sha256.Sum256(append([]byte{kind}, text...))
	return nameHash{binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])}
}

type directoryEntry struct {
	name    nameHash
	ordinal uint32
}

const (
	entrySize = 16 + 4
	// pageEntries is the approximate number of entries of a page.
	pageEntries = 200
)

// pageOf returns the number of the page that contains a name.
func pageOf(n nameHash, pages int) uint32 {
	page, _ := bits.Mul64(n.high, uint64(pages))
	return uint32(page)
}

// pageCount returns the number of pages for a number of entries.
func pageCount(entries int) int { return (entries + pageEntries - 1) / pageEntries }

// directoryPages sorts the entries and returns the pages of the directory in order.
func directoryPages(entries []directoryEntry) [][]byte {
	slices.SortFunc(entries, func(a, b directoryEntry) int {
		if c := a.name.compare(b.name); c != 0 {
			return c
		}
		return cmp.Compare(a.ordinal, b.ordinal)
	})
	pages := make([][]byte, pageCount(len(entries)))
	for _, e := range entries {
		page := &pages[pageOf(e.name, len(pages))]
		*page = binary.BigEndian.AppendUint64(*page, e.name.high)
		*page = binary.BigEndian.AppendUint64(*page, e.name.low)
		*page = binary.BigEndian.AppendUint32(*page, e.ordinal)
	}
	return pages
}

// lookUp returns the ordinals of the members that have a name, in order.
func (t *TAM) lookUp(tx *store.Tx, preview uuid.UUID, pages int, n nameHash) ([]int, error) {
	if pages == 0 {
		return nil, nil
	}
	page, err := t.directory.Get(tx, preview, pageOf(n, pages))
	if err != nil {
		return nil, err
	}
	at := func(i int) nameHash {
		return nameHash{binary.BigEndian.Uint64(page[i*entrySize:]), binary.BigEndian.Uint64(page[i*entrySize+8:])}
	}
	count := len(page) / entrySize
	first := sort.Search(count, func(i int) bool { return at(i).compare(n) >= 0 })
	var ordinals []int
	for ; first < count && at(first) == n; first++ {
		ordinals = append(ordinals, int(binary.BigEndian.Uint32(page[first*entrySize+16:])))
	}
	return ordinals, nil
}
