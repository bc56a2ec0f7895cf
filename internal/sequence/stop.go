package sequence

import (
	"slices"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/outreach"
	"prospector/internal/shape"
	"prospector/store"
)

// stopReason returns why the sequence must stop. It is empty if the sequence can continue.
//
// The engine calls it whenever something is about to happen. Nothing is sent after the request that
// stops a sequence was answered, even if the sequence itself is stopped later, by a job.
func (r *sequenceRun) stopReason() (StopReason, error) {
	switch {
	case r.damage != nil:
		return "", r.damage
	case r.campaign == nil || r.campaign.Status == outreach.CampaignArchived:
		return StopCampaignArchived, nil
	case r.campaign.Status == outreach.CampaignCompleted:
		return StopCampaignEnded, nil
	case !r.contactFound:
		return StopContactDeleted, nil
	}
	o := r.x.engine.outreach
	switch o.Refusal(r.x.tx, r.recipient.Reach) {
	case outreach.ContactOptedOut:
		return StopOptedOut, nil
	case outreach.ContactSuppressed:
		return StopSuppressed, nil
	}
	audiences, err := o.AudiencesOf(r.x.tx, r.s.ContactID)
	if err != nil {
		return "", err
	}
	// This comes before end_date, which may pass while a job stops those who left.
	if !slices.ContainsFunc(audiences, r.campaign.HasAudience) {
		return StopLeftAudience, nil
	}
	end, err := o.CampaignEnd(r.x.tx, r.campaign)
	if err != nil || end.IsZero() || end.After(r.x.now) {
		return "", err
	}
	return StopCampaignEnded, nil
}

// stop stops the sequence: its waiting steps are skipped and its open Tasks canceled. A message in
// flight cannot be recalled. Its result is stored when it arrives.
func (r *sequenceRun) stop(reason StopReason) error {
	r.s.Status, r.s.Reason = SequenceStopped, reason
	for i := range r.s.History {
		if r.s.History[i].Status.isFinal() || r.s.inFlight(i) {
			continue
		}
		if err := r.skipStep(i, stoppedBecause(reason)); err != nil {
			return err
		}
	}
	r.events = append(r.events, sequenceEvent{name: "stopped"})
	r.x.engine.stops.Next(r.x.tx)
	return nil
}

// stoppedMark begins the reason of a step or message that ends with its sequence.
const stoppedMark = "the sequence was stopped: "

// stoppedBecause is the reason of a step or message that ends with its sequence.
func stoppedBecause(reason StopReason) string { return stoppedMark + string(reason) }

// cancelOpenTasks cancels the Tasks of steps that are final.
func (r *sequenceRun) cancelOpenTasks() error {
	tasks := r.x.engine.crm.Tasks
	for _, id := range r.cancelTasks {
		doc, err := tasks.Get(r.x.tx, id)
		if isUnreadable(err) {
			continue
		}
		if err != nil {
			return err
		}
		rec := doc.Record
		rec.Status = crm.TaskCancelled
		if _, err := tasks.Replace(r.x.tx, doc, rec); err != nil {
			return err
		}
	}
	return nil
}

// StopBody is the reason to stop a sequence.
type StopBody struct {
	Reason shape.Text `json:"reason" rule:"required,enum=replied|manual"`
}

// StopCampaignSequence is StopSequence for a sequence of a campaign.
func (e *Engine) StopCampaignSequence(
	tx *store.Tx, campaign, id uuid.UUID, body StopBody,
) (store.Doc[Sequence], error) {
	doc, err := e.sequences.Get(tx, id)
	if err != nil {
		return doc, err
	}
	if doc.Record.CampaignID != campaign {
		return doc, fault.ErrNotFound
	}
	return e.StopSequence(tx, id, body)
}

// StopSequence stops a sequence. It is idempotent. A sequence that ended in another way is refused with
// invalid_transition.
func (e *Engine) StopSequence(tx *store.Tx, id uuid.UUID, body StopBody) (store.Doc[Sequence], error) {
	doc, err := e.sequences.Get(tx, id)
	if err != nil {
		return doc, err
	}
	s := &doc.Record
	switch {
	case s.Status == SequenceStopped && s.Reason == body.Reason:
		return doc, nil
	case !s.isOpen():
		return doc, fault.New(fault.InvalidTransition, "the sequence is already %s", s.Status)
	}
	return e.changeSequence(tx, id, fault.Problems{}, func(r *sequenceRun) error { return r.stop(body.Reason) })
}

// Replied stops the active sequences of a contact who has replied, and those of other contacts with the
// same address. It returns how many there were. Those that have ended are not continued with others.
func (e *Engine) Replied(tx *store.Tx, contact uuid.UUID) (stopped int, err error) {
	doc, err := e.crm.Contacts.Get(tx, contact)
	if err != nil {
		return 0, err
	}
	if err := e.awaitStopJobs(tx); err != nil {
		return 0, err
	}
	ids, err := e.sequences.IDs(tx, byAnyContact, contact[:], 0)
	if err != nil {
		return 0, err
	}
	sharing, err := e.sequencesTo(tx, string(doc.Record.Email))
	if err != nil {
		return 0, err
	}
	ids = append(ids, sharing...)
	slices.SortFunc(ids, store.CompareIDs)
	err = e.updateEach(tx, slices.Compact(ids), func(r *sequenceRun) error {
		if r.s.isOpen() {
			stopped++
			return r.stop(StopReplied)
		}
		r.s.state.Replied = true
		return nil
	})
	return stopped, err
}

// sequencesTo returns the sequences of campaigns that have not ended that write to an address, or have written to it.
func (e *Engine) sequencesTo(tx *store.Tx, email string) (all []uuid.UUID, err error) {
	if email == "" {
		return nil, nil
	}
	for _, status := range []outreach.CampaignStatus{outreach.CampaignActive, outreach.CampaignPaused} {
		campaigns, err := e.outreach.CampaignsWithStatus(tx, status, 0)
		if err != nil {
			return nil, err
		}
		for _, campaign := range campaigns {
			ids, err := e.sequences.IDs(tx, byAddress, addressKey(campaign, address.Key(email)), 0)
			if err != nil {
				return nil, err
			}
			all = append(all, ids...)
		}
	}
	return all, nil
}

// CheckCampaign fails with not_found unless the campaign exists or, before it was deleted, had
// sequences.
func (e *Engine) CheckCampaign(tx *store.Tx, campaign uuid.UUID) error {
	if e.outreach.Campaigns.Table.Has(tx, campaign) {
		return nil
	}
	if stored, err := e.counters.Get(tx, campaign, 0); err != nil && !store.IsDamagedRecord(err) {
		return err
	} else if err != nil || stored != nil {
		return nil
	}
	return fault.ErrNotFound
}
