package planner

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A queue returns steps in order, in whatever order they were pushed.
func TestQueue(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 7))
	for round := range 200 {
		var q queue
		var want []queuedStep
		var clock instant
		for i := range 300 {
			if random.IntN(3) > 0 {
				clock += instant(random.IntN(3))
				turn := queuedStep{due: clock, sequence: i}
				if round%2 == 0 && random.IntN(4) == 0 {
					turn.due -= instant(random.IntN(20))
				}
				q.push(turn)
				want = append(want, turn)
				continue
			}
			if first := q.first(); len(want) == 0 {
				if first != nil {
					t.Fatalf("first of an empty queue is %v", *first)
				}
				continue
			}
			slices.SortFunc(want, func(a, b queuedStep) int {
				if a.before(&b) {
					return -1
				}
				return 1
			})
			first := *q.first()
			if got := q.pop(); first != want[0] || got != want[0] {
				t.Fatalf("round %d: first %v, popped %v, want %v", round, first, got, want[0])
			}
			want = want[1:]
		}
	}
}
