package outreach

import (
	"strings"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/internal/template"
	"prospector/store"
)

// TokenValues looks up the values of tokens in the messages of one sender, for one recipient after the other.
// It looks up only the tokens that a template uses. It is valid until its transaction ends.
type TokenValues struct {
	outreach   *Outreach
	tx         *store.Tx
	sender     uuid.UUID
	recipients *crm.Recipients
	templates  map[*template.Compiled]*templateValues
}

// templateValues are the values of the tokens of one template. Those of the sender and the organization are set once.
type templateValues struct {
	values           *template.Values
	contact, account []tokenField
}

// tokenField is a token whose value is a member of a stored record.
type tokenField struct {
	position int    // among the tokens of the template
	member   string // see shape.Members
}

// TokenValues returns the TokenValues of a sender. A sender that does not exist has no values.
func (o *Outreach) TokenValues(tx *store.Tx, sender uuid.UUID) *TokenValues {
	return &TokenValues{
		outreach: o, tx: tx, sender: sender, recipients: o.crm.Recipients(tx), templates: map[*template.Compiled]*templateValues{},
	}
}

// For returns the values of the tokens of a template for a recipient. They are valid until the next call.
func (v *TokenValues) For(c *template.Compiled, to *crm.Recipient) (_ *template.Values, err error) {
	t := v.templates[c]
	if t == nil {
		if t, err = v.ofSender(c); err != nil {
			return nil, err
		}
		v.templates[c] = t
	}
	if len(t.contact) > 0 {
		t.set(t.contact, to.Members())
	}
	if len(t.account) > 0 {
		account, err := v.recipients.Account(to)
		if err != nil {
			return nil, err
		}
		t.set(t.account, account)
	}
	return t.values, nil
}

// ofSender returns the values of a template's tokens for the sender and the organization, and the tokens of recipients.
func (v *TokenValues) ofSender(c *template.Compiled) (*templateValues, error) {
	t := &templateValues{values: c.NewValues()}
	user, err := v.outreach.identity.Users.Get(v.tx, v.sender)
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return nil, err
	}
	org, err := v.outreach.identity.Organizations.Get(v.tx, v.tx.Org())
	if err != nil {
		return nil, err
	}
	from, organization := shape.NewMembers(string(user.JSON)), shape.NewMembers(string(org.JSON))
	for i, token := range c.Tokens {
		field := tokenField{i, token.Field}
		switch {
		case token == template.Token{Group: template.Recipient, Field: "company"}:
			t.account = append(t.account, tokenField{i, "name"})
		case token == template.Token{Group: template.Sender, Field: "company"}:
			t.values.Set(i, org.Record.Name)
		case token.Group == template.Recipient:
			t.contact = append(t.contact, field)
		case token.Group == template.Account:
			t.account = append(t.account, field)
		case token.Group == template.Sender:
			t.set([]tokenField{field}, from)
		case token.Group == template.Organization:
			t.set([]tokenField{field}, organization)
		case token.Field == template.UnsubscribeURL:
			t.values.Set(i, v.outreach.engine.HiddenLink())
		}
	}
	return t, nil
}

// maxValueChars limits how much of a long field, such as notes, a token inserts.
const maxValueChars = shape.MaxText

func (t *templateValues) set(fields []tokenField, from shape.Members) {
	for _, field := range fields {
		value := strings.TrimSpace(from.Plain(field.member))
		if len(value) > maxValueChars {
			if runes := []rune(value); len(runes) > maxValueChars {
				value = string(runes[:maxValueChars])
			}
		}
		t.values.Set(field.position, value)
	}
}
