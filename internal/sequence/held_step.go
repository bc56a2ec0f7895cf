package sequence

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/outreach"
	"prospector/internal/template"
	"prospector/store"
)

// An email in which a token without a fallback has no value is not sent. Its step is held until the
// contact, its account, the sender, the organization, the template or the campaign changes. Nothing else looks at a held
// step again: an undo may have brought the value back, and nobody is written to because of that.

// heldReason introduces the missing tokens in the reason of a held step.
const heldReason = "; held: no value for "

// What a missing value may come from. Each is the first byte of a key of held sequences.
const (
	heldByCampaign = 'c'
	heldByTemplate = 't'
	heldByContact  = 'p'
	heldByAccount  = 'a'
	heldByAny      = 'o' // with the zero id: all held sequences of the organization

	heldByAdmission = 'n' // by campaign: sequences that await confirmation
)

func heldKey(by byte, id uuid.UUID) []byte { return append([]byte{by}, id[:]...) }

func (s *Sequence) heldKeys() (keys [][]byte) {
	if s.awaitsConfirmation() {
		return [][]byte{heldKey(heldByAdmission, s.CampaignID)}
	}
	if !s.isActive() || !s.hasStep(StepHeld) {
		return nil
	}
	keys = [][]byte{
		heldKey(heldByAny, uuid.Nil), heldKey(heldByCampaign, s.CampaignID), heldKey(heldByTemplate, s.state.Template),
		heldKey(heldByContact, s.ContactID),
	}
	if s.state.Account.Valid {
		keys = append(keys, heldKey(heldByAccount, s.state.Account.UUID))
	}
	slices.SortFunc(keys, slices.Compare)
	return keys
}

// missingTokens returns the tokens without a value, without the note that an email has no subject.
func missingTokens(missing []string) []string {
	return slices.DeleteFunc(missing, func(name string) bool { return name == template.MissingSubject })
}

// holdStep holds a step whose message lacks the values of tokens.
func (r *sequenceRun) holdStep(i int, missing []string) {
	h := &r.s.History[i]
	because, _, _ := strings.Cut(h.Reason, heldReason)
	h.Status, h.Reason = StepHeld, because+heldReason+strings.Join(missing, ", ")
	r.s.state.Steps[i].Newest = true
	r.s.state.Account = r.recipient.AccountID
}

// reviewHeldSteps lets held steps whose messages are complete now wait for their slots again.
func (r *sequenceRun) reviewHeldSteps() error {
	for i := range r.s.History {
		h := &r.s.History[i]
		if h.Status != StepHeld {
			continue
		}
		var missing []string
		if r.recipient.Email != "" && r.campaign.MissingValues == outreach.HoldMissing {
			from, err := r.x.sender(r.campaign.OwnerID.UUID)
			if err != nil {
				return err
			}
			if from.user != nil {
				_, missing, err = r.compose(i, from)
				if err != nil {
					return err
				}
			}
		}
		if len(missing) > 0 {
			r.holdStep(i, missing)
			continue
		}
		h.Status = StepWaiting
		h.Reason, _, _ = strings.Cut(h.Reason, heldReason)
	}
	return nil
}

// recheckHeld checks the sequences with held steps under a key.
func (e *Engine) recheckHeld(tx *store.Tx, by byte, id uuid.UUID) error {
	key := heldKey(by, id)
	if tx.Actor().Undo {
		if by != heldByContact {
			return nil
		}
		return e.noteAccounts(tx, key)
	}
	ids, err := e.sequences.IDs(tx, byHeldStep, key, maxPerRequest+1)
	if err != nil {
		return err
	}
	return e.recheckSequences(tx, ids, stopWork{Held: key})
}

// noteAccounts records the present account of the contact in the sequences with held steps under a key, so that a later
// change of the account is noticed.
func (e *Engine) noteAccounts(tx *store.Tx, key []byte) error {
	ids, err := e.sequences.IDs(tx, byHeldStep, key, 0)
	if err != nil {
		return err
	}
	return e.updateEach(tx, ids, func(r *sequenceRun) error {
		r.s.state.Account = r.recipient.AccountID
		return nil
	})
}
