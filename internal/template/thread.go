package template

import (
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
	next := &Composer{subject: []byte(t.Subject), started: len(t.MessageIDs) > 0}
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
	*t = Thread{Subject: string(c.subject), MessageIDs: append(slices.Clip(references), messageID)}
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
// thread of each. The zero value starts without a thread and writes plain text.
type Composer struct {
	Form Form

	subject []byte          // of the current thread
	started bool            // an email of the current thread was sent or is being sent
	unsent  []*CompiledStep // see Thread.Unsent
	isReply bool            // the email composed last is a reply
}

// NotReceived notes that the email composed last may not have reached its recipient. The next one does not
// reply to it.
func (c *Composer) NotReceived() { c.started = false }

// Compose renders a step: it appends the message to b, and returns the subject and the names of
// tokens without a value or fallback. For an email, it also makes that email's thread the current one.
func (c *Composer) Compose(b []byte, s *CompiledStep, v *Values) (message []byte, subject string, missing []string) {
	line, missing := c.AppendSubject(nil, s, v, nil)
	message, missing = s.AppendMessage(b, c.Form, v, len(line) > 0, missing)
	return message, string(line), missing
}

// AppendSubject appends the subject of a step to b, and the names of tokens without a value to
// missing. For an email, it also makes that email's thread the current one. For a Task it
// also reports what is missing in the title.
func (c *Composer) AppendSubject(b []byte, s *CompiledStep, v *Values, missing []string) ([]byte, []string) {
	if s.Type != AutoEmail {
		_, missing = s.title.render(b, c.Form, v.subject, missing)
		return s.subject.render(b, c.Form, v.subject, missing)
	}
	start := len(b)
	b, missing = c.appendNewSubject(b, s, v, missing)
	hasNewSubject := len(b) > start
	c.isReply = !hasNewSubject && c.started
	if c.isReply {
		return appendReply(b, c.subject), missing
	}
	if !hasNewSubject {
		b = append(b, c.subject...)
	}
	c.subject, c.started, c.unsent = b[start:], true, nil
	return b, missing
}

// appendNewSubject appends the subject of the thread that an email starts: its own subject, else
// the last subject among the unsent emails. It appends nothing if there is none.
func (c *Composer) appendNewSubject(b []byte, s *CompiledStep, v *Values, missing []string) ([]byte, []string) {
	start := len(b)
	b, missing = s.subject.render(b, c.Form, v.subject, missing)
	for i := len(c.unsent) - 1; i >= 0 && len(b) == start; i-- {
		b, missing = c.unsent[i].subject.render(b, c.Form, v.subject, missing)
	}
	return b, missing
}

// appendReply appends the subject of a reply to an email with a subject.
func appendReply(b, subject []byte) []byte {
	const re = "Re: "
	if len(subject) > 0 && (len(subject) < len(re) || !strings.EqualFold(string(subject[:len(re)]), re)) {
		b = append(b, re...)
	}
	return append(b, subject...)
}
