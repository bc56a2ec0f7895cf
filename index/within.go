package index

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/google/uuid"

	"prospector/store"
)

// Within restricts a plan to the records of a set. read gives their ids, ascending, in the transaction of the list, so that both are of
// one moment; its error is the list's. Ids that no record has are passed over.
func (p *Plan) Within(read func(*store.Tx) ([]uuid.UUID, error)) *Plan {
	restricted := *p
	restricted.within, restricted.members = read, nil
	return &restricted
}

// at gives the plan for a transaction: one that is restricted has its members then.
func (p *Plan) at(tx *store.Tx) (*Plan, error) {
	if p.within == nil {
		return p, nil
	}
	restricted := *p
	var err error
	restricted.members, err = p.within(tx)
	return &restricted, err
}

// has tells whether a record is one of those that the plan is restricted to.
func (p *Plan) has(id uuid.UUID) bool {
	if p.within == nil {
		return true
	}
	_, found := slices.BinarySearchFunc(p.members, id, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return found
}

// nearby is how many steps are cheaper than a leap.
const nearby = 8

// among gives the documents of in (nil: all) that have one of the ids, which ascend. It steps where both sides are alike, and leaps over what
// only one of them has, so that few ids among many documents cost little more than finding each, and so do few documents among many ids.
func (p *part) among(ids []uuid.UUID, in set) set {
	out := newSet(p.size)
	docs := p.byID
	for i, j, steps := 0, 0, 0; i < len(ids) && j < len(docs); steps++ {
		switch id, want := &p.ids[docs[j]], &ids[i]; {
		case *id == *want:
			for ; j < len(docs) && p.ids[docs[j]] == *want; j++ { // replaced documents have it too
				out.add(docs[j])
			}
			i++
			steps = 0
		case less(id, want):
			if j++; steps >= nearby {
				j = leap(j, len(docs), func(j int) bool { return less(&p.ids[docs[j]], want) })
				steps = 0
			}
		default:
			if i++; steps >= nearby {
				i = leap(i, len(ids), func(i int) bool { return less(&ids[i], id) })
				steps = 0
			}
		}
	}
	if in != nil {
		out.and(in)
	}
	return out
}

// leap gives the first place from at on, or the end, that is not before what is looked for. It goes twice as far with each step.
func leap(at, end int, before func(int) bool) int {
	low, step := at-1, 1 // what is at low is before it
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

// less compares ids. Their beginnings mostly tell.
func less(a, b *uuid.UUID) bool {
	x, y := binary.BigEndian.Uint64(a[:]), binary.BigEndian.Uint64(b[:])
	if x == y {
		x, y = binary.BigEndian.Uint64(a[8:]), binary.BigEndian.Uint64(b[8:])
	}
	return x < y
}
