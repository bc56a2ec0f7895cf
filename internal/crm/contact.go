package crm

import (
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Contact is a person whom the organization may reach out to.
type Contact struct {
	record.Head
	AccountID    uuid.NullUUID `json:"account_id" label:"Account" rule:"ref=accounts"`
	FirstName    shape.Text    `json:"first_name"`
	LastName     shape.Text    `json:"last_name"`
	Email        shape.Text    `json:"email" rule:"format=email,grams" doc:"A new contact needs an email, a linkedin_url, or a first and a last name."`
	Title        shape.Text    `json:"title"`
	PhoneNumber  shape.Text    `json:"phone_number"`
	LinkedinURL  shape.Text    `json:"linkedin_url" label:"LinkedIn URL"`
	Location     shape.Text    `json:"location"`
	Source       Source        `json:"source" rule:"fixed,default=api"`
	DoNotContact bool          `json:"do_not_contact" doc:"The contact has opted out of outreach."`
	Notes        shape.Text    `json:"notes" rule:"maxlen=100000,long"`
	Scoring      Scoring       `json:"scoring"`
	Common
	Origin Origin `json:"-"`
}

// Private is kept beside the record and never answered.
func (c *Contact) Private() any { return &c.Origin }

// Scoring is how promising a contact is.
type Scoring struct {
	HeatScore shape.Text `json:"heat_score" rule:"enum=hot|warm|cold"`
}

func (c *CRM) contactRules() record.Rules[Contact] {
	return record.Rules[Contact]{
		Object: "contact", Entity: "contacts", Check: checkContact, Example: contactExample,
		Triggers: []store.Trigger{{
			Event: "unsubscribed", Description: "A contact has opted out of outreach: its do_not_contact turned true.", Example: optedOut(contactExample),
		}},
		UpdateEvents: func(before, after *Contact) []string {
			if !before.DoNotContact && after.DoNotContact {
				return []string{"updated", "unsubscribed"}
			}
			return []string{"updated"}
		},
		AfterUpdate: func(tx *store.Tx, before, after *Contact) error {
			if c.hooks.ContactChanged == nil {
				return nil
			}
			return c.hooks.ContactChanged(tx, before, after)
		},
		AfterDelete: func(tx *store.Tx, contact *Contact) error {
			if c.hooks.ContactDeleted == nil {
				return nil
			}
			return c.hooks.ContactDeleted(tx, contact.ID)
		},
		Match: matchable["contacts"],
		Keys:  []store.Key[Contact]{sourceKey(func(c *Contact) *Origin { return &c.Origin })},
	}
}

// checkContact wants a new contact to be someone: reachable, or at least known by name.
func checkContact(_ *store.Tx, before, c *Contact, p *fault.Problems) error {
	known := c.Email != "" || c.LinkedinURL != "" || c.FirstName != "" && c.LastName != ""
	if before == nil && !known && !p.Has("email") && !p.Has("linkedin_url") && !p.Has("first_name") && !p.Has("last_name") {
		p.Invalid("email", "required, unless linkedin_url or both first_name and last_name are set")
	}
	return nil
}

// Recipient is what messages need to know of a contact.
type Recipient struct {
	FirstName, LastName string
	Email               string
	AccountID           uuid.NullUUID
	Company             string // the name of its account
	OptedOut            bool
}

// Recipients reads contacts as recipients. It decodes no more of them than that: they are often many.
type Recipients struct {
	contacts, accounts *store.Reader
	companies          map[uuid.UUID]string // by account: those that were read
}

// Recipients makes a reader that is valid until the transaction ends.
func (c *CRM) Recipients(tx *store.Tx) *Recipients {
	return &Recipients{tx.Reader(c.Contacts.Table.Name()), tx.Reader(c.Accounts.Table.Name()), map[uuid.UUID]string{}}
}

// Reach gives the address of a contact and whether it has opted out.
func (r *Recipients) Reach(id uuid.UUID) (email string, optedOut, found bool, err error) {
	_, public, err := r.contacts.Public(id)
	if err != nil || public == nil {
		return "", false, false, err
	}
	contact := shape.NewMembers(string(public))
	email, optedOut = reach(&contact)
	return email, optedOut, true, nil
}

func reach(contact *shape.Members) (email string, optedOut bool) {
	email = contact.Text(`"email":"`)
	return email, contact.Flag(`"do_not_contact":`)
}

// Read gives a recipient.
func (r *Recipients) Read(id uuid.UUID) (to Recipient, found bool, err error) {
	_, public, err := r.contacts.Public(id)
	if err != nil || public == nil {
		return to, false, err
	}
	contact := shape.NewMembers(string(public))
	if account, err := shape.ParseID(contact.Text(`"account_id":"`)); err == nil {
		to.AccountID = uuid.NullUUID{UUID: account, Valid: true}
	}
	to.FirstName, to.LastName = contact.Text(`"first_name":"`), contact.Text(`"last_name":"`)
	to.Email, to.OptedOut = reach(&contact)
	if to.AccountID.Valid {
		to.Company, err = r.company(to.AccountID.UUID)
	}
	return to, err == nil, err
}

// company is the name of an account; "" when there is none.
func (r *Recipients) company(id uuid.UUID) (string, error) {
	name, known := r.companies[id]
	if known {
		return name, nil
	}
	_, public, err := r.accounts.Public(id)
	if err != nil {
		return "", err
	}
	name = shape.MemberText(string(public), `"name":"`)
	r.companies[id] = name
	return name, nil
}
