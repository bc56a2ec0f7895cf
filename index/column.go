package index

import (
	"slices"
	"sort"
	"strings"
	"unsafe"

	"prospector/internal/filter"
)

// column is one field of all documents of a segment, dictionary-encoded: the sorted distinct values
// and, for each document, which of them it has. Values are case-folded texts or numbers.
type column struct {
	codes []uint32 // for each document: 1 + the position of its value, 0 for no value
	text  string   // the distinct texts, each followed by textEnd
	ends  []uint32 // where each text ends in text
	nums  []float64
}

// textEnd cannot occur in a text, which is UTF-8.
const textEnd = 0xff

// buildColumn builds a column from the terms of a field, which are sorted.
func buildColumn(p *segmentView, f *filter.Field) *column {
	c := &column{codes: make([]uint32, p.size)}
	var text strings.Builder
	last := ""
	p.walkTerms(f.Name, "", "", func(term string, docs *postings) {
		if f.IsNumeric() {
			c.nums = append(c.nums, termNumber(term))
		} else if folded := foldedText(term); len(c.ends) == 0 || folded != last {
			last = folded
			text.WriteString(folded)
			c.ends = append(c.ends, uint32(text.Len()))
			text.WriteByte(textEnd)
		}
		code := uint32(c.len())
		docs.each(func(doc uint32) { c.codes[doc] = code })
	})
	c.text = strings.Clone(text.String()) // without spare capacity
	c.ends, c.nums = slices.Clip(c.ends), slices.Clip(c.nums)
	return c
}

// len returns the number of distinct values.
func (c *column) len() int { return len(c.ends) + len(c.nums) }

func (c *column) bytes() int {
	return 4*cap(c.codes) + len(c.text) + 4*cap(c.ends) + 8*cap(c.nums) + int(unsafe.Sizeof(*c))
}

// textAt returns the text of a code.
func (c *column) textAt(code uint32) string {
	from := uint32(0)
	if code > 1 {
		from = c.ends[code-2] + 1
	}
	return c.text[from:c.ends[code-1]]
}

// value returns the value of a document. It has only what sorts need.
func (c *column) value(doc uint32) filter.Value {
	code := c.codes[doc]
	switch {
	case code == 0:
		return filter.Value{}
	case c.nums != nil:
		return filter.Value{IsSet: true, Num: c.nums[code-1]}
	}
	return filter.Value{IsSet: true, Fold: c.textAt(code)}
}

// addInSpan adds the documents whose number is in the span.
func (c *column) addInSpan(span filter.Span, out docSet) {
	from := uint32(sort.SearchFloat64s(c.nums, span.From))
	to := uint32(sort.SearchFloat64s(c.nums, span.To))
	if from >= to {
		return
	}
	// A code is in [from+1, to] if code-(from+1) < to-from; code 0 wraps around to a large number.
	// The sign of the difference decides without a branch, which would often be mispredicted.
	for i := range out {
		var word uint64
		for j, code := range c.codes[i*64 : min(i*64+64, len(c.codes))] {
			word |= (uint64(code-from-1) - uint64(to-from)) >> 63 << j
		}
		out[i] |= word
	}
}

// addContaining adds the documents whose text contains the needle. It searches each distinct text
// once.
func (c *column) addContaining(needle string, out docSet) {
	hit := make([]uint8, c.len()+1)
	at, code, found := 0, 0, false
	for {
		i := strings.Index(c.text[at:], needle)
		if i < 0 {
			break
		}
		// The text of the next hit is mostly near or far: step a few times before a binary search.
		pos := uint32(at + i)
		for steps := 0; c.ends[code] < pos; code++ {
			if steps++; steps > 8 {
				code += sort.Search(len(c.ends)-code, func(j int) bool { return c.ends[code+j] >= pos })
				break
			}
		}
		hit[code+1], found = 1, true
		at = int(c.ends[code]) + 1
	}
	if !found {
		return
	}
	for i := range out {
		var word uint64
		for j, code := range c.codes[i*64 : min(i*64+64, len(c.codes))] {
			word |= uint64(hit[code]) << j
		}
		out[i] |= word
	}
}

// sorted returns docs in the order of their values, documents without a value last. The sort is
// stable.
func (c *column) sorted(docs []uint32, desc bool) []uint32 {
	n := uint32(c.len())
	starts := make([]uint32, n+2)
	bucket := func(code uint32) uint32 {
		switch {
		case code == 0:
			return n
		case desc:
			return n - code
		}
		return code - 1
	}
	for _, doc := range docs {
		starts[bucket(c.codes[doc])+1]++
	}
	for i := uint32(1); i < n+2; i++ {
		starts[i] += starts[i-1]
	}
	out := make([]uint32, len(docs))
	for _, doc := range docs {
		b := bucket(c.codes[doc])
		out[starts[b]] = doc
		starts[b]++
	}
	return out
}
