package store

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
	isOrphan    bool   // no page leads to it
}

// salvage adds the entries of damaged pages, and of pages that nothing leads to, to the buckets that they
// belong to. Of several versions of a page it takes the newest.
func (r *rebuilder) salvage() error {
	if err := r.touchLost(); err != nil {
		return err
	}
	found := r.findCandidates()
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.newest, a.newest), compareBools(a.isOrphan, b.isOrphan))
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
		for _, e := range entriesOf(c.path, r.pageElements(c.page)) {
			if err := r.putNew(c.path, e.key, e.value); err != nil {
				return err
			}
		}
	}
	return r.addTorn()
}

// addTorn adds the damaged records and history entries of damaged pages, so that they are reported.
func (r *rebuilder) addTorn() error {
	for _, e := range r.torn {
		b, err := r.at(e.path)
		if err != nil {
			return err
		}
		isRecord := strings.HasSuffix(e.path[2], ".rec") && len(e.key) == 16
		isChange := strings.HasSuffix(e.path[2], logSuffix) && len(e.key) == 8 && binary.BigEndian.Uint64(e.key) <= b.Sequence()
		if isRecord || isChange {
			if err := r.putNew(e.path, e.key, e.value); err != nil {
				return err
			}
		}
	}
	return nil
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// touchLost notes the pages with problems, and the buckets that may lack entries because of them.
func (r *rebuilder) touchLost() error {
	for i := range r.walk.problems {
		p := &r.walk.problems[i]
		r.pages[p.page] = true
		if len(p.path) > 0 {
			r.touch(p.path)
		}
	}
	tables, err := r.tables()
	if err != nil {
		return err
	}
	for table := range tables {
		r.names[table+".rec"], r.names[table+logSuffix] = true, true
	}
	for _, path := range slices.Collect(maps.Values(r.touched)) {
		if isOrganization(path) { // any of its buckets may be lost
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
	w := r.walk
	hasFreelist := slices.Max(w.free) > 0 || w.meta.freelist == noFreelist
	for id := uint64(2); id < w.meta.pages; id++ {
		isOrphan := hasFreelist && w.used[id] == 0 && w.free[id] == 0
		if !r.pages[id] && !isOrphan {
			continue
		}
		elements := r.pageElements(id)
		for _, path := range r.touched {
			entries := entriesOf(path, elements)
			if len(entries) == 0 {
				continue
			}
			c := candidate{
				path: path, page: id, isOrphan: isOrphan,
				first: bytes.Clone(entries[0].key), last: bytes.Clone(entries[len(entries)-1].key),
			}
			for _, e := range entries {
				c.newest = max(c.newest, changeNumber(path, e))
			}
			found = append(found, c)
		}
	}
	return found
}

// pageElements returns the elements of a page, which may have any content.
func (r *rebuilder) pageElements(id uint64) []element {
	p, _ := r.walk.read(id, 0) // what cannot be read has no elements
	if p.data == nil {
		return nil
	}
	elements, _ := p.mend(id, r.walk.meta.pageSize)
	if p.typ != leafPage {
		return nil
	}
	return elements
}

// entriesOf returns the elements that match their checksum in a bucket, in order.
func entriesOf(path []string, elements []element) (found []element) {
	if !isSealed(path) {
		return nil
	}
	for _, e := range elements {
		switch {
		case !e.isBucket && matches(path, e.key, e.value):
			found = append(found, e)
		case e.isBucket && string(e.key) == path[2] && len(e.value) >= bucketHead+pageHead && binary.LittleEndian.Uint64(e.value) == 0:
			p := parsePage(e.value[bucketHead:])
			inside, _ := p.mend(0, 0)
			found = append(found, entriesOf(path, inside)...)
		}
	}
	slices.SortFunc(found, func(a, b element) int { return bytes.Compare(a.key, b.key) })
	return found
}

// changeNumber returns the number of the change that wrote an entry, or 0 if it has none.
func changeNumber(path []string, e element) uint64 {
	switch {
	case strings.HasSuffix(path[2], ".rec"):
		return changeOf(e.value)
	case strings.HasSuffix(path[2], logSuffix) && len(e.key) == 8:
		return binary.BigEndian.Uint64(e.key)
	}
	return 0
}

// putNew adds an entry unless there is one with the same key.
func (r *rebuilder) putNew(path []string, key, value []byte) error {
	b, err := r.at(path)
	if err != nil || b.Get(key) != nil {
		return err
	}
	return r.put(path, key, value)
}

// tables returns the tables whose shape the file has.
func (r *rebuilder) tables() (map[string]bool, error) {
	meta, err := r.at([]string{string(metaBucket)})
	if err != nil {
		return nil, err
	}
	tables := map[string]bool{}
	return tables, meta.ForEach(func(key, _ []byte) error {
		if table, is := strings.CutPrefix(string(key), shapePrefix); is {
			tables[table] = true
		}
		return nil
	})
}
