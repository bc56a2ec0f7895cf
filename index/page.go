package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"github.com/google/uuid"
)

// run is the matches of one part of the records, in the order of the list.
type run interface {
	len() int
	// get puts the i-th match into k, whose keys have room for those of the sort.
	get(i int, k *keyed)
	id(i int) uuid.UUID
}

// keyed is a match: the id of a record and what it is sorted by.
type keyed struct {
	id   uuid.UUID
	keys []value
}

func (p *Plan) newKeyed() keyed { return keyed{keys: make([]value, len(p.sort))} }

// compare compares two matches as the list orders them: by each key, and ties by id in the direction of the last key.
func (p *Plan) compare(a, b *keyed) int {
	for i := range p.sort {
		if c := compareValues(&a.keys[i], &b.keys[i], p.sort[i].desc); c != 0 {
			return c
		}
	}
	return p.tie(a.id, b.id)
}

func (p *Plan) tie(a, b uuid.UUID) int {
	return directed(bytes.Compare(a[:], b[:]), p.sort[len(p.sort)-1].desc)
}

// docRun is a run of documents.
type docRun struct {
	part    *part
	docs    []uint32
	columns []*column // by sort key
}

func (r *docRun) len() int { return len(r.docs) }

func (r *docRun) id(i int) uuid.UUID { return r.part.ids[r.docs[i]] }

func (r *docRun) get(i int, k *keyed) {
	doc := r.docs[i]
	k.id = r.part.ids[doc]
	for j, c := range r.columns {
		k.keys[j] = c.value(doc)
	}
}

// rowRun is a run of rows.
type rowRun struct {
	plan *Plan
	rows []ranked
}

func (r rowRun) len() int { return len(r.rows) }

func (r rowRun) id(i int) uuid.UUID { return r.rows[i].row.id }

func (r rowRun) get(i int, k *keyed) { r.plan.keyedInto(r.rows[i].row, k) }

func (p *Plan) keyedInto(r *row, k *keyed) {
	k.id = r.id
	for i, key := range p.sort {
		k.keys[i] = *r.value(key.field)
	}
}

// ranked is a row that matches, with the order of its first key as far as that fits into a number: most comparisons need
// no more.
type ranked struct {
	prefix uint64
	row    *row
}

func (p *Plan) ranked(r *row) ranked {
	first := p.sort[0]
	return ranked{prefixOf(r.value(first.field), first.field.isNumeric(), first.desc), r}
}

// order compares two rows, as compare does.
func (p *Plan) order(a, b ranked) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	for _, key := range p.sort {
		if c := compareValues(a.row.value(key.field), b.row.value(key.field), key.desc); c != 0 {
			return c
		}
	}
	return p.tie(a.row.id, b.row.id)
}

// prefixOf is a number that has the order of values where it differs.
func prefixOf(v *value, numeric, desc bool) (n uint64) {
	switch {
	case !v.has:
		return math.MaxUint64 // last both ways
	case numeric:
		n = orderedBits(v.num)
	case len(v.fold) >= 8:
		n = binary.BigEndian.Uint64([]byte(v.fold[:8]))
	default:
		var b [8]byte
		copy(b[:], v.fold)
		n = binary.BigEndian.Uint64(b[:])
	}
	if desc {
		return ^n
	}
	return n
}

// matched is the matches of one part before they are brought into order.
type matched struct {
	part  *part
	docs  set // nil: all
	count int
}

// inOrder gives matches in order: the first most of them or, when that is negative, the last.
func (m *matched) inOrder(p *Plan, most int) *docRun {
	r := &docRun{part: m.part}
	for _, key := range p.sort {
		r.columns = append(r.columns, m.part.column(key.field))
	}
	fromEnd := most < 0
	most = min(max(most, -most), m.count)
	switch {
	case m.docs == nil:
		r.docs = window(m.part.order(p.sorted, p.sort), most, fromEnd)
	case m.count < m.part.size/128:
		r.docs = window(m.sorted(p, r), most, fromEnd)
	default:
		r.docs = m.walk(m.part.order(p.sorted, p.sort), most, fromEnd)
	}
	return r
}

func window(docs []uint32, most int, fromEnd bool) []uint32 {
	if fromEnd {
		return docs[len(docs)-most:]
	}
	return docs[:most]
}

// walk follows the order of all documents from one of its ends and takes matches until it has enough. It writes down
// every document and keeps those that match, which takes no branch.
func (m *matched) walk(order []uint32, most int, fromEnd bool) []uint32 {
	docs := make([]uint32, most)
	if fromEnd {
		for n, i := most-1, len(order)-1; n >= 0; i-- {
			docs[n] = order[i]
			n -= m.docs.bit(order[i])
		}
		return docs
	}
	for n, i := 0, 0; n < most; i++ {
		docs[n] = order[i]
		n += m.docs.bit(order[i])
	}
	return docs
}

// sorted sorts few matches without the order of all.
func (m *matched) sorted(p *Plan, r *docRun) []uint32 {
	docs := make([]uint32, 0, m.count)
	m.docs.each(func(doc uint32) { docs = append(docs, doc) })
	slices.SortFunc(docs, func(a, b uint32) int {
		for k, key := range p.sort {
			x, y := r.columns[k].codes[a], r.columns[k].codes[b]
			switch {
			case x == y:
			case x == 0:
				return 1
			case y == 0, (x < y) != key.desc:
				return -1
			default:
				return 1
			}
		}
		return p.tie(m.part.ids[a], m.part.ids[b])
	})
	return docs
}

// from is how many of all matches come before the page; all of them when it lies behind the last.
func (p *Plan) from(total int) int {
	// Compared before it is multiplied: a page number may be as large as a number can be.
	if p.Page-1 > total/p.PageSize {
		return total
	}
	return (p.Page - 1) * p.PageSize
}

// reach is how many matches there are up to the end of the page.
func (p *Plan) reach() int {
	if p.Page > math.MaxInt32/p.PageSize {
		return math.MaxInt32
	}
	return p.Page * p.PageSize
}

// pick gives the ids of the page that has from matches before it: of those of the parts and of the rows, which are
// sorted.
func (p *Plan) pick(parts []matched, rows *collector, from int) []uuid.UUID {
	total := rows.total
	for i := range parts {
		total += parts[i].count
	}
	// A page near the end is cheaper to reach from there.
	most := p.reach()
	if from > total/2 && rows.complete() {
		most = -(total - from)
	}
	runs := make([]run, 0, len(parts)+1)
	left := total
	if len(rows.rows) > 0 {
		runs = append(runs, rowRun{p, rows.rows})
		left -= len(rows.rows)
	}
	for i := range parts {
		if parts[i].count > 0 {
			r := parts[i].inOrder(p, most)
			runs = append(runs, r)
			left -= r.len()
		}
	}
	if most < 0 {
		from -= left // what was left out comes before the page
	}
	return p.merge(runs, p.cut(runs, from), p.PageSize)
}

// cut gives for each run how many of its matches come before the from-th of all.
func (p *Plan) cut(runs []run, from int) []int {
	low, high := make([]int, len(runs)), make([]int, len(runs))
	for i, r := range runs {
		high[i] = min(r.len(), from)
	}
	if from == 0 {
		return low
	}
	at := make([]int, len(runs))
	pivot, other := p.newKeyed(), p.newKeyed()
	for {
		// The largest range gives the pivot, at the place where it would be if all were alike.
		widest, sumLow, sumHigh := 0, 0, 0
		for i := range runs {
			if high[i]-low[i] > high[widest]-low[widest] {
				widest = i
			}
			sumLow, sumHigh = sumLow+low[i], sumHigh+high[i]
		}
		width := high[widest] - low[widest]
		if sumLow == from || width == 0 {
			return low
		}
		at[widest] = low[widest] + min(int(float64(width)*float64(from-sumLow)/float64(sumHigh-sumLow)), width-1)
		runs[widest].get(at[widest], &pivot)
		before := 0
		for i, r := range runs {
			if i != widest {
				behind := func(j int) bool {
					r.get(j, &other)
					return p.compare(&pivot, &other) < 0
				}
				// Parts often follow each other in time: all of one is before the pivot, or behind it.
				switch {
				case low[i] == high[i] || behind(low[i]):
					at[i] = low[i]
				case !behind(high[i] - 1):
					at[i] = high[i]
				default:
					at[i] = low[i] + sort.Search(high[i]-low[i], func(j int) bool { return behind(low[i] + j) })
				}
			}
			before += at[i]
		}
		switch {
		case before == from:
			return at
		case before < from: // the pivot itself comes before the page
			copy(low, at)
			low[widest]++
		default:
			copy(high, at)
		}
	}
}

// merge gives the ids of the next matches of all runs together, from the given places on.
func (p *Plan) merge(runs []run, at []int, size int) []uuid.UUID {
	// heads are the next match of each run that has one, in order. The first is taken and replaced by the one behind it
	// in its run, which mostly comes next: parts follow each other in time, if not in other orders.
	type head struct {
		keyed
		run run
		at  int
	}
	heads := make([]*head, 0, len(runs))
	for i, r := range runs {
		if at[i] < r.len() {
			h := &head{keyed: p.newKeyed(), run: r, at: at[i]}
			r.get(h.at, &h.keyed)
			heads = append(heads, h)
		}
	}
	slices.SortFunc(heads, func(a, b *head) int { return p.compare(&a.keyed, &b.keyed) })
	ids := make([]uuid.UUID, 0, size)
	probe := p.newKeyed()
	var before *head
	for len(ids) < size && len(heads) > 0 {
		h := heads[0]
		// Where the last one came from the same run: as many as surely come before the next run, twice as many each time that
		// they do.
		most := min(h.run.len()-h.at, size-len(ids))
		n, again := 1, h == before
		before = h
		for again && n < most {
			if len(heads) == 1 {
				n = most
				break
			}
			if h.run.get(h.at+min(2*n, most)-1, &probe); p.compare(&probe, &heads[1].keyed) > 0 {
				break
			}
			n = min(2*n, most)
		}
		for i := range n {
			ids = append(ids, h.run.id(h.at+i))
		}
		if h.at += n; h.at == h.run.len() {
			heads = heads[1:]
			continue
		}
		h.run.get(h.at, &h.keyed)
		if rest := heads[1:]; len(rest) > 0 && p.compare(&rest[0].keyed, &h.keyed) < 0 {
			i := sort.Search(len(rest), func(i int) bool { return p.compare(&rest[i].keyed, &h.keyed) >= 0 })
			copy(heads, rest[:i])
			heads[i] = h
		}
	}
	return ids
}
