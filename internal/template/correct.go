package template

import (
	"cmp"
	"slices"
	"strings"
)

// This file decides how a sequence that runs one content of a template continues with a newer one. Steps are the same
// if they have the same id and type. Nobody gets a step twice, and no step is lost: a sequence stays as it is if what
// has happened in it does not fit the newer content.

// Obstacle is why a sequence cannot continue with a newer content.
type Obstacle string

const (
	SentStepGone Obstacle = "sent_step_gone" // the newer content lacks a step that has happened
	OrderChanged Obstacle = "order_changed"  // a step that has happened would come after one that has not
)

// Stage is how far a step of a sequence is.
type Stage int

const (
	Ahead    Stage = iota // it has not happened
	Skipped               // it was skipped and does not happen any more
	Happened              // it was sent or done, failed, or has a message or a Task
)

// Correction is how the steps of a sequence continue. Ranks are the places of the steps in the planned order, by
// their positions in the content.
type Correction struct {
	Before, After         *Compiled
	RankBefore, RankAfter []int
	Stage                 func(index int) Stage // of the steps of Before
	// WasOver reports whether a step of After is one that was skipped before an earlier content lacked it.
	WasSkipped func(u *CompiledStep) bool
}

// Same returns the step of c with the id and the type of a step of another content, or nil.
func (c *Compiled) Same(s *CompiledStep) *CompiledStep {
	return c.StepWithID(s.ID, s.Type)
}

// StepWithID returns the step with an id and a type, or nil.
func (c *Compiled) StepWithID(id string, is StepType) *CompiledStep {
	i := slices.IndexFunc(c.Steps, func(o CompiledStep) bool { return o.ID == id && o.Type == is })
	if i < 0 {
		return nil
	}
	return &c.Steps[i]
}

// Obstacle returns why the sequence cannot continue with the newer content, or "" if it can.
func (c *Correction) Obstacle() Obstacle {
	var happened []*CompiledStep // of Before, in its order
	for i := range c.Before.Steps {
		if s := &c.Before.Steps[i]; c.Stage(s.Index) == Happened {
			happened = append(happened, s)
		}
	}
	slices.SortFunc(happened, func(a, b *CompiledStep) int {
		return cmp.Compare(c.RankBefore[a.Position], c.RankBefore[b.Position])
	})
	for _, s := range happened {
		if now := c.After.Same(s); now == nil || c.hidesAnother(s, now) {
			return SentStepGone
		}
	}
	last := -1
	for _, s := range happened {
		rank := c.RankAfter[c.After.Same(s).Position]
		if rank < last {
			return OrderChanged
		}
		last = rank
	}
	for _, s := range happened {
		for i := range c.After.Steps {
			if u := &c.After.Steps[i]; c.comesFirst(u, s) || c.repeats(u, s) {
				return OrderChanged
			}
		}
	}
	return ""
}

// previous returns the step of Before that a step of After is, or nil, and its stage.
func (c *Correction) previous(u *CompiledStep) (*CompiledStep, Stage) {
	old := c.Before.Same(u)
	switch {
	case old != nil:
		return old, c.Stage(old.Index)
	case c.WasSkipped(u):
		return nil, Skipped
	}
	return nil, Ahead
}

// comesFirst reports whether a step that has not happened would lie before one that has, and did not before.
func (c *Correction) comesFirst(u, happened *CompiledStep) bool {
	old, stage := c.previous(u)
	if stage != Ahead || c.RankAfter[u.Position] > c.RankAfter[c.After.Same(happened).Position] {
		return false
	}
	return old == nil || c.RankBefore[old.Position] > c.RankBefore[happened.Position]
}

// repeats reports whether a step that has not happened has got the text or the subject of one that has. That is so if steps
// were moved without their ids.
func (c *Correction) repeats(u, happened *CompiledStep) bool {
	old, stage := c.previous(u)
	isNewIn := func(same func(u, of *CompiledStep) bool) bool {
		return same(u, happened) && (old == nil || !same(old, happened))
	}
	return stage == Ahead && (isNewIn((*CompiledStep).hasTextOf) || isNewIn((*CompiledStep).hasSubjectOf))
}

// hidesAnother reports whether a step that has happened has got the text of one that has not, which would be lost.
func (c *Correction) hidesAnother(happened, now *CompiledStep) bool {
	if now.hasTextOf(happened) {
		return false
	}
	return slices.ContainsFunc(c.Before.Steps, func(u CompiledStep) bool {
		if c.Stage(u.Index) != Ahead || !u.hasTextOf(now) {
			return false
		}
		after := c.After.Same(&u)
		return after == nil || !after.hasTextOf(&u)
	})
}

// hasTextOf reports whether two steps say the same. Steps without a message say nothing.
func (s *CompiledStep) hasTextOf(o *CompiledStep) bool {
	return s.Type == o.Type && s.Subject == o.Subject && s.Message == o.Message && strings.TrimSpace(string(s.Message)) != ""
}

// hasSubjectOf reports whether two steps have the same subject, which is not empty.
func (s *CompiledStep) hasSubjectOf(o *CompiledStep) bool {
	return s.Type == o.Type && s.Subject == o.Subject && strings.TrimSpace(string(s.Subject)) != ""
}

// Moved returns the thread with the indexes of the same steps in another content.
func (t Thread) Moved(before, after *Compiled) Thread {
	var unsent []int
	for _, index := range t.Unsent {
		if s := before.Step(index); s != nil {
			if now := after.Same(s); now != nil {
				unsent = append(unsent, now.Index)
			}
		}
	}
	t.Unsent = unsent
	return t
}

// KeepIDs gives steps without an id that of the step of an earlier content with the same index and type, unless
// another step has it.
func (c *Content) KeepIDs(before *Content) {
	taken := map[string]bool{}
	for _, s := range c.Steps {
		taken[s.ID] = true
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		for _, old := range before.Steps {
			if s.ID == "" && old.Index == s.Index && old.Type == s.Type && !taken[old.ID] {
				s.ID = old.ID
			}
		}
	}
}
