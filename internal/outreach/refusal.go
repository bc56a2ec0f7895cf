package outreach

import "prospector/store"

// Refusal is why a contact is not enrolled; empty when it is.
type Refusal string

const (
	ContactNotFound   Refusal = "contact_not_found"
	ContactOptedOut   Refusal = "contact_opted_out"
	ContactSuppressed Refusal = "contact_suppressed"
)

// refusals are all of them, in the order in which they are looked at.
var refusals = []Refusal{ContactNotFound, ContactOptedOut, ContactSuppressed}

func (r Refusal) description() string {
	switch r {
	case ContactNotFound:
		return "No such contact exists."
	case ContactOptedOut:
		return "The contact has opted out."
	case ContactSuppressed:
		return "The contact's email address or its domain is suppressed."
	}
	return ""
}

// refusal tells why a contact cannot be written to. That it has opted out is looked at first.
func (o *Outreach) refusal(tx *store.Tx, email string, optedOut bool) Refusal {
	switch {
	case optedOut:
		return ContactOptedOut
	case o.crm.IsSuppressed(tx, email):
		return ContactSuppressed
	}
	return ""
}
