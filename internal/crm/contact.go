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
	Source       string        `json:"source" rule:"fixed,default=api,enum=api|csv|tam_import|demo"`
	DoNotContact bool          `json:"do_not_contact" doc:"The contact has opted out of outreach."`
	Notes        shape.Text    `json:"notes" rule:"max=100000,long"`
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

var contactRules = record.Rules[Contact]{
	Object: "contact", Entity: "contacts", Check: checkContact,
	Match: map[string]func(string) string{"email": FoldEmail, "linkedin_url": FoldLinkedIn},
	Keys:  []store.Key[Contact]{sourceKey(func(c *Contact) *Origin { return &c.Origin })},
}

// checkContact wants a new contact to be someone: reachable, or at least known by name.
func checkContact(_ *store.Tx, before, c *Contact, p *fault.Problems) error {
	known := c.Email != "" || c.LinkedinURL != "" || c.FirstName != "" && c.LastName != ""
	if before == nil && !known && !p.Has("email") && !p.Has("linkedin_url") && !p.Has("first_name") && !p.Has("last_name") {
		p.Invalid("email", "is required, or linkedin_url, or first_name and last_name")
	}
	return nil
}
