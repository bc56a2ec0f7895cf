package outreach

import (
	"slices"
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
	ContactIDs shape.IDs `json:"contact_ids" rule:"maxlen=100" doc:"Whether they are in an audience of the campaign or not. The first hundred who are when nobody is named."`
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
	DueAt     shape.Time     `json:"due_at" doc:"When the email goes out, under the cap and the gaps of its sender, or when the Task is due. Null for a step that is never due."`
	Reason    string         `json:"reason" doc:"What makes it due then, or why it is skipped."`
	Rendered
}

// Simulate tells what a campaign would do if its contacts began now: it appends a Simulation of each to b, as JSON with commas
// between, and says how many they are. It changes nothing and sends nothing. Tasks are taken to be done when they are due.
func (o *Outreach) Simulate(tx *store.Tx, b []byte, campaign uuid.UUID, d record.Draft[SimulateBody]) ([]byte, int, error) {
	doc, err := o.Campaigns.Get(tx, campaign)
	if err != nil {
		return nil, 0, err
	}
	course, err := o.present(tx, doc.Record.TemplateID.UUID)
	if err != nil {
		return nil, 0, err
	}
	recipients, err := o.simulated(tx, &doc.Record, d)
	if err != nil {
		return nil, 0, err
	}
	v, err := o.senderValues(tx, doc.Record.OwnerID.UUID)
	skipMail := ""
	if fault.CodeOf(err) == fault.NotFound { // a campaign that was made without a user has no owner
		skipMail, err = noOwner, nil
	}
	if err != nil {
		return nil, 0, err
	}
	plans, err := o.plan(tx, &doc.Record, course, recipients, skipMail)
	if err != nil {
		return nil, 0, err
	}
	w := newWriter(course.steps, &v)
	for i, r := range recipients {
		from := len(b)
		v.recipient(&r.Recipient)
		b = w.simulation(b, r.id, plans[i], &v)
		if i == 0 {
			b = slices.Grow(b, min((len(b)-from)*len(recipients)*9/8, simulatedBytes)) // they are about alike
		}
		if len(b) > simulatedBytes {
			var p fault.Problems
			p.Invalid("contact_ids", "would make an answer of more than %d MB: name fewer contacts", simulatedBytes>>20)
			return nil, 0, p.Err()
		}
		if i < len(recipients)-1 {
			b = append(b, ',')
		}
	}
	return b, len(recipients), nil
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
			p.Invalid(d.PathOf("contact_ids", id), "does not exist")
		}
		out = append(out, simulatedRecipient{r, id, o.refusal(tx, r.Email, r.OptedOut)})
	}
	return out, p.Err()
}

// plan has the planner go through a course for everybody, who begins now. Whoever no sequence begins for has no plan, but a reason
// for each step. skipMail is why no message can be sent to anybody, "" if they can.
func (o *Outreach) plan(tx *store.Tx, c *Campaign, way *course, recipients []simulatedRecipient, skipMail string) ([][]planner.Planned, error) {
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
	now := o.now(tx)
	plans := make([][]planner.Planned, len(recipients))
	var sequences []planner.Sequence
	var of []int // the recipient of each
	for i, r := range recipients {
		why := noSequence(c, r.refusal)
		if why != "" {
			plans[i] = make([]planner.Planned, len(way.steps))
			for step := range plans[i] {
				plans[i][step] = planner.Planned{Step: step, Action: planner.Skip, Reason: why}
			}
			continue
		}
		s := planner.Sequence{Template: way.plan, Start: now, Prioritized: c.Prioritized, SkipMail: skipMail, End: end}
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

// calendar is the organization's.
func (o *Outreach) calendar(tx *store.Tx) (*planner.Calendar, error) { return o.calendars.Of(tx) }

func (o *Outreach) readCalendar(tx *store.Tx) (*planner.Calendar, error) {
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
