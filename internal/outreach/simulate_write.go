package outreach

import (
	"slices"
	"strconv"

	"github.com/google/uuid"

	"prospector/internal/planner"
	"prospector/internal/shape"
)

// writer writes simulations as JSON. There may be thousands of steps, which are nothing but text, and most of it the same: to make
// records of them first would take many times as long.
type writer struct {
	steps []stepWriter  // in the order of their indexes
	sent  []*stepWriter // in the order in which they are sent
	lines []byte        // room for the subjects of the contact at hand
}

// stepWriter writes a step for one contact after the other.
type stepWriter struct {
	rendering        // in which the values of the sender are filled in
	head      string // how its JSON begins
	last      string // the last reason
	reason    []byte // that, as JSON from there to the subject
	line      []byte // the subject for the contact at hand
	missing   []string
}

// newWriter makes a writer of steps for a sender.
func newWriter(renderings []rendering, sender *values) *writer {
	w := &writer{steps: make([]stepWriter, len(renderings)), sent: make([]*stepWriter, len(renderings))}
	for i, r := range renderings {
		r.title, r.subject, r.message = r.title.fill(&sender.subject), r.subject.fill(&sender.subject), r.message.fill(&sender.message)
		w.steps[i] = stepWriter{rendering: r, head: `{"step_index":` + strconv.Itoa(r.step.Index) + `,"type":"` + string(r.step.Type) + `","action":"`}
		w.sent[i] = &w.steps[i]
	}
	return w
}

// simulation appends what becomes of a contact.
func (w *writer) simulation(b []byte, contact uuid.UUID, plan []planner.Planned, v *values) []byte {
	w.address(plan, v)
	b = append(b, `{"contact_id":"`...)
	b = append(append(b, contact.String()...), `","steps":[`...)
	for i := range w.steps {
		if i > 0 {
			b = append(b, ',')
		}
		s := &w.steps[i]
		b = s.write(b, &plan[s.position], v)
	}
	return append(b, "]}"...)
}

// address finds the subjects, in the order in which messages are sent: see thread. The others go their own ways.
func (w *writer) address(plan []planner.Planned, v *values) {
	slices.SortFunc(w.sent, func(a, b *stepWriter) int { return plan[a.position].Nth - plan[b.position].Nth })
	w.lines = w.lines[:0]
	t := thread{form: quoted}
	for _, s := range w.sent {
		from := len(w.lines)
		s.missing = s.missing[:0]
		if plan[s.position].Action != planner.Skip {
			w.lines, s.missing = t.line(w.lines, &s.rendering, v, s.missing)
		}
		s.line = w.lines[from:]
	}
}

// write appends a SimulatedStep.
func (s *stepWriter) write(b []byte, p *planner.Planned, v *values) []byte {
	b = append(append(b, s.head...), p.Action...)
	if p.At.IsZero() {
		b = append(b, `","due_at":null`...)
	} else {
		b = append(shape.At(p.At).AppendTo(append(b, `","due_at":"`...)), '"')
	}
	if s.reason == nil || s.last != p.Reason {
		s.last = p.Reason
		s.reason = append(appendQuoted(append(s.reason[:0], `,"reason":`...), p.Reason), `,"subject":`...)
	}
	b = append(b, s.reason...)
	if len(s.line) == 0 {
		b = append(b, "null"...)
	} else {
		b = append(append(append(b, '"'), s.line...), '"')
	}
	if p.Action == planner.Skip {
		return append(b, `,"message":null,"missing":[]}`...)
	}
	return s.writeMessage(b, v)
}

// writeMessage appends what a step that happens ends with.
func (s *stepWriter) writeMessage(b []byte, v *values) []byte {
	b = append(b, `,"message":"`...)
	from := len(b)
	b, s.missing = s.body(b, quoted, v, len(s.line) > 0, s.missing)
	if len(b) > from {
		b = append(b, '"')
	} else {
		b = append(b[:from-1], "null"...)
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
