package sequence

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/shape"
	"prospector/store"
)

// Contacts that share an address are one recipient. Within a campaign, one sequence claims the
// address for good and the others stop. Across campaigns, two emails to an address keep a distance.

// addressKey identifies a canonical address within a campaign, in a key of fixed length.
func addressKey(campaign uuid.UUID, address string) []byte {
	sum := sha256.Sum256(append(campaign[:], address...))
	return sum[:16]
}

func (s *Sequence) addressKeys() (keys [][]byte) {
	for _, address := range s.state.Addresses {
		keys = append(keys, addressKey(s.CampaignID, address))
	}
	return keys
}

// claimAddress claims the address of the recipient for the sequence. It returns the sequence of the
// campaign that has claimed it before, if there is one.
func (r *sequenceRun) claimAddress() (claimedBy uuid.NullUUID, err error) {
	key := address.Key(r.recipient.Email)
	if key == "" || slices.Contains(r.s.state.Addresses, key) {
		return claimedBy, nil
	}
	others, err := r.x.engine.sequences.IDs(r.x.tx, byAddress, addressKey(r.s.CampaignID, key), 1)
	if err != nil {
		return claimedBy, err
	}
	if len(others) > 0 && others[0] != r.s.ID {
		return uuid.NullUUID{UUID: others[0], Valid: true}, nil
	}
	r.s.state.Addresses = append(slices.Clip(r.s.state.Addresses), key)
	return claimedBy, nil
}

// showContact copies the name and the address of the contact into the sequence. It keeps those that
// a deleted contact had.
func (r *sequenceRun) showContact() {
	if r.damage != nil {
		return
	}
	if r.s.ContactDeleted = !r.contactFound; r.s.ContactDeleted {
		return
	}
	r.s.ContactName = shape.Text(strings.TrimSpace(r.recipient.FirstName + " " + r.recipient.LastName))
	r.s.ContactEmail = shape.Text(r.recipient.Email)
}

// lastEmail is the last email to an address, whatever its campaign.
type lastEmail struct {
	at       time.Time
	sequence uuid.UUID
}

// recipientID identifies a canonical address in the table of last emails.
func recipientID(address string) uuid.UUID {
	sum := sha256.Sum256([]byte(address))
	return uuid.UUID(sum[:16])
}

// lastEmailTo returns the last email to an address. It is zero if there was none.
func (x *engineTx) lastEmailTo(address string) (last lastEmail, err error) {
	stored, err := x.engine.recipients.Get(x.tx, recipientID(address), 0)
	if err != nil || len(stored) != 24 {
		return last, err
	}
	last.at = time.UnixMilli(int64(binary.BigEndian.Uint64(stored))).UTC()
	last.sequence = uuid.UUID(stored[8:])
	return last, nil
}

// noteEmail records that the sequence sends an email to an address now. It does so without a recipient gap as well,
// because a gap that is set later counts from this email.
func (r *sequenceRun) noteEmail(to string) {
	value := binary.BigEndian.AppendUint64(nil, uint64(max(0, r.x.now.UnixMilli())))
	r.x.engine.recipients.Put(r.x.tx, recipientID(address.Key(to)), 0, append(value, r.s.ID[:]...))
}

// RecipientFree returns when an address may get an email of a sequence, given those of other
// sequences. It is zero if it may get one now.
func (e *Engine) RecipientFree(tx *store.Tx, email string, sequence uuid.UUID) (at time.Time, err error) {
	return e.newEngineTx(tx).recipientFree(email, sequence)
}

func (x *engineTx) recipientFree(email string, sequence uuid.UUID) (at time.Time, err error) {
	gap := x.engine.Options.RecipientGap
	if gap <= 0 || email == "" {
		return at, nil
	}
	last, err := x.lastEmailTo(address.Key(email))
	if err != nil || last.at.IsZero() || last.sequence == sequence {
		return at, err
	}
	if at = last.at.Add(gap); !at.After(x.now) {
		return time.Time{}, nil
	}
	cal, err := x.cal()
	if err != nil {
		return at, err
	}
	return cal.NextOpen(at), nil
}

// waitForRecipient postpones the email of a step until its recipient may get one.
func (r *sequenceRun) waitForRecipient(i int, until time.Time) {
	r.s.state.Steps[i].NotBefore = shape.At(until)
	r.explainRecipientGap(i)
}

func (r *sequenceRun) explainRecipientGap(i int) {
	const reason = "; waits because the recipient just got an email of another sequence"
	if h := &r.s.History[i]; !strings.Contains(h.Reason, reason) {
		h.Reason += reason
	}
}
