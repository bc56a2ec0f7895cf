package repair

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

// candidate is a leaf page with entries of a bucket from which entries are missing.
type candidate struct {
	path        []string
	page        uint64
	first, last []byte // its lowest and highest key
	newest      uint64 // its highest change number
	orphan      int    // 1 if no page leads to it
}

// salvage adds the entries of damaged pages, and of pages that nothing leads to, to the buckets that they
// belong to. Of several versions of a page it takes the newest.
func (r *rebuilder) salvage() error {
	if err := r.touchLost(); err != nil {
		return err
	}
	found := r.findCandidates()
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.newest, a.newest), cmp.Compare(a.orphan, b.orphan))
	})
	taken := map[string][]candidate{}
	for _, c := range found {
		name := strings.Join(c.path, "\x00")
		i, _ := slices.BinarySearchFunc(taken[name], c.first, func(t candidate, first []byte) int {
			return bytes.Compare(t.last, first)
		})
		if i < len(taken[name]) && bytes.Compare(taken[name][i].first, c.last) <= 0 {
			continue // an outdated version of a page
		}
		taken[name] = slices.Insert(taken[name], i, c)
		for _, e := range r.layout.entriesOf(c.path, r.pageElements(c.page)) {
			if err := r.putNew(c.path, e.key, e.value); err != nil {
				return err
			}
		}
	}
	return r.addTorn()
}

// addTorn adds the entries of damaged pages that are reported as damaged.
func (r *rebuilder) addTorn() error {
	for _, e := range r.torn {
		b, err := r.at(e.path)
		if err == nil && r.layout.IsReported(e.path[2], e.key, b.Sequence()) {
			err = r.putNew(e.path, e.key, e.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// touchLost notes the pages with problems, and the buckets that may lack entries because of them.
func (r *rebuilder) touchLost() error {
	for i := range r.problems {
		p := &r.problems[i]
		r.pages[p.Page] = true
		if len(p.Path) > 0 {
			r.touch(p.Path)
		}
	}
	names, err := r.layout.Names(r.tx)
	if err != nil {
		return err
	}
	for _, name := range names {
		r.names[name] = true
	}
	for _, path := range slices.Collect(maps.Values(r.touched)) {
		if r.layout.isOrganization(path) { // any of its buckets may be lost
			for name := range r.names {
				r.touch(append(slices.Clone(path), name))
			}
		}
	}
	return nil
}

// findCandidates looks for pages with entries of touched buckets, among those that have problems and those that
// nothing leads to. Without a list of free pages it cannot tell the latter from free ones.
func (r *rebuilder) findCandidates() (found []candidate) {
	hasFreelist := slices.Max(r.free) > 0 || r.meta.freelist == noFreelist
	for id := uint64(2); id < r.meta.pages; id++ {
		orphan := 0
		if hasFreelist && r.used[id] == 0 && r.free[id] == 0 {
			orphan = 1
		} else if !r.pages[id] {
			continue
		}
		elements := r.pageElements(id)
		for _, path := range r.touched {
			entries := r.layout.entriesOf(path, elements)
			if len(entries) == 0 {
				continue
			}
			c := candidate{
				path: path, page: id, orphan: orphan,
				first: bytes.Clone(entries[0].key), last: bytes.Clone(entries[len(entries)-1].key),
			}
			for _, e := range entries {
				c.newest = max(c.newest, r.layout.Change(path[2], e.key, e.value))
			}
			found = append(found, c)
		}
	}
	return found
}

// pageElements returns the elements of a page, which may have any content.
func (r *rebuilder) pageElements(id uint64) []element {
	p, _ := r.read(id, 0) // what cannot be read has no elements
	if p.data == nil {
		return nil
	}
	elements, _ := p.mend(id, r.meta.pageSize)
	if p.typ != leafPage {
		return nil
	}
	return elements
}

// entriesOf returns the elements that match their checksum in a bucket, in order.
func (l *Layout) entriesOf(path []string, elements []element) (found []element) {
	if !l.isSealed(path) {
		return nil
	}
	for _, e := range elements {
		switch {
		case l.matches(path, e):
			found = append(found, e)
		case e.isBucket && string(e.key) == path[2] && len(e.value) >= bucketHead+pageHead && binary.LittleEndian.Uint64(e.value) == 0:
			p := parsePage(e.value[bucketHead:])
			inside, _ := p.mend(0, 0)
			found = append(found, l.entriesOf(path, inside)...)
		}
	}
	slices.SortFunc(found, func(a, b element) int { return bytes.Compare(a.key, b.key) })
	return found
}
