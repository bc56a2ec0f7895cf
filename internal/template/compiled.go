package template

import (
	"slices"
	"strings"

	"prospector/internal/planner"
)

// Compiled is a template's content, parsed once so that it can be rendered and planned for many
// contacts. It is immutable and shared.
type Compiled struct {
	Content *Content
	Plan    *planner.Template
	Steps   []CompiledStep // ordered by Index
	Tokens  []Token        // the distinct tokens of all texts and the footer

	byIndex map[int]*CompiledStep
}

// CompiledStep is a step whose texts are parsed.
type CompiledStep struct {
	*Step
	Position int // in Content.Steps, which is how the planner refers to the step

	title   text
	subject text
	message text
	footer  *footer // nil unless the step is an email whose message lacks the unsubscribe link
}

// Compile parses content, which must have passed Check, and the footer of its emails, which must
// have passed CheckFooter.
func Compile(content *Content, mailFooter string) *Compiled {
	var p parser
	foot := p.footer(mailFooter)
	c := &Compiled{
		Content: content, Plan: content.plan(),
		Steps: make([]CompiledStep, len(content.Steps)), byIndex: make(map[int]*CompiledStep, len(content.Steps)),
	}
	for i := range content.Steps {
		s := &content.Steps[i]
		compiled := CompiledStep{
			Step: s, Position: i,
			title: p.text(string(s.Title), nil), subject: p.text(string(s.Subject), nil),
			message: p.text(string(s.Message), content.Blocks),
		}
		if s.Type == AutoEmail && !compiled.message.has(UnsubscribeURL) {
			compiled.message, compiled.footer = compiled.message.trimEnd(), foot
		}
		c.Steps[i] = compiled
	}
	c.Tokens = p.tokens
	slices.SortFunc(c.Steps, func(a, b CompiledStep) int { return a.Index - b.Index })
	for i := range c.Steps {
		c.byIndex[c.Steps[i].Index] = &c.Steps[i]
	}
	return c
}

// IsOnlyEmail reports whether every step is an automatic email.
func (c *Compiled) IsOnlyEmail() bool {
	return !slices.ContainsFunc(c.Steps, func(s CompiledStep) bool { return s.Type != AutoEmail })
}

// Step returns the step with an index, or nil.
func (c *Compiled) Step(index int) *CompiledStep { return c.byIndex[index] }

// Fill returns copies of the steps in which the tokens that have a value in v are already replaced.
// Use it to render many messages that share these values, such as those of one sender.
func (c *Compiled) Fill(v *Values) []CompiledStep {
	steps := slices.Clone(c.Steps)
	for i := range steps {
		s := &steps[i]
		s.title, s.subject = s.title.fill(v.subject), s.subject.fill(v.subject)
		s.message = s.message.fill(v.message)
		if s.footer != nil {
			s.footer = s.footer.fill(v.message)
		}
	}
	return steps
}

// TaskTitle renders the title of the step's Task. It is empty if the step has no title.
func (s *CompiledStep) TaskTitle(v *Values) string {
	title, _ := s.title.render(nil, PlainText, v.subject, nil)
	if strings.TrimSpace(string(title)) == "" {
		return ""
	}
	return string(title)
}

// MissingSubject is reported among the missing values of a first email that has no subject.
const MissingSubject = "subject"

// AppendMessage appends the message of the step to b, with the footer if it needs one, and the names
// of tokens without a value or fallback to missing. hasSubject is whether the email's subject, which the caller composed before, is not
// empty.
func (s *CompiledStep) AppendMessage(
	b []byte, f Form, v *Values, hasSubject bool, missing []string,
) ([]byte, []string) {
	start := len(b)
	b, missing = s.message.render(b, f, v.message, missing)
	if s.footer != nil {
		b = s.footer.append(b, start, f, v.message)
	}
	if s.Type == AutoEmail && !hasSubject {
		missing = append(missing, MissingSubject)
	}
	return b, missing
}

// AppendMissing appends the names of the tokens in the subject and the message of the step that have
// neither a value nor a fallback.
func (s *CompiledStep) AppendMissing(v *Values, missing []string) []string {
	return s.message.appendMissing(v.message, s.subject.appendMissing(v.subject, missing))
}
