package planner

import (
	"slices"
	"strconv"
)

// mailQueue has the messages of a sender in the order in which they are sent: by due time, as long as
// the caps of days suffice. Messages that did not fit into a day wait in one queue for each own hour,
// because none of them is sent before that hour of a later day.
type mailQueue struct {
	onTime   queue
	overflow [25]queue // by own hour; the last is for steps without one
	hours    []int     // which of them are in use, plus 1
}

// isWaiting reports whether a step is a message that has a due time and is not sent, skipped or held.
func (r *run) isWaiting(step int) bool {
	return r.hasDueMessage(step) && r.states[step].end != Skipped
}

// queueMessage queues the next message of a sequence. It is the one with the earliest due time: a
// message is not sent before those planned before it.
func (s *simulation) queueMessage(i int) {
	r, sequence := &s.runs[i], &s.sequences[i]
	if r.stuck != "" || sequence.SkipMail != "" {
		return
	}
	next := r.nextMessage()
	switch {
	case next < 0:
		return
	case r.endsBy(max(r.states[next].due, s.clock)):
		r.queued = -1 // until a step schedules an earlier one
		return
	case sequence.Withheld != nil && sequence.Withheld[next] == Hold:
		r.stuck = Hold
		s.recordDue(i, next, Hold, ValueMissing, 0, reasonMissing)
		return
	case sequence.Withheld != nil && sequence.Withheld[next] == Skip:
		s.skip(i, next, ValueMissing, reasonMissing)
		return
	}
	q := &s.others.onTime
	if sequence.Prioritized {
		q = &s.prioritized.onTime
	}
	m := r.queuedStep(r.states[next].due, i, next)
	if r.queued != next || r.queuedDue != m.due {
		r.queued, r.queuedDue = next, m.due
		q.push(m)
	}
}

// nextMessage returns the message of a sequence that is sent next, or -1.
func (r *run) nextMessage() int {
	next := -1
	for step := range r.states {
		if r.isWaiting(step) && (next < 0 || r.isBefore(step, next)) {
			next = step
		}
	}
	return next
}

// isBefore reports whether the message of a step is due before that of another.
func (r *run) isBefore(a, b int) bool {
	if r.states[a].due != r.states[b].due {
		return r.states[a].due < r.states[b].due
	}
	return r.steps[a].Index < r.steps[b].Index
}

// nextMessage returns the queue of the message that is sent next, and its slot. The earliest slot
// decides, then messages of prioritized campaigns come first, then the earliest due time.
func (s *simulation) nextMessage() (from *queue, at slot) {
	var first *queuedStep
	for _, m := range [...]*mailQueue{&s.prioritized, &s.others} {
		best := first // of the prioritized messages
		consider := func(q *queue) {
			head := s.head(q)
			if head == nil {
				return
			}
			next := s.ledger.next(head.due, s.now, s.runs[head.sequence].steps[head.step].own)
			if first == nil || next.at < at.at || next.at == at.at && first != best && head.before(first) {
				from, at, first = q, next, head
			}
		}
		s.overflow(m)
		consider(&m.onTime)
		for _, h := range m.hours {
			consider(&m.overflow[h])
		}
	}
	return from, at
}

// overflow moves messages that did not fit into the cap of a day to the queues of their hours.
func (s *simulation) overflow(m *mailQueue) {
	for head := s.head(&m.onTime); head != nil && head.due < s.ledger.capped; head = s.head(&m.onTime) {
		h := s.runs[head.sequence].steps[head.step].own + 1
		q := &m.overflow[h]
		if !slices.Contains(m.hours, h) {
			m.hours = append(m.hours, h)
		}
		q.push(m.onTime.pop())
	}
}

// head returns the first message of a queue, or nil. It drops those that were pushed to a later time.
func (s *simulation) head(q *queue) *queuedStep {
	for {
		m := q.first()
		if m == nil {
			return nil
		}
		if r := &s.runs[m.sequence]; r.stuck == "" && r.queued == m.step && r.queuedDue == m.due {
			return m
		}
		q.pop()
	}
}

// close plans the steps that are never due, messages that are due after the end of the campaign, and
// those that wait for a message that is held.
func (s *simulation) close(sequence int) {
	r := &s.runs[sequence]
	if r.plan == nil {
		return
	}
	for _, i := range r.order {
		if r.plan[i].Action != "" {
			continue
		}
		p := Planned{Step: i, Action: Skip, Why: NeverDue, Reason: "never due"}
		if r.states[i].isDecided() {
			if r.stuck != Hold || r.endsBy(r.states[i].due) {
				s.recordDue(sequence, i, Skip, CampaignEnds, 0, reasonCampaignEnds)
				continue
			}
			p = Planned{Step: i, Action: Hold, Why: BehindHeld, Reason: "waits for an earlier email, which is held"}
		}
		in := r.steps[i].in
		for j := range in {
			if _, fired := r.firedBy(&in[j]); fired || r.states[i].isDecided() {
				continue
			}
			p.Reason = "waits for step " + strconv.Itoa(in[j].From)
			if from := r.plan[in[j].from]; from.Action == Hold {
				p.Action, p.Why, p.Reason = Hold, BehindHeld, p.Reason+", which is held"
			} else {
				p.Why, p.Reason = CampaignEnds, p.Reason+", which does not end before the campaign does"
			}
			break
		}
		r.plan[i] = p
	}
}
