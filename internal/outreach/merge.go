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

// Merge looks up the values of a template's tokens for one recipient after the other. It looks up
// only the tokens that the template uses. It is valid until its transaction ends.
type Merge struct {
	values           *template.Values
	recipients       *crm.Recipients
	contact, account []merged
}

// merged is a token whose value is a member of a stored record.
type merged struct {
	position int    // among the tokens of the template
	member   string // see shape.Members
}

// NewMerge returns a Merge with the values of the sender and the organization, which are the same
// for all recipients. A sender that does not exist has no values.
func (o *Outreach) NewMerge(tx *store.Tx, c *template.Compiled, sender uuid.UUID) (*Merge, error) {
	m := &Merge{values: c.NewValues(), recipients: o.crm.Recipients(tx)}
	user, err := o.identity.Users.Get(tx, sender)
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return nil, err
	}
	org, err := o.identity.Organizations.Get(tx, tx.Org())
	if err != nil {
		return nil, err
	}
	from, organization := shape.NewMembers(string(user.JSON)), shape.NewMembers(string(org.JSON))
	for i, t := range c.Tokens {
		part := merged{i, t.Field}
		switch {
		case t == template.Token{Group: template.Recipient, Field: "company"}:
			m.account = append(m.account, merged{i, "name"})
		case t == template.Token{Group: template.Sender, Field: "company"}:
			m.values.Set(i, org.Record.Name)
		case t.Group == template.Recipient:
			m.contact = append(m.contact, part)
		case t.Group == template.Account:
			m.account = append(m.account, part)
		case t.Group == template.Sender:
			m.set(part, &from)
		case t.Group == template.Organization:
			m.set(part, &organization)
		case t.Field == template.UnsubscribeURL:
			m.values.Set(i, o.engine.HiddenLink())
		}
	}
	return m, nil
}

// Sender returns the values of the sender and the organization alone.
func (m *Merge) Sender() *template.Values { return m.values }

// For returns the values for a recipient, which are valid until the next call.
func (m *Merge) For(to *crm.Recipient) (*template.Values, error) {
	if len(m.contact) > 0 {
		contact := to.Members()
		for _, t := range m.contact {
			m.set(t, &contact)
		}
	}
	if len(m.account) > 0 {
		account, err := m.recipients.Account(to)
		if err != nil {
			return nil, err
		}
		for _, t := range m.account {
			m.set(t, &account)
		}
	}
	return m.values, nil
}

// maxValueChars limits how much of a long field, such as notes, a token inserts.
const maxValueChars = shape.MaxText

func (m *Merge) set(t merged, from *shape.Members) {
	value := strings.TrimSpace(from.Plain(t.member))
	if len(value) > maxValueChars {
		if runes := []rune(value); len(runes) > maxValueChars {
			value = string(runes[:maxValueChars])
		}
	}
	m.values.Set(t.position, value)
}
