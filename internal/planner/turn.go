package planner

import "time"

// Turn is the place of a message among those that its sender could send at the same instant. It holds no pointers, so that many
// can be moved about without the garbage collector being told.
type Turn struct {
	sec      int64
	sequence int
	index    int
	step     int // its position, which has no part in the order
	nsec     int32
	last     bool // not prioritized
}

// NewTurn is the turn of a message that is due then, of the sequence that stands at a place among the sender's, and of the step
// with an index.
func NewTurn(prioritized bool, due time.Time, sequence, index int) Turn {
	return Turn{last: !prioritized, sec: due.Unix(), nsec: int32(due.Nanosecond()), sequence: sequence, index: index}
}

func (t *Turn) at() time.Time { return time.Unix(t.sec, int64(t.nsec)).UTC() }

// Before tells who goes first: prioritized campaigns, then what was due earlier, then the order of the sequences and the steps.
func (t *Turn) Before(other *Turn) bool {
	switch {
	case t.last != other.last:
		return other.last
	case t.sec != other.sec:
		return t.sec < other.sec
	case t.nsec != other.nsec:
		return t.nsec < other.nsec
	case t.sequence != other.sequence:
		return t.sequence < other.sequence
	}
	return t.index < other.index
}

// heap gives turns in their order. container/heap would do so too, in several times the time.
type heap []Turn

func (h *heap) push(x Turn) {
	*h = append(*h, x)
	items := *h
	i := len(items) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !x.Before(&items[parent]) {
			break
		}
		items[i] = items[parent]
		i = parent
	}
	items[i] = x
}

func (h *heap) pop() Turn {
	items := *h
	first, x := items[0], items[len(items)-1]
	items = items[:len(items)-1]
	*h = items
	if len(items) == 0 {
		return first
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(items) {
			break
		}
		if child+1 < len(items) && items[child+1].Before(&items[child]) {
			child++
		}
		if !items[child].Before(&x) {
			break
		}
		items[i] = items[child]
		i = child
	}
	items[i] = x
	return first
}
