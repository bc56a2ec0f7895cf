package index

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// members returns the documents of a set in the order of each.
func members(s docSet) (list []uint32) {
	s.each(func(i uint32) { list = append(list, i) })
	return list
}

// Every operation agrees with the same operation on a slice of booleans, for sizes around those of
// a word and of a container of a bitmap.
func TestDocSet(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 1))
	for _, n := range []int{0, 1, 63, 64, 65, 127, 128, 129, 1000, 65535, 65536, 65537, 70_001} {
		for _, of := range []int{1, 2, 30, 1000} {
			random := func() (docSet, *roaring.Bitmap, []bool) {
				s, b, plain := newSet(n), roaring.New(), make([]bool, n)
				for i := range n {
					if r.IntN(of) == 0 {
						s.add(uint32(i))
						b.Add(uint32(i))
						plain[i] = true
					}
				}
				return s, b, plain
			}
			a, bitmap, inA := random()
			b, _, inB := random()
			want := func(what string, got docSet, is func(i int) bool) {
				t.Helper()
				var list []uint32
				for i := range n {
					if is(i) {
						list = append(list, uint32(i))
					}
					if got.has(uint32(i)) != is(i) {
						t.Fatalf("%s of %d documents: has(%d) is %t", what, n, i, !is(i))
					}
				}
				if !slices.Equal(members(got), list) || got.count() != len(list) {
					t.Fatalf("%s of %d documents: %d members and a count of %d, want %d",
						what, n, len(members(got)), got.count(), len(list))
				}
			}
			want("a set", a, func(i int) bool { return inA[i] })
			want("the full set", fullSet(n), func(int) bool { return true })
			s := slices.Clone(a)
			s.and(b)
			want("and", s, func(i int) bool { return inA[i] && inB[i] })
			s = slices.Clone(a)
			s.or(b)
			want("or", s, func(i int) bool { return inA[i] || inB[i] })
			s = slices.Clone(a)
			s.invert(n)
			want("invert", s, func(i int) bool { return !inA[i] })
			for i := range n {
				if inA[i] && inB[i] {
					s.add(uint32(i))
					s.remove(uint32(i))
					s.remove(uint32(i)) // removing it again has no effect
				}
			}
			want("remove", s, func(i int) bool { return !inA[i] })
			s = slices.Clone(b)
			s.addBitmap(bitmap)
			want("a bitmap added to a set", s, func(i int) bool { return inA[i] || inB[i] })
			bitmap.RunOptimize()
			s = newSet(n)
			s.addBitmap(bitmap)
			want("a bitmap", s, func(i int) bool { return inA[i] })
		}
	}
}
