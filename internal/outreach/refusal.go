package outreach

import (
	"prospector/internal/crm"
	"prospector/store"
)

// Refusal is why a contact cannot be enrolled or written to. It is empty if the contact can.
type Refusal string

const (
	ContactNotFound   Refusal = "contact_not_found"
	ContactOptedOut   Refusal = "contact_opted_out"
	ContactSuppressed Refusal = "contact_suppressed"
)

// refusals are all refusals, in the order in which they are checked.
var refusals = []Refusal{ContactNotFound, ContactOptedOut, ContactSuppressed}

var refusalDescriptions = map[Refusal]string{
	ContactNotFound:   "No such contact exists.",
	ContactOptedOut:   "The contact has opted out.",
	ContactSuppressed: "The contact's email address, its domain or another address of the person is suppressed.",
}

// Description explains the refusal in a sentence.
func (r Refusal) Description() string { return refusalDescriptions[r] }

// Refusal returns why nothing may be sent to a contact. Opting out takes precedence over a suppression.
func (o *Outreach) Refusal(tx *store.Tx, to crm.Reach) Refusal {
	switch {
	case to.OptedOut:
		return ContactOptedOut
	case o.crm.IsSuppressed(tx, to.Email), o.crm.IsCovered(tx, to.Others):
		return ContactSuppressed
	}
	return ""
}
