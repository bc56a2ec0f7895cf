package planner

import (
	"strconv"
	"time"
)

// Sequence is a contact's progress through a template.
type Sequence struct {
	Template    *Template
	Start       time.Time
	History     []StepHistory // by position of the step; missing entries mean that nothing has happened
	Prioritized bool
	SkipMail    string    // why no message can be sent; "" if messages can be sent
	End         time.Time // nothing happens from then on; zero: no end
}

// Planned is the plan for one step.
type Planned struct {
	Step   int // position in the template
	Action Action
	// At is when the message is sent, or when the task or skipped step is due; zero if the step is
	// never due.
	At     time.Time
	Reason string
	Done   bool // it has ended already, at that time
	Nth    int  // of a message: its number among all messages of the plan, from 1
}

// simulation processes the sequences of one sender in order of time.
type simulation struct {
	ledger      Ledger
	now         instant // start of the simulation
	sent        int
	clock       instant // current simulated time
	sequences   []Sequence
	runs        []run
	overs       queue // tasks and skipped steps, by when they end
	prioritized queue // messages of prioritized campaigns, by due time
	others      queue // other messages, by due time
	scheduled   []int // scratch space: steps scheduled at one instant
	places      []int // scratch space: steps that may be scheduled
}

// run is the state of one sequence in a simulation.
type run struct {
	scheduling
	end     instant
	plan    []Planned
	reasons []cachedReason // by position; shared by consecutive sequences with the same template
}

// cachedReason is the last reason built for a step. Most sequences have the same one.
type cachedReason struct {
	why    cause
	waited delayReasons
	also   string
	text   string
}

// Simulate runs the sequences of one sender to their end and returns a plan for each step, by
// position. It assumes that a task is done and a skipped step ends at its due time, and that a
// message ends when it is sent. Nothing happens before now: overdue messages are planned from now
// on, under the same limits. The ledger is not changed.
func Simulate(l *Ledger, now time.Time, sequences []Sequence) [][]Planned {
	s := simulation{
		ledger: *l, now: instantOf(now), clock: instantOf(now),
		sequences: sequences, runs: make([]run, len(sequences)),
	}
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
		r.scheduling = scheduling{
			Template: sequence.Template, cal: s.ledger.cal, start: instantOf(sequence.Start), states: states[:n:n],
		}
		r.end, r.plan = instantOf(sequence.End), plans[:n:n]
		states, plans = states[n:], plans[n:]
		if i > 0 && s.runs[i-1].Template == r.Template {
			r.reasons = s.runs[i-1].reasons
		} else {
			r.reasons = make([]cachedReason, n)
		}
		s.enter(i)
	}
}

// enter adds a sequence in its current state.
func (s *simulation) enter(i int) {
	r, past := &s.runs[i], s.sequences[i].History
	r.begin(past)
	for j := range r.states {
		switch state := &r.states[j]; {
		case state.over != 0:
			r.plan[j] = Planned{Step: j, Action: r.steps[j].Action, At: state.over.time(), Reason: past[j].Reason, Done: true}
		case state.scheduled != 0:
			state.before = true
			s.plan(i, j)
		}
	}
	s.scheduled = r.scheduleAll(s.scheduled[:0], max(s.now, r.start))
	s.planScheduled(i)
}

// step processes the next event. Tasks and skipped steps that end at an instant come before the
// messages of that instant, and each message is sent before the next one is chosen.
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
		s.send(m, s.ledger.next(m.due, s.now)) // the same time, with the delays of this message
	} else {
		s.send(s.others.pop(), slot)
	}
	return true
}

// due returns the message with the earliest due time, or nil.
func (s *simulation) due() *queuedStep {
	a, b := s.prioritized.first(), s.others.first()
	if a == nil || b != nil && b.due < a.due {
		return b
	}
	return a
}

// send sends a message at its slot, or skips it if its campaign ends before.
func (s *simulation) send(m queuedStep, at slot) {
	r := &s.runs[m.sequence]
	state := &r.states[m.step]
	if r.endsBy(at.at) {
		r.plan[m.step] = Planned{
			Step: m.step, Action: Skip, At: state.due.time(),
			Reason: s.reason(m.sequence, m.step, at.waited, reasonCampaignEnds),
		}
		return
	}
	s.sent++
	r.plan[m.step] = Planned{
		Step: m.step, Action: Send, At: at.at.time(),
		Reason: s.reason(m.sequence, m.step, at.waited, ""), Nth: s.sent,
	}
	s.ledger.take(at)
	s.clock, state.over = at.at, at.at
	s.places = append(s.places[:0], r.steps[m.step].out...)
	s.scheduleNext(m.sequence)
}

// finish ends the tasks and skipped steps of one sequence that end next, at the same instant. It
// returns false if there are none.
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
	s.scheduleNext(i)
	return true
}

// scheduleNext schedules and plans the steps at s.places that have become due.
func (s *simulation) scheduleNext(i int) {
	s.scheduled = s.runs[i].scheduleFrom(s.scheduled[:0], s.places, s.clock)
	s.planScheduled(i)
}

func (s *simulation) planScheduled(i int) {
	for _, step := range s.scheduled {
		s.plan(i, step)
	}
}

// plan plans a scheduled step. Messages are queued; their plan is made when they are sent.
func (s *simulation) plan(i, step int) {
	r, sequence := &s.runs[i], &s.sequences[i]
	state := &r.states[step]
	over := max(state.due, s.clock)
	action, also := r.steps[step].Action, ""
	switch {
	case r.endsBy(over):
		action, also = Skip, reasonCampaignEnds
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

// reason returns the reason of the due time of a step, what delayed it, and a suffix.
func (s *simulation) reason(i, step int, waited delayReasons, also string) string {
	r := &s.runs[i]
	why := r.states[step].why
	if r.states[step].before {
		text := s.sequences[i].History[step].Reason
		if text == "" {
			text = "scheduled earlier"
		}
		return text + s.ledger.reasonText(waited) + also
	}
	last := &r.reasons[step]
	if last.text == "" || last.why != why || last.waited != waited || last.also != also {
		*last = cachedReason{why, waited, also, why.reason(&r.steps[step]) + s.ledger.reasonText(waited) + also}
	}
	return last.text
}

// endsBy reports whether the campaign of a sequence has ended at m.
func (r *run) endsBy(m instant) bool { return r.end != 0 && m >= r.end }

func (r *run) queuedStep(at instant, i, step int) queuedStep {
	return queuedStep{due: at, sequence: i, index: r.steps[step].Index, step: step}
}

// close explains why steps were never due.
func (r *run) close() {
	for i := range r.plan {
		if r.states[i].settled() {
			continue
		}
		s := &r.steps[i]
		text := "never due"
		for j := range s.in {
			if _, fired := r.firedBy(&s.in[j]); !fired {
				text = "waits for step " + strconv.Itoa(s.in[j].From) + ", which does not end before the campaign does"
				break
			}
		}
		r.plan[i] = Planned{Step: i, Action: Skip, Reason: text}
	}
}
