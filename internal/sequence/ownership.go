package sequence

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/store"
)

// OwnershipStep is the kind of a step in a journal that says whose the sequences and messages of some contacts were
// before a merge, or before it was undone. Engine.RestoreOwnership takes it back.
const OwnershipStep = "ownership"

// ownership says which of some contacts has which sequences and messages.
type ownership struct {
	Contacts  []uuid.UUID     `json:"contacts"` // the one that the others are merged into is the first
	Merged    bool            `json:"merged,omitzero"`
	Sequences []ownedSequence `json:"sequences,omitempty"`
	Messages  []ownedMessage  `json:"messages,omitempty"`
	// Leaves and Joins are the audiences that the first contact has to leave or to join to restore the ownership.
	Leaves []uuid.UUID `json:"leaves,omitempty"`
	Joins  []uuid.UUID `json:"joins,omitempty"`
}

type ownedSequence struct {
	ID         uuid.UUID `json:"id"`
	Contact    uuid.UUID `json:"contact"`
	Superseded bool      `json:"superseded,omitzero"`
	Addresses  []string  `json:"addresses,omitempty"`
}

type ownedMessage struct {
	ID      uuid.UUID `json:"id"`
	Contact uuid.UUID `json:"contact"`
}

// ContactsMerging adds whose everything is to the journal, before contacts are merged into another.
func (e *Engine) ContactsMerging(tx *store.Tx, into uuid.UUID, contacts []uuid.UUID) error {
	o, err := e.ownershipOf(tx, append([]uuid.UUID{into}, contacts...))
	if err != nil {
		return err
	}
	own, err := e.outreach.AudiencesOf(tx, into)
	if err != nil {
		return err
	}
	for _, contact := range contacts {
		audiences, err := e.outreach.AudiencesOf(tx, contact)
		if err != nil {
			return err
		}
		for _, id := range audiences {
			if !slices.Contains(own, id) && !slices.Contains(o.Leaves, id) {
				o.Leaves = append(o.Leaves, id)
			}
		}
	}
	return tx.AddToJournal(OwnershipStep, o)
}

func (e *Engine) ownershipOf(tx *store.Tx, contacts []uuid.UUID) (o ownership, err error) {
	o.Contacts = contacts
	for _, contact := range contacts {
		err := eachUnder(tx, e.sequences, byAnyContact, contact[:], func(doc store.Doc[Sequence]) error {
			s := &doc.Record
			o.Sequences = append(o.Sequences, ownedSequence{doc.ID, contact, s.state.Superseded, s.state.Addresses})
			return nil
		})
		if err != nil {
			return o, err
		}
		ids, err := e.messages.IDs(tx, ofContact, contact[:], 0)
		if err != nil {
			return o, err
		}
		for _, id := range ids {
			o.Messages = append(o.Messages, ownedMessage{id, contact})
		}
	}
	return o, nil
}

// RestoreOwnership gives sequences and messages back to the contacts that had them, with everything that has happened in
// the sequences since. Statuses stay as they are. If the contacts were one and are to be one again, they are merged like
// others, with what has happened to each since.
func (e *Engine) RestoreOwnership(tx *store.Tx, data json.RawMessage) error {
	var o ownership
	if err := json.Unmarshal(data, &o); err != nil {
		return err
	}
	if o.Merged {
		return e.mergeAgain(tx, o.Contacts[0], o.Contacts[1:])
	}
	now, err := e.ownershipOf(tx, o.Contacts)
	if err != nil {
		return err
	}
	now.Merged, now.Leaves, now.Joins = true, o.Joins, o.Leaves
	if err := tx.AddToJournal(OwnershipStep, now); err != nil {
		return err
	}
	if err := e.awaitStopJobs(tx); err != nil {
		return err
	}
	written, err := e.writtenSince(tx, &o, &now)
	if err != nil {
		return err
	}
	owners := map[uuid.UUID]uuid.UUID{} // by sequence
	err = e.withEngine(tx, func(x *engineTx) error {
		changed := slices.DeleteFunc(slices.Clone(o.Sequences), func(s ownedSequence) bool { return !e.sequences.Has(tx, s.ID) })
		for _, s := range changed { // nothing may be in the way when a contact gets its sequence back
			if err := x.update(s.ID, func(r *sequenceRun) error { r.s.state.Superseded = true; return nil }); err != nil {
				return err
			}
		}
		for _, s := range changed {
			owners[s.ID] = s.Contact
			if err := x.update(s.ID, func(r *sequenceRun) error { return r.giveBack(&s, &o, written) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := e.giveMessagesBack(tx, &o, &now, owners); err != nil {
		return err
	}
	if err := e.outreach.LeaveAudiences(tx, o.Contacts[0], o.Leaves); err != nil {
		return err
	}
	return e.outreach.RejoinContact(tx, o.Contacts[0], o.Joins)
}

// mergeAgain gives a contact everything of others again, who stay in their audiences until they are merged themselves.
func (e *Engine) mergeAgain(tx *store.Tx, into uuid.UUID, others []uuid.UUID) error {
	if err := e.ContactsMerging(tx, into, others); err != nil {
		return err
	}
	for _, contact := range others {
		audiences, err := e.outreach.AudiencesOf(tx, contact)
		if err != nil {
			return err
		}
		if err := e.outreach.RejoinContact(tx, into, audiences); err != nil {
			return err
		}
	}
	return e.moveTo(tx, into, others)
}

// writtenAddresses are the addresses that sequences have written to, by addressKey.
type writtenAddresses map[string]uuid.UUID

// writtenSince returns the addresses that the sequences of an ownership have written to since.
func (e *Engine) writtenSince(tx *store.Tx, before, now *ownership) (writtenAddresses, error) {
	known := map[uuid.UUID]bool{}
	for _, m := range before.Messages {
		known[m.ID] = true
	}
	var since []uuid.UUID
	for _, m := range now.Messages {
		if !known[m.ID] {
			since = append(since, m.ID)
		}
	}
	slices.SortFunc(since, store.CompareIDs)
	written := writtenAddresses{}
	return written, e.messages.Each(tx, since, func(doc store.Doc[Message]) error {
		if m := &doc.Record; m.Status != MessageFailed {
			written[string(addressKey(m.CampaignID, address.Key(string(m.To))))] = m.SequenceID
		}
		return nil
	})
}

// giveBack makes the sequence that of its owner again. It keeps the addresses that it has claimed since, but for those
// that belong to another one. An address belongs to the sequence that has written to it since, so that nobody gets the
// same email from another one.
func (r *sequenceRun) giveBack(to *ownedSequence, o *ownership, written writtenAddresses) error {
	isOthers := func(address string) bool {
		if by, isWritten := written[string(addressKey(r.s.CampaignID, address))]; isWritten {
			return by != r.s.ID
		}
		return !slices.Contains(to.Addresses, address) &&
			slices.ContainsFunc(o.Sequences, func(s ownedSequence) bool { return slices.Contains(s.Addresses, address) })
	}
	addresses := slices.DeleteFunc(slices.Concat(to.Addresses, r.s.state.Addresses), isOthers)
	slices.Sort(addresses)
	addresses = slices.Compact(addresses)
	from := r.s.ContactID
	r.s.ContactID, r.s.state.Superseded, r.s.state.Addresses = to.Contact, to.Superseded, addresses
	for i := range r.s.History {
		if err := r.x.engine.giveTaskBack(r.x.tx, r.s.History[i].TaskID, from, to.Contact); err != nil {
			return err
		}
	}
	return r.loadReferences()
}

// giveTaskBack makes the Task of a step that of another contact, if it is still that of the first one.
func (e *Engine) giveTaskBack(tx *store.Tx, task uuid.NullUUID, from, to uuid.UUID) error {
	if !task.Valid || from == to || !e.crm.Tasks.Table.Has(tx, task.UUID) {
		return nil
	}
	doc, err := e.crm.Tasks.Get(tx, task.UUID)
	if err != nil || doc.Record.ContactID.UUID != from {
		return store.ExceptDamaged(err)
	}
	rec := doc.Record
	rec.ContactID = uuid.NullUUID{UUID: to, Valid: true}
	_, err = e.crm.Tasks.Replace(tx, doc, rec)
	return err
}

// giveMessagesBack gives messages back to their owners. A message that was written since belongs to the contact that has
// its sequence.
func (e *Engine) giveMessagesBack(tx *store.Tx, o, now *ownership, owners map[uuid.UUID]uuid.UUID) error {
	before := map[uuid.UUID]uuid.UUID{}
	for _, m := range o.Messages {
		before[m.ID] = m.Contact
	}
	ids := make([]uuid.UUID, len(now.Messages))
	for i, m := range now.Messages {
		ids[i] = m.ID
	}
	slices.SortFunc(ids, store.CompareIDs)
	return e.messages.Each(tx, ids, func(doc store.Doc[Message]) error {
		owner, known := before[doc.ID]
		if !known {
			owner, known = owners[doc.Record.SequenceID]
		}
		if !known || owner == doc.Record.ContactID {
			return nil
		}
		rec := doc.Record
		rec.ContactID = owner
		_, err := e.messages.Update(tx, doc, rec, []string{"contact_id"})
		return err
	})
}

// HasMessages reports whether a message to a contact with a later id than since went out, was captured or is in flight.
func (e *Engine) HasMessages(tx *store.Tx, contact, since uuid.UUID) (has bool, err error) {
	err = eachUnder(tx, e.messages, ofContact, contact[:], func(doc store.Doc[Message]) error {
		has = has || doc.Record.Status != MessageFailed && store.CompareIDs(doc.ID, since) > 0
		return nil
	})
	return has, err
}

// IsRunning reports whether a contact is in a running sequence.
func (e *Engine) IsRunning(tx *store.Tx, contact uuid.UUID) (running bool, err error) {
	err = eachUnder(tx, e.sequences, byAnyContact, contact[:], func(doc store.Doc[Sequence]) error {
		running = running || doc.Record.isActive()
		return nil
	})
	return running, err
}
