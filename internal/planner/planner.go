// Package planner computes when the steps of a sequence are due and when its messages are sent. It
// is pure: a template, the history of a sequence, the calendar of the organization and a time go
// in, a plan comes out. It reads no clock, stores nothing, and does not know campaigns, contacts or
// the store. Simulations and the engine that sends messages call the same functions, so that a
// simulation predicts what the engine does. Times are truncated to microseconds.
package planner

import "slices"

// Action is what happens in a step.
type Action string

const (
	Send Action = "send" // a message is sent automatically
	Task Action = "task" // a person has something to do
	Skip Action = "skip" // only in plans: the step does not happen
	Hold Action = "hold" // only in plans: the step waits until someone does something about it
)

// Step is a step of a template. Its Action is Send or Task.
type Step struct {
	Index  int // the number that transitions use
	Action Action
	Day    int // days after the start, for a step without incoming transitions
	Hour   int // of the local day, 0 to 23
}

// TransitionType says when a transition fires.
type TransitionType string

const (
	Scheduled TransitionType = "PREVIOUS_STEP_SCHEDULED" // when From is scheduled; delays count from its due time
	Completes TransitionType = "PREVIOUS_STEP_COMPLETES" // when From ends; delays count from then
)

// Transition leads from one step to another. Both are given by index.
type Transition struct {
	From, To   int
	Type       TransitionType
	Pre, Post  Delay // before and after the check of the contact; they add up
	RequireAll bool  // the step To waits for all of its incoming transitions
}

// Unit is the unit of a delay.
type Unit string

const (
	Minutes      Unit = "minutes"
	Hours        Unit = "hours"
	Days         Unit = "days"
	BusinessDays Unit = "business_days"
)

// Delay is N units. Minutes and hours are exact. Days and business days lead to that date at the
// hour of the step. Without a unit there is no delay.
type Delay struct {
	N    int
	Unit Unit
}

// Template is a template prepared for planning. It is immutable and may be shared.
type Template struct {
	steps []step
	order []int // positions in topological order
}

// step is a step with its incoming transitions.
type step struct {
	Step
	position int // in Template.order
	in       []link
	all      bool // whether any incoming transition has RequireAll
	own      int  // see Template.Hour
}

// AnyHour is the hour of a step that has none of its own.
const AnyHour = -1

// Hour returns the own hour of the step at a position: the hour at which the template plans it, if
// it counts in days. A step that counts in minutes or hours only has AnyHour.
func (t *Template) Hour(step int) int { return t.steps[step].own }

type link struct {
	from int // position of the step
	Transition
}

// New prepares a template. StepHistory, Due and Planned refer to a step by its position in steps.
// Transitions with unknown steps are ignored. Steps on a cycle, which a template must not have, may
// never be due.
func New(steps []Step, transitions []Transition) *Template {
	t := &Template{steps: make([]step, len(steps)), order: make([]int, 0, len(steps))}
	position := make(map[int]int, len(steps))
	for i, s := range steps {
		t.steps[i].Step = s
		position[s.Index] = i
	}
	out := make([][]int, len(steps))
	waits := make([]int, len(steps)) // incoming transitions that are not ordered yet
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
	for i := range steps {
		s := &t.steps[i]
		s.own = AnyHour
		if len(s.in) == 0 || slices.ContainsFunc(s.in, func(l link) bool { return l.countsInDays() }) {
			s.own = s.Hour
		}
		if waits[i] == 0 {
			t.order = append(t.order, i)
		}
	}
	for done := 0; done < len(t.order); done++ {
		for _, to := range out[t.order[done]] {
			if waits[to]--; waits[to] == 0 {
				t.order = append(t.order, to)
			}
		}
	}
	for i := range steps {
		if waits[i] > 0 {
			t.order = append(t.order, i)
		}
	}
	for position, i := range t.order {
		t.steps[i].position = position
	}
	return t
}

// countsInDays reports whether a transition leads to an hour of a date.
func (t *Transition) countsInDays() bool { return t.Pre.Unit.isDays() || t.Post.Unit.isDays() }

func (u Unit) isDays() bool { return u == Days || u == BusinessDays }
