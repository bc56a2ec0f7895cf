package index

import (
	"slices"

	"github.com/google/uuid"

	"prospector/internal/filter"
)

// overlay is the records that have changed since a view, or all records if there is no view.
type overlay struct {
	view    *view
	changes []*change
	byID    map[uuid.UUID]int // the position in changes
	masks   []docSet          // for each segment: the live documents that no change replaces; nil: no change does
	size    int               // estimated memory in bytes
	// complete reports that the overlay also has all records that the view does not cover.
	complete bool
}

// change is the latest state of a record. It is immutable.
type change struct {
	id     uuid.UUID
	number uint64
	row    *filter.Row // nil: the record was deleted
	at     position    // of the document that the change replaces
}

func newOverlay(v *view) *overlay {
	o := &overlay{view: v, byID: map[uuid.UUID]int{}}
	if v != nil {
		o.masks = make([]docSet, len(v.segments))
	}
	return o
}

// put adds a change. It replaces an earlier change of the same record.
func (o *overlay) put(c *change) {
	i, known := o.byID[c.id]
	if c.row == nil && o.view == nil {
		if known {
			o.remove(i)
		}
		return
	}
	// With a view, a deletion is kept even if the view does not have the record: the next view may
	// have it.
	if !known {
		c.at = o.view.find(c.id)
		o.add(c)
		return
	}
	c.at = o.changes[i].at
	o.size += c.bytes() - o.changes[i].bytes()
	o.changes[i] = c
}

func (o *overlay) has(id uuid.UUID) bool {
	_, has := o.byID[id]
	return has
}

// remove removes the i-th change. The last one takes its position.
func (o *overlay) remove(i int) {
	o.size -= o.changes[i].bytes()
	delete(o.byID, o.changes[i].id)
	last := len(o.changes) - 1
	if i != last {
		o.changes[i] = o.changes[last]
		o.byID[o.changes[i].id] = i
	}
	o.changes[last] = nil
	o.changes = o.changes[:last]
}

// add adds a change of a record that has none yet.
func (o *overlay) add(c *change) {
	o.byID[c.id] = len(o.changes)
	o.changes = append(o.changes, c)
	o.size += c.bytes()
	if c.at == nowhere {
		return
	}
	mask := &o.masks[c.at.segment]
	if *mask == nil {
		p := o.view.segments[c.at.segment]
		if *mask = fullSet(p.size); p.live != nil {
			mask.and(p.live)
		}
	}
	mask.remove(c.at.doc)
}

// snapshot returns a copy of the overlay that later changes do not affect.
func (o *overlay) snapshot(t tombstones) *snapshot {
	at := &snapshot{view: o.view, changes: slices.Clone(o.changes), masks: slices.Clone(o.masks), complete: o.complete}
	for _, c := range o.changes {
		if c.row != nil {
			at.readable++
		}
		if c.at != nowhere {
			at.readable--
		}
	}
	if o.view != nil {
		at.readable += o.view.count
		at.segments = t.applyToSegments(o.view.segments)
	}
	for i, mask := range at.masks {
		at.masks[i] = slices.Clone(mask)
	}
	return at
}

func (c *change) bytes() int {
	const itself = 128 // with its entries in changes and byID
	if c.row == nil {
		return itself
	}
	return itself + c.row.Bytes()
}
