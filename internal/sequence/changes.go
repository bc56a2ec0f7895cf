package sequence

import (
	"slices"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/outreach"
	"prospector/store"
)

// This file follows the changes of other packages. Each function runs in the transaction of the change that it
// reacts to.

// campaignChanged starts, advances or stops the sequences of a campaign that was created or
// changed.
func (e *Engine) campaignChanged(tx *store.Tx, before, after *outreach.Campaign) error {
	if after == nil {
		return nil
	}
	if before != nil && (before.MissingValues != after.MissingValues || before.OwnerID != after.OwnerID) {
		if err := e.recheckHeld(tx, heldByCampaign, after.ID); err != nil {
			return err
		}
	}
	if before == nil {
		if after.Status != outreach.CampaignActive {
			return nil
		}
		return e.startCampaign(tx, after, true)
	}
	if before.IsFinished() && after.HasBegun() {
		if err := e.askForAll(tx, after.ID); err != nil {
			return err
		}
	}
	gained := missingAudiences(after, before)
	if len(gained) > 0 {
		if err := e.awaitStopJobs(tx); err != nil {
			return err
		}
	}
	hasEnded := after.IsFinished() && after.Status != before.Status
	if hasEnded || len(missingAudiences(before, after)) > 0 {
		if err := e.recheckCampaign(tx, after.ID); err != nil {
			return err
		}
	}
	if after.Status == outreach.CampaignActive && before.Status != outreach.CampaignActive {
		return e.startCampaign(tx, after, !before.HasBegun())
	}
	if after.HasBegun() {
		for _, audience := range gained {
			err := e.enqueueStart(tx, startWork{
				Campaign: uuid.NullUUID{UUID: after.ID, Valid: true}, Audience: uuid.NullUUID{UUID: audience, Valid: true},
				Named: true,
			})
			if err != nil {
				return err
			}
		}
	}
	if !after.IsRunning() {
		return nil
	}
	return e.advanceNow(tx) // a new owner, priority or end_date can make something due
}

// CampaignRestored holds a campaign that was restored from a backup: what it sent since is not known. Everybody who is in it
// without a sequence awaits confirmation.
func (e *Engine) CampaignRestored(tx *store.Tx, id uuid.UUID) error {
	if err := e.outreach.HoldRestored(tx, id); err != nil {
		return err
	}
	doc, err := e.outreach.Campaigns.Get(tx, id)
	if err != nil || !doc.Record.HasBegun() {
		return err
	}
	return e.askForAll(tx, id)
}

// startCampaign starts the sequences of a campaign, and advances those that exist. Everybody in a campaign that
// becomes active for the first time counts as named.
func (e *Engine) startCampaign(tx *store.Tx, c *outreach.Campaign, isFirst bool) error {
	if err := e.enqueueStart(tx, startWork{Campaign: uuid.NullUUID{UUID: c.ID, Valid: true}, Named: isFirst}); err != nil {
		return err
	}
	return e.advanceNow(tx)
}

// missingAudiences returns the audiences of one state of a campaign that another does not have.
func missingAudiences(of, in *outreach.Campaign) (ids []uuid.UUID) {
	for _, a := range of.Audiences {
		if !in.HasAudience(a.ID) {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// ContactsAdded starts the sequences of contacts that joined an audience of a campaign. Contacts who were not named
// wait until the change that made them join has ended.
func (e *Engine) ContactsAdded(tx *store.Tx, audience uuid.UUID, contacts []uuid.UUID, why outreach.Joining) error {
	if err := e.awaitStopJobs(tx); err != nil {
		return err
	}
	if !why.Named {
		return e.addNewcomers(tx, audience, contacts, why)
	}
	return e.enqueueStart(tx, startWork{
		Audience: uuid.NullUUID{UUID: audience, Valid: true}, Contacts: packIDs(contacts...), Named: true,
	})
}

// ContactsRemoved stops the sequences of contacts that left the last audience of a campaign.
func (e *Engine) ContactsRemoved(tx *store.Tx, contacts []uuid.UUID) error {
	return e.recheckContacts(tx, contacts)
}

// contactChanged stops the sequences of a contact that opted out, starts those of one that can be
// written to again, looks at held steps again, and shows the new name and address.
func (e *Engine) contactChanged(tx *store.Tx, before, after *crm.Contact) error {
	switch {
	case before == nil:
		return nil
	case after == nil:
		return e.ContactDeleted(tx, before.ID)
	}
	if err := e.recheckHeld(tx, heldByContact, after.ID); err != nil {
		return err
	}
	isRenamed := before.FirstName != after.FirstName || before.LastName != after.LastName || before.Email != after.Email
	if isRenamed {
		if err := e.showContact(tx, after.ID); err != nil {
			return err
		}
	}
	if before.DoNotContact == after.DoNotContact && before.Email == after.Email && slices.Equal(before.OtherEmails, after.OtherEmails) {
		return nil
	}
	e.stops.Next(tx) // messages to the address before are not sent any more
	if err := e.recheckContacts(tx, []uuid.UUID{after.ID}); err != nil {
		return err
	}
	audiences, err := e.outreach.AudiencesOf(tx, after.ID)
	if err != nil || len(audiences) == 0 {
		return err
	}
	return e.enqueueStart(tx, startWork{Contacts: packIDs(after.ID)})
}

// showContact saves the sequences of a contact, which copies its name and address into them.
func (e *Engine) showContact(tx *store.Tx, contact uuid.UUID) error {
	ids, err := e.sequences.IDs(tx, byAnyContact, contact[:], 0)
	if err != nil {
		return err
	}
	return e.updateEach(tx, ids, func(*sequenceRun) error { return nil })
}

// accountChanged looks again at steps that are held because a value is missing.
func (e *Engine) accountChanged(tx *store.Tx, before, after *crm.Account) error {
	if before == nil || after == nil {
		return nil
	}
	return e.recheckHeld(tx, heldByAccount, after.ID)
}

// AccountsMerged looks again at the steps that are held because of accounts that were merged into another.
func (e *Engine) AccountsMerged(tx *store.Tx, accounts []uuid.UUID) error {
	for _, account := range accounts {
		if err := e.recheckHeld(tx, heldByAccount, account); err != nil {
			return err
		}
	}
	return nil
}

// templateChanged looks again at steps that are held because a value is missing.
func (e *Engine) templateChanged(tx *store.Tx, before, after *outreach.Template) error {
	if before == nil || after == nil || after.HasContentOf(before) {
		return nil
	}
	return e.recheckHeld(tx, heldByTemplate, after.ID)
}

// ContactDeleted stops the sequences of a deleted contact, and then removes it from its audiences.
// In the other order the sequences would stop because the contact left the audience.
func (e *Engine) ContactDeleted(tx *store.Tx, contact uuid.UUID) error {
	ids, err := e.sequences.IDs(tx, byAnyContact, contact[:], 0)
	if err != nil {
		return err
	}
	if len(ids) > 0 {
		if err := e.awaitStopJobs(tx); err != nil {
			return err
		}
	}
	err = e.updateEach(tx, ids, func(r *sequenceRun) error {
		if !r.s.isOpen() {
			return nil
		}
		return r.stop(StopContactDeleted)
	})
	if err != nil {
		return err
	}
	if err := e.markContactDeleted(tx, contact, true); err != nil {
		return err
	}
	return e.outreach.ForgetContact(tx, contact)
}

// ContactRestored brings a restored contact back into its audiences, and shows its sequences and messages as
// those of a contact that exists. Sequences that stopped stay so.
func (e *Engine) ContactRestored(tx *store.Tx, contact uuid.UUID, audiences []uuid.UUID) error {
	if err := e.showContact(tx, contact); err != nil {
		return err
	}
	if err := e.markContactDeleted(tx, contact, false); err != nil {
		return err
	}
	return e.outreach.RejoinContact(tx, contact, audiences)
}

// markContactDeleted marks the messages to a contact that was deleted, or restored.
func (e *Engine) markContactDeleted(tx *store.Tx, contact uuid.UUID, deleted bool) error {
	return eachUnder(tx, e.messages, ofContact, contact[:], func(doc store.Doc[Message]) error {
		rec := doc.Record
		rec.ContactDeleted = deleted
		_, err := e.messages.Update(tx, doc, rec, []string{"contact_deleted"})
		return err
	})
}

func (e *Engine) suppressionChanged(tx *store.Tx, before, after *crm.Suppression) error {
	switch {
	case after == nil:
		return e.startReachable(tx)
	case before == nil || before.Email != after.Email || before.Domain != after.Domain:
		return e.suppressed(tx, after)
	}
	return nil
}

// suppressed stops the sequences that a new suppression affects: those of an address now, those of
// a domain in a job.
func (e *Engine) suppressed(tx *store.Tx, s *crm.Suppression) error {
	if s.Email != "" {
		contacts, err := e.crm.ContactsWith(tx, string(s.Email))
		if err != nil {
			return err
		}
		return e.recheckContacts(tx, contacts)
	}
	hasActive := false
	err := e.sequences.Range(tx, byCampaign, nil, func([]byte, uuid.UUID) bool {
		hasActive = true
		return false
	})
	if err != nil || !hasActive {
		return err
	}
	if err := e.awaitStopJobs(tx); err != nil {
		return err
	}
	return e.enqueueStopJob(tx, stopWork{})
}

// startReachable starts the sequences of contacts that can be written to again after a suppression was
// removed.
func (e *Engine) startReachable(tx *store.Tx) error {
	if err := e.awaitStopJobs(tx); err != nil {
		return err
	}
	hasRunning, err := e.outreach.HasCampaign(tx, outreach.CampaignActive, outreach.CampaignPaused)
	if err != nil || !hasRunning {
		return err
	}
	return e.scheduleJob(tx, startAllJobPart, startAllJob, e.clock.now(tx))
}

// taskChanged finishes the step of a Task that was completed, canceled or deleted, and continues the
// sequence.
func (e *Engine) taskChanged(tx *store.Tx, before, after *crm.Task) error {
	wasOpen := before != nil && (before.Status == crm.TaskOpen || before.Status == "") // of a damaged one only the id is known
	if !wasOpen || after != nil && after.Status == crm.TaskOpen {
		return nil
	}
	task := before.ID
	ids, err := e.sequences.IDs(tx, byTask, task[:], 1)
	if err != nil || len(ids) == 0 {
		return err
	}
	status, reason := StepDone, ""
	switch {
	case after == nil:
		status, reason = StepSkipped, "its Task was deleted"
	case after.Status == crm.TaskCancelled:
		status, reason = StepSkipped, "its Task was cancelled"
	}
	return e.withEngine(tx, func(x *engineTx) error {
		return x.update(ids[0], func(r *sequenceRun) error {
			i := slices.IndexFunc(r.s.History, func(h HistoryStep) bool {
				return h.Status == StepTaskOpen && h.TaskID.UUID == task
			})
			if i >= 0 {
				r.finishStep(i, status, reason)
			}
			return r.advanceIfReadable()
		})
	})
}

// organizationChanged holds the campaigns of senders who are not allowed any more, and advances all sequences, because
// the business days or the sending window may have changed, or a value that was missing.
func (e *Engine) organizationChanged(tx *store.Tx, before, after *identity.Organization) error {
	if before == nil || after == nil {
		return nil
	}
	if err := e.recheckHeld(tx, heldByAny, uuid.Nil); err != nil {
		return err
	}
	return e.adjustOrganization(tx)
}

// adjustOrganization is what a start of the service and a change of the organization have in common.
func (e *Engine) adjustOrganization(tx *store.Tx) error {
	if err := e.withEngine(tx, (*engineTx).holdOfOutsiders); err != nil {
		return err
	}
	hasRunning, err := e.outreach.HasCampaign(tx, outreach.CampaignActive, outreach.CampaignPaused)
	if err != nil || !hasRunning {
		return err
	}
	return e.advanceNow(tx)
}

// userChanged holds the campaigns of a user who was deactivated, and looks again at steps that are
// held because a value of the sender is missing.
func (e *Engine) userChanged(tx *store.Tx, before, after *identity.User) error {
	if before == nil || after == nil {
		return nil
	}
	campaigns, err := e.outreach.CampaignsOfOwner(tx, after.ID)
	if err != nil || len(campaigns) == 0 {
		return err
	}
	if before.Active && !after.Active {
		return e.withEngine(tx, func(x *engineTx) error {
			return x.holdCampaignsOf(after.ID, outreach.HeldOwnerInactive, "The owner of the campaign, "+after.Email+", was deactivated.")
		})
	}
	for _, id := range campaigns {
		if err := e.recheckHeld(tx, heldByCampaign, id); err != nil {
			return err
		}
	}
	return nil
}
