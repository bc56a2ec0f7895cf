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

// TaskTitle renders the title of the step's Task. It is empty if the step has no title.
func (s *CompiledStep) TaskTitle(v *Values) string {
	title, _ := s.title.render(v.subject, nil)
	if strings.TrimSpace(title) == "" {
		return ""
	}
	return title
}

// MissingSubject is reported among the missing values of a first email that has no subject.
const MissingSubject = "subject"

// renderMessage returns the message of the step, with the footer if it needs one, and appends the names
// of tokens without a value or fallback to missing. hasSubject is whether the email's subject is not empty.
func (s *CompiledStep) renderMessage(v *Values, hasSubject bool, missing []string) (string, []string) {
	message, missing := s.message.render(v.message, missing)
	if s.footer != nil {
		message = s.footer.appendTo(message, v.message)
	}
	if s.Type == AutoEmail && !hasSubject {
		missing = append(missing, MissingSubject)
	}
	return message, missing
}

// Missing returns the names of the tokens in the subject and the message of the step that have neither a
// value nor a fallback.
func (s *CompiledStep) Missing(v *Values) []string {
	return s.message.appendMissing(v.message, s.subject.appendMissing(v.subject, nil))
}
