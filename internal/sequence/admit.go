package sequence

import (
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/outreach"
	"prospector/internal/record"
	"prospector/store"
)

// AdmitBody confirms the newcomers of a campaign.
type AdmitBody struct {
	Expect *int `json:"expect" rule:"required,min=0" doc:"How many people await confirmation, as newcomers of the campaign says. If it is another number, nothing happens."`
}

// Admitted is the result of admitting newcomers.
type Admitted struct {
	Admitted int `json:"admitted" doc:"The number of people whose sequences start."`
}

// Admit starts the sequences of everybody in a campaign who awaits confirmation. If they are not as many as expected,
// it fails with count_changed, and a campaign that has ended is refused with campaign_not_enrollable.
func (e *Engine) Admit(tx *store.Tx, campaign uuid.UUID, d record.Draft[AdmitBody]) (result Admitted, err error) {
	body, p := d.Open()
	doc, err := e.outreach.Campaigns.Get(tx, campaign)
	if err != nil {
		return result, err
	}
	if err := p.Err(); err != nil {
		return result, err
	}
	if !doc.Record.IsRunning() {
		return result, outreach.NotEnrollable(&doc.Record)
	}
	if err := e.awaitStopJobs(tx); err != nil {
		return result, err
	}
	ids, err := e.sequences.IDs(tx, byHeldStep, heldKey(heldByAdmission, campaign), 0)
	if err != nil {
		return result, err
	}
	if len(ids) != *body.Expect {
		return result, fault.New(fault.CountChanged, "%d people await confirmation, not %d", len(ids), *body.Expect)
	}
	result.Admitted = len(ids)
	return result, e.changeMany(tx, ids, (*engineTx).admit, admitJob, packIDs(ids...))
}

// admit starts a sequence that awaits confirmation.
func (x *engineTx) admit(id uuid.UUID) error { return x.startAgain(id, true) }

// awaitsConfirmation reports whether the sequence has not started because nobody has admitted its contact.
func (s *Sequence) awaitsConfirmation() bool {
	return s.Status == SequenceNotStarted && s.Reason == StopAwaitingConfirmation
}
