package index

import (
	"slices"

	"github.com/google/uuid"
)

// rows are the records that were changed since a view, or all of them where there is none.
type rows struct {
	view    *view
	changes []*change
	byID    map[uuid.UUID]int // where each stands in changes
	masks   []set             // by part: the live documents that no change replaces; nil: those of the part
	size    int               // about, in bytes
}

// change is what became of a record. It never changes itself.
type change struct {
	id     uuid.UUID
	number uint64
	row    *row // nil: it was deleted
	at     place
}

var nowhere = place{part: -1}

func newRows(v *view) *rows {
	r := &rows{view: v, byID: map[uuid.UUID]int{}}
	if v != nil {
		r.masks = make([]set, len(v.parts))
	}
	return r
}

// put takes a change in, in the place of one of the same record.
func (r *rows) put(c *change) {
	i, known := r.byID[c.id]
	// With an index a deletion is kept even of a record that the view has not: the next view may have it.
	if c.row == nil && r.view == nil {
		if known {
			r.remove(i)
		}
		return
	}
	if !known {
		c.at = r.view.find(c.id)
		r.add(c)
		return
	}
	c.at = r.changes[i].at
	r.size += c.bytes() - r.changes[i].bytes()
	r.changes[i] = c
}

// remove puts the last change in the place of another.
func (r *rows) remove(i int) {
	r.size -= r.changes[i].bytes()
	delete(r.byID, r.changes[i].id)
	last := len(r.changes) - 1
	if i != last {
		r.changes[i] = r.changes[last]
		r.byID[r.changes[i].id] = i
	}
	r.changes[last] = nil
	r.changes = r.changes[:last]
}

// add takes a change in of a record that has none yet.
func (r *rows) add(c *change) {
	r.byID[c.id] = len(r.changes)
	r.changes = append(r.changes, c)
	r.size += c.bytes()
	if c.at.part < 0 {
		return
	}
	mask := &r.masks[c.at.part]
	if *mask == nil {
		p := r.view.parts[c.at.part]
		if *mask = fullSet(p.size); p.live != nil {
			mask.and(p.live)
		}
	}
	mask.remove(c.at.doc)
}

// moment freezes the rows.
func (r *rows) moment(g gone) *moment {
	m := &moment{view: r.view, changes: slices.Clone(r.changes), masks: slices.Clone(r.masks)}
	if r.view != nil {
		m.parts = withGone(r.view.parts, g)
	}
	for i, mask := range m.masks {
		m.masks[i] = slices.Clone(mask)
	}
	return m
}

func (c *change) bytes() int {
	const itself = 128 // with its place in the list and in the map
	if c.row == nil {
		return itself
	}
	return itself + c.row.bytes()
}
