package index

import (
	"math/bits"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
)

// docSet is a set of document numbers of one segment, as a bitmap. Where a function says so, nil
// means all documents.
type docSet []uint64

func newSet(n int) docSet { return make(docSet, (n+63)/64) }

// fullSet returns the set of the documents 0 to n-1.
func fullSet(n int) docSet {
	s := newSet(n)
	for i := range s {
		s[i] = ^uint64(0)
	}
	s.cut(n)
	return s
}

// cut removes all documents from n on.
func (s docSet) cut(n int) {
	if n&63 != 0 {
		s[n>>6] &= 1<<(n&63) - 1
	}
}

func (s docSet) has(i uint32) bool { return s.bit(i) != 0 }
func (s docSet) bit(i uint32) int  { return int(s[i>>6] >> (i & 63) & 1) }
func (s docSet) add(i uint32)      { s[i>>6] |= 1 << (i & 63) }
func (s docSet) remove(i uint32)   { s[i>>6] &^= 1 << (i & 63) }

func (s docSet) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

func (s docSet) and(o docSet) {
	for i := range s {
		s[i] &= o[i]
	}
}

func (s docSet) or(o docSet) {
	for i := range s {
		s[i] |= o[i]
	}
}

// invert replaces the set by its complement in the documents 0 to n-1.
func (s docSet) invert(n int) {
	for i := range s {
		s[i] = ^s[i]
	}
	s.cut(n)
}

// each calls fn for every document in ascending order.
func (s docSet) each(fn func(i uint32)) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			fn(uint32(i<<6 + bits.TrailingZeros64(w)))
		}
	}
}

// addBitmap adds the documents of a bitmap.
func (s docSet) addBitmap(b *roaring.Bitmap) {
	if b.GetCardinality() < uint64(len(s)) {
		for it := b.Iterator(); it.HasNext(); {
			s.add(it.Next())
		}
		return
	}
	dense := denseSets.Get().(*docSet)
	defer denseSets.Put(dense)
	// WriteDenseTo writes whole containers of 1,024 words.
	if words := len(s) + 1024; cap(*dense) < words {
		*dense = make(docSet, words)
	}
	clear((*dense)[:len(s)])
	b.WriteDenseTo(*dense)
	s.or(*dense)
}

// denseSets are buffers for addBitmap.
var denseSets = sync.Pool{New: func() any { return new(docSet) }}
