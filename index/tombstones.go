package index

import (
	"maps"
	"slices"
	"strings"

	"prospector/internal/filter"
	"prospector/store"
)

// tombstones are deleted values that stored records still have, by field, with what replaces each: "" for
// nothing. The store removes or replaces them on read. Here the terms that an index has for them are ignored, or
// stand for others.
type tombstones map[string]map[string]string

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
			t[s.Field] = map[string]string{}
		}
		t[s.Field][s.Value] = s.By
	}
	return t
}

func (t tombstones) equal(o tombstones) bool {
	return maps.EqualFunc(t, o, func(a, b map[string]string) bool { return maps.Equal(a, b) })
}

// has reports whether a text of the field is deleted.
func (t tombstones) has(field, text string) bool {
	_, deleted := t[field][text]
	return deleted
}

// standFor returns the terms that documents may have in place of a text.
func (t tombstones) standFor(field, text string) (texts []string) {
	if !t.has(field, text) {
		texts = append(texts, text)
	}
	for old, by := range t[field] {
		if by == text {
			texts = append(texts, old)
		}
	}
	return texts
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
		if by, gone := deleted[term]; gone && by == "" {
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

// replacing returns a column in which no document has one of the deleted texts, but what replaces it.
func (c *column) replacing(deleted map[string]string) *column {
	texts := make([]string, 0, c.len())
	for code := uint32(1); int(code) <= c.len(); code++ {
		text := c.textAt(code)
		if by, gone := deleted[text]; gone {
			text = by
		}
		texts = append(texts, text)
	}
	distinct := slices.Clone(texts)
	slices.Sort(distinct)
	distinct = slices.DeleteFunc(slices.Compact(distinct), func(text string) bool { return text == "" })
	out := &column{codes: make([]uint32, len(c.codes))}
	var all strings.Builder
	for _, text := range distinct {
		all.WriteString(text)
		out.ends = append(out.ends, uint32(all.Len()))
		all.WriteByte(textEnd)
	}
	out.text = all.String()
	codes := make([]uint32, c.len()+1)
	for i, text := range texts {
		if at, found := slices.BinarySearch(distinct, text); found {
			codes[i+1] = uint32(at + 1)
		}
	}
	for doc, code := range c.codes {
		out.codes[doc] = codes[code]
	}
	return out
}
