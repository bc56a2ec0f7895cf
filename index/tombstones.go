package index

import (
	"maps"

	"prospector/internal/filter"
	"prospector/store"
)

// tombstones are deleted values that stored records still have, by field. The store removes them
// from records on read. Here the terms that an index has for them are ignored.
type tombstones map[string]map[string]bool

func tombstonesOf(stored []store.Tombstone) tombstones {
	var t tombstones
	for _, s := range stored {
		if s.Value == "" {
			continue // a custom field, whose name no query uses any more
		}
		if t == nil {
			t = tombstones{}
		}
		if t[s.Field] == nil {
			t[s.Field] = map[string]bool{}
		}
		t[s.Field][s.Value] = true
	}
	return t
}

func (t tombstones) equal(o tombstones) bool {
	return maps.EqualFunc(t, o, func(a, b map[string]bool) bool { return maps.Equal(a, b) })
}

// applyTombstones applies the tombstones of a transaction to the overlay.
func (s *tableIndex) applyTombstones(tx *store.Tx) error {
	stored, err := tx.Tombstones(s.kind.table)
	if err != nil {
		return err
	}
	if t := tombstonesOf(stored); !t.equal(s.tombstones) {
		s.tombstones, s.current = t, nil
		if s.overlay != nil {
			s.overlay.apply(s.kind, t)
		}
	}
	return nil
}

// apply removes deleted values from the rows of the overlay.
func (o *overlay) apply(k *Kind, t tombstones) {
	for i, c := range o.changes {
		if c.row == nil {
			continue
		}
		if row := c.row.Without(k.Kind, t); row != c.row {
			o.changes[i] = &change{id: c.id, number: c.number, row: row, at: c.at}
		}
	}
}

// applyToSegments returns segments that ignore the deleted values.
func (t tombstones) applyToSegments(segments []*segmentView) []*segmentView {
	if t == nil {
		return segments
	}
	out := make([]*segmentView, len(segments))
	for i, p := range segments {
		applied := *p
		applied.tombstones = t
		out[i] = &applied
	}
	return out
}

// withValue returns the documents that have a value of the field that is not deleted.
func (p *segmentView) withValue(f *filter.Field) docSet {
	out := newSet(p.size)
	p.term(hasField, f.Name, out)
	deleted := p.tombstones[f.Name]
	if deleted == nil {
		return out
	}
	lost, left := newSet(p.size), newSet(p.size)
	p.walkTerms(f.Name, "", "", func(term string, docs *postings) {
		if deleted[term] {
			docs.addTo(lost)
		} else {
			docs.addTo(left)
		}
	})
	left.invert(p.size)
	lost.and(left)
	lost.invert(p.size)
	out.and(lost)
	return out
}

// without returns a column in which no document has one of the texts.
func (c *column) without(texts map[string]bool) *column {
	kept := make([]uint32, c.len()+1)
	for code := uint32(1); int(code) < len(kept); code++ {
		if !texts[c.textAt(code)] {
			kept[code] = code
		}
	}
	out := *c
	out.codes = make([]uint32, len(c.codes))
	for doc, code := range c.codes {
		out.codes[doc] = kept[code]
	}
	return &out
}
