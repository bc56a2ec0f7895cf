package outreach

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json"

	"prospector/internal/fault"
	"prospector/internal/planner"
	"prospector/internal/shape"
	"prospector/internal/template"
)

// maxSimulationBytes limits the JSON of a page.
const maxSimulationBytes = 32 << 20

// render returns the Simulations of contacts as JSON, separated by commas.
func (s *simulation) render(contacts []simulatedContact) (b []byte, err error) {
	for i := range contacts {
		rendered, err := s.renderContact(&contacts[i])
		if err != nil {
			return nil, err
		}
		encoded, err := json.Marshal(&rendered)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		if b = append(b, encoded...); len(b) > maxSimulationBytes {
			var p fault.Problems
			p.Invalid("page_size", "the page has more than %d MB: use a smaller page_size", maxSimulationBytes>>20)
			return nil, p.Err()
		}
	}
	return b, nil
}

// renderContact renders the plan of a contact. The emails are composed in the order in which they are sent,
// because an email without a subject replies to the one before.
func (s *simulation) renderContact(c *simulatedContact) (Simulation, error) {
	steps := c.template.Steps
	out := Simulation{ContactID: c.id, Steps: make([]SimulatedStep, len(steps))}
	values, err := s.tokens.For(c.template, &c.Recipient)
	if err != nil {
		return out, err
	}
	order := make([]int, len(steps))
	for i := range order {
		order[i] = i
	}
	planOf := func(i int) *planner.Planned { return &c.plan[steps[i].Position] }
	slices.SortFunc(order, func(a, b int) int { return compareSent(planOf(a), planOf(b)) })
	var composer template.Composer
	for _, i := range order {
		p := planOf(i)
		step := SimulatedStep{StepIndex: steps[i].Index, Type: steps[i].Type, Action: p.Action, Done: p.Done, Reason: p.Reason}
		if !p.At.IsZero() {
			step.DueAt = shape.At(p.At)
		}
		if p.Action != planner.Skip {
			rendered := renderStep(&composer, &steps[i], values)
			if p.Ended == planner.Unknown {
				composer.NotReceived()
			}
			if !p.Done {
				step.Rendered = rendered
			}
		}
		out.Steps[i] = step
	}
	return out, nil
}

// compareSent orders steps by when they are sent: those that have ended by that time, and the others
// behind them.
func compareSent(a, b *planner.Planned) int {
	switch {
	case a.Done && b.Done:
		return a.At.Compare(b.At)
	case a.Done:
		return -1
	case b.Done:
		return 1
	}
	return cmp.Or(a.Nth-b.Nth, a.Step-b.Step)
}
