package index

import (
	"slices"
	"strings"
	"unsafe"

	"prospector/internal/filter"
	"prospector/internal/shape"
)

// facetColumn is the values that the documents of a segment have of one field. The terms are number terms, or
// texts as rules compare them. A column cannot take its place, because it has folded texts and one value per
// document.
type facetColumn struct {
	terms  []string // ascending
	starts []uint32 // where the codes of each document start, and the end; nil if each document has at most one
	codes  []uint32 // 1 + the position of a term; if starts is nil, for each document, and 0 for no value
	sets   []docSet // the documents of each term, instead of codes where counting them is faster
}

func (c *facetColumn) bytes() int {
	n := 4*(cap(c.starts)+cap(c.codes)) + int(unsafe.Sizeof(*c))
	for _, set := range c.sets {
		n += 8 * len(set)
	}
	for _, t := range c.terms {
		n += len(t) + int(unsafe.Sizeof(t))
	}
	return n
}

// facetColumn returns the values of a field in all documents.
func (p *segmentView) facetColumn(f *filter.Field) *facetColumn {
	what := derived{derivedFacets, f.Name}
	if c, ok := p.cache.get(p.segment, what); ok {
		return c.(*facetColumn)
	}
	return p.cache.make(p.segment, what, func() (any, int) {
		c := buildFacetColumn(p, f)
		return c, c.bytes()
	}).(*facetColumn)
}

func buildFacetColumn(p *segmentView, f *filter.Field) *facetColumn {
	c := &facetColumn{}
	var positions []int // in c.terms, of the terms in the order of the dictionary
	p.walkTerms(f.Name, "", "", func(term string, _ *postings) {
		if !f.IsNumeric() {
			if _, exact, differs := strings.Cut(term, "\x00"); differs {
				term = exact
			}
		}
		c.terms = append(c.terms, strings.Clone(term))
	})
	inOrder := slices.Clone(c.terms)
	slices.Sort(c.terms)
	c.terms = slices.Clip(slices.Compact(c.terms)) // several spellings may have one canonical form
	for _, term := range inOrder {
		at, _ := slices.BinarySearch(c.terms, term)
		positions = append(positions, at)
	}
	each := func(fn func(doc, code uint32)) {
		i := 0
		p.walkTerms(f.Name, "", "", func(_ string, docs *postings) {
			code := uint32(positions[i] + 1)
			docs.each(func(doc uint32) { fn(doc, code) })
			i++
		})
	}
	if f.Type != shape.TypeMulti {
		c.codes = make([]uint32, p.size)
		each(func(doc, code uint32) { c.codes[doc] = code })
		return c
	}
	entries := 0
	p.walkTerms(f.Name, "", "", func(_ string, docs *postings) { entries += docs.count() })
	if len(c.terms)*p.size/64 < entries { // a list has few values that many documents have, such as tags
		c.sets = make([]docSet, len(c.terms))
		for i := range c.sets {
			c.sets[i] = newSet(p.size)
		}
		each(func(doc, code uint32) { c.sets[code-1].add(doc) })
		return c
	}
	c.starts = make([]uint32, p.size+1)
	each(func(doc, _ uint32) { c.starts[doc+1]++ })
	for doc := range p.size {
		c.starts[doc+1] += c.starts[doc]
	}
	next := slices.Clone(c.starts)
	c.codes = make([]uint32, c.starts[p.size])
	each(func(doc, code uint32) {
		c.codes[next[doc]] = code
		next[doc]++
	})
	return c
}
