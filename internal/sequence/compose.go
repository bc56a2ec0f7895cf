package sequence

import (
	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/shape"
	"prospector/internal/template"
)

// composition is the text of an email, and the thread that it belongs to.
type composition struct {
	subject, body string
	composer      *template.Composer
}

// compose composes the email of a step, and returns the tokens that have no value.
func (r *sequenceRun) compose(i int, from *sender) (email composition, missing []string, err error) {
	c, step, err := r.templateOf(i)
	if err != nil {
		return email, nil, err
	}
	values, err := from.tokens.For(c, &r.recipient)
	if err != nil {
		return email, nil, err
	}
	key := address.Key(r.recipient.Email)
	if sentTo := r.s.state.ThreadAddress; sentTo != "" && sentTo != key {
		r.s.state.Thread.Restart()
	}
	r.s.state.ThreadAddress = key
	thread := r.s.threadToReply()
	if own := r.compiled; own != nil && own != c {
		thread = thread.Moved(own, c)
	}
	if err := r.leaveThreadOfOtherSender(&thread, from); err != nil {
		return email, nil, err
	}
	email.composer = thread.Composer(c)
	email.body, email.subject, missing = email.composer.Compose(step, values)
	return email, missingTokens(missing), nil
}

// templateOf returns the content that the email of a step is composed from, and the step in it: the content of the
// sequence. An email that was held is composed from the newest one, unless that lacks the step.
func (r *sequenceRun) templateOf(i int) (*template.Compiled, *template.CompiledStep, error) {
	own, err := r.template()
	if err != nil {
		return nil, nil, err
	}
	h := &r.s.History[i]
	step := own.Step(h.StepIndex)
	if !r.s.state.Steps[i].Newest {
		return own, step, nil
	}
	version, err := r.x.currentVersion(r.s.state.Template)
	if err != nil {
		return nil, nil, err
	}
	newest, err := r.x.template(r.s.state.Template, version)
	if err != nil {
		return nil, nil, err
	}
	if now := newest.Same(step); now != nil {
		h.TemplateVersion = int(version)
		return newest, now, nil
	}
	return own, step, nil
}

// leaveThreadOfOtherSender restarts a thread whose last email came from another address than the sender has
// now: the campaign has another sender, or the sender another address.
func (r *sequenceRun) leaveThreadOfOtherSender(thread *template.Thread, from *sender) error {
	last, found := thread.Last()
	if !found {
		return nil
	}
	doc, err := r.x.engine.messages.Get(r.x.tx, last)
	if isUnreadable(err) {
		return nil
	}
	if err == nil && address.Key(doc.Record.From) != address.Key(from.address.Email) {
		thread.Restart()
	}
	return err
}

// dropMisaddressed fails a message that was to be sent again to an address that the contact no longer
// has, or from one that its sender does not have, so that the step composes another one. It reports
// whether it did.
func (r *sequenceRun) dropMisaddressed(i int, from *sender) (dropped bool, err error) {
	h := &r.s.History[i]
	if !h.MessageID.Valid {
		return false, nil
	}
	doc, err := r.x.engine.messages.Get(r.x.tx, h.MessageID.UUID)
	if err != nil {
		return false, err
	}
	why := ""
	if from.user != nil && address.Key(doc.Record.From) != address.Key(from.address.Email) {
		why = "the campaign has another sender now"
	}
	if address.Key(doc.Record.To) != address.Key(r.recipient.Email) {
		why = "the contact has another address now"
	}
	if why == "" {
		return false, nil
	}
	if err := r.failMessage(i, why); err != nil {
		return false, err
	}
	r.s.state.MarkUnsent(h.StepIndex, h.MessageID)
	h.MessageID = uuid.NullUUID{}
	state := &r.s.state.Steps[i]
	state.Retry, state.NeedsSlot = shape.Time{}, false // else the next message would be due while it is in flight
	return true, nil
}
