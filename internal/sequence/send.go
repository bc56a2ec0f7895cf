package sequence

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/mail"
	"prospector/internal/outreach"
	"prospector/internal/planner"
	"prospector/internal/shape"
	"prospector/store"
)

// sendDue sends the due emails of a sender, as far as its ledger, the back-off and the capacity of
// the dispatcher allow, and at most limit. It returns how many sequences it changed.
func (x *engineTx) sendDue(a *agenda, sender uuid.UUID, due []dueEntry, limit int) (changed int, err error) {
	from, err := x.sender(sender)
	if err != nil {
		return 0, store.ExceptDamaged(err)
	}
	if from.paused != "" { // these campaigns became active, or the sender's, since
		return 0, x.holdCampaignsOf(sender, outreach.HeldSenderRefused, from.paused)
	}
	transport := x.engine.Options.Transport(sender)
	if transport != nil {
		until, onlyOne := x.engine.dispatcher.mayClaim(x.tx.Now())
		if !until.IsZero() {
			a.noteNext(x.engine.clock.scale.at(until))
			return 0, nil
		}
		if onlyOne {
			limit = min(limit, 1)
		}
	}
	slices.SortFunc(due, comparePriority)
	for _, entry := range due {
		if changed == limit {
			return changed, nil
		}
		if slot := from.ledger.Next(entry.due, x.now); slot.At.After(x.now) {
			a.noteNext(slot.At)
			return changed, nil
		}
		if transport != nil && x.capacity == 0 {
			x.lacksCapacity = true
			return changed, nil
		}
		r, err := x.load(store.Doc[Sequence]{ID: entry.sequence})
		hasChanged := false
		if err == nil {
			hasChanged, err = r.sendNext(a, from, transport)
		}
		if store.IsDamagedRecord(err) {
			continue
		}
		if err != nil {
			return changed, err
		}
		if !hasChanged {
			continue
		}
		if err := r.save(); err != nil {
			return changed, err
		}
		changed++
		if _, hasAnother := r.dueEmail(); hasAnother { // it may come before the others
			return changed, nil
		}
	}
	return changed, nil
}

// comparePriority orders entries of prioritized campaigns first, then by due time.
func comparePriority(a, b dueEntry) int {
	if a.campaign.Prioritized != b.campaign.Prioritized {
		if a.campaign.Prioritized {
			return -1
		}
		return 1
	}
	return compareEntries(a, b)
}

// maxOnTime is how late an email may be sent without its reason saying that it is overdue.
const maxOnTime = time.Minute

// sendEmail sends the email of a step in a slot of its sender, and continues the sequence. It stops
// the sequence if it must. It skips the step if the email can never be sent, and lets it wait if
// it cannot be sent now.
func (r *sequenceRun) sendEmail(i int, from *sender, t Transport, slot planner.Slot) error {
	if !r.isRunning() { // its campaign was held in this transaction
		return nil
	}
	if stopped, err := r.stopIfMust(); stopped || err != nil {
		return err
	}
	free, err := r.x.recipientFree(r.recipient.Email, r.s.ID)
	if err != nil {
		return err
	}
	if _, err := r.dropMisaddressed(i, from); err != nil {
		return err
	}
	h := &r.s.History[i]
	switch {
	case h.MessageID.Valid:
		if err = r.takeSlot(i, from, slot); err == nil {
			err = r.resend(i)
		}
	case r.recipient.Email == "":
		r.finishStep(i, StepSkipped, outreach.NoAddress)
	case from.user == nil:
		r.finishStep(i, StepSkipped, outreach.NoOwner)
	case !free.IsZero():
		r.waitForRecipient(i, free)
	default:
		err = r.createMessage(i, from, t, slot)
	}
	if err != nil {
		return err
	}
	return store.ExceptDamaged(r.proceed()) // the email is sent, and what follows waits
}

// takeSlot takes the slot in which the email of a step is sent, and explains it.
func (r *sequenceRun) takeSlot(i int, from *sender, slot planner.Slot) error {
	h := &r.s.History[i]
	hour, err := r.hourOf(i)
	if err != nil {
		return err
	}
	// Counted from the due time, the same slot explains what delayed it.
	if fromDue := from.ledger.NextAtHour(h.DueAt.Std(), h.DueAt.Std(), hour); r.x.now.Sub(fromDue.At) < maxOnTime {
		fromDue.At = slot.At
		slot = fromDue
	}
	if !h.MessageID.Valid {
		h.Reason += from.ledger.Reason(slot)
	}
	from.ledger.Take(slot)
	from.hasChanged = true
	return nil
}

// createMessage composes the message of a step, takes the slot and stores the message. It queues it
// for the dispatcher or, without a transport, captures it. It holds or skips the step if values are
// missing and the campaign says so.
func (r *sequenceRun) createMessage(i int, from *sender, t Transport, slot planner.Slot) error {
	composed, missing, err := r.compose(i, from)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		switch r.campaign.MissingValues {
		case outreach.HoldMissing:
			r.holdStep(i, missing)
			return nil
		case outreach.SkipMissing:
			r.finishStep(i, StepSkipped, "no value for "+strings.Join(missing, ", "))
			return nil
		}
	}
	if err := r.takeSlot(i, from, slot); err != nil {
		return err
	}
	r.noteEmail(r.recipient.Email)
	h := &r.s.History[i]
	id := r.x.tx.NewID()
	m := Message{
		MessageHead: MessageHead{
			ID: id, CampaignID: r.s.CampaignID, SequenceID: r.s.ID, ContactID: r.s.ContactID, StepIndex: h.StepIndex,
			From: from.address.Email, To: r.recipient.Email, Subject: shape.Text(composed.subject),
			Status: MessageQueued, CreatedAt: shape.At(r.x.tx.Now()),
		},
		Body:  shape.Text(composed.body),
		state: messageState{HeaderID: id.String() + "@" + domainOf(from.address.Email)},
	}
	m.state.References = r.s.state.Thread.Add(composed.composer, m.state.HeaderID)
	email := r.email(&m, from)
	m.Headers = r.x.engine.hiddenHeaders(email)
	h.MessageID = uuid.NullUUID{UUID: id, Valid: true}
	switch err := email.Check(); {
	case err != nil:
		m.Status, m.Error = MessageFailed, shape.Text(err.Error())
		r.finishStep(i, StepFailed, err.Error())
	case t == nil:
		m.Status = MessageCaptured
		r.finishStep(i, StepCaptured, "")
	}
	doc, err := r.x.saveMessage(store.Doc[Message]{}, m)
	if err == nil && m.Status == MessageQueued {
		r.claim(doc, email, t)
	}
	return err
}

func domainOf(email string) string { return email[strings.LastIndexByte(email, '@')+1:] }

// email returns a message in the form in which it is delivered, with the unsubscribe link that the
// stored message hides.
func (r *sequenceRun) email(m *Message, from *sender) *mail.Message {
	return &mail.Message{
		ID: m.state.HeaderID, Date: r.x.tx.Now(), Subject: string(m.Subject),
		Body:       r.x.engine.revealLink(string(m.Body), r.x.tx.Org(), m.ID, m.ContactID),
		References: m.state.References,
		From:       mail.Address{Name: from.address.Name, Email: m.From},
		To: mail.Address{
			Name: strings.TrimSpace(r.recipient.FirstName + " " + r.recipient.LastName), Email: m.To,
		},
		Unsubscribe: r.x.engine.UnsubscribeLink(r.x.tx.Org(), m.ID, m.ContactID),
	}
}

// claim reserves capacity for a message, which is dispatched after the commit.
func (r *sequenceRun) claim(m store.Doc[Message], email *mail.Message, t Transport) {
	r.x.capacity--
	r.x.engine.dispatcher.claim(r.x.tx.Org())
	claimed := &outgoing{
		org: r.x.tx.Org(), message: m, sender: r.campaign.OwnerID.UUID, email: email, transport: t,
	}
	r.claimed = append(r.claimed, claimed)
	r.x.claimed = append(r.x.claimed, claimed)
}

// resendOrDrop is resend for a message that needs no slot. One that cannot be sent as it is takes a slot with
// the message that replaces it.
func (r *sequenceRun) resendOrDrop(i int) error {
	from, err := r.x.sender(r.campaign.OwnerID.UUID)
	if err != nil {
		return err
	}
	if dropped, err := r.dropMisaddressed(i, from); dropped || err != nil {
		return err
	}
	return r.resend(i)
}

// resend queues the message of a step again if it can be sent now, and else sets the next time to
// try.
func (r *sequenceRun) resend(i int) error {
	x, sender := r.x, r.campaign.OwnerID.UUID
	doc, err := x.engine.messages.Get(x.tx, r.s.History[i].MessageID.UUID)
	if err != nil {
		return err
	}
	cal, err := x.cal()
	if err != nil {
		return err
	}
	from, err := x.sender(sender)
	if err != nil {
		return err
	}
	t := x.engine.Options.Transport(sender)
	backoff, _ := x.engine.dispatcher.mayClaim(x.tx.Now())
	state := &r.s.state.Steps[i]
	m := doc.Record
	free, err := x.recipientFree(m.To, r.s.ID) // another sequence may have written to it meanwhile
	if err != nil {
		return err
	}
	switch open := cal.NextOpen(x.now); {
	case x.engine.outreach.Refusal(x.tx, crm.Reach{Email: m.To}) != "": // the contact has another address by now
		m.Status, m.Error = MessageFailed, "the address is suppressed"
		r.finishStep(i, StepFailed, "the address is suppressed")
	case open.After(x.now):
		state.Retry, state.NeedsSlot = shape.At(open), false
		return nil
	case !free.IsZero():
		state.Retry, state.NeedsSlot = shape.At(free), false
		r.explainRecipientGap(i)
		return nil
	case t == nil:
		m.Status, m.Error = MessageCaptured, ""
		r.finishStep(i, StepCaptured, "")
	case !backoff.IsZero():
		state.Retry, state.NeedsSlot = shape.At(x.engine.clock.scale.at(backoff)), false
		return nil
	case x.capacity == 0:
		state.Retry, state.NeedsSlot = shape.At(x.now.Add(x.engine.clock.scale.perSecond())), false
		return nil
	default:
		m.Status, state.Retry, state.NeedsSlot = MessageQueued, shape.Time{}, false
		m.Headers = x.engine.hiddenHeaders(r.email(&m, from))
		r.noteEmail(m.To)
	}
	doc, err = x.saveMessage(doc, m)
	if err == nil && m.Status == MessageQueued {
		r.claim(doc, r.email(&m, from), t)
	}
	return err
}
