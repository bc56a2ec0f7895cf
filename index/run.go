package index

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/filter"
)

// sortedRun is the matches of one segment, or of the rows outside of segments, in the order of the
// list.
type sortedRun interface {
	len() int
	// get stores the i-th match in m, whose keys have room for those of the sort.
	get(i int, m *match)
	id(i int) uuid.UUID
}

// match is a record that matches a plan: its id and its sort keys.
type match struct {
	id   uuid.UUID
	keys []filter.Value
}

func newMatch(p *filter.Plan) match { return match{keys: make([]filter.Value, len(p.Sort))} }

// compareMatches orders two matches as filter.Plan.Compare orders their records.
func compareMatches(p *filter.Plan, a, b *match) int {
	for i := range p.Sort {
		if c := filter.CompareValues(&a.keys[i], &b.keys[i], p.Sort[i].Desc); c != 0 {
			return c
		}
	}
	return p.CompareIDs(a.id, b.id)
}

// rowRun is a sorted run of rows.
type rowRun struct {
	plan *filter.Plan
	rows []rankedRow
}

func (r rowRun) len() int { return len(r.rows) }

func (r rowRun) id(i int) uuid.UUID { return r.rows[i].row.ID }

func (r rowRun) get(i int, m *match) { fillMatch(r.plan, r.rows[i].row, m) }

func fillMatch(p *filter.Plan, r *filter.Row, m *match) {
	m.id = r.ID
	for i, key := range p.Sort {
		m.keys[i] = *r.Value(key.Field)
	}
}

// rankedRow is a matching row with a number that orders rows by a prefix of their first sort key.
// Most comparisons need only the number.
type rankedRow struct {
	rank uint64
	row  *filter.Row
}

func rank(p *filter.Plan, r *filter.Row) rankedRow {
	first := p.Sort[0]
	return rankedRow{rankOf(r.Value(first.Field), first.Field.IsNumeric(), first.Desc), r}
}

// compareRows orders two rows as filter.Plan.Compare does.
func compareRows(p *filter.Plan, a, b rankedRow) int {
	if a.rank != b.rank {
		return cmp.Compare(a.rank, b.rank)
	}
	return p.Compare(a.row, b.row)
}

// rankOf returns a number for a value. If the numbers of two values differ, they are in the order
// of the values.
func rankOf(v *filter.Value, numeric, desc bool) (n uint64) {
	switch {
	case !v.IsSet:
		return math.MaxUint64 // last in both directions
	case numeric:
		n = orderedBits(v.Num)
	case len(v.Fold) >= 8:
		n = binary.BigEndian.Uint64([]byte(v.Fold[:8]))
	default:
		var b [8]byte
		copy(b[:], v.Fold)
		n = binary.BigEndian.Uint64(b[:])
	}
	if desc {
		return ^n
	}
	return n
}

// docRun is a sorted run of the documents of a segment.
type docRun struct {
	segment *segmentView
	docs    []uint32
	columns []*column // one for each sort key
}

func (r *docRun) len() int { return len(r.docs) }

func (r *docRun) id(i int) uuid.UUID { return r.segment.ids[r.docs[i]] }

func (r *docRun) get(i int, m *match) {
	doc := r.docs[i]
	m.id = r.segment.ids[doc]
	for j, c := range r.columns {
		m.keys[j] = c.value(doc)
	}
}

// segmentMatches is the matches of one segment before they are sorted.
type segmentMatches struct {
	segment *segmentView
	docs    docSet // nil: all
	count   int
}

// inOrder returns the first limit matches in order or, if limit is negative, the last -limit.
func (m *segmentMatches) inOrder(p *filter.Plan, limit int) *docRun {
	r := &docRun{segment: m.segment}
	for _, key := range p.Sort {
		r.columns = append(r.columns, m.segment.column(key.Field))
	}
	fromEnd := limit < 0
	limit = min(max(limit, -limit), m.count)
	switch {
	case m.docs == nil:
		r.docs = window(m.segment.order(p.Sort), limit, fromEnd)
	case m.count < m.segment.size/128:
		r.docs = window(m.sorted(p, r), limit, fromEnd)
	default:
		r.docs = m.pick(m.segment.order(p.Sort), limit, fromEnd)
	}
	return r
}

func window(docs []uint32, n int, fromEnd bool) []uint32 {
	if fromEnd {
		return docs[len(docs)-n:]
	}
	return docs[:n]
}

// pick follows the order of all documents from one end and collects n matches. It stores every
// document and advances only past those that match, which takes no branch.
func (m *segmentMatches) pick(order []uint32, n int, fromEnd bool) []uint32 {
	docs := make([]uint32, n)
	if fromEnd {
		for at, i := n-1, len(order)-1; at >= 0; i-- {
			docs[at] = order[i]
			at -= m.docs.bit(order[i])
		}
		return docs
	}
	for at, i := 0, 0; at < n; i++ {
		docs[at] = order[i]
		at += m.docs.bit(order[i])
	}
	return docs
}

// sorted sorts a few matches without the order of all documents.
func (m *segmentMatches) sorted(p *filter.Plan, r *docRun) []uint32 {
	docs := make([]uint32, 0, m.count)
	m.docs.each(func(doc uint32) { docs = append(docs, doc) })
	slices.SortFunc(docs, func(a, b uint32) int {
		for k, key := range p.Sort {
			x, y := r.columns[k].codes[a], r.columns[k].codes[b]
			switch {
			case x == y:
			case x == 0:
				return 1
			case y == 0, (x < y) != key.Desc:
				return -1
			default:
				return 1
			}
		}
		return p.CompareIDs(m.segment.ids[a], m.segment.ids[b])
	})
	return docs
}
