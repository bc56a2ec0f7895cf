package outreach

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// form is how a text is written.
type form int

const (
	plain  form = iota
	quoted      // as within a JSON string: of many messages most is the same, and need not be quoted again
	forms
)

// inForms is a text in all forms.
type inForms [forms]string

func newForms(s string) inForms {
	if s == "" {
		return inForms{}
	}
	var room [128]byte
	q := appendQuoted(room[:0], s)
	q = q[1 : len(q)-1]
	if len(q) == len(s) { // nothing in it is written in another way
		return inForms{plain: s, quoted: s}
	}
	return inForms{plain: s, quoted: string(q)}
}

// appendQuoted appends a text as a JSON string.
func appendQuoted(b []byte, s string) []byte {
	b, err := jsontext.AppendQuote(b, s)
	if err != nil {
		panic(err) // the decoder lets no text in that is not UTF-8
	}
	return b
}

// values are what the tokens stand for in messages and in subjects, which are one line; an empty one has no value.
type values struct{ message, subject [tokens]inForms }

func (v *values) set(t token, s string) {
	v.message[t] = newForms(s)
	v.subject[t] = v.message[t]
	if line := oneLine(s); line != s {
		v.subject[t] = newForms(line)
	}
}

func (v *values) recipient(r *crm.Recipient) {
	v.set(recipientFirstName, r.FirstName)
	v.set(recipientLastName, r.LastName)
	v.set(recipientCompany, r.Company)
	v.set(recipientEmail, r.Email)
}

func (v *values) sender(u *identity.User, company string) {
	v.set(senderFirstName, string(u.FirstName))
	v.set(senderLastName, string(u.LastName))
	v.set(senderTitle, string(u.Title))
	v.set(senderEmail, u.Email)
	v.set(senderCompany, company)
}

// text is a text of a template that is ready to be rendered: what stands in it is looked at once, and what tokens stand for is never
// looked at, so that nobody can write a token into their own name.
type text []textPart

// textPart is a piece of text, or a token where that is empty.
type textPart struct {
	text  inForms
	token token
}

// newText reads a text. Those of a template have been checked; what is wrong with others stays as it is.
func newText(s string, blocks map[string]Block) (t text) {
	for _, p := range parse(s) {
		block, isBlock := blocks[p.text]
		token, isToken := tokenNamed(p.text)
		switch {
		case p.kind == tokenPiece && isToken:
			t = append(t, textPart{token: token})
		case p.kind == blockPiece && isBlock:
			t = append(t, newText(string(block.Content), nil)...)
		default:
			t = append(t, textPart{text: newForms(p.raw)})
		}
	}
	return t
}

// fill puts what tokens stand for into the text, of those that have a value: of many messages that is the same.
func (t text) fill(v *[tokens]inForms) (filled text) {
	for _, part := range t {
		if part.text == (inForms{}) {
			part.text = v[part.token]
		}
		last := len(filled) - 1
		if last < 0 || part.text == (inForms{}) || filled[last].text == (inForms{}) {
			filled = append(filled, part)
			continue
		}
		for f := range part.text {
			filled[last].text[f] += part.text[f]
		}
	}
	return filled
}

// render appends the text to b. The names of tokens without a value, which render as nothing, are added to missing.
func (t text) render(b []byte, f form, v *[tokens]inForms, missing []string) ([]byte, []string) {
	for i := range t {
		part := &t[i]
		switch {
		case part.text[f] != "":
			b = append(b, part.text[f]...)
		case v[part.token][f] != "":
			b = append(b, v[part.token][f]...)
		case !slices.Contains(missing, tokenNames[part.token]):
			missing = append(missing, tokenNames[part.token])
		}
	}
	return b, missing
}

// rendering is a step that is ready to be rendered.
type rendering struct {
	step     *Step
	position int // among the steps of the template
	title    text
	subject  text
	message  text
}

// renderings are the steps of a content in the order of their indexes.
func (c *Content) renderings() []rendering {
	all := make([]rendering, len(c.Steps))
	for i := range c.Steps {
		s := &c.Steps[i]
		all[i] = rendering{
			step: s, position: i, title: newText(string(s.Title), nil), subject: newText(string(s.Subject), nil), message: newText(string(s.Message), c.Blocks),
		}
	}
	slices.SortFunc(all, func(a, b rendering) int { return a.step.Index - b.step.Index })
	return all
}

// Rendered is a step as a contact would see it.
type Rendered struct {
	Subject shape.Text `json:"subject" doc:"That of an email without one of its own is a reply in the thread before."`
	Message shape.Text `json:"message"`
	Missing []string   `json:"missing" doc:"The tokens without a value, which render as nothing, those in the title of a Task too; and subject where a first email has none."`
}

// missingSubject is what a first email without a subject misses.
const missingSubject = "subject"

// body appends the message of a step to b, and to missing what it misses.
func (r *rendering) body(b []byte, f form, v *values, hasSubject bool, missing []string) ([]byte, []string) {
	b, missing = r.message.render(b, f, &v.message, missing)
	if r.step.Type == AutoEmail && !hasSubject {
		missing = append(missing, missingSubject)
	}
	return b, missing
}

// oneLine keeps what a value brings into a subject from ending it.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == '\r' || r == '\n' {
			return ' '
		}
		return r
	}, s)
}

// RenderBody says for whom a template is rendered.
type RenderBody struct {
	ContactID uuid.UUID     `json:"contact_id" rule:"required"`
	UserID    uuid.NullUUID `json:"user_id" doc:"The sender. The user of the key when nobody is named."`
}

// RenderedTemplate is a template as a contact would see it.
type RenderedTemplate struct {
	Steps []RenderedStep `json:"steps"`
}

// RenderedStep is a step of it.
type RenderedStep struct {
	Index int      `json:"index"`
	Type  StepType `json:"type" rule:"enum=auto_email|manual_email|auto_linkedin_connection|auto_linkedin_message|call|task|gift"`
	Rendered
}

// Render renders all steps of a template for a contact, in the order of their indexes. It changes nothing.
func (o *Outreach) Render(tx *store.Tx, template uuid.UUID, d record.Draft[RenderBody], user uuid.UUID) (RenderedTemplate, error) {
	body, p := d.Open()
	doc, err := o.Templates.Get(tx, template)
	if err != nil {
		return RenderedTemplate{}, err
	}
	if body.UserID.Valid {
		user = body.UserID.UUID
	}
	v, err := o.senderValues(tx, user)
	if fault.CodeOf(err) == fault.NotFound && !p.Has("user_id") {
		p.Invalid("user_id", "does not exist")
	} else if err != nil && fault.CodeOf(err) != fault.NotFound {
		return RenderedTemplate{}, err
	}
	recipient, found, err := o.crm.Recipients(tx).Read(body.ContactID)
	if err != nil {
		return RenderedTemplate{}, err
	}
	if !found && !p.Has("contact_id") {
		p.Invalid("contact_id", "does not exist")
	}
	if err := p.Err(); err != nil {
		return RenderedTemplate{}, err
	}
	v.recipient(&recipient)
	out, t := RenderedTemplate{Steps: []RenderedStep{}}, thread{}
	for _, r := range doc.Record.renderings() {
		message, subject, missing := t.render(nil, &r, &v)
		out.Steps = append(out.Steps, RenderedStep{Index: r.step.Index, Type: r.step.Type, Rendered: Rendered{
			Subject: shape.Text(subject), Message: shape.Text(message), Missing: append([]string{}, missing...),
		}})
	}
	return out, nil
}

// senderValues are what the tokens of a sender stand for; a user who is nobody is not_found.
func (o *Outreach) senderValues(tx *store.Tx, user uuid.UUID) (v values, err error) {
	sender, err := o.identity.Users.Get(tx, user)
	if err != nil {
		return v, err
	}
	org, err := o.identity.Organizations.Get(tx, tx.Org())
	if err != nil {
		return v, err
	}
	v.sender(&sender.Record, org.Record.Name)
	return v, nil
}
