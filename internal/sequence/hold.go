package sequence

import (
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/outreach"
	"prospector/internal/shape"
)

// hold holds a campaign, unless it was deleted.
func (x *engineTx) hold(campaign uuid.UUID, reason outreach.HoldReason, detail string) error {
	delete(x.campaigns, campaign) // campaignChanged, which Hold calls, must see the new state
	err := x.engine.outreach.Hold(x.tx, campaign, reason, detail)
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// holdCampaignsOf holds the running campaigns of a sender.
func (x *engineTx) holdCampaignsOf(sender uuid.UUID, reason outreach.HoldReason, detail string) error {
	ids, err := x.engine.outreach.CampaignsOfOwner(x.tx, sender)
	if err != nil {
		return err
	}
	for _, id := range ids {
		c, err := x.campaign(id)
		if err != nil {
			return err
		}
		if !c.IsRunning() {
			continue
		}
		if err := x.hold(id, reason, detail); err != nil {
			return err
		}
	}
	return nil
}

// holdOfOutsiders holds the running campaigns of active senders whose addresses are outside the sender domains.
func (x *engineTx) holdOfOutsiders() error {
	outside, err := x.engine.identity.UsersOutsideSenderDomains(x.tx)
	if err != nil {
		return err
	}
	for _, user := range outside {
		if !user.Active {
			continue
		}
		problem, err := x.engine.identity.SenderProblem(x.tx, user.ID)
		if err != nil {
			return err
		}
		detail := "The owner of the campaign cannot send: " + problem + "."
		if err := x.holdCampaignsOf(user.ID, outreach.HeldSenderNotAllowed, detail); err != nil {
			return err
		}
	}
	return nil
}

// TransportName returns the name of what delivers the messages of a sender.
func (e *Engine) TransportName(sender uuid.UUID) string {
	if e.Options.Transport(sender) == nil {
		return "outbox"
	}
	return "smtp"
}

// reopenStep lets a step that has ended wait again, at least as long as a request has postponed the sequence. It removes the
// steps that were scheduled because it had ended, unless something has come of them.
func (r *sequenceRun) reopenStep(i int) {
	h := &r.s.History[i]
	ended := h.At
	h.Status, h.At = StepWaiting, shape.Time{}
	r.s.state.Steps[i].Undecided, r.s.state.Steps[i].NotBefore = false, r.s.state.Postponed
	r.s.Status, r.s.Reason = SequenceActive, ""
	for j := len(r.s.History) - 1; j > i; j-- {
		later := &r.s.History[j]
		if later.Status == StepWaiting && !later.MessageID.Valid &&
			!r.s.state.Steps[j].ScheduledAt.Std().Before(ended.Std()) {
			r.s.History = append(r.s.History[:j:j], r.s.History[j+1:]...)
			r.s.state.Steps = append(r.s.state.Steps[:j:j], r.s.state.Steps[j+1:]...)
		}
	}
}
