package outreach

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"prospector/internal/planner"
	"prospector/internal/shape"
	"prospector/internal/template"
)

// simulationWriter writes simulations as JSON, one contact after the other. A simulation has
// thousands of steps whose texts are mostly the same. Writing them straight into the buffer is many
// times as fast as building Simulation values and encoding them.
type simulationWriter struct {
	merge    *Merge
	steps    []stepWriter  // ordered by index
	sending  []*stepWriter // the same, in the order in which they are sent to the current contact
	subjects []byte        // buffer for the subjects of the current contact
}

// stepWriter writes one step.
type stepWriter struct {
	template.CompiledStep        // with the sender's values filled in
	head                  string // the beginning of its JSON
	reason                string // of the previous contact
	reasonJSON            []byte // reason as JSON, up to the subject
	subject               []byte // for the current contact
	missing               []string
}

// newSimulationWriter returns a writer of steps in which the sender's values are filled in.
func newSimulationWriter(steps []template.CompiledStep) *simulationWriter {
	w := &simulationWriter{steps: make([]stepWriter, len(steps)), sending: make([]*stepWriter, len(steps))}
	for i, s := range steps {
		head := `{"step_index":` + strconv.Itoa(s.Index) + `,"type":"` + string(s.Type) + `","action":"`
		w.steps[i] = stepWriter{CompiledStep: s, head: head}
		w.sending[i] = &w.steps[i]
	}
	return w
}

// append appends the Simulation of a contact.
func (w *simulationWriter) append(b []byte, contact uuid.UUID, plan []planner.Planned, v *template.Values) []byte {
	w.composeSubjects(plan, v)
	b = append(b, `{"contact_id":"`...)
	b = append(append(b, contact.String()...), `","steps":[`...)
	for i := range w.steps {
		if i > 0 {
			b = append(b, ',')
		}
		s := &w.steps[i]
		b = s.append(b, &plan[s.Position], v)
	}
	return append(b, "]}"...)
}

// composeSubjects composes all subjects in the order in which the emails are sent, because an email
// without a subject replies to the one before.
func (w *simulationWriter) composeSubjects(plan []planner.Planned, v *template.Values) {
	slices.SortFunc(w.sending, func(a, b *stepWriter) int { return compareSent(&plan[a.Position], &plan[b.Position]) })
	w.subjects = w.subjects[:0]
	composer := template.Composer{Form: template.JSONString}
	for _, s := range w.sending {
		start := len(w.subjects)
		s.missing = s.missing[:0]
		if plan[s.Position].Action != planner.Skip {
			w.subjects, s.missing = composer.AppendSubject(w.subjects, &s.CompiledStep, v, s.missing)
			if plan[s.Position].Ended == planner.Unknown {
				composer.NotReceived()
			}
		}
		s.subject = w.subjects[start:]
	}
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

// withheld returns what becomes of the emails of a contact in which a token has no value, by position
// of the step. It is nil if no value is missing.
func (w *simulationWriter) withheld(v *template.Values, action planner.Action) (actions []planner.Action) {
	for i := range w.steps {
		s := &w.steps[i]
		if s.Type != template.AutoEmail {
			continue
		}
		if s.missing = s.AppendMissing(v, s.missing[:0]); len(s.missing) == 0 {
			continue
		}
		if actions == nil {
			actions = make([]planner.Action, len(w.steps))
		}
		actions[s.Position] = action
	}
	return actions
}

// append appends a SimulatedStep.
func (s *stepWriter) append(b []byte, p *planner.Planned, v *template.Values) []byte {
	b = append(append(b, s.head...), p.Action...)
	b = strconv.AppendBool(append(b, `","done":`...), p.Done)
	if p.At.IsZero() {
		b = append(b, `,"due_at":null`...)
	} else {
		b = append(shape.At(p.At).AppendTo(append(b, `,"due_at":"`...)), '"')
	}
	isShown := p.Action != planner.Skip && !p.Done
	if s.reasonJSON == nil || s.reason != p.Reason {
		s.reason = p.Reason
		s.reasonJSON = template.AppendQuoted(append(s.reasonJSON[:0], `,"reason":`...), p.Reason)
		s.reasonJSON = append(s.reasonJSON, `,"subject":`...)
	}
	b = append(b, s.reasonJSON...)
	if len(s.subject) == 0 || !isShown {
		b = append(b, "null"...)
	} else {
		b = append(append(append(b, '"'), s.subject...), '"')
	}
	if !isShown {
		return append(b, `,"message":null,"missing":[]}`...)
	}
	return s.appendMessage(b, v)
}

// appendMessage appends the rest of a step that is not skipped.
func (s *stepWriter) appendMessage(b []byte, v *template.Values) []byte {
	b = append(b, `,"message":"`...)
	start := len(b)
	b, s.missing = s.AppendMessage(b, template.JSONString, v, len(s.subject) > 0, s.missing)
	if len(b) > start {
		b = append(b, '"')
	} else {
		b = append(b[:start-1], "null"...)
	}
	b = append(b, `,"missing":[`...)
	for i, name := range s.missing {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), name...), '"')
	}
	return append(b, "]}"...)
}
