package planner

// queuedStep is a step in a queue of one sender, ordered by due time, then by sequence and index.
// It has no pointers, so moving many of them is cheap for the garbage collector.
type queuedStep struct {
	due      instant
	sequence int
	index    int
	step     int // its position; not part of the order
}

// before reports whether t comes before other.
func (t *queuedStep) before(other *queuedStep) bool {
	switch {
	case t.due != other.due:
		return t.due < other.due
	case t.sequence != other.sequence:
		return t.sequence < other.sequence
	}
	return t.index < other.index
}

// queue is a binary heap of steps. It is several times faster than container/heap.
type queue []queuedStep

// first returns the first step, or nil if the queue is empty. The pointer is valid until the queue
// changes.
func (q queue) first() *queuedStep {
	if len(q) == 0 {
		return nil
	}
	return &q[0]
}

func (q *queue) push(x queuedStep) {
	*q = append(*q, x)
	items := *q
	i := len(items) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !x.before(&items[parent]) {
			break
		}
		items[i] = items[parent]
		i = parent
	}
	items[i] = x
}

// pop removes and returns the first step of a queue that is not empty.
func (q *queue) pop() queuedStep {
	items := *q
	first, x := items[0], items[len(items)-1]
	items = items[:len(items)-1]
	*q = items
	if len(items) == 0 {
		return first
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(items) {
			break
		}
		if child+1 < len(items) && items[child+1].before(&items[child]) {
			child++
		}
		if !items[child].before(&x) {
			break
		}
		items[i] = items[child]
		i = child
	}
	items[i] = x
	return first
}
