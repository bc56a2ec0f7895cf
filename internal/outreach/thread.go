package outreach

import (
	"slices"
	"strings"

	"github.com/google/uuid"
)

// thread is what the emails that one contact gets belong to, in the order in which they are sent:
//
//   - One with a subject of its own begins a thread. A subject whose tokens have no value is none.
//   - One without is a reply in the thread before it: with its subject after "Re:", to what has gone in it.
//   - Where nothing has gone in that thread, because the email with its subject was skipped or has failed, it begins the thread itself,
//     with that subject and as a reply to nothing.
type thread struct {
	form    form
	subject []byte       // as the first email of the thread has it
	begun   bool         // something has gone in it, or is on its way
	missed  []*rendering // what never went since, of which the last with a subject is to be begun with
	reply   bool         // the last email is a reply
}

// render appends the message of a step to b, and gives its subject and what is missing, for whom the values are of.
func (t *thread) render(b []byte, r *rendering, v *values) (message []byte, subject string, missing []string) {
	line, missing := t.line(nil, r, v, nil)
	message, missing = r.body(b, t.form, v, len(line) > 0, missing)
	return message, string(line), missing
}

// line appends the subject of a step to b, and to missing what it misses; the title is that of a Task.
func (t *thread) line(b []byte, r *rendering, v *values, missing []string) ([]byte, []string) {
	if r.step.Type != AutoEmail {
		_, missing = r.title.render(b, t.form, &v.subject, missing)
		return r.subject.render(b, t.form, &v.subject, missing)
	}
	from := len(b)
	b, missing = r.subject.render(b, t.form, &v.subject, missing)
	for i := len(t.missed) - 1; i >= 0 && len(b) == from; i-- {
		b, missing = t.missed[i].subject.render(b, t.form, &v.subject, missing)
	}
	if t.reply = len(b) == from && t.begun; t.reply {
		return appendReply(b, t.subject), missing
	}
	if len(b) == from {
		b = append(b, t.subject...)
	}
	t.subject, t.begun, t.missed = b[from:], true, nil
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

// threadState is what a sequence keeps of its thread.
type threadState struct {
	Subject string   `json:"subject,omitzero"`
	Thread  []string `json:"thread,omitzero"` // the Message-IDs of what has gone in it, may have, or is on its way
	Missed  []int    `json:"missed,omitzero"` // the steps whose emails never went since it began
}

// thread is what the next email of a sequence belongs to.
func (s *threadState) thread(c *course) *thread {
	t := &thread{subject: []byte(s.Subject), begun: len(s.Thread) > 0}
	for _, step := range s.Missed {
		t.missed = append(t.missed, c.render[step])
	}
	return t
}

// join notes that an email which the thread has rendered is on its way, and gives the Message-IDs that it refers to.
func (s *threadState) join(t *thread, messageID string) (references []string) {
	if t.reply {
		references = s.Thread
	}
	*s = threadState{Subject: string(t.subject), Thread: append(slices.Clip(references), messageID)}
	return references
}

// miss notes that the email of a step never went; the message is what had been made of it.
func (s *threadState) miss(step int, message uuid.NullUUID) {
	if !message.Valid {
		s.Missed = append(slices.Clip(s.Missed), step)
		return
	}
	at := slices.IndexFunc(s.Thread, func(id string) bool { return strings.HasPrefix(id, message.UUID.String()+"@") })
	if at < 0 { // another thread has begun since
		return
	}
	s.Thread = slices.Concat(s.Thread[:at], s.Thread[at+1:])
	if len(s.Thread) == 0 {
		s.Missed = slices.Concat([]int{step}, s.Missed)
	}
}
