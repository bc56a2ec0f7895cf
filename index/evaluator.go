package index

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"prospector/internal/filter"
	"prospector/internal/turn"
)

// evaluator evaluates a plan on the documents of one segment. stored reads the row of a document
// from the store, for what the index alone cannot decide.
type evaluator struct {
	*segmentView
	ctx    context.Context // of the caller
	work   *turn.Work      // of the caller; may be nil
	plan   *filter.Plan
	stored func(doc uint32) *filter.Row
	rows   map[uint32]*filter.Row // that were read, up to maxCachedRows

	// What contains rules on long fields found, for rules that are evaluated later.
	words   map[needleOf]docSet // needles inside of a word, in all documents
	phrases map[needleOf]docSet // other needles, in the documents of an enclosing filter
	columns map[needleOf]docSet // needles in a column
}

// maxCachedRows limits the rows that an evaluator keeps. A filter with several rules may need the
// same ones again.
const maxCachedRows = 5000

func (e *evaluator) row(doc uint32) *filter.Row {
	r := e.rows[doc]
	if r == nil {
		r = e.stored(doc)
		if e.rows == nil {
			e.rows = map[uint32]*filter.Row{}
		}
		if len(e.rows) < maxCachedRows {
			e.rows[doc] = r
		}
	}
	return r
}

// matches returns the documents of in that the plan matches. A nil in means all documents, and a
// nil result means that the plan matches them all.
func (e *evaluator) matches(in docSet) docSet {
	p := e.plan
	if !p.Filter.IsEmpty() {
		in = narrow(in, e.filter(&p.Filter, in))
	}
	for _, word := range p.Words {
		if in != nil && in.count() == 0 {
			break
		}
		in = narrow(in, e.withWord(word))
	}
	return in
}

// narrow intersects by with in, and changes by. A nil in means all documents.
func narrow(in, by docSet) docSet {
	if in != nil {
		by.and(in)
	}
	return by
}

// filter returns the documents that a filter matches. For documents outside of in (nil: all) the
// result is arbitrary.
func (e *evaluator) filter(f *filter.Filter, in docSet) docSet {
	switch {
	case f.Rule != nil:
		return e.rule(f.Rule, in)
	case f.IsEmpty():
		return fullSet(e.size)
	}
	filters := make([]*filter.Filter, len(f.Filters))
	for i := range f.Filters {
		filters[i] = &f.Filters[i]
	}
	defer func(outer map[needleOf]docSet) { e.phrases = outer }(e.phrases)
	if f.Any {
		e.findPhrases(filters, in)
		out := newSet(e.size)
		for _, sub := range filters {
			out.or(e.filter(sub, in))
		}
		return out
	}
	// Cheap filters run first. The others only need to look at what those leave.
	slices.SortStableFunc(filters, func(a, b *filter.Filter) int { return cmp.Compare(cost(a), cost(b)) })
	for i, sub := range filters {
		if cost(sub) == costRecords && (i == 0 || cost(filters[i-1]) < costRecords) {
			e.findPhrases(filters[i:], in)
		}
		in = narrow(in, e.filter(sub, in))
	}
	return in
}

// The costs of a filter.
const (
	costLookup  = iota // a term is looked up
	costColumn         // a column is scanned
	costRecords        // records are read from the store
)

// cost returns the highest cost of a rule in the filter.
func cost(f *filter.Filter) int {
	if f.Rule == nil {
		highest := costLookup
		for i := range f.Filters {
			highest = max(highest, cost(&f.Filters[i]))
		}
		return highest
	}
	switch {
	case f.Rule.SearchesText() && f.Rule.Field.Long:
		return costRecords
	case f.Rule.SearchesText() || f.Rule.Field.IsNumeric():
		return costColumn
	}
	return costLookup
}

// rule returns the documents that a rule matches. A record without a value satisfies the negative
// conditions, so each of them is the complement of a positive one.
func (e *evaluator) rule(r *filter.Rule, in docSet) docSet {
	e.check()
	field := r.Field
	out := newSet(e.size)
	switch {
	case r.Condition == filter.IsEmpty || r.Condition == filter.IsNotEmpty:
		out = e.withValue(field)
	case field.IsNumeric():
		e.addInSpans(r, out)
	case r.SearchesText():
		e.addContaining(r, in, out)
	case r.Condition == filter.Contains || r.Condition == filter.NotContains:
		out = e.withAllTexts(field, r.Texts)
	default:
		for _, text := range r.Texts {
			e.check()
			switch {
			case field.Long:
				e.term(field.Name+hashSuffix, hashTerm(text), out)
			case field.IsCanonical():
				e.term(field.Name, text, out) // of values whose canonical form is the case-folded text
				e.term(field.Name+canonSuffix, text, out)
			default:
				for _, term := range e.tombstones.standFor(field.Name, text) {
					e.term(field.Name, textTerm(term), out)
				}
			}
		}
	}
	switch r.Condition {
	case filter.IsEmpty, filter.IsNot, filter.NotContains:
		out.invert(e.size)
	}
	return out
}

// withAllTexts returns the documents that have every one of the texts.
func (e *evaluator) withAllTexts(f *filter.Field, texts []string) docSet {
	out := fullSet(e.size)
	for _, text := range texts {
		e.check()
		has := newSet(e.size)
		for _, term := range e.tombstones.standFor(f.Name, text) {
			e.term(f.Name, textTerm(term), has)
		}
		out.and(has)
	}
	return out
}

// addInSpans adds the documents whose number is in one of the rule's spans.
func (e *evaluator) addInSpans(r *filter.Rule, out docSet) {
	for _, span := range r.Spans {
		e.check()
		if span.IsPoint() {
			e.term(r.Field.Name, numberTerm(span.From), out)
		} else {
			e.column(r.Field).addInSpan(span, out)
		}
	}
}

// isFew reports whether looking at each document of in is cheaper than scanning a column.
func (e *evaluator) isFew(in docSet) bool { return in != nil && in.count() < e.size/16 }

// addContaining adds the documents whose text contains the rule's operand.
func (e *evaluator) addContaining(r *filter.Rule, in, out docSet) {
	f, needle := r.Field, r.Texts[0]
	if f.Long {
		e.addLongContaining(r, in, out)
		return
	}
	if f.Grams && len(needle) >= gramLen {
		in = narrow(in, e.withGrams(f.Name+gramSuffix, needle))
		if len(needle) == gramLen {
			out.or(in)
			return
		}
	}
	key := needleOf{f.Name, needle}
	if found, ok := e.columns[key]; ok {
		out.or(found)
		return
	}
	column := e.column(f)
	if e.isFew(in) {
		in.each(func(doc uint32) {
			if code := column.codes[doc]; code != 0 && strings.Contains(column.textAt(code), needle) {
				out.add(doc)
			}
		})
		return
	}
	column.addContaining(needle, out)
	if e.columns == nil {
		e.columns = map[needleOf]docSet{}
	}
	if len(e.columns) < e.maxFound() {
		e.columns[key] = slices.Clone(out)
	}
}

// withGrams returns the documents that have every gram of the needle.
func (e *evaluator) withGrams(field, needle string) docSet {
	out := newSet(e.size)
	var bitmaps []*roaring.Bitmap
	for i := 0; i+gramLen <= len(needle); i++ {
		docs := e.reader(field).postings(needle[i : i+gramLen])
		switch {
		case docs.isOne:
			bitmaps = append(bitmaps, roaring.BitmapOf(docs.one))
		case docs.count() == 0:
			return out
		default:
			bitmaps = append(bitmaps, docs.bitmap)
		}
	}
	// Starting with the rarest gram keeps every intersection small.
	slices.SortFunc(bitmaps, func(a, b *roaring.Bitmap) int {
		return cmp.Compare(a.GetCardinality(), b.GetCardinality())
	})
	common := bitmaps[0]
	for _, b := range bitmaps[1:] {
		common = roaring.And(common, b)
	}
	out.addBitmap(common)
	return out
}

// withPrefix returns the documents that have a term which begins with the prefix.
func (e *evaluator) withPrefix(field, prefix string) docSet {
	out := newSet(e.size)
	e.walkTerms(field, prefix, afterPrefix(prefix), func(_ string, docs *postings) {
		e.check()
		docs.addTo(out)
	})
	return out
}

// afterPrefix returns the least string above all strings that begin with the prefix. The prefix is
// UTF-8, so its last byte is not 0xff.
func afterPrefix(prefix string) string {
	end := []byte(prefix)
	end[len(end)-1]++
	return string(end)
}

// withWord returns the documents with a word that begins with the given one, in a field that the
// plan searches.
func (e *evaluator) withWord(word string) docSet {
	out := newSet(e.size)
	var looked []string
	for _, fields := range [][]filter.Field{e.plan.Kind.Fields, e.plan.Custom.ListFields} {
		for i := range fields {
			f := &fields[i]
			if !e.plan.Searches(f) {
				continue
			}
			e.check()
			if f.Long && !isShort(word) {
				out.or(e.withPrefix(f.Name, word))
			} else if name := wordGroup(f); !slices.Contains(looked, name) {
				looked = append(looked, name)
				out.or(e.withGroupWord(name, word))
			}
		}
	}
	return out
}

// withGroupWord returns the documents with a word that begins with the given one, in a word group.
func (e *evaluator) withGroupWord(group, word string) docSet {
	if !isShort(word) {
		return e.withPrefix(group+wordField, word)
	}
	out := newSet(e.size)
	e.term(group+prefixField, word, out)
	return out
}
