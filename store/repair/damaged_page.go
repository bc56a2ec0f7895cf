package repair

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// readDamaged reads what can be read of a damaged page, unless it turns out to belong elsewhere.
func (w *walk) readDamaged(path []string, id uint64, problem int) {
	if w.into == nil {
		return
	}
	w.later = append(w.later, func() error {
		if id < 2 || id >= w.meta.pages || w.used[id] > 0 {
			return nil
		}
		p, _ := w.read(id, 0) // the error is known
		if p.data == nil {
			return nil
		}
		w.used[id] = 1
		elements, isWhole := p.mend(id, w.meta.pageSize)
		if p.typ == leafPage && isWhole {
			w.mendNames(path, elements)
			isWhole = w.layout.kinds(path, elements) == nil
		}
		isWhole = isWhole && inOrder(elements)
		if p.typ == leafPage && !isWhole && w.layout.listsOrganizations(path) {
			var err error
			elements, err = p.organizations(w.meta.pages)
			isWhole = err == nil
		}
		w.problems[problem].IsWhole = isWhole
		of := torn
		switch {
		case w.twice[id] || w.free[id] > 0:
			of = untrusted
		case isWhole && w.layout.HasBuckets(path):
			of = sound
		}
		if p.typ == leafPage {
			return w.leaf(path, elements, id, 0, of)
		}
		for i := range elements {
			if child := elements[i].child; child < w.meta.pages && w.used[child] == 0 {
				if err := w.tree(path, child, nil, nil, 1, untrusted); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// mendNames corrects one wrong bit in the name of a bucket of an organization.
func (w *walk) mendNames(path []string, elements []element) {
	if !w.layout.isOrganization(path) {
		return
	}
	for i := range elements {
		e := &elements[i]
		table := append(path[:2:2], string(e.key))
		if !e.isBucket || w.layout.IsName(path, table[2]) && !w.layout.isSealed(table) || len(e.value) < bucketHead {
			continue
		}
		entries := w.firstEntries(e.value, 1)
		if w.layout.isSealed(table) && w.layout.matchesAny(table, entries) {
			continue
		}
		if name, ok := w.layout.nameOf(table, entries); ok {
			e.key = []byte(name)
		}
	}
}

// mend returns the elements of a damaged page that can be told apart, and whether these are all, in whatever
// order. The header is corrected if the elements show what it should be.
func (p *page) mend(id uint64, pageSize int) (found []element, isWhole bool) {
	if len(p.data) < pageHead+elementSize {
		return nil, false
	}
	if p.typ != leafPage && p.typ != branchPage {
		p.typ = leafPage
	}
	first := func(at int) int { return int(binary.LittleEndian.Uint32(p.data[at:])) / elementSize } // from its offset
	for _, q := range []page{
		{typ: p.typ, count: p.count}, {typ: leafPage, count: first(pageHead + 4)}, {typ: branchPage, count: first(pageHead)},
	} {
		q.id, q.overflow, q.data = id, p.overflow, p.data
		if found, err := q.elements(0); (err == nil || err == errOrder) && len(found) > 0 {
			*p = q
			return found, true
		}
	}
	found, _ = p.elements(pageSize)
	return found, false
}

// organizations returns the elements of a page that lists organizations. All of them have the same size, so
// they can be read even if their description is damaged.
func (p *page) organizations(pages uint64) (found []element, err error) {
	at, size := pageHead+p.count*elementSize, 16+bucketHead
	if p.count == 0 || at+p.count*size > len(p.data) {
		return nil, fmt.Errorf("its %d elements do not fit", p.count)
	}
	for ; len(found) < p.count; at += size {
		e := element{key: p.data[at : at+16], value: p.data[at+16 : at+size], isBucket: true}
		if root := binary.LittleEndian.Uint64(e.value); root < 2 || root >= pages {
			return nil, errors.New("it does not list organizations")
		}
		found = append(found, e)
	}
	return found, nil
}
