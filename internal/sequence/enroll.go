package sequence

import (
	"slices"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/outreach"
	"prospector/internal/record"
	"prospector/store"
)

// Enroll enrolls contacts in a campaign, and returns what becomes of each. Their sequences are started by a
// job.
func (e *Engine) Enroll(
	tx *store.Tx, campaign uuid.UUID, d record.Draft[outreach.EnrollBody],
) (result outreach.Enrolled, err error) {
	if result, err = e.outreach.Enroll(tx, campaign, d); err != nil {
		return result, err
	}
	x := e.newEngineTx(tx)
	c, err := x.campaign(campaign)
	if err != nil {
		return result, err
	}
	var accepted []*outreach.EnrolledContact
	for i := range result.Contacts {
		if contact := &result.Contacts[i]; contact.Outcome == "" {
			accepted = append(accepted, contact)
		}
	}
	slices.SortFunc(accepted, func(a, b *outreach.EnrolledContact) int { // as they are started
		return store.CompareIDs(a.ContactID, b.ContactID)
	})
	claimed := map[string]bool{}
	for _, contact := range accepted {
		if err := x.predictStart(c, contact, claimed); err != nil {
			return result, err
		}
	}
	return result, nil
}

// predictStart sets what becomes of a contact that was enrolled. claimed are the addresses that contacts
// before it claim.
func (x *engineTx) predictStart(c *outreach.Campaign, contact *outreach.EnrolledContact, claimed map[string]bool) error {
	r := &sequenceRun{x: x, s: Sequence{CampaignID: c.ID, ContactID: contact.ContactID, Status: SequenceNotStarted}}
	key := store.PairKey(c.ID, contact.ContactID)
	if id, exists := x.engine.sequences.Find(x.tx, byCampaignAndContact, key); exists {
		stored, err := x.load(store.Doc[Sequence]{ID: id})
		if err != nil {
			return err
		}
		r, contact.SequenceID = stored, uuid.NullUUID{UUID: id, Valid: true}
	} else if err := r.loadReferences(); err != nil {
		return err
	}
	contact.Reason = r.s.Reason
	switch r.s.Status {
	case SequenceActive:
		contact.Outcome = outreach.EnrollAlreadyActive
	case SequenceCompleted:
		contact.Outcome = outreach.EnrollAlreadyCompleted
	case SequenceStopped:
		contact.Outcome = outreach.EnrollStopped
	default:
		return r.predictBegin(contact, claimed)
	}
	return nil
}

// predictBegin sets what begin will do with a sequence that has not started.
func (r *sequenceRun) predictBegin(contact *outreach.EnrolledContact, claimed map[string]bool) error {
	hasBegun, mustNotBegin := r.campaign.HasBegun(), r.stopReason
	if hasBegun {
		r.s.state.Unconfirmed = false // enrolling confirms it
		mustNotBegin = r.mustNotBegin
	}
	reason, err := mustNotBegin()
	if err != nil {
		return err
	}
	contact.Outcome, contact.Reason = outreach.EnrollNotStarted, reason
	key := address.Key(r.recipient.Email)
	switch {
	case !hasBegun:
	case reason == StopDuplicateAddress || reason == "" && key != "" && claimed[key]:
		contact.Outcome, contact.Reason = outreach.EnrollStopped, StopDuplicateAddress
	case reason == "":
		claimed[key] = true
		contact.Outcome = outreach.EnrollStarted
	}
	return nil
}
