package index

import (
	"maps"
	"slices"

	"prospector/store"
)

// gone are references to what was deleted, by field, while records still bear them: the store mends records on the way out,
// and here the terms that an index has for them are passed over.
type gone map[string]map[string]bool

func goneOf(tombs []store.Tombstone) gone {
	var g gone
	for _, t := range tombs {
		if t.Value == "" {
			continue // a custom field, whose name nobody asks for any more
		}
		if g == nil {
			g = gone{}
		}
		if g[t.Field] == nil {
			g[t.Field] = map[string]bool{}
		}
		g[t.Field][t.Value] = true
	}
	return g
}

func (g gone) equal(o gone) bool {
	return maps.EqualFunc(g, o, func(a, b map[string]bool) bool { return maps.Equal(a, b) })
}

// bury takes in what the store has tombstones for.
func (s *shelf) bury(tx *store.Tx) error {
	tombs, err := tx.Tombstones(s.kind.table)
	if err != nil {
		return err
	}
	if g := goneOf(tombs); !g.equal(s.gone) {
		s.gone, s.now = g, nil
		if s.rows != nil {
			s.rows.strip(s.kind, g)
		}
	}
	return nil
}

// strip takes what is gone from the rows that were read before.
func (r *rows) strip(k *Kind, g gone) {
	for i, c := range r.changes {
		if c.row == nil {
			continue
		}
		if mended := c.row.without(k, g); mended != c.row {
			r.changes[i] = &change{id: c.id, number: c.number, row: mended, at: c.at}
		}
	}
}

// without gives a row that has nothing of what is gone; the row itself when it has nothing of it already.
func (r *row) without(k *Kind, g gone) *row {
	out := r
	for name, ids := range g {
		i, known := k.byKey[name]
		if !known {
			continue
		}
		v := r.values[i]
		switch {
		case v.list == nil && ids[v.text]:
			v = value{}
		case v.list != nil && slices.ContainsFunc(*v.list, func(id string) bool { return ids[id] }):
			v = valueOf(slices.DeleteFunc(slices.Clone(*v.list), func(id string) bool { return ids[id] }))
		default:
			continue
		}
		if out == r {
			out = &row{id: r.id, values: slices.Clone(r.values), custom: r.custom}
		}
		out.values[i] = v
	}
	return out
}

// withGone gives the parts as they are without what is gone.
func withGone(parts []*part, g gone) []*part {
	if g == nil {
		return parts
	}
	out := make([]*part, len(parts))
	for i, p := range parts {
		mended := *p
		mended.gone = g
		out[i] = &mended
	}
	return out
}

// present gives the documents that have a value: those that have one left.
func (p *part) present(f *Field) set {
	out := newSet(p.size)
	p.term(hasField, f.name, out)
	ids := p.gone[f.name]
	if ids == nil {
		return out
	}
	lost, left := newSet(p.size), newSet(p.size)
	p.walk(f.name, "", "", func(term string, docs *postings) {
		if ids[term] {
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

// without gives a column whose documents do not have the texts.
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
