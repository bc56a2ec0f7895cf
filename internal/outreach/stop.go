package outreach

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// obstacle is why a sequence cannot go on; empty when it can. It is looked at whenever something is about to happen, so that nothing
// does after the answer to what stops it, however long the rest of the clean-up takes.
func (w *walk) obstacle() (StopReason, error) {
	switch {
	case w.campaign == nil || w.campaign.Status == CampaignArchived:
		return StopCampaignArchived, nil
	case w.campaign.Status == CampaignCompleted:
		return StopCampaignEnded, nil
	case !w.found:
		return StopContactDeleted, nil
	}
	switch w.refusal(w.tx, w.to.Email, w.to.OptedOut) {
	case ContactOptedOut:
		return StopOptedOut, nil
	case ContactSuppressed:
		return StopSuppressed, nil
	}
	audiences, err := w.members.Owners(w.tx, w.s.ContactID)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(audiences, w.campaign.has) { // before end_date, which may pass while those who left are stopped
		return StopLeftAudience, nil
	}
	end, err := w.end(w.campaign)
	if err != nil || end.IsZero() || end.After(w.now) {
		return "", err
	}
	return StopCampaignEnded, nil
}

// stop ends a sequence before its time: what it waited for does not happen. A message that is on its way cannot be called back; what
// comes of it is still written down.
func (w *walk) stop(why StopReason) error {
	w.s.Status, w.s.Reason = SequenceStopped, why
	for i := range w.s.History {
		h := &w.s.History[i]
		_, _, waits := w.s.due(i)
		switch {
		case h.Status == StepTaskOpen:
			w.cancel = append(w.cancel, h.TaskID.UUID)
		case !waits:
			continue
		case h.MessageID.Valid:
			if err := w.abandon(h.MessageID.UUID, why); err != nil {
				return err
			}
		}
		w.over(i, StepSkipped, "the sequence was stopped: "+string(why))
	}
	w.events = append(w.events, "stopped")
	w.stops.Next(w.tx)
	return nil
}

// cancelTasks cancels the Tasks of steps that are over.
func (w *walk) cancelTasks() error {
	for _, id := range w.cancel {
		doc, err := w.crm.Tasks.Get(w.tx, id)
		if fault.CodeOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		rec := doc.Record
		rec.Status = crm.TaskCancelled
		if _, err := w.crm.Tasks.Replace(w.tx, doc, rec); err != nil {
			return err
		}
	}
	return nil
}

// recheck stops a sequence that has to, and else lets it go on.
func (e *engine) recheck(id uuid.UUID) error { return e.visit(id, (*walk).advance) }

func (e *engine) recheckAll(ids []uuid.UUID) error {
	for _, id := range ids {
		if err := e.recheck(id); err != nil {
			return err
		}
	}
	return nil
}

// stopContact stops the sequences of a contact.
func (o *Outreach) stopContact(tx *store.Tx, contact uuid.UUID, why StopReason) error {
	ids, err := o.sequences.IDs(tx, byContact, contact[:], 0)
	if err != nil || len(ids) == 0 {
		return err
	}
	if err := o.settled(tx); err != nil {
		return err
	}
	return o.engage(tx, func(e *engine) error {
		for _, id := range ids {
			if err := e.visit(id, func(w *walk) error { return w.stop(why) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// ContactChanged stops the sequences of a contact who has opted out, and begins those of one who has come back.
func (o *Outreach) ContactChanged(tx *store.Tx, before, after *crm.Contact) error {
	if before.DoNotContact == after.DoNotContact && before.Email == after.Email {
		return nil
	}
	if err := o.recheckContacts(tx, []uuid.UUID{after.ID}); err != nil {
		return err
	}
	audiences, err := o.members.Owners(tx, after.ID)
	if err != nil || len(audiences) == 0 {
		return err
	}
	return o.promiseBegin(tx, beginWork{Contacts: packIDs(after.ID)})
}

// Suppressed stops the sequences of those whom nothing may be sent to any more: those of an address at once, those of a domain in a job.
func (o *Outreach) Suppressed(tx *store.Tx, s *crm.Suppression) error {
	if s.Email == "" {
		running := false
		err := o.sequences.Range(tx, byActive, nil, func([]byte, uuid.UUID) bool { running = true; return false })
		if err != nil || !running {
			return err
		}
		if err := o.settled(tx); err != nil {
			return err
		}
		return o.promiseCleanUp(tx, cleanUpWork{})
	}
	contacts, err := o.crm.Contacts.FindAll(tx, "email", string(s.Email))
	if err != nil {
		return err
	}
	return o.recheckContacts(tx, contacts)
}

// Released begins the sequences of those who may be written to again.
func (o *Outreach) Released(tx *store.Tx, _ *crm.Suppression) error {
	if err := o.settled(tx); err != nil {
		return err
	}
	running, err := o.Campaigns.Table.IDs(tx, byStatus, []byte(CampaignActive), 1)
	if err != nil || len(running) == 0 {
		return err
	}
	return o.promise(tx, beginPart, beginAllJob, o.now(tx))
}

// chunks does something for each of many, some in each transaction, and ends the job with the last.
func (o *Outreach) chunks(ctx context.Context, job store.Job, ids []uuid.UUID, do func(*engine, uuid.UUID) error, end func(*store.Tx, uuid.UUID) error) error {
	for more := true; more; {
		n := min(len(ids), passMost)
		more = n < len(ids)
		err := o.store.Update(ctx, job.Org, store.Actor{Operation: job.Kind}, func(tx *store.Tx) error {
			err := o.engage(tx, func(e *engine) error {
				for _, id := range ids[:n] {
					if err := do(e, id); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil || more {
				return err
			}
			return end(tx, job.ID)
		})
		if err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// StopBody says why a sequence is stopped.
type StopBody struct {
	Reason shape.Text `json:"reason" rule:"required,enum=replied|manual"`
}

// StopSequence stops a sequence of a campaign. One that was stopped so already stays as it is; any other that is over is
// invalid_transition.
func (o *Outreach) StopSequence(tx *store.Tx, campaign, id uuid.UUID, body StopBody) (store.Doc[Sequence], error) {
	doc, err := o.sequences.Get(tx, id)
	if err != nil {
		return doc, err
	}
	s := &doc.Record
	switch {
	case s.CampaignID != campaign:
		return doc, fault.ErrNotFound
	case s.Status == SequenceStopped && s.Reason == body.Reason:
		return doc, nil
	case s.Status != SequenceActive:
		return doc, fault.New(fault.InvalidTransition, "the sequence is %s already", s.Status)
	}
	if err := o.settled(tx); err != nil {
		return doc, err
	}
	err = o.engage(tx, func(e *engine) error {
		return e.visit(id, func(w *walk) error { return w.stop(body.Reason) })
	})
	if err != nil {
		return doc, err
	}
	return o.sequences.Get(tx, id)
}

// HasSequences tells whether there is, or was, such a campaign; else it is not_found.
func (o *Outreach) HasSequences(tx *store.Tx, campaign uuid.UUID) error {
	if o.Campaigns.Table.Has(tx, campaign) {
		return nil
	}
	if kept, err := o.counts.Get(tx, campaign, 0); err != nil || kept != nil {
		return err
	}
	return fault.ErrNotFound
}

// packIDs puts ids one after the other, for the work of a job.
func packIDs(ids ...uuid.UUID) []byte {
	packed := make([]byte, 0, 16*len(ids))
	for _, id := range ids {
		packed = append(packed, id[:]...)
	}
	return packed
}

func unpackIDs(packed []byte) (ids []uuid.UUID) {
	for chunk := range slices.Chunk(packed, 16) {
		ids = append(ids, uuid.UUID(chunk))
	}
	return ids
}
