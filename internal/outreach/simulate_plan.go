package outreach

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/crm"
	"prospector/internal/planner"
	"prospector/internal/record"
	"prospector/internal/template"
	"prospector/internal/turn"
	"prospector/store"
)

// simulatedContact is a contact of a simulation.
type simulatedContact struct {
	crm.Recipient
	id       uuid.UUID
	template *template.Compiled
	progress *Progress // nil if the contact has no sequence in the campaign that has started
	awaits   bool      // its sequence awaits confirmation
	ended    reason    // why nothing more happens; empty if something does
	skipMail reason    // why its emails are skipped; empty if they are sent
	plan     []planner.Planned
}

// readContacts reads the contacts that the body names, else all of the campaign.
func (s *simulation) readContacts(d record.Draft[SimulateBody]) error {
	body, p := d.Open()
	ids := []uuid.UUID(body.ContactIDs)
	var err error
	if len(ids) == 0 && p.Err() == nil {
		if ids, err = s.CampaignContacts(s.tx, s.campaign, math.MaxInt); err != nil {
			return err
		}
	}
	recipients, progress := s.crm.Recipients(s.tx), s.engine.Progress(s.tx, s.campaign.ID)
	s.contacts = make([]simulatedContact, 0, len(ids))
	for _, id := range ids {
		if err := turn.Continue(s.ctx); err != nil {
			return err
		}
		to, found, err := recipients.Read(id)
		if err == nil {
			_, err = recipients.Account(&to)
		}
		if store.IsDamagedRecord(err) && len(body.ContactIDs) == 0 {
			continue
		}
		if err != nil {
			return err
		}
		if !found {
			p.Invalid(d.PathOf("contact_ids", id), "does not exist")
			continue
		}
		c := simulatedContact{Recipient: to, id: id, template: s.newest, skipMail: s.skipMail}
		if c.progress, err = progress(id); store.IsDamagedRecord(err) {
			continue // its sequence or the template that it started with
		}
		if err != nil {
			return err
		}
		if c.progress != nil && c.progress.Awaits {
			c.progress, c.awaits = nil, true
		}
		if c.progress != nil {
			c.template = c.progress.Template
		}
		s.contacts = append(s.contacts, c)
	}
	return p.Err()
}

// plan plans all contacts.
func (s *simulation) plan() error {
	s.decide()
	sequences, err := s.background()
	if err != nil {
		return err
	}
	planned, sequences := make([]*simulatedContact, 0, len(s.contacts)), slices.Grow(sequences, len(s.contacts))
	for i := range s.contacts {
		if err := turn.Continue(s.ctx); err != nil {
			return err
		}
		c := &s.contacts[i]
		if c.ended.key != "" {
			c.plan = c.endedPlan()
			continue
		}
		sequence, err := s.sequence(c)
		if err != nil {
			return err
		}
		planned, sequences = append(planned, c), append(sequences, sequence)
	}
	ledger, err := s.engine.SenderLedger(s.tx, s.campaign.OwnerID.UUID)
	if err != nil {
		return err
	}
	plans, err := planner.Simulate(s.ctx, ledger, s.now, sequences)
	if err != nil {
		return err
	}
	for i, plan := range plans[len(sequences)-len(planned):] {
		planned[i].plan = plan
	}
	return nil
}

// decide decides for which contacts nothing more happens. Contacts that share an address are one
// recipient: the first that has a sequence, else the first.
func (s *simulation) decide() {
	claimed := map[string]bool{}
	for _, hasSequence := range []bool{true, false} {
		for i := range s.contacts {
			c := &s.contacts[i]
			if (c.progress != nil) != hasSequence {
				continue
			}
			if c.ended = s.endedFor(c); c.ended.key != "" && !hasSequence {
				continue
			}
			key := address.Key(c.Email)
			switch {
			case c.ended.key == duplicateAddress:
			case key == "":
				c.skipMail = reason{"no_address", NoAddress}
			case claimed[key] && c.ended.key == "":
				c.ended = reason{duplicateAddress, "another contact of the campaign has the same email address"}
			default:
				claimed[key] = true
			}
		}
	}
}

const (
	duplicateAddress     = "duplicate_address"
	awaitingConfirmation = "awaiting_confirmation"
)

// endedFor returns why nothing more happens for a contact, whatever the other contacts are.
func (s *simulation) endedFor(c *simulatedContact) reason {
	refusal := s.Refusal(s.tx, c.Reach)
	switch {
	case s.campaign.IsFinished():
		return reason{"campaign_ended", "the campaign is " + string(s.campaign.Status)}
	case c.progress != nil && c.progress.Ended != "":
		return reason{c.progress.Ended, c.progress.Description}
	case refusal != "":
		sentence := refusal.Description()
		text := strings.ToLower(sentence[:1]) + strings.TrimSuffix(sentence[1:], ".")
		return reason{strings.TrimPrefix(string(refusal), "contact_"), text}
	case c.Email == "" && c.progress == nil && !slices.ContainsFunc(c.template.Steps, isTask):
		return reason{"no_address", NoAddress}
	case c.awaits:
		return reason{awaitingConfirmation, "the contact awaits confirmation"}
	}
	return reason{}
}

func isTask(s template.CompiledStep) bool { return s.Type != template.AutoEmail }

// endedPlan returns the plan of a contact for whom nothing more happens.
func (c *simulatedContact) endedPlan() []planner.Planned {
	plan := make([]planner.Planned, len(c.template.Steps))
	action := planner.Skip
	if c.ended.key == awaitingConfirmation {
		action = planner.Hold
	}
	for i := range plan {
		plan[i] = planner.Planned{Step: i, Action: action, Why: planner.SequenceEnded, Reason: c.ended.text}
	}
	if c.progress == nil {
		return plan
	}
	for i, h := range c.progress.History {
		if !h.EndedAt.IsZero() {
			plan[i] = c.template.Plan.Ended(i, h)
		}
	}
	return plan
}

// sequence returns what is planned for a contact.
func (s *simulation) sequence(c *simulatedContact) (sequence planner.Sequence, err error) {
	sequence = planner.Sequence{
		Template: c.template.Plan, Start: s.now, Prioritized: s.campaign.Prioritized, SkipMail: c.skipMail.text, End: s.end,
	}
	if c.progress != nil {
		sequence.Start, sequence.History = c.progress.Start, c.progress.History
	}
	if c.skipMail.key != "" {
		return sequence, nil
	}
	if sequence.Withheld, err = s.withheld(c); err != nil {
		return sequence, err
	}
	var id uuid.UUID
	if c.progress != nil {
		id = c.progress.ID
	}
	sequence.NotBefore, err = s.engine.RecipientFree(s.tx, c.Email, id)
	return sequence, err
}

// withheld returns what becomes of the emails of a contact in which a token has no value, by position
// of the step. It is nil if no value is missing, or if such emails are sent.
func (s *simulation) withheld(c *simulatedContact) (actions []planner.Action, err error) {
	action := planner.Hold
	switch s.campaign.MissingValues {
	case SendMissing:
		return nil, nil
	case SkipMissing:
		action = planner.Skip
	}
	values, err := s.tokens.For(c.template, &c.Recipient)
	if err != nil {
		return nil, err
	}
	for i := range c.template.Steps {
		if step := &c.template.Steps[i]; step.Type == template.AutoEmail && len(step.Missing(values)) > 0 {
			if actions == nil {
				actions = make([]planner.Action, len(c.template.Steps))
			}
			actions[step.Position] = action
		}
	}
	return actions, nil
}

// background returns the sequences that take slots of the sender without being part of the
// simulation: those of its other active campaigns, and those of this campaign that are not simulated.
func (s *simulation) background() (sequences []planner.Sequence, err error) {
	isSimulated := make(map[uuid.UUID]bool, len(s.contacts))
	for i := range s.contacts {
		if p := s.contacts[i].progress; p != nil {
			isSimulated[p.ID] = true
		}
	}
	err = s.SenderSequences(s.ctx, s.tx, s.campaign.OwnerID, func(_ *Campaign, p *Progress, sequence planner.Sequence) error {
		if !isSimulated[p.ID] {
			sequence.InBackground = true
			sequences = append(sequences, sequence)
		}
		return nil
	})
	return sequences, err
}

// SenderSequences calls visit with each running sequence of the campaigns of a sender that send now, until it
// returns an error or ctx ends. It leaves out what is damaged.
func (o *Outreach) SenderSequences(
	ctx context.Context, tx *store.Tx, owner uuid.NullUUID, visit func(*Campaign, *Progress, planner.Sequence) error,
) error {
	ids, err := o.CampaignsWith(tx, CampaignActive)
	if err != nil {
		return err
	}
	for _, id := range ids {
		doc, err := o.Campaigns.Get(tx, id)
		if err != nil {
			return err
		}
		c := &doc.Record
		if c.OwnerID != owner || !c.IsSending() {
			continue
		}
		end, err := o.CampaignEnd(tx, c)
		if err != nil {
			return err
		}
		err = o.engine.Running(tx, id, func(p Progress) error {
			if err := turn.Continue(ctx); err != nil {
				return err
			}
			return visit(c, &p, planner.Sequence{
				Template: p.Template.Plan, Start: p.Start, History: p.History, Prioritized: c.Prioritized, End: end,
				Withheld: p.Withheld, SkipMail: p.SkipMail, NotBefore: p.NotBefore,
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
