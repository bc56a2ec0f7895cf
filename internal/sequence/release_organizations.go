package sequence

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/outreach"
	"prospector/store"
)

// ReleasedCampaign is a held campaign of an organization, and what its release does.
type ReleasedCampaign struct {
	Organization uuid.UUID           `json:"organization_id"`
	ID           uuid.UUID           `json:"id"`
	Name         string              `json:"name"`
	Reason       outreach.HoldReason `json:"reason"`
	ReleaseCounts
	Overdue  int `json:"overdue"`  // steps whose time has passed
	Captured int `json:"captured"` // sequences with captured messages
	Unknown  int `json:"unknown"`  // messages that the mail server did not confirm
	// Needs are the members of ReleaseBody that must be given, and why.
	Needs     []fault.Detail `json:"needs,omitempty"`
	StillHeld string         `json:"still_held,omitempty"` // why the campaign cannot be released
}

// ReleaseOrganizations releases the held campaigns of organizations, and the organizations themselves. It releases none if one of them
// needs a decision that the body lacks. Campaigns whose reason still holds stay held.
func (e *Engine) ReleaseOrganizations(ctx context.Context, orgs []uuid.UUID, body ReleaseBody) (all []ReleasedCampaign, err error) {
	all = []ReleasedCampaign{} // encoded as [], not null
	check := body
	check.DryRun = true
	for _, org := range orgs {
		err := e.store.View(org, func(tx *store.Tx) error {
			released, err := e.releaseHeldCampaigns(tx, check)
			all = append(all, released...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	isOpen := slices.ContainsFunc(all, func(c ReleasedCampaign) bool { return len(c.Needs) > 0 })
	if body.DryRun || isOpen {
		return all, nil
	}
	for _, org := range orgs {
		err := e.store.Update(ctx, org, store.Actor{Operation: "resume"}, func(tx *store.Tx) error {
			tx.ReleaseOrganization()
			_, err := e.releaseHeldCampaigns(tx, body)
			return err
		})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// releaseHeldCampaigns releases the held campaigns of an organization.
func (e *Engine) releaseHeldCampaigns(tx *store.Tx, body ReleaseBody) (all []ReleasedCampaign, err error) {
	ids, err := e.outreach.CampaignsWith(tx, outreach.CampaignDraft, outreach.CampaignActive, outreach.CampaignPaused)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		doc, err := e.outreach.Campaigns.Get(tx, id)
		if err != nil {
			return nil, err
		}
		if doc.Record.Held == nil {
			continue
		}
		c := ReleasedCampaign{Organization: tx.Org(), ID: id, Name: doc.Record.Name, Reason: doc.Record.Held.Reason}
		released, err := e.releaseIfDecided(tx, id, body, fault.Problems{})
		switch fault.CodeOf(err) {
		case fault.CampaignHeld:
			c.StillHeld = err.Error()
		case fault.ValidationFailed:
			invalid, _ := errors.AsType[*fault.Error](err)
			c.Needs = invalid.Details
		default:
			if err != nil {
				return nil, err
			}
		}
		c.ReleaseCounts = released.ReleaseCounts
		c.Overdue, c.Captured, c.Unknown = released.open.overdue, released.open.captured, released.open.unknown
		all = append(all, c)
	}
	return all, nil
}
