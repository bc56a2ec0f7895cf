package sequence

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/store"
)

// maxMoved is the number of sequences and messages that one merge of contacts moves.
const maxMoved = 2000

// ContactsMerged moves the audiences, sequences and messages of contacts to the contact that they were merged into.
// Of two sequences in one campaign the one that is further on stays. More than maxMoved are refused, and so is a merge
// while a message is being sent that would then be sent twice.
//
// The contact does not have its new address yet. A stop job then checks the sequences, and lets them go on.
func (e *Engine) ContactsMerged(tx *store.Tx, into uuid.UUID, contacts []uuid.UUID) error {
	for _, contact := range contacts {
		if err := e.outreach.MoveMember(tx, contact, into); err != nil {
			return err
		}
	}
	return e.moveTo(tx, into, contacts)
}

// moveTo moves the sequences and messages of contacts to another one.
func (e *Engine) moveTo(tx *store.Tx, into uuid.UUID, contacts []uuid.UUID) error {
	var sequences, messages []uuid.UUID
	for _, contact := range contacts {
		ids, err := e.sequences.IDs(tx, byAnyContact, contact[:], 0)
		if err != nil {
			return err
		}
		sequences = append(sequences, ids...)
		if ids, err = e.messages.IDs(tx, ofContact, contact[:], 0); err != nil {
			return err
		}
		messages = append(messages, ids...)
	}
	if n := len(sequences) + len(messages); n > maxMoved {
		var p fault.Problems
		p.Invalid("ids", "the contacts have %d sequences and messages, and one merge moves at most %d; merge fewer at a time", n, maxMoved)
		return p.Err()
	}
	err := e.messages.Each(tx, messages, func(doc store.Doc[Message]) error {
		rec := doc.Record
		rec.ContactID = into
		_, err := e.messages.Update(tx, doc, rec, []string{"contact_id"})
		return err
	})
	if err != nil || len(sequences) == 0 {
		return err
	}
	if err := e.awaitStopJobs(tx); err != nil {
		return err
	}
	err = e.changeEach(tx, sequences, func(x *engineTx, id uuid.UUID) error { return x.moveSequence(id, into) })
	if err != nil {
		return err
	}
	open, err := e.sequences.IDs(tx, byContact, into[:], 1)
	if err != nil || len(open) == 0 {
		return err
	}
	return e.enqueueStopJob(tx, stopWork{Contacts: packIDs(into), Merged: true})
}

// moveSequence makes a sequence one of another contact.
func (x *engineTx) moveSequence(id, into uuid.UUID) error {
	r, err := x.load(store.Doc[Sequence]{ID: id})
	if err != nil {
		return err
	}
	own, exists := x.engine.sequences.Find(x.tx, byCampaignAndContact, store.PairKey(r.s.CampaignID, into))
	if !exists && r.s.Status == SequenceNotStarted {
		r.s.state.Unconfirmed = true // the other contact was not in the campaign
	}
	if !exists || r.s.state.Superseded {
		return r.moveTo(into, "")
	}
	kept, err := x.load(store.Doc[Sequence]{ID: own})
	if err != nil {
		return err
	}
	if r.s.isFurtherThan(&kept.s) {
		r, kept = kept, r
	}
	reason, err := r.giveWay(kept, into)
	if err != nil {
		return err
	}
	return kept.moveTo(into, reason)
}

// moveTo makes the sequence one of the contact, and stops it if there is a reason to.
func (r *sequenceRun) moveTo(contact uuid.UUID, stop StopReason) error {
	r.s.ContactID = contact
	err := r.loadReferences()
	if err == nil && stop != "" && r.s.isOpen() {
		err = r.stop(stop)
	}
	if err != nil {
		return err
	}
	return r.save()
}

// giveWay ends the sequence in favor of another one of the same campaign and contact, which takes over its addresses.
// It returns why the other one must stop too: nobody who has replied is written to again.
func (r *sequenceRun) giveWay(to *sequenceRun, contact uuid.UUID) (stop StopReason, err error) {
	if r.checkNoneInFlight() != nil {
		return "", &fault.Error{Code: fault.Unavailable, Wait: time.Second,
			Message: "a message to one of the contacts is being sent: try again in a moment"}
	}
	if r.s.state.Unconfirmed && to.s.Status == SequenceNotStarted {
		to.s.state.Unconfirmed = true
	}
	if r.s.state.Replied {
		to.s.state.Replied, stop = true, StopReplied
	}
	switch {
	case r.s.isOpen():
		r.s.DuplicateOf = uuid.NullUUID{UUID: to.s.ID, Valid: true}
		if err := r.stop(StopDuplicateAddress); err != nil {
			return "", err
		}
	case r.s.Reason == StopReplied || r.s.Reason == StopManual:
		stop = r.s.Reason
	}
	for _, address := range r.s.state.Addresses {
		if !slices.Contains(to.s.state.Addresses, address) {
			to.s.state.Addresses = append(slices.Clip(to.s.state.Addresses), address)
		}
	}
	r.s.ContactID, r.s.state.Superseded, r.s.state.Addresses = contact, true, nil
	if err := r.loadReferences(); err != nil {
		return "", err
	}
	return stop, r.save()
}

// isFurtherThan reports whether more has happened in the sequence than in another one.
func (s *Sequence) isFurtherThan(other *Sequence) bool {
	if a, b := s.reached(), other.reached(); a != b {
		return a > b
	}
	happened := []StepStatus{StepSent, StepCaptured, StepDone, StepUnknown, StepFailed, StepTaskOpen}
	if a, b := s.countSteps(happened...), other.countSteps(happened...); a != b {
		return a > b
	}
	return s.Status == SequenceActive && !other.isActive()
}

// reached counts the steps that have happened, or happen now.
func (s *Sequence) reached() int {
	return s.countSteps(StepSent, StepCaptured, StepDone, StepUnknown) + len(s.stepsWhere(s.inFlight))
}
