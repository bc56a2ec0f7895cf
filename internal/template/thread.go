package template

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// This file decides which thread an email belongs to. The rules, for the emails that one contact
// gets in the order in which they are sent:
//
//   - An email with a subject of its own starts a thread. A subject that renders as an empty text does
//     not count.
//   - An email without a subject is a reply in the current thread. Its subject is that of the thread
//     after "Re:", and it refers to the emails already sent in the thread.
//   - If no email of the current thread was sent, because the email with its subject was skipped or
//     failed, the next email starts the thread instead. It takes the subject and is not a reply.
//   - No email is a reply to one whose delivery is unknown. It starts a thread instead.

// Thread is the stored state of a sequence's current thread.
type Thread struct {
	Subject string `json:"subject,omitzero" rule:"personal"` // of the first email
	// MessageIDs are the Message-IDs of the emails that were sent in the thread, may have been
	// sent, or are being sent.
	MessageIDs []string `json:"thread,omitzero"`
	// Unsent are the indexes of the steps whose emails were skipped or failed since the thread
	// started.
	Unsent []int `json:"missed,omitzero"`
}

// Restart makes the next email start a new thread, with the subject of the current one unless it has
// its own.
func (t *Thread) Restart() { t.MessageIDs = nil }

// Composer returns a composer for the next email of the sequence.
func (t *Thread) Composer(c *Compiled) *Composer {
	next := &Composer{subject: t.Subject, started: len(t.MessageIDs) > 0}
	for _, index := range t.Unsent {
		if step := c.Step(index); step != nil { // a newer content may lack it
			next.unsent = append(next.unsent, step)
		}
	}
	return next
}

// Add records that the email that c composed last is being sent under a Message-ID. It returns the
// Message-IDs that the email refers to.
func (t *Thread) Add(c *Composer, messageID string) (references []string) {
	if c.isReply {
		references = t.MessageIDs
	}
	*t = Thread{Subject: c.subject, MessageIDs: append(slices.Clip(references), messageID)}
	return references
}

// MarkUnsent records that the email of a step was skipped or failed. message is the message that
// was created for it, if there was one.
func (t *Thread) MarkUnsent(step int, message uuid.NullUUID) {
	if !message.Valid {
		t.Unsent = append(slices.Clip(t.Unsent), step)
		return
	}
	at := t.position(message.UUID)
	if at < 0 { // another thread has started since
		return
	}
	t.MessageIDs = slices.Concat(t.MessageIDs[:at], t.MessageIDs[at+1:])
	if len(t.MessageIDs) == 0 {
		t.Unsent = slices.Concat([]int{step}, t.Unsent)
	}
}

// Last returns the last message of the thread. found is false if there is none.
func (t *Thread) Last() (message uuid.UUID, found bool) {
	if len(t.MessageIDs) == 0 {
		return message, false
	}
	id, _, _ := strings.Cut(t.MessageIDs[len(t.MessageIDs)-1], "@")
	message, err := uuid.Parse(id)
	return message, err == nil
}

// Contains reports whether a message belongs to the thread.
func (t *Thread) Contains(message uuid.UUID) bool { return t.position(message) >= 0 }

func (t *Thread) position(message uuid.UUID) int {
	prefix := message.String() + "@"
	return slices.IndexFunc(t.MessageIDs, func(id string) bool { return strings.HasPrefix(id, prefix) })
}

// MarkQueued records that the email of a step that was marked as unsent is sent after all.
func (t *Thread) MarkQueued(step int, messageID string) {
	t.Unsent = slices.DeleteFunc(slices.Clone(t.Unsent), func(index int) bool { return index == step })
	t.MessageIDs = append(slices.Clip(t.MessageIDs), messageID)
}

// Composer renders emails to one contact in the order in which they are sent, and decides the
// thread of each. The zero value starts without a thread.
type Composer struct {
	subject string          // of the current thread
	started bool            // an email of the current thread was sent or is being sent
	unsent  []*CompiledStep // see Thread.Unsent
	isReply bool            // the email composed last is a reply
}

// NotReceived notes that the email composed last may not have reached its recipient. The next one does not
// reply to it.
func (c *Composer) NotReceived() { c.started = false }

// Compose renders a step. It returns the message, the subject and the names of tokens without a value or
// fallback, for a Task also of those in the title. For an email, it makes that email's thread the current one.
func (c *Composer) Compose(s *CompiledStep, v *Values) (message, subject string, missing []string) {
	if s.Type == AutoEmail {
		subject, missing = c.startOrReply(s, v)
	} else {
		missing = s.title.appendMissing(v.subject, nil)
		subject, missing = s.subject.render(v.subject, missing)
	}
	message, missing = s.renderMessage(v, subject != "", missing)
	return message, subject, missing
}

// startOrReply returns the subject of an email, and makes its thread the current one.
func (c *Composer) startOrReply(s *CompiledStep, v *Values) (subject string, missing []string) {
	subject, missing = c.newSubject(s, v)
	c.isReply = subject == "" && c.started
	if c.isReply {
		return replySubject(c.subject), missing
	}
	c.subject, c.started, c.unsent = cmp.Or(subject, c.subject), true, nil
	return c.subject, missing
}

// newSubject returns the subject of the thread that an email starts: its own subject, else the last
// subject among the unsent emails. It is empty if there is none.
func (c *Composer) newSubject(s *CompiledStep, v *Values) (subject string, missing []string) {
	subject, missing = s.subject.render(v.subject, nil)
	for i := len(c.unsent) - 1; i >= 0 && subject == ""; i-- {
		subject, missing = c.unsent[i].subject.render(v.subject, missing)
	}
	return subject, missing
}

// replySubject returns the subject of a reply to an email with a subject.
func replySubject(subject string) string {
	const re = "Re: "
	if subject == "" || len(subject) >= len(re) && strings.EqualFold(subject[:len(re)], re) {
		return subject
	}
	return re + subject
}
