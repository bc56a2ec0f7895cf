// Package planner says when the steps of a sequence are due and when its messages go out. It owns that arithmetic and nothing
// else: a template, what has happened so far, the organization's calendar and an instant go in, a plan comes out. It reads no
// clock and keeps nothing. A simulation and the engine that sends call the same functions, so that one says what the other does.
// It counts in microseconds: what is finer in an instant that goes in is cut off.
package planner

// Action is what becomes of a step.
type Action string

const (
	Send Action = "send" // a message that goes out by itself
	Task Action = "task" // something to do for a person
	Skip Action = "skip" // of a plan alone: the step does not happen
)

// Step is a step of a template. Its Action is Send or Task.
type Step struct {
	Index  int // what transitions call it by
	Action Action
	Day    int // of a step with no incoming transition: how many days after the start
	Hour   int // of the local day, 0 to 23
}

// TransitionType says when a transition fires.
type TransitionType string

const (
	Scheduled TransitionType = "PREVIOUS_STEP_SCHEDULED" // when the due time of From is fixed; delays count from that due time
	Completes TransitionType = "PREVIOUS_STEP_COMPLETES" // when From is over; delays count from then
)

// Transition leads from one step to another, both by index.
type Transition struct {
	From, To   int
	Type       TransitionType
	Pre, Post  Delay // before and after the check that the contact is still in: one follows the other
	RequireAll bool  // the step waits for all of its incoming transitions
}

// Unit is what a delay counts.
type Unit string

const (
	Minutes      Unit = "minutes"
	Hours        Unit = "hours"
	Days         Unit = "days"
	BusinessDays Unit = "business_days"
)

// Delay is N of its unit. Minutes and hours are exact; days and business days lead to that date at the hour of the step. Without
// a unit it is none.
type Delay struct {
	N    int
	Unit Unit
}

// Template is a template prepared for planning. It does not change, and may be shared.
type Template struct {
	steps []step
	order []int // positions, each after those that its transitions come from
}

// step is a step with the transitions that lead to it.
type step struct {
	Step
	in  []link
	out []int // where its transitions lead, by place in the order
	all bool  // one of them says RequireAll
}

type link struct {
	from int // a position
	Transition
}

// New prepares a template. What is known of a step (StepHistory, Due, Planned) stands at its position in steps. Transitions that name no
// step are left out; steps on a cycle, which a template must not have, may never be due.
func New(steps []Step, transitions []Transition) *Template {
	t := &Template{steps: make([]step, len(steps)), order: make([]int, 0, len(steps))}
	position := make(map[int]int, len(steps))
	for i, s := range steps {
		t.steps[i].Step = s
		position[s.Index] = i
	}
	out := make([][]int, len(steps))
	waits := make([]int, len(steps)) // for so many transitions until the step can be ordered
	for _, tr := range transitions {
		from, known := position[tr.From]
		to, too := position[tr.To]
		if !known || !too {
			continue
		}
		out[from] = append(out[from], to)
		s := &t.steps[to]
		s.in = append(s.in, link{from: from, Transition: tr})
		s.all = s.all || tr.RequireAll
		waits[to]++
	}
	place := make([]int, len(steps))
	next := func(i int) {
		place[i] = len(t.order)
		t.order = append(t.order, i)
	}
	for i := range steps {
		if waits[i] == 0 {
			next(i)
		}
	}
	for done := 0; done < len(t.order); done++ {
		for _, to := range out[t.order[done]] {
			if waits[to]--; waits[to] == 0 {
				next(to)
			}
		}
	}
	for i := range steps {
		if waits[i] > 0 {
			next(i)
		}
	}
	for from, tos := range out {
		for _, to := range tos {
			t.steps[from].out = append(t.steps[from].out, place[to])
		}
	}
	return t
}
