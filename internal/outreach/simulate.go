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
	"prospector/internal/template"
	"prospector/store"
)

// SimulateBody selects the contacts of a simulation.
type SimulateBody struct {
	ContactIDs shape.IDs `json:"contact_ids" rule:"maxlen=100" doc:"They need not be in an audience of the campaign. Defaults to the first 100 contacts in its audiences."`
}

const (
	maxSimulatedContacts = 100      // when the body names none
	maxSimulationBytes   = 32 << 20 // of the JSON
)

// Simulation is what a campaign would do for a contact from now on.
type Simulation struct {
	ContactID uuid.UUID       `json:"contact_id"`
	Steps     []SimulatedStep `json:"steps"`
}

// SimulatedStep is a step of a simulation.
type SimulatedStep struct {
	StepIndex int               `json:"step_index"`
	Type      template.StepType `json:"type" rule:"enum=auto_email|manual_email|auto_linkedin_connection|auto_linkedin_message|call|task|gift"`
	Action    planner.Action    `json:"action" rule:"enum=send|task|skip"`
	DueAt     shape.Time        `json:"due_at" doc:"When the email is sent, given the daily cap and minimum gap of its sender, or when the Task is due. Null for a step that is never due."`
	Reason    string            `json:"reason" doc:"Why the step is due then, or why it is skipped."`
	Rendered
}

// Reasons why an email is skipped. The engine uses the same ones.
const (
	NoAddress = "the contact has no email address"
	NoOwner   = "the campaign has no owner to send it"
)

// Simulate computes what a campaign would do if its contacts started now. It changes nothing and
// sends nothing, and assumes that Tasks are completed when they are due. It appends a Simulation of
// each contact to b, as JSON separated by commas, and returns how many there are.
func (o *Outreach) Simulate(
	tx *store.Tx, b []byte, campaign uuid.UUID, d record.Draft[SimulateBody],
) ([]byte, int, error) {
	doc, err := o.Campaigns.Get(tx, campaign)
	if err != nil {
		return nil, 0, err
	}
	c := &doc.Record
	version, err := o.TemplateVersion(tx, c.TemplateID.UUID)
	if err != nil {
		return nil, 0, err
	}
	compiled, err := o.CompiledTemplate(tx, c.TemplateID.UUID, version)
	if err != nil {
		return nil, 0, err
	}
	recipients, err := o.simulatedRecipients(tx, c, d)
	if err != nil {
		return nil, 0, err
	}
	merge, err := o.NewMerge(tx, compiled, c.OwnerID.UUID)
	if err != nil {
		return nil, 0, err
	}
	skipMail := ""
	if !o.identity.Users.Table.Has(tx, c.OwnerID.UUID) { // a campaign created without a user has no owner
		skipMail = NoOwner
	}
	plans, err := o.planRecipients(tx, c, compiled, recipients, skipMail)
	if err != nil {
		return nil, 0, err
	}
	b, err = appendSimulations(b, compiled, recipients, plans, merge)
	return b, len(recipients), err
}

// appendSimulations appends the simulations of all recipients.
func appendSimulations(
	b []byte, compiled *template.Compiled, recipients []simulatedRecipient, plans [][]planner.Planned,
	merge *Merge,
) ([]byte, error) {
	w := newSimulationWriter(compiled.Fill(merge.Sender()))
	for i, r := range recipients {
		start := len(b)
		values, err := merge.For(&r.Recipient)
		if err != nil {
			return nil, err
		}
		b = w.append(b, r.id, plans[i], values)
		if i == 0 { // the others are about as long
			b = slices.Grow(b, min((len(b)-start)*len(recipients)*9/8, maxSimulationBytes))
		}
		if len(b) > maxSimulationBytes {
			var p fault.Problems
			p.Invalid("contact_ids", "the simulation has more than %d MB: name fewer contacts", maxSimulationBytes>>20)
			return nil, p.Err()
		}
		if i < len(recipients)-1 {
			b = append(b, ',')
		}
	}
	return b, nil
}

// simulatedRecipient is a contact of a simulation.
type simulatedRecipient struct {
	crm.Recipient
	id      uuid.UUID
	refusal Refusal
}

// simulatedRecipients returns the contacts that the body names, else the first ones of the
// campaign.
func (o *Outreach) simulatedRecipients(
	tx *store.Tx, c *Campaign, d record.Draft[SimulateBody],
) (all []simulatedRecipient, err error) {
	body, p := d.Open()
	ids := body.ContactIDs
	if len(ids) == 0 && p.Err() == nil {
		if ids, err = o.CampaignContacts(tx, c, maxSimulatedContacts); err != nil {
			return nil, err
		}
	}
	recipients := o.crm.Recipients(tx)
	for _, id := range ids {
		r, found, err := recipients.Read(id)
		if err != nil {
			return nil, err
		}
		if !found {
			p.Invalid(d.PathOf("contact_ids", id), "does not exist")
		}
		all = append(all, simulatedRecipient{r, id, o.Refusal(tx, r.Email, r.OptedOut)})
	}
	return all, p.Err()
}

// planRecipients plans the template for all recipients, who start now. Every step of a recipient
// for whom no sequence would start is skipped with the reason. skipMail is why no email can be sent
// at all, if that is so.
func (o *Outreach) planRecipients(
	tx *store.Tx, c *Campaign, compiled *template.Compiled, recipients []simulatedRecipient, skipMail string,
) ([][]planner.Planned, error) {
	end, err := o.CampaignEnd(tx, c)
	if err != nil {
		return nil, err
	}
	ledger, err := o.hooks.SenderLedger(tx, c.OwnerID.UUID)
	if err != nil {
		return nil, err
	}
	now := o.hooks.Now(tx)
	plans := make([][]planner.Planned, len(recipients))
	var sequences []planner.Sequence
	var positions []int // in recipients, of each sequence
	for i, r := range recipients {
		if reason := reasonNotStarted(c, r.refusal); reason != "" {
			plans[i] = skippedPlan(len(compiled.Steps), reason)
			continue
		}
		s := planner.Sequence{
			Template: compiled.Plan, Start: now, Prioritized: c.Prioritized, SkipMail: skipMail, End: end,
		}
		if r.Email == "" {
			s.SkipMail = NoAddress
		}
		sequences, positions = append(sequences, s), append(positions, i)
	}
	for i, plan := range planner.Simulate(ledger, now, sequences) {
		plans[positions[i]] = plan
	}
	return plans, nil
}

func skippedPlan(steps int, reason string) []planner.Planned {
	plan := make([]planner.Planned, steps)
	for step := range plan {
		plan[step] = planner.Planned{Step: step, Action: planner.Skip, Reason: reason}
	}
	return plan
}

// reasonNotStarted is why no sequence of a campaign starts for a recipient. It is empty if one
// does.
func reasonNotStarted(c *Campaign, r Refusal) string {
	switch {
	case c.IsFinished():
		return "the campaign is " + string(c.Status)
	case r != "":
		sentence := r.Description()
		return strings.ToLower(sentence[:1]) + strings.TrimSuffix(sentence[1:], ".")
	}
	return ""
}

// CampaignEnd returns the time from which on nothing is sent for a campaign. It is zero if the
// campaign has no end_date.
func (o *Outreach) CampaignEnd(tx *store.Tx, c *Campaign) (time.Time, error) {
	if c.EndDate == "" {
		return time.Time{}, nil
	}
	cal, err := o.Calendar(tx)
	if err != nil {
		return time.Time{}, err
	}
	return cal.DayAfter(string(c.EndDate))
}
