package outreach

import (
	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/internal/template"
	"prospector/store"
)

// Rendered is a step as a contact would see it.
type Rendered struct {
	Subject shape.Text `json:"subject" doc:"An email without a subject of its own has that of the thread it replies to."`
	Message shape.Text `json:"message"`
	Missing []string   `json:"missing" doc:"The tokens without a value and without a fallback, including those in the title of a Task. They render as nothing. Contains subject if the first email has none."`
}

// RenderBody selects for whom a template is rendered.
type RenderBody struct {
	ContactID uuid.UUID     `json:"contact_id" rule:"required"`
	UserID    uuid.NullUUID `json:"user_id" doc:"The sender. Defaults to the user of the API key."`
}

// RenderedTemplate is a template as a contact would see it.
type RenderedTemplate struct {
	Steps []RenderedStep `json:"steps"`
}

// RenderedStep is a step of a rendered template.
type RenderedStep struct {
	Index int               `json:"index"`
	Type  template.StepType `json:"type" rule:"enum=auto_email|manual_email|auto_linkedin_connection|auto_linkedin_message|call|task|gift"`
	Rendered
}

// Render renders all steps of a template for a contact, ordered by index. It changes nothing.
func (o *Outreach) Render(
	tx *store.Tx, id uuid.UUID, d record.Draft[RenderBody], user uuid.UUID,
) (RenderedTemplate, error) {
	body, p := d.Open()
	doc, err := o.Templates.Get(tx, id)
	if err != nil {
		return RenderedTemplate{}, err
	}
	to, from, err := o.readRecipient(tx, uuid.NullUUID{UUID: body.ContactID, Valid: true}, body.UserID, user, &p)
	if err != nil {
		return RenderedTemplate{}, err
	}
	compiled, values, err := o.compileFor(tx, &doc.Record.Content, &to, from)
	if err != nil {
		return RenderedTemplate{}, err
	}
	return renderSteps(compiled, values), nil
}

// readRecipient reads the contact and checks the sender, who is the user unless the request names another. It
// returns everything that is wrong with the request.
func (o *Outreach) readRecipient(
	tx *store.Tx, contact, sender uuid.NullUUID, user uuid.UUID, p *fault.Problems,
) (to crm.Recipient, from uuid.UUID, err error) {
	from = user
	if sender.Valid {
		from = sender.UUID
	}
	if !o.identity.Users.Table.Has(tx, from) && !p.Has("user_id") {
		p.Invalid("user_id", "does not exist")
	}
	if contact.Valid {
		var found bool
		if to, found, err = o.crm.Recipients(tx).Read(contact.UUID); err != nil {
			return to, from, err
		}
		if !found && !p.Has("contact_id") {
			p.Invalid("contact_id", "does not exist")
		}
	}
	return to, from, p.Err()
}

// compileFor compiles the content of a template and returns the values of its tokens.
func (o *Outreach) compileFor(
	tx *store.Tx, content *template.Content, to *crm.Recipient, from uuid.UUID,
) (*template.Compiled, *template.Values, error) {
	footer, err := o.footers.Of(tx)
	if err != nil {
		return nil, nil, err
	}
	compiled := template.Compile(content, footer)
	values, err := o.TokenValues(tx, from).For(compiled, to)
	return compiled, values, err
}

func renderSteps(c *template.Compiled, v *template.Values) RenderedTemplate {
	out := RenderedTemplate{Steps: make([]RenderedStep, len(c.Steps))}
	var composer template.Composer
	for i := range c.Steps {
		s := &c.Steps[i]
		out.Steps[i] = RenderedStep{Index: s.Index, Type: s.Type, Rendered: renderStep(&composer, s, v)}
	}
	return out
}

func renderStep(composer *template.Composer, s *template.CompiledStep, v *template.Values) Rendered {
	message, subject, missing := composer.Compose(s, v)
	return Rendered{Subject: shape.Text(subject), Message: shape.Text(message), Missing: append([]string{}, missing...)}
}
