package planner

import (
	"strconv"
	"time"
)

// Sequence is a contact's way through a template.
type Sequence struct {
	Template    *Template
	Start       time.Time
	Past        []Past // of the step at each position; where it ends nothing has happened
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
	Over   bool // it was over before, at that time
	Nth    int  // of a message: its place among all that are sent, from 1
}

// simulation goes through the sequences of one sender in the order of time.
type simulation struct {
	ledger    Ledger
	now       time.Time // when it begins
	sent      int
	clock     time.Time // how far it has come
	sequences []Sequence
	runs      []run
	overs     heap  // tasks and skipped steps, by when they are over
	due       heap  // messages, by when they are due
	ready     heap  // those that are due, in the order in which they are sent
	dues      []Due // room for those that are fixed at an instant
	places    []int // room for those that may be
}

// run is a sequence on its way.
type run struct {
	fixing
	plan []Planned
}

// Simulate runs the sequences of one sender to their end and says what becomes of each step, by its position. A task is taken to be
// done when it is due, a message is over when it is sent, a skipped step when it is due. Nothing happens before now: what is
// overdue is planned from there, under the same caps. The ledger is left as it is.
func Simulate(l *Ledger, now time.Time, sequences []Sequence) [][]Planned {
	s := simulation{ledger: *l, now: now, clock: now, sequences: sequences, runs: make([]run, len(sequences))}
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
	s.overs, s.due, s.ready = make(heap, 0, len(s.runs)), make(heap, 0, len(s.runs)), make(heap, 0, len(s.runs))
	pasts, plans, ends := make([]Past, steps), make([]Planned, steps), make([]ending, steps)
	for i := range s.sequences {
		sequence := &s.sequences[i]
		n := len(sequence.Template.steps)
		r := &s.runs[i]
		r.fixing = fixing{Template: sequence.Template, cal: s.ledger.cal, start: sequence.Start, past: pasts[:n:n], ends: ends[:n:n]}
		r.plan = plans[:n:n]
		pasts, plans, ends = pasts[n:], plans[n:], ends[n:]
		copy(r.past, sequence.Past)
		for j := range r.past {
			switch p := &r.past[j]; {
			case !p.Over.IsZero():
				r.plan[j] = Planned{Step: j, Action: r.steps[j].Action, At: p.Over.UTC(), Reason: p.Reason, Over: true}
			case !p.Fixed.IsZero():
				if p.Reason == "" {
					p.Reason = "its due time was fixed before"
				}
				s.plan(i, j)
			}
		}
		s.dues = r.fixAll(s.dues[:0], latest(s.now, sequence.Start))
		s.planDues(i)
	}
}

// step goes on to what happens next. Tasks and skipped steps that are over at an instant count before the messages of that
// instant, and each message before the next one is chosen.
func (s *simulation) step() bool {
	earliest, mail := s.clock, true
	if len(s.ready) == 0 {
		if mail = len(s.due) > 0; mail {
			earliest = latest(earliest, s.due[0].at())
		}
	}
	if !mail || len(s.overs) > 0 && !s.overs[0].at().After(earliest) {
		return s.finish()
	}
	slot := s.ledger.Next(earliest, earliest).At
	if len(s.overs) > 0 && !s.overs[0].at().After(slot) {
		return s.finish()
	}
	for len(s.due) > 0 && !s.due[0].at().After(slot) {
		m := s.due.pop()
		m.last = !s.sequences[m.sequence].Prioritized
		s.ready.push(m)
	}
	s.send(s.ready.pop())
	return true
}

// send sends a message at the sender's next slot, or finds that its campaign has ended by then. Counted from its own due time the
// slot is the same, and knows what moved it.
func (s *simulation) send(m Turn) {
	r := &s.runs[m.sequence]
	p := &r.past[m.step]
	slot := s.ledger.Next(p.Due, s.now)
	reason := p.Reason + s.ledger.Reason(slot)
	if ends := s.sequences[m.sequence].End; !ends.IsZero() && !slot.At.Before(ends) {
		r.plan[m.step] = Planned{Step: m.step, Action: Skip, At: p.Due.UTC(), Reason: reason + hasEnded}
		return
	}
	s.sent++
	r.plan[m.step] = Planned{Step: m.step, Action: Send, At: slot.At, Reason: reason, Nth: s.sent}
	s.ledger.Take(slot)
	s.clock, p.Over = slot.At, slot.At
	s.places = append(s.places[:0], r.steps[m.step].out...)
	s.fix(m.sequence)
}

// finish ends the tasks and the skipped steps of a sequence that are over next, at the same instant, if there are any.
func (s *simulation) finish() bool {
	if len(s.overs) == 0 {
		return false
	}
	next := s.overs[0]
	s.clock = next.at()
	r := &s.runs[next.sequence]
	s.places = s.places[:0]
	for len(s.overs) > 0 && s.overs[0].sequence == next.sequence && s.overs[0].sec == next.sec && s.overs[0].nsec == next.nsec {
		step := s.overs.pop().step
		r.past[step].Over = s.clock
		s.places = append(s.places, r.steps[step].out...)
	}
	s.fix(next.sequence)
	return true
}

// fix plans the steps of a sequence whose due times are fixed now, of those at the places.
func (s *simulation) fix(i int) {
	s.dues = s.runs[i].fixSome(s.dues[:0], s.places, s.clock)
	s.planDues(i)
}

func (s *simulation) planDues(i int) {
	for _, d := range s.dues {
		s.plan(i, d.Step)
	}
}

// plan plans a step whose due time is fixed.
func (s *simulation) plan(i, step int) {
	r, sequence := &s.runs[i], &s.sequences[i]
	p := &r.past[step]
	at := latest(p.Due, s.clock).UTC()
	plan := Planned{Step: step, Action: r.steps[step].Action, At: p.Due.UTC(), Reason: p.Reason}
	switch {
	case !sequence.End.IsZero() && !at.Before(sequence.End):
		plan.Action, plan.Reason = Skip, plan.Reason+hasEnded
	case plan.Action != Send:
		r.ends[step] = assumedDue
		if p.Due.Before(at) {
			r.ends[step] = assumedNow
		}
		s.overs.push(s.turn(at, i, step))
	case sequence.SkipMail != "":
		plan.Action, plan.Reason = Skip, plan.Reason+"; "+sequence.SkipMail
		r.ends[step] = skipped
		s.overs.push(s.turn(at, i, step))
	default:
		s.due.push(s.turn(p.Due, i, step))
	}
	r.plan[step] = plan
}

func (s *simulation) turn(at time.Time, i, step int) Turn {
	t := NewTurn(true, at, i, s.runs[i].steps[step].Index)
	t.step = step
	return t
}

// close says of the steps that were never due what they wait for.
func (r *run) close() {
	for i := range r.plan {
		if r.past[i].settled() {
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
