package planner

import (
	"context"
	"time"

	"prospector/internal/turn"
)

// Sequence is a contact's progress through a template.
type Sequence struct {
	Template    *Template
	Start       time.Time
	History     []StepHistory // by position of the step; missing entries mean that nothing has happened
	Prioritized bool
	SkipMail    string    // why no message can be sent; "" if messages can be sent
	NotBefore   time.Time // no message is sent before then
	End         time.Time // nothing happens from then on; zero: no end
	// Withheld says for each step, by position, whether its message is held (Hold) or skipped (Skip)
	// because a value is missing. Nil if all messages can be sent.
	Withheld []Action
	// AwaitsTasks is set if a task does not end by itself, so that what follows from its end is never due.
	AwaitsTasks bool
	// InBackground is set if the sequence only takes slots of the sender. It has no plan.
	InBackground bool
}

// Planned is the plan for one step.
type Planned struct {
	Step   int // position in the template
	Action Action
	// At is when the message is sent, or when the task or skipped step is due; zero if the step is
	// never due.
	At     time.Time
	Reason string
	Why    SkipCause // of Skip and Hold
	Done   bool      // it has ended already, at that time
	Ended  Outcome   // of a step that is done
	Nth    int       // of a message: its number among all messages of the plan, from 1
}

// SkipCause is why a step of a plan is skipped or held.
type SkipCause uint8

const (
	NotSkipped    SkipCause = iota
	MailSkipped             // Sequence.SkipMail
	ValueMissing            // Sequence.Withheld
	CampaignEnds            // its time comes after Sequence.End, or depends on a step for which that holds
	NeverDue                // nothing leads to it
	BehindHeld              // it waits for a step that is held
	SequenceEnded           // not set by Simulate: the sequence has ended before
)

// simulation processes the sequences of one sender in order of time.
type simulation struct {
	ledger      Ledger
	now         instant // start of the simulation
	sent        int
	clock       instant // current simulated time
	sequences   []Sequence
	runs        []run
	overs       queue     // tasks and skipped steps, by when they end
	prioritized mailQueue // messages of prioritized campaigns
	others      mailQueue // other messages
	scheduled   []int     // scratch space: steps scheduled at one instant
}

// run is the state of one sequence in a simulation.
type run struct {
	scheduling
	waiting   int // messages that have a due time and have not ended
	end       instant
	queued    int // the step whose message is queued, under queuedDue; -1 if none is
	queuedDue instant
	stuck     Action         // why no further message is sent: Hold or Skip (the campaign ends); "" if they are
	plan      []Planned      // nil for a sequence in the background
	reasons   []cachedReason // by position; shared by consecutive sequences with the same template
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
// on, under the same limits. The ledger is not changed. Simulate fails only if ctx ends.
func Simulate(ctx context.Context, l *Ledger, now time.Time, sequences []Sequence) ([][]Planned, error) {
	s := simulation{
		ledger: *l, now: instantOf(now), clock: instantOf(now),
		sequences: sequences, runs: make([]run, len(sequences)),
	}
	for i := range sequences {
		if err := turn.Continue(ctx); err != nil {
			return nil, err
		}
		s.prepare(i)
		s.enter(i)
	}
	for s.step() {
		if err := turn.Continue(ctx); err != nil {
			return nil, err
		}
	}
	plans := make([][]Planned, len(sequences))
	for i := range s.runs {
		s.close(i)
		plans[i] = s.runs[i].plan
	}
	return plans, nil
}

// Ended returns the plan of a step that has ended.
func (t *Template) Ended(step int, h StepHistory) Planned {
	p := Planned{Step: step, Action: t.steps[step].Action, At: h.EndedAt.UTC(), Reason: h.Reason, Done: true, Ended: h.Outcome}
	if h.Outcome == Skipped {
		p.Action = Skip
	}
	return p
}

// prepare sets up the run of a sequence.
func (s *simulation) prepare(i int) {
	sequence, r := &s.sequences[i], &s.runs[i]
	t := sequence.Template
	r.scheduling = scheduling{Template: t, cal: s.ledger.cal, start: instantOf(sequence.Start), states: make([]state, len(t.steps))}
	if !sequence.InBackground {
		r.plan = make([]Planned, len(t.steps))
	}
	r.end, r.queued, r.notBefore = instantOf(sequence.End), -1, instantOf(sequence.NotBefore)
	if i > 0 && s.runs[i-1].Template == t {
		r.reasons, r.planned = s.runs[i-1].reasons, s.runs[i-1].planned
	} else {
		r.reasons = make([]cachedReason, len(t.steps))
	}
	if r.planned == nil || r.planned.start != r.start {
		r.planned = t.plannedTimes(r.cal, r.start)
	}
}

// enter adds a sequence in its current state.
func (s *simulation) enter(i int) {
	r, past := &s.runs[i], s.sequences[i].History
	r.begin(past)
	for j := range r.states {
		switch state := &r.states[j]; {
		case state.ended != 0:
			r.record(r.Ended(j, past[j]))
		case state.scheduled != 0:
			state.before = true
			if r.steps[j].Action == Send {
				r.waiting++
			}
		}
	}
	r.pushAll()
	for j := range r.states {
		if r.states[j].before {
			s.plan(i, j)
		}
	}
	s.schedule(i, max(s.now, r.start))
}

// step processes the next event. Tasks and skipped steps that end at an instant come before the
// messages of that instant, and each message is sent before the next one is chosen.
func (s *simulation) step() bool {
	from, slot := s.nextMessage()
	if from == nil {
		return s.finish()
	}
	if over := s.overs.first(); over != nil && slot.at >= over.due {
		return s.finish()
	}
	s.send(from.pop(), slot)
	return true
}

// send sends a message at its slot, or skips it if its campaign ends before.
func (s *simulation) send(m queuedStep, at slot) {
	r := &s.runs[m.sequence]
	state := &r.states[m.step]
	if r.endsBy(at.at) {
		s.endMail(m.sequence, m.step, at.waited)
		return
	}
	s.sent++
	if r.plan != nil {
		r.record(Planned{
			Step: m.step, Action: Send, At: at.at.time(),
			Reason: s.reason(m.sequence, m.step, at.waited, ""), Nth: s.sent,
		})
	}
	s.ledger.take(at)
	s.clock, state.ended, r.queued = at.at, at.at, -1
	r.waiting--
	s.scheduleNext(m.sequence)
}

// endMail skips a message whose slot comes after the end of the campaign, and with it all messages
// of the sequence that are not sent yet, which would be sent later still.
func (s *simulation) endMail(i, first int, waited delayReasons) {
	r := &s.runs[i]
	r.stuck = Skip
	for step := range r.states {
		if !r.isWaiting(step) {
			continue
		}
		delays := delayReasons(0)
		if step == first {
			delays = waited
		}
		s.recordDue(i, step, Skip, CampaignEnds, delays, reasonCampaignEnds)
	}
}

// finish ends the tasks and skipped steps of one sequence that end next, at the same instant. It
// returns false if there are none.
func (s *simulation) finish() bool {
	first := s.overs.first()
	if first == nil {
		return false
	}
	i := first.sequence
	s.clock = first.due
	r := &s.runs[i]
	for next := first; next != nil && next.sequence == i && next.due == s.clock; next = s.overs.first() {
		step := s.overs.pop().step
		if r.steps[step].Action == Send && !s.isSkippedNow(i, step) {
			continue
		}
		r.states[step].ended = s.clock
		if r.steps[step].Action == Send {
			r.waiting--
		}
	}
	s.scheduleNext(i)
	return true
}

// isSkippedNow reports whether a message that was to be skipped at the current time is skipped. Since
// that was planned it may have been pushed to a later time, or behind another message. Then it waits
// again.
func (s *simulation) isSkippedNow(i, step int) bool {
	r := &s.runs[i]
	state := &r.states[step]
	state.end = Completed
	switch {
	case state.due > s.clock && s.sequences[i].SkipMail != "":
		s.plan(i, step)
		return false
	case s.sequences[i].SkipMail == "" && (state.due > s.clock || r.nextMessage() != step):
		r.record(Planned{Step: step})
		return false
	}
	state.end = Skipped
	return true
}

// scheduleNext schedules and plans what follows after a step has ended.
func (s *simulation) scheduleNext(i int) {
	if s.runs[i].waiting > 0 {
		s.runs[i].pushAll()
	}
	s.schedule(i, s.clock)
}

// pushAll does what Push does.
func (r *run) pushAll() {
	for _, i := range r.planned.order {
		r.push(i)
	}
}

// schedule schedules and plans every step that can be.
func (s *simulation) schedule(i int, now instant) {
	r := &s.runs[i]
	s.scheduled = r.scheduleAll(s.scheduled[:0], now)
	for _, step := range s.scheduled {
		if r.steps[step].Action == Send {
			r.waiting++
		}
	}
	if len(s.scheduled) > 0 && r.waiting > 1 {
		r.pushAll()
	}
	for _, step := range s.scheduled {
		s.plan(i, step)
	}
	s.queueMessage(i)
}

// plan plans a scheduled step. Messages are planned when they are sent.
func (s *simulation) plan(i, step int) {
	r, sequence := &s.runs[i], &s.sequences[i]
	state := &r.states[step]
	isMail := r.steps[step].Action == Send
	over := max(state.due, s.clock)
	switch {
	case isMail && sequence.SkipMail == "" && r.stuck != Skip:
		return
	case r.endsBy(over) || isMail && r.stuck == Skip:
		s.recordDue(i, step, Skip, CampaignEnds, 0, reasonCampaignEnds)
	case isMail:
		s.skip(i, step, MailSkipped, "; "+sequence.SkipMail)
	default:
		state.end = assumedDue
		if over != state.due {
			state.end = assumedNow
		}
		if !sequence.AwaitsTasks {
			s.overs.push(r.queuedStep(over, i, step))
		}
		s.recordDue(i, step, Task, NotSkipped, 0, "")
	}
}

// skip plans that a message is skipped when it is due.
func (s *simulation) skip(i, step int, why SkipCause, also string) {
	r := &s.runs[i]
	r.states[step].end = Skipped
	s.overs.push(r.queuedStep(max(r.states[step].due, s.clock), i, step))
	s.recordDue(i, step, Skip, why, 0, also)
}

// recordDue records the plan of a step at its due time, with what delays it and a suffix of its reason.
func (s *simulation) recordDue(i, step int, action Action, why SkipCause, waited delayReasons, also string) {
	if r := &s.runs[i]; r.plan != nil {
		r.plan[step] = Planned{
			Step: step, Action: action, At: r.states[step].due.time(), Why: why, Reason: s.reason(i, step, waited, also),
		}
	}
}

func (r *run) record(p Planned) {
	if r.plan != nil {
		r.plan[p.Step] = p
	}
}

// reason returns the reason of the due time of a step, what delayed it, and a suffix.
func (s *simulation) reason(i, step int, waited delayReasons, also string) string {
	r := &s.runs[i]
	why := r.states[step].why
	if r.states[step].before {
		return pushedReason(s.sequences[i].History[step].Reason, why) + s.ledger.reasonText(waited) + also
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
