package index

import (
	"slices"
	"sort"
	"strings"
	"unsafe"
)

// column is one field of all documents of a segment: the sorted distinct values and, for each document, which it has.
// Values are folded texts or numbers.
type column struct {
	codes []uint32 // by document: one more than the position of its value, 0 for none
	text  string   // the distinct texts one after the other, each ended by textEnd
	ends  []uint32 // where each text ends in it
	nums  []float64
}

// textEnd cannot be in a text, which is UTF-8.
const textEnd = 0xff

// buildColumn makes a column from the terms of a field, which come in order.
func buildColumn(p *part, f *Field) *column {
	c := &column{codes: make([]uint32, p.size)}
	var text strings.Builder
	last := ""
	p.walk(f.name, "", "", func(term string, docs *postings) {
		if f.isNumeric() {
			c.nums = append(c.nums, numberOf(term))
		} else if folded := foldedOf(term); len(c.ends) == 0 || folded != last {
			last = folded
			text.WriteString(folded)
			c.ends = append(c.ends, uint32(text.Len()))
			text.WriteByte(textEnd)
		}
		code := uint32(c.len())
		docs.each(func(doc uint32) { c.codes[doc] = code })
	})
	c.text = strings.Clone(text.String()) // without the room that it grew into
	c.ends, c.nums = slices.Clip(c.ends), slices.Clip(c.nums)
	return c
}

// len is the number of distinct values.
func (c *column) len() int { return len(c.ends) + len(c.nums) }

func (c *column) bytes() int {
	return 4*cap(c.codes) + len(c.text) + 4*cap(c.ends) + 8*cap(c.nums) + int(unsafe.Sizeof(*c))
}

// textAt is the text of a code.
func (c *column) textAt(code uint32) string {
	from := uint32(0)
	if code > 1 {
		from = c.ends[code-2] + 1
	}
	return c.text[from:c.ends[code-1]]
}

// value is what a document has, as far as sorts need it.
func (c *column) value(doc uint32) value {
	code := c.codes[doc]
	switch {
	case code == 0:
		return value{}
	case c.nums != nil:
		return value{has: true, num: c.nums[code-1]}
	}
	return value{has: true, fold: c.textAt(code)}
}

// within adds the documents whose number is in the span.
func (c *column) within(span [2]float64, out set) {
	from := uint32(sort.SearchFloat64s(c.nums, span[0]))
	to := uint32(sort.SearchFloat64s(c.nums, span[1]))
	if from >= to {
		return
	}
	// A code in [from+1, to] is below to-from when from+1 is taken from it; none, 0, wraps around to above. The sign
	// of the difference says so without a branch, which would mostly be mispredicted.
	for i := range out {
		var word uint64
		for j, code := range c.codes[i*64 : min(i*64+64, len(c.codes))] {
			word |= (uint64(code-from-1) - uint64(to-from)) >> 63 << j
		}
		out[i] |= word
	}
}

// containing adds the documents whose text has the needle in it. Each distinct text is looked at once.
func (c *column) containing(needle string, out set) {
	hit := make([]uint8, c.len()+1)
	at, code, found := 0, 0, false
	for {
		i := strings.Index(c.text[at:], needle)
		if i < 0 {
			break
		}
		// The next text is likely near, or else far: look at some before searching.
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

// sorted gives the documents of docs in the order of their values, those without one last. It is stable.
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
