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
	Missing []string   `json:"missing" doc:"The tokens without a value, including those in the title of a Task. They render as nothing. Contains subject if the first email has none."`
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
	if body.UserID.Valid {
		user = body.UserID.UUID
	}
	values, err := o.SenderValues(tx, user)
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
	values.SetRecipient(RecipientValues(&recipient))
	return renderSteps(template.Compile(&doc.Record.Content), &values), nil
}

func renderSteps(c *template.Compiled, v *template.Values) RenderedTemplate {
	out := RenderedTemplate{Steps: make([]RenderedStep, len(c.Steps))}
	var composer template.Composer
	for i := range c.Steps {
		s := &c.Steps[i]
		message, subject, missing := composer.Compose(nil, s, v)
		out.Steps[i] = RenderedStep{Index: s.Index, Type: s.Type, Rendered: Rendered{
			Subject: shape.Text(subject), Message: shape.Text(message), Missing: append([]string{}, missing...),
		}}
	}
	return out
}

// RecipientValues returns the token values of a recipient.
func RecipientValues(r *crm.Recipient) template.Recipient {
	return template.Recipient{FirstName: r.FirstName, LastName: r.LastName, Company: r.Company, Email: r.Email}
}

// SenderValues returns the token values of a sender. It fails with not_found if the user does not
// exist.
func (o *Outreach) SenderValues(tx *store.Tx, user uuid.UUID) (v template.Values, err error) {
	doc, err := o.identity.Users.Get(tx, user)
	if err != nil {
		return v, err
	}
	org, err := o.identity.Organizations.Get(tx, tx.Org())
	if err != nil {
		return v, err
	}
	u := &doc.Record
	v.SetSender(template.Sender{
		FirstName: string(u.FirstName), LastName: string(u.LastName), Company: org.Record.Name,
		Title: string(u.Title), Email: u.Email,
	})
	return v, nil
}
