package outreach

import (
	"slices"

	"github.com/google/uuid"

	"prospector/store"
)

// How campaigns are found: by their status, their owner, an audience or a contact.

// CampaignsWith returns the campaigns with one of the statuses. It leaves out damaged campaigns.
func (o *Outreach) CampaignsWith(tx *store.Tx, statuses ...CampaignStatus) (ids []uuid.UUID, err error) {
	for _, status := range statuses {
		of, err := o.CampaignsWithStatus(tx, status, 0)
		if err != nil {
			return nil, err
		}
		ids = append(ids, of...)
	}
	return o.Campaigns.Table.Readable(tx, ids), nil
}

// CampaignsWithStatus returns the first limit campaigns with a status, or all of them if limit is
// 0, including damaged ones.
func (o *Outreach) CampaignsWithStatus(tx *store.Tx, status CampaignStatus, limit int) ([]uuid.UUID, error) {
	return o.Campaigns.Table.IDs(tx, byStatus, []byte(status), limit)
}

// HasCampaign reports whether a campaign with one of the statuses exists.
func (o *Outreach) HasCampaign(tx *store.Tx, statuses ...CampaignStatus) (bool, error) {
	for _, status := range statuses {
		ids, err := o.CampaignsWithStatus(tx, status, 1)
		if err != nil || len(ids) > 0 {
			return len(ids) > 0, err
		}
	}
	return false, nil
}

// CampaignContacts returns the contacts in the audiences of a campaign, each once and ordered by
// id, at most limit of them.
func (o *Outreach) CampaignContacts(tx *store.Tx, c *Campaign, limit int) (all []uuid.UUID, err error) {
	for _, a := range c.Audiences {
		members, err := o.members.After(tx, a.ID, uuid.Nil, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, members...)
	}
	if len(c.Audiences) > 1 {
		slices.SortFunc(all, store.CompareIDs)
		all = slices.Compact(all)
	}
	return all[:min(len(all), limit)], nil
}

// CampaignsOfOwner returns the campaigns of an owner. It leaves out damaged campaigns.
func (o *Outreach) CampaignsOfOwner(tx *store.Tx, owner uuid.UUID) ([]uuid.UUID, error) {
	ids, err := o.Campaigns.Table.IDs(tx, byOwner, owner[:], 0)
	return o.Campaigns.Table.Readable(tx, ids), err
}

// CampaignsWithAudience returns the first limit campaigns that an audience is attached to, or all
// of them if limit is 0.
func (o *Outreach) CampaignsWithAudience(tx *store.Tx, audience uuid.UUID, limit int) ([]uuid.UUID, error) {
	return o.Campaigns.Table.IDs(tx, byAudience, audience[:], limit)
}

// CampaignsOf returns the campaigns whose audiences contain a contact, each once and ordered by id. It leaves
// out damaged campaigns.
func (o *Outreach) CampaignsOf(tx *store.Tx, contact uuid.UUID) (campaigns []uuid.UUID, err error) {
	audiences, err := o.members.Owners(tx, contact)
	if err != nil {
		return nil, err
	}
	for _, audience := range audiences {
		ids, err := o.CampaignsWithAudience(tx, audience, 0)
		if err != nil {
			return nil, err
		}
		campaigns = append(campaigns, ids...)
	}
	slices.SortFunc(campaigns, store.CompareIDs)
	return o.Campaigns.Table.Readable(tx, slices.Compact(campaigns)), nil
}

// AttachedMembers returns the members of an audience, or none if the audience was deleted.
func (o *Outreach) AttachedMembers(tx *store.Tx, audience uuid.UUID) ([]uuid.UUID, error) {
	return o.members.All(tx, audience)
}
