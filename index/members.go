package index

import (
	"encoding/binary"

	"github.com/google/uuid"
)

// maxSteps is the number of single steps after which withIDs searches instead.
const maxSteps = 8

// withIDs returns the documents of in (nil: all) that have one of the ids, which are ascending. It
// merges both sides and gallops over entries that only one of them has. A few ids among many
// documents, and the reverse, cost little more than looking up each.
func (p *segmentView) withIDs(ids []uuid.UUID, in docSet) docSet {
	out := newSet(p.size)
	docs := p.byID
	for i, j, steps := 0, 0, 0; i < len(ids) && j < len(docs); steps++ {
		switch id, want := &p.ids[docs[j]], &ids[i]; {
		case *id == *want:
			for ; j < len(docs) && p.ids[docs[j]] == *want; j++ { // replaced documents have the same id
				out.add(docs[j])
			}
			i++
			steps = 0
		case less(id, want):
			if j++; steps >= maxSteps {
				j = gallop(j, len(docs), func(j int) bool { return less(&p.ids[docs[j]], want) })
				steps = 0
			}
		default:
			if i++; steps >= maxSteps {
				i = gallop(i, len(ids), func(i int) bool { return less(&ids[i], id) })
				steps = 0
			}
		}
	}
	if in != nil {
		out.and(in)
	}
	return out
}

// gallop returns the first position from at that is not before what is searched, or end. It doubles
// its step and then does a binary search.
func gallop(at, end int, before func(int) bool) int {
	low, step := at-1, 1 // the entry at low is before
	for low+step < end && before(low+step) {
		low, step = low+step, 2*step
	}
	high := min(low+step, end)
	for low+1 < high {
		if middle := (low + high) / 2; before(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// less compares ids as bytes.Compare does. Their first halves mostly differ.
func less(a, b *uuid.UUID) bool {
	x, y := binary.BigEndian.Uint64(a[:]), binary.BigEndian.Uint64(b[:])
	if x == y {
		x, y = binary.BigEndian.Uint64(a[8:]), binary.BigEndian.Uint64(b[8:])
	}
	return x < y
}
