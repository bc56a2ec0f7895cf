package planner

import (
	"strconv"
	"time"
)

// Sequence is a contact's way through a template.
type Sequence struct {
	Template    *Template
	Start       time.Time
	History     []StepHistory // of the step at each position; where it ends nothing has happened
	Prioritized bool
	SkipMail    string    // why none of its messages can be sent, "" if they can
	End         time.Time // from then on nothing of it happens; zero: no end
}

// Planned is what becomes of a step.
type Planned struct {
	Step   int // its position in the template
	Action Action
	// At is when the message goes out, or when a task or a step that is skipped is due; zero when the step is never due.
	At     time.Time
	Reason string
	Done   bool // it was over before, at that time
	Nth    int  // of a message: its place among all that are sent, from 1
}

// simulation goes through the sequences of one sender in the order of time.
type simulation struct {
	ledger      Ledger
	now         instant // when it begins
	sent        int
	clock       instant // how far it has come
	sequences   []Sequence
	runs        []run
	overs       queue // tasks and skipped steps, by when they are over
	prioritized queue // messages, by when they are due
	others      queue // the same
	fixed       []int // room for the steps whose due times are fixed at an instant
	places      []int // room for those that may be
}

// run is a sequence on its way.
type run struct {
	fixing
	end  instant
	plan []Planned
	said []said // of the step at each position; one for all sequences in a row that have the same template
}

// said is the last that was said of a step. There is mostly the same to say of it to all who come to it.
type said struct {
	why    cause
	waited moves
	also   string
	words  string
}

// Simulate runs the sequences of one sender to their end and says what becomes of each step, by its position. A task is taken to be
// done when it is due, a message is over when it is sent, a skipped step when it is due. Nothing happens before now: what is
// overdue is planned from there, under the same caps. The ledger is left as it is.
func Simulate(l *Ledger, now time.Time, sequences []Sequence) [][]Planned {
	s := simulation{ledger: *l, now: instantOf(now), clock: instantOf(now), sequences: sequences, runs: make([]run, len(sequences))}
	s.begin()
	for s.step() {
	}
	plans := make([][]Planned, len(sequences))
	for i := range s.runs {
		s.runs[i].close()
		plans[i] = s.runs[i].plan
	}
	return plans
}

func (s *simulation) begin() {
	steps := 0
	for i := range s.sequences {
		steps += len(s.sequences[i].Template.steps)
	}
	states, plans := make([]state, steps), make([]Planned, steps)
	s.others.inOrder, s.overs.inOrder = make([]queuedStep, 0, 2*len(s.runs)), make([]queuedStep, 0, 2*len(s.runs))
	for i := range s.sequences {
		sequence := &s.sequences[i]
		n := len(sequence.Template.steps)
		r := &s.runs[i]
		r.fixing = fixing{Template: sequence.Template, cal: s.ledger.cal, start: instantOf(sequence.Start), states: states[:n:n]}
		r.end, r.plan = instantOf(sequence.End), plans[:n:n]
		states, plans = states[n:], plans[n:]
		if i > 0 && s.runs[i-1].Template == r.Template {
			r.said = s.runs[i-1].said
		} else {
			r.said = make([]said, n)
		}
		s.enter(i)
	}
}

// enter takes up a sequence where it is.
func (s *simulation) enter(i int) {
	r, past := &s.runs[i], s.sequences[i].History
	r.begin(past)
	for j := range r.states {
		switch state := &r.states[j]; {
		case state.over != 0:
			r.plan[j] = Planned{Step: j, Action: r.steps[j].Action, At: state.over.time(), Reason: past[j].Reason, Done: true}
		case state.fixed != 0:
			state.before = true
			s.plan(i, j)
		}
	}
	s.fixed = r.fixAll(s.fixed[:0], max(s.now, r.start))
	s.planFixed(i)
}

// step goes on to what happens next. Tasks and skipped steps that are over at an instant count before the messages of that
// instant, and each message before the next one is chosen.
func (s *simulation) step() bool {
	mail := s.due()
	if mail == nil {
		return s.finish()
	}
	slot := s.ledger.next(mail.due, s.now)
	if over := s.overs.first(); over != nil && slot.at >= over.due {
		return s.finish()
	}
	if first := s.prioritized.first(); first != nil && slot.at >= first.due {
		m := s.prioritized.pop()
		s.send(m, s.ledger.next(m.due, s.now)) // the same slot, which knows what moved this message
	} else {
		s.send(s.others.pop(), slot)
	}
	return true
}

// due is the message that is due first; nil when there is none.
func (s *simulation) due() *queuedStep {
	a, b := s.prioritized.first(), s.others.first()
	if a == nil || b != nil && b.due < a.due {
		return b
	}
	return a
}

// send sends a message at its slot, or finds that its campaign has ended by then.
func (s *simulation) send(m queuedStep, at slot) {
	r := &s.runs[m.sequence]
	state := &r.states[m.step]
	if r.endsBy(at.at) {
		r.plan[m.step] = Planned{Step: m.step, Action: Skip, At: state.due.time(), Reason: s.reason(m.sequence, m.step, at.waited, hasEnded)}
		return
	}
	s.sent++
	r.plan[m.step] = Planned{Step: m.step, Action: Send, At: at.at.time(), Reason: s.reason(m.sequence, m.step, at.waited, ""), Nth: s.sent}
	s.ledger.take(at)
	s.clock, state.over = at.at, at.at
	s.places = append(s.places[:0], r.steps[m.step].out...)
	s.fix(m.sequence)
}

// finish ends the tasks and the skipped steps of a sequence that are over next, at the same instant, if there are any.
func (s *simulation) finish() bool {
	first := s.overs.first()
	if first == nil {
		return false
	}
	i := first.sequence
	s.clock, s.places = first.due, s.places[:0]
	r := &s.runs[i]
	for next := first; next != nil && next.sequence == i && next.due == s.clock; next = s.overs.first() {
		step := s.overs.pop().step
		r.states[step].over = s.clock
		s.places = append(s.places, r.steps[step].out...)
	}
	s.fix(i)
	return true
}

// fix plans the steps of a sequence whose due times are fixed now, of those at the places.
func (s *simulation) fix(i int) {
	s.fixed = s.runs[i].fixSome(s.fixed[:0], s.places, s.clock)
	s.planFixed(i)
}

func (s *simulation) planFixed(i int) {
	for _, step := range s.fixed {
		s.plan(i, step)
	}
}

// plan plans a step whose due time is fixed. What becomes of a message is seen when it is sent.
func (s *simulation) plan(i, step int) {
	r, sequence := &s.runs[i], &s.sequences[i]
	state := &r.states[step]
	over := max(state.due, s.clock)
	action, also := r.steps[step].Action, ""
	switch {
	case r.endsBy(over):
		action, also = Skip, hasEnded
	case action == Send && sequence.SkipMail == "":
		if sequence.Prioritized {
			s.prioritized.push(r.queuedStep(state.due, i, step))
		} else {
			s.others.push(r.queuedStep(state.due, i, step))
		}
		return
	case action == Send:
		action, also = Skip, "; "+sequence.SkipMail
		state.end = Skipped
		s.overs.push(r.queuedStep(over, i, step))
	default:
		state.end = assumedDue
		if over != state.due {
			state.end = assumedNow
		}
		s.overs.push(r.queuedStep(over, i, step))
	}
	r.plan[step] = Planned{Step: step, Action: action, At: state.due.time(), Reason: s.reason(i, step, 0, also)}
}

// reason says in words what led to the due time of a step, what moved it, and what else there is to say.
func (s *simulation) reason(i, step int, waited moves, also string) string {
	r := &s.runs[i]
	why := r.states[step].why
	if r.states[step].before {
		words := s.sequences[i].History[step].Reason
		if words == "" {
			words = "its due time was fixed before"
		}
		return words + s.ledger.words(waited) + also
	}
	last := &r.said[step]
	if last.words == "" || last.why != why || last.waited != waited || last.also != also {
		*last = said{why, waited, also, why.reason(&r.steps[step]) + s.ledger.words(waited) + also}
	}
	return last.words
}

// endsBy tells whether the campaign of a sequence has ended by a instant.
func (r *run) endsBy(m instant) bool { return r.end != 0 && m >= r.end }

func (r *run) queuedStep(at instant, i, step int) queuedStep {
	return queuedStep{due: at, sequence: i, index: r.steps[step].Index, step: step}
}

// close says of the steps that were never due what they wait for.
func (r *run) close() {
	for i := range r.plan {
		if r.states[i].settled() {
			continue
		}
		s := &r.steps[i]
		words := "is never due"
		for j := range s.in {
			if _, fired := r.fire(&s.in[j]); !fired {
				words = "waits for step " + strconv.Itoa(s.in[j].From) + ", which the end of the campaign comes before"
				break
			}
		}
		r.plan[i] = Planned{Step: i, Action: Skip, Reason: words}
	}
}
