package index

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"prospector/internal/shape"
)

// evaluator decides a plan for the documents of one part. stored gives the row of a document from the store, for what
// the index alone cannot decide.
type evaluator struct {
	*part
	plan   *Plan
	stored func(doc uint32) *row
	rows   map[uint32]*row // those that were read, as far as they are few
}

// rowsMost is how many rows an evaluator keeps: a filter may ask for the same ones again and again.
const rowsMost = 5000

func (e *evaluator) read(doc uint32) *row {
	r := e.rows[doc]
	if r == nil {
		r = e.stored(doc)
		if e.rows == nil {
			e.rows = map[uint32]*row{}
		}
		if len(e.rows) < rowsMost {
			e.rows[doc] = r
		}
	}
	return r
}

// matches gives the documents of in (nil: all) that the plan matches; nil when it matches all and in is nil.
func (e *evaluator) matches(in set) set {
	p := e.plan
	if !p.filter.isEmpty() {
		in = e.narrow(in, e.filter(&p.filter, in))
	}
	for _, word := range p.search {
		in = e.narrow(in, e.beginning(word))
	}
	return in
}

func (e *evaluator) narrow(in, by set) set {
	if in != nil {
		by.and(in)
	}
	return by
}

// filter gives the documents that a filter matches. Of those outside of in (nil: all) it may say anything.
func (e *evaluator) filter(f *Filter, in set) set {
	switch {
	case f.rule != nil:
		return e.rule(f.rule, in)
	case f.isEmpty():
		return fullSet(e.size)
	case f.any:
		out := newSet(e.size)
		for i := range f.subs {
			out.or(e.filter(&f.subs[i], in))
		}
		return out
	}
	// The cheap ones first: what they leave is all that the others need to look at.
	subs := make([]*Filter, len(f.subs))
	for i := range f.subs {
		subs[i] = &f.subs[i]
	}
	slices.SortStableFunc(subs, func(a, b *Filter) int { return cmp.Compare(e.cost(a), e.cost(b)) })
	for _, sub := range subs {
		in = e.narrow(in, e.filter(sub, in))
	}
	return in
}

// cost orders filters: a lookup, a pass over a column, a reading of records.
func (e *evaluator) cost(f *Filter) int {
	if f.rule == nil {
		most := 0
		for i := range f.subs {
			most = max(most, e.cost(&f.subs[i]))
		}
		return most
	}
	field := f.rule.field
	contains := f.rule.typ == shape.TypeText && (f.rule.cond == Contains || f.rule.cond == NotContains)
	switch {
	case contains && field.Long:
		return 2
	case contains || field.isNumeric():
		return 1
	}
	return 0
}

// rule gives the documents that a rule matches. A record without a value satisfies the negative conditions, so each of
// them is the opposite of another.
func (e *evaluator) rule(r *rule, in set) set {
	field := r.field
	out := newSet(e.size)
	switch {
	case r.cond == IsEmpty || r.cond == IsNotEmpty:
		out = e.present(field)
	case field.isNumeric():
		e.spans(r, out)
	case r.typ == shape.TypeText && (r.cond == Contains || r.cond == NotContains):
		e.containing(r, field, in, out)
	case r.cond == Contains || r.cond == NotContains:
		out = e.all(field, r.texts)
	default:
		for _, text := range r.texts {
			switch {
			case field.Long:
				e.term(field.name+hashSuffix, hashTerm(text), out)
			case !e.gone[field.name][text]:
				e.term(field.name, textTerm(text), out)
			}
		}
	}
	if r.cond == IsEmpty || r.cond == IsNot || r.cond == NotContains {
		out.invert(e.size)
	}
	return out
}

// term adds the documents that have a term.
func (p *part) term(field, term string, out set) {
	docs := p.reader(field).postings(term)
	docs.addTo(out)
}

// all gives the documents that have every one of the texts.
func (e *evaluator) all(f *Field, texts []string) set {
	out := fullSet(e.size)
	for _, text := range texts {
		has := newSet(e.size)
		if !e.gone[f.name][text] {
			e.term(f.name, textTerm(text), has)
		}
		out.and(has)
	}
	return out
}

func (e *evaluator) spans(r *rule, out set) {
	for _, span := range r.spans {
		if span[1] == above(span[0]) && !math.IsInf(span[0], 0) {
			e.term(r.field.name, numberTerm(span[0]), out)
		} else {
			e.column(r.field).within(span, out)
		}
	}
}

// few is how many documents it is cheaper to look at singly than in a pass over a column.
func (e *evaluator) few(in set) bool { return in != nil && in.count() < e.size/16 }

// containing adds the documents whose text has the needle in it.
func (e *evaluator) containing(r *rule, f *Field, in, out set) {
	needle := r.texts[0]
	if f.Long {
		e.longContaining(r, f, in, out)
		return
	}
	if f.Grams && len(needle) >= gramLen {
		in = e.narrow(in, e.withGrams(f.name+gramSuffix, needle))
		if len(needle) == gramLen {
			out.or(in)
			return
		}
	}
	column := e.column(r.field)
	if e.few(in) {
		in.each(func(doc uint32) {
			if code := column.codes[doc]; code != 0 && strings.Contains(column.textAt(code), needle) {
				out.add(doc)
			}
		})
		return
	}
	column.containing(needle, out)
}

// withGrams gives the documents that have every piece of the needle.
func (e *evaluator) withGrams(field, needle string) set {
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
	slices.SortFunc(bitmaps, func(a, b *roaring.Bitmap) int { return cmp.Compare(a.GetCardinality(), b.GetCardinality()) })
	// From the rarest on: what is common to all is never larger than that.
	common := bitmaps[0]
	for _, b := range bitmaps[1:] {
		common = roaring.And(common, b)
	}
	out.addBitmap(common)
	return out
}

// longContaining adds the documents whose long text has the needle in it. Such a field has no column, but its words are
// terms. A needle within a word is in those words that contain it. Any other is looked for in the records, of which
// only those count that have the needle's inner words and a word that begins with its last.
func (e *evaluator) longContaining(r *rule, f *Field, in, out set) {
	needle := r.texts[0]
	first := strings.IndexFunc(needle, notInWord)
	if first < 0 {
		e.walk(f.name, "", "", func(term string, docs *postings) {
			if strings.Contains(term, needle) {
				docs.addTo(out)
			}
		})
		return
	}
	in = e.narrow(in, e.present(f))
	for rest := needle[first:]; ; {
		start := strings.IndexFunc(rest, shape.InWord)
		if start < 0 {
			break
		}
		rest = rest[start:]
		end := strings.IndexFunc(rest, notInWord)
		if end < 0 {
			in = e.narrow(in, e.prefixed(f.name, rest))
			break
		}
		has := newSet(e.size)
		e.term(f.name, rest[:end], has)
		in = e.narrow(in, has)
		rest = rest[end:]
	}
	in.each(func(doc uint32) {
		if r.contains(e.read(doc).value(r.field)) {
			out.add(doc)
		}
	})
}

// prefixed gives the documents that have a term which begins with the prefix.
func (e *evaluator) prefixed(field, prefix string) set {
	out := newSet(e.size)
	e.walk(field, prefix, afterPrefix(prefix), func(_ string, docs *postings) { docs.addTo(out) })
	return out
}

// afterPrefix is the least string above all that begin with the prefix, which is UTF-8 and so has no last byte of all
// ones.
func afterPrefix(prefix string) string {
	end := []byte(prefix)
	end[len(end)-1]++
	return string(end)
}

// beginning gives the documents of which some word begins with the word searched for.
func (e *evaluator) beginning(word string) set {
	out := newSet(e.size)
	var looked []string
	for _, fields := range [][]Field{e.kind.Fields, e.plan.customs.fields} {
		for i := range fields {
			f := &fields[i]
			if !e.plan.looksAt(f) {
				continue
			}
			if f.Long && !isShort(word) {
				out.or(e.prefixed(f.name, word))
			} else if name := f.wordsName(); !slices.Contains(looked, name) {
				looked = append(looked, name)
				out.or(e.beginningIn(name, word))
			}
		}
	}
	return out
}

// beginningIn is beginning for the words that are kept together under a name.
func (e *evaluator) beginningIn(name, word string) set {
	if !isShort(word) {
		return e.prefixed(name+wordField, word)
	}
	out := newSet(e.size)
	e.term(name+beginField, word, out)
	return out
}
