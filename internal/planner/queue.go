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

// queue is a priority queue of steps. Most steps are pushed in order and are only appended to
// inOrder. The others use a heap.
type queue struct {
	inOrder []queuedStep
	next    int // first element of inOrder that is still queued
	others  heap
}

// first returns the first step, or nil if the queue is empty. The pointer is valid until the queue
// changes.
func (q *queue) first() *queuedStep {
	switch {
	case q.next == len(q.inOrder) && len(q.others) == 0:
		return nil
	case q.next == len(q.inOrder), len(q.others) > 0 && q.others[0].before(&q.inOrder[q.next]):
		return &q.others[0]
	}
	return &q.inOrder[q.next]
}

func (q *queue) push(t queuedStep) {
	n := len(q.inOrder)
	if n > q.next && t.before(&q.inOrder[n-1]) {
		q.others.push(t)
		return
	}
	if n == cap(q.inOrder) && q.next > n/2 { // reuse the free space at the front
		q.inOrder, q.next = q.inOrder[:copy(q.inOrder, q.inOrder[q.next:])], 0
	}
	q.inOrder = append(q.inOrder, t)
}

// pop removes and returns the first step of a queue that is not empty.
func (q *queue) pop() queuedStep {
	t := q.first()
	if len(q.others) > 0 && t == &q.others[0] {
		return q.others.pop()
	}
	q.next++
	return *t
}

// heap is a binary heap of steps. It is several times faster than container/heap.
type heap []queuedStep

func (h *heap) push(x queuedStep) {
	*h = append(*h, x)
	items := *h
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

func (h *heap) pop() queuedStep {
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
