package sequence

import (
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/outreach"
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
