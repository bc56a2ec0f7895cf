package sequence

import (
	"context"
	"math"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/outreach"
	"prospector/internal/shape"
	"prospector/store"
)

// Sequences are started in jobs, because there may be many.

// startWork is what a start job starts: the sequences of everybody in a campaign, of one audience
// of a campaign, of contacts in the campaigns of an audience, or of contacts in all of their campaigns.
type startWork struct {
	Campaign uuid.NullUUID
	Audience uuid.NullUUID
	Contacts store.PackedIDs
	Named    bool `json:",omitempty"` // somebody named the contacts, or the campaign has not been active before
	Ask      bool `json:",omitempty"` // the contacts of the campaign who have no sequence await confirmation
}

// entry is how a contact comes into a campaign.
type entry int

const (
	entryKnown  entry = iota // it is in an audience already, and something about it has changed
	entryNamed               // somebody named it, which also confirms it
	entryJudged              // the change that made it join an audience has ended
	entryAsking              // it awaits confirmation
)

func (w startWork) entry() entry {
	switch {
	case w.Named:
		return entryNamed
	case w.Ask:
		return entryAsking
	}
	return entryKnown
}

func (e *Engine) enqueueStart(tx *store.Tx, work startWork) error {
	_, err := tx.Enqueue(startJob, tx.Now(), work)
	return err
}

func (e *Engine) runStartJob(ctx context.Context, job store.Job, work startWork) error {
	return e.runSweep(ctx, job, sweep{
		find: func(tx *store.Tx) ([]uuid.UUID, error) { return e.contactsToStart(tx, work) },
		change: func(x *engineTx, contact uuid.UUID) error {
			if work.Contacts != nil {
				return x.startInCampaigns(work.Audience, contact, work.entry())
			}
			return x.startIn(work.Campaign.UUID, contact, work.entry())
		},
		end: func(tx *store.Tx, job uuid.UUID) error {
			if work.Ask {
				if err := e.outreach.EndAsking(tx, work.Campaign.UUID, job); err != nil && fault.CodeOf(err) != fault.NotFound {
					return err
				}
			}
			return tx.Done(job)
		},
	})
}

// contactsToStart returns the contacts for whom a start job starts sequences.
func (e *Engine) contactsToStart(tx *store.Tx, work startWork) ([]uuid.UUID, error) {
	switch {
	case work.Contacts != nil:
		return unpackIDs(work.Contacts), nil
	case work.Audience.Valid:
		return e.outreach.AttachedMembers(tx, work.Audience.UUID)
	}
	doc, err := e.outreach.Campaigns.Get(tx, work.Campaign.UUID)
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return e.outreach.CampaignContacts(tx, &doc.Record, math.MaxInt)
}

func (e *Engine) runStartAllJob(ctx context.Context, job store.Job) error {
	return e.store.Update(ctx, job.Org, store.Actor{Operation: startAllJob}, func(tx *store.Tx) error {
		e.forgetJob(tx, startAllJobPart)
		ids, err := e.outreach.CampaignsWith(tx, outreach.CampaignActive, outreach.CampaignPaused)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := e.enqueueStart(tx, startWork{Campaign: uuid.NullUUID{UUID: id, Valid: true}}); err != nil {
				return err
			}
		}
		return tx.Done(job.ID)
	})
}

// startInCampaigns starts the sequences of a contact in all campaigns that have been active and that an audience is
// attached to. Without an audience, it does so for all audiences that contain the contact.
func (x *engineTx) startInCampaigns(audience uuid.NullUUID, contact uuid.UUID, how entry) (err error) {
	var campaigns []uuid.UUID
	if audience.Valid {
		campaigns, err = x.engine.outreach.CampaignsWithAudience(x.tx, audience.UUID, 0)
		campaigns = x.engine.outreach.Campaigns.Table.Readable(x.tx, campaigns)
	} else {
		campaigns, err = x.engine.outreach.CampaignsOf(x.tx, contact)
	}
	if err != nil {
		return err
	}
	for _, id := range campaigns {
		if err := x.startIn(id, contact, how); err != nil {
			return err
		}
	}
	return nil
}

// startIn starts the sequence of a contact in a campaign that is or has been active, unless it has
// been started before. A newcomer who is known already is left to the judge job.
func (x *engineTx) startIn(campaign, contact uuid.UUID, how entry) error {
	c, err := x.campaign(campaign)
	if err != nil || c == nil || !c.HasBegun() {
		return err
	}
	key := store.PairKey(campaign, contact)
	if id, exists := x.engine.sequences.Find(x.tx, byCampaignAndContact, key); exists {
		return x.startAgain(id, how == entryNamed)
	}
	if how == entryKnown {
		if changes, err := x.engine.newcomers.Owners(x.tx, contact); err != nil || len(changes) > 0 {
			return err
		}
	}
	r := &sequenceRun{x: x, campaign: c, s: Sequence{
		ID: x.tx.NewID(), CampaignID: c.ID, ContactID: contact, Status: SequenceNotStarted, History: []HistoryStep{},
	}}
	r.s.state.Unconfirmed = how == entryAsking || how != entryNamed && c.IsAsking()
	if err := r.loadReferences(); err != nil {
		return err
	}
	if err := r.begin(); err != nil || r.s.Status == SequenceStopped && !r.s.DuplicateOf.Valid {
		return err // a contact that must not be in the campaign at all has no sequence
	}
	return r.save()
}

// startAgain starts a sequence that could not start before, if it can now. confirmed says that somebody wants its
// contact in the campaign.
func (x *engineTx) startAgain(id uuid.UUID, confirmed bool) error {
	r, err := x.load(store.Doc[Sequence]{ID: id})
	if err != nil || r.s.Status != SequenceNotStarted {
		return err
	}
	if confirmed {
		r.s.state.Unconfirmed = false
	}
	return r.beginAgain()
}

// beginAgain is begin for a stored sequence. It writes nothing if nothing has changed. An undo starts nothing: what
// could start because of it awaits confirmation.
func (r *sequenceRun) beginAgain() error {
	if r.x.tx.Actor().Undo {
		r.s.state.Unconfirmed = true
	}
	err := r.begin()
	before := &r.doc.Record
	if err != nil || r.s.Status == SequenceNotStarted && r.s.Reason == before.Reason && r.s.state.Unconfirmed == before.state.Unconfirmed {
		return err
	}
	return r.save()
}

// begin starts a sequence that has not started. If its contact cannot be written to or awaits confirmation, the
// sequence stays as it is and says why. It is stopped if the contact must not be in the campaign, or if
// another sequence writes to the same address.
func (r *sequenceRun) begin() error {
	reason, err := r.mustNotBegin()
	switch {
	case err != nil:
		return err
	case slices.Contains([]StopReason{StopOptedOut, StopSuppressed, StopNoAddress, StopAwaitingConfirmation}, reason):
		r.s.Reason = reason
		return nil
	case reason != "":
		return r.stop(reason)
	}
	r.s.Status, r.s.Reason, r.s.StartedAt = SequenceActive, "", shape.At(r.x.now)
	r.events = append(r.events, sequenceEvent{name: "started"})
	return r.proceed()
}

// mustNotBegin is mustStop for a sequence that has not started. It gives the sequence the newest content of the template.
func (r *sequenceRun) mustNotBegin() (reason StopReason, err error) {
	if reason, err = r.stopReason(); err != nil || reason != "" {
		return reason, err
	}
	r.s.state.Template = r.campaign.TemplateID.UUID
	if r.s.state.Version, err = r.x.currentVersion(r.s.state.Template); err != nil {
		return "", err
	}
	c, err := r.template()
	switch {
	case err != nil:
		return "", err
	case r.recipient.Email == "" && c.IsOnlyEmail():
		return StopNoAddress, nil
	case r.s.state.Unconfirmed:
		return StopAwaitingConfirmation, nil
	}
	return r.mustGiveWay()
}
