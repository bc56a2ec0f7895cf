package planner

// queuedStep is the place of a message among those that its sender could send at the same instant. It holds no pointers, so that many
// can be moved about without the garbage collector being told.
type queuedStep struct {
	due      instant
	sequence int
	index    int
	step     int // its position, which has no part in the order
}

// Before tells who goes first: prioritized campaigns, then what was due earlier, then the order of the sequences and the steps.
func (t *queuedStep) before(other *queuedStep) bool {
	switch {
	case t.due != other.due:
		return t.due < other.due
	case t.sequence != other.sequence:
		return t.sequence < other.sequence
	}
	return t.index < other.index
}

// queue gives turns in their order. Most come in it and need no more than to be kept; the others go through a heap.
type queue struct {
	inOrder []queuedStep
	next    int // of those in order
	others  heap
}

// first is the turn that comes first, nil when there is none. It is valid until the queue changes.
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
	if n == cap(q.inOrder) && q.next > n/2 { // there is more room before them than they need
		q.inOrder, q.next = q.inOrder[:copy(q.inOrder, q.inOrder[q.next:])], 0
	}
	q.inOrder = append(q.inOrder, t)
}

// pop takes the first turn out of the queue, which must have one.
func (q *queue) pop() queuedStep {
	t := q.first()
	if len(q.others) > 0 && t == &q.others[0] {
		return q.others.pop()
	}
	q.next++
	return *t
}

// heap gives turns in their order. container/heap would do so too, in several times the time.
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
