package outreach

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/planner"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// SimulateBody says who is simulated.
type SimulateBody struct {
	ContactIDs shape.IDs `json:"contact_ids" rule:"max=100" doc:"Whether they are in an audience of the campaign or not. The first hundred who are when nobody is named."`
}

// simulatedMost is how many contacts are simulated when nobody is named.
const simulatedMost = 100

// simulatedBytes is how much text a simulation may have.
const simulatedBytes = 32 << 20

// Simulation is what a campaign would do to a contact from now on.
type Simulation struct {
	ContactID uuid.UUID       `json:"contact_id"`
	Steps     []SimulatedStep `json:"steps"`
}

// SimulatedStep is a step of it.
type SimulatedStep struct {
	StepIndex int            `json:"step_index"`
	Type      StepType       `json:"type" rule:"enum=auto_email|manual_email|auto_linkedin_connection|auto_linkedin_message|call|task|gift"`
	Action    planner.Action `json:"action" rule:"enum=send|task|skip"`
	DueAt     shape.Time     `json:"due_at" doc:"Null for a step that is never due."`
	Reason    string         `json:"reason" doc:"What makes it due then, or why it is skipped."`
	Rendered
}

// Simulate tells what a campaign would do if its contacts began now, in a Simulation of each, as JSON. It changes nothing and sends
// nothing. Tasks are taken to be done when they are due.
func (o *Outreach) Simulate(tx *store.Tx, campaign uuid.UUID, d record.Draft[SimulateBody]) ([][]byte, error) {
	doc, err := o.Campaigns.Get(tx, campaign)
	if err != nil {
		return nil, err
	}
	template, err := o.Templates.Get(tx, doc.Record.TemplateID.UUID)
	if err != nil {
		return nil, err
	}
	recipients, err := o.simulated(tx, &doc.Record, d)
	if err != nil {
		return nil, err
	}
	plans, err := o.plan(tx, &doc.Record, &template.Record.Content, recipients)
	if err != nil {
		return nil, err
	}
	v, err := o.senderValues(tx, doc.Record.OwnerID.UUID)
	if err != nil && fault.CodeOf(err) != fault.NotFound { // a campaign that was made without a user has no owner
		return nil, err
	}
	w := writer{renderings: template.Record.renderings()}
	ends := make([]int, len(recipients)) // of each in what is written
	for i, r := range recipients {
		v.recipient(&r.Recipient)
		w.simulation(r.id, plans[i], &v)
		if i == 0 {
			w.json = slices.Grow(w.json, min(len(w.json)*len(recipients)*9/8, simulatedBytes)) // they are about alike
		}
		if ends[i] = len(w.json); ends[i] > simulatedBytes {
			var p fault.Problems
			p.Invalid("contact_ids", "would make an answer of more than %d MB: name fewer contacts", simulatedBytes>>20)
			return nil, p.Err()
		}
	}
	out, from := make([][]byte, len(recipients)), 0
	for i, end := range ends {
		out[i], from = w.json[from:end], end
	}
	return out, nil
}

// simulatedRecipient is somebody who is simulated.
type simulatedRecipient struct {
	crm.Recipient
	id      uuid.UUID
	refusal Refusal
}

// simulated gives those who are simulated: those named, or the first in the audiences of the campaign.
func (o *Outreach) simulated(tx *store.Tx, c *Campaign, d record.Draft[SimulateBody]) (out []simulatedRecipient, err error) {
	body, p := d.Open()
	ids := body.ContactIDs
	if len(ids) == 0 && p.Err() == nil {
		if ids, err = o.contacts(tx, c, simulatedMost); err != nil {
			return nil, err
		}
	}
	read := o.crm.Recipients(tx)
	for _, id := range ids {
		r, found, err := read.Read(id)
		if err != nil {
			return nil, err
		}
		if !found {
			p.Invalid(d.Place("contact_ids", id), "names nothing that exists")
		}
		out = append(out, simulatedRecipient{r, id, o.refusal(tx, r.Email, r.OptedOut)})
	}
	return out, p.Err()
}

// plan has the planner go through a content for everybody, who begins now. Whoever no sequence begins for has no plan, but a reason
// for each step.
func (o *Outreach) plan(tx *store.Tx, c *Campaign, content *Content, recipients []simulatedRecipient) ([][]planner.Planned, error) {
	cal, err := o.calendar(tx)
	if err != nil {
		return nil, err
	}
	var end time.Time
	if c.EndDate != "" {
		if end, err = cal.DayAfter(string(c.EndDate)); err != nil {
			return nil, err
		}
	}
	template, now := content.plan(), o.now(tx)
	plans := make([][]planner.Planned, len(recipients))
	var sequences []planner.Sequence
	var of []int // the recipient of each
	for i, r := range recipients {
		why := noSequence(c, r.refusal)
		if why != "" {
			plans[i] = make([]planner.Planned, len(content.Steps))
			for step := range plans[i] {
				plans[i][step] = planner.Planned{Step: step, Action: planner.Skip, Reason: why}
			}
			continue
		}
		s := planner.Sequence{Template: template, Start: now, Prioritized: c.Prioritized, End: end}
		if r.Email == "" {
			s.SkipMail = noAddress
		}
		sequences, of = append(sequences, s), append(of, i)
	}
	for i, plan := range planner.Simulate(planner.NewLedger(cal, o.DailyCap, o.MinGap), now, sequences) {
		plans[of[i]] = plan
	}
	return plans, nil
}

// noSequence is why no sequence of a campaign begins for somebody; empty when one does.
func noSequence(c *Campaign, r Refusal) string {
	switch {
	case c.over():
		return "the campaign is " + string(c.Status)
	case r != "":
		return strings.ToLower(r.description()[:1]) + strings.TrimSuffix(r.description()[1:], ".")
	}
	return ""
}

// writer writes simulations. There may be thousands of steps, which are nothing but text: to make records of them first would take
// several times as long.
type writer struct {
	renderings []rendering
	json       []byte
	order      []int      // room for simulation
	messages   [][]byte   // by rendering: those of the contact at hand
	subjects   []string   // the same
	missing    [][]string // the same
	texts      []byte     // room for the messages
}

// simulation writes what becomes of a contact. Messages are rendered in the order in which they are sent, for a reply has the subject
// of the one before.
func (w *writer) simulation(contact uuid.UUID, plan []planner.Planned, v *values) {
	n := len(w.renderings)
	if w.order == nil {
		w.order, w.messages, w.subjects, w.missing = make([]int, 0, n), make([][]byte, n), make([]string, n), make([][]string, n)
	}
	w.order, w.texts = w.order[:0], w.texts[:0]
	for i := range w.renderings {
		w.order = append(w.order, i)
	}
	slices.SortStableFunc(w.order, func(a, b int) int {
		return cmp.Compare(plan[w.renderings[a].position].Nth, plan[w.renderings[b].position].Nth)
	})
	t := thread{form: quoted}
	for _, i := range w.order {
		r, from := &w.renderings[i], len(w.texts)
		w.messages[i], w.subjects[i], w.missing[i] = nil, "", nil
		if plan[r.position].Action != planner.Skip {
			w.texts, w.subjects[i], w.missing[i] = t.render(w.texts, r, v)
			w.messages[i] = w.texts[from:]
		}
	}
	b := append(w.json, `{"contact_id":"`...)
	b = append(append(b, contact.String()...), `","steps":[`...)
	for i := range w.renderings {
		if i > 0 {
			b = append(b, ',')
		}
		b = w.step(b, i, &plan[w.renderings[i].position])
	}
	w.json = append(b, "]}"...)
}

// step appends a SimulatedStep.
func (w *writer) step(b []byte, i int, p *planner.Planned) []byte {
	s := w.renderings[i].step
	b = strconv.AppendInt(append(b, `{"step_index":`...), int64(s.Index), 10)
	b = append(append(b, `,"type":"`...), s.Type...)
	b = append(append(b, `","action":"`...), p.Action...)
	b = append(b, `","due_at":`...)
	if p.At.IsZero() {
		b = append(b, "null"...)
	} else {
		b = append(shape.At(p.At).AppendTo(append(b, '"')), '"')
	}
	b = appendQuoted(append(b, `,"reason":`...), p.Reason)
	b = appendText(append(b, `,"subject":`...), w.subjects[i])
	b = appendText(append(b, `,"message":`...), w.messages[i])
	b = append(b, `,"missing":[`...)
	for j, name := range w.missing[i] {
		if j > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), name...), '"')
	}
	return append(b, "]}"...)
}

// appendText appends a text that is quoted already; null when there is none.
func appendText[T string | []byte](b []byte, text T) []byte {
	if len(text) == 0 {
		return append(b, "null"...)
	}
	return append(append(append(b, '"'), text...), '"')
}

// calendar is the organization's.
func (o *Outreach) calendar(tx *store.Tx) (*planner.Calendar, error) {
	doc, err := o.identity.Organizations.Get(tx, tx.Org())
	if err != nil {
		return nil, err
	}
	org := &doc.Record
	zone, err := time.LoadLocation(org.TimeZone)
	if err != nil {
		return nil, err
	}
	holidays := make([]string, len(org.Holidays))
	for i, h := range org.Holidays {
		holidays[i] = string(h)
	}
	return planner.NewCalendar(zone, org.BusinessDays, holidays, org.SendingWindow.FromHour, org.SendingWindow.ToHour)
}
