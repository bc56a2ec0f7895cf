package identity

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// User is a member of the organization. Users own records, API keys act for them, and email is sent
// in their name.
type User struct {
	record.Head
	Email     string     `json:"email" rule:"required,format=email" doc:"Its domain must be one of the organization's sender_domains, if it has any."`
	FirstName shape.Text `json:"first_name" rule:"line"`
	LastName  shape.Text `json:"last_name" rule:"line"`
	Title     shape.Text `json:"title" rule:"line"`
	Active    bool       `json:"active" rule:"readonly,default=true" doc:"The API keys of a user who is not active do not work, and nothing is sent in the user's name."`
}

func (i *Identity) userRules(changed func(tx *store.Tx, before, after *User) error) record.Rules[User] {
	return record.Rules[User]{
		Object: "user", Entity: "users", Silent: true, Check: i.checkUser,
		CheckReference: func(u *User, object string) string {
			if object == "api_key" && !u.Active {
				return inactiveUser
			}
			return ""
		},
		AfterUpdate: func(tx *store.Tx, before, after *User) error {
			if changed == nil {
				return nil
			}
			return changed(tx, before, after)
		},
	}
}

const inactiveUser = "the user is deactivated"

// checkUser refuses a new address outside the organization's sender domains.
func (i *Identity) checkUser(tx *store.Tx, before, u *User, p *fault.Problems) error {
	if p.Has("email") || before != nil && before.Email == u.Email {
		return nil
	}
	org, err := i.Organizations.Get(tx, tx.Org())
	if err == nil && !org.Record.allowsSender(u.Email) {
		p.Invalid("email", "%s", org.Record.outsideSenderDomains(u.Email))
	}
	return err
}

// allowsSender reports whether the domain of an address is one of the sender domains or a
// sub-domain of one.
func (o *Organization) allowsSender(email string) bool {
	domain := address.DomainOf(address.Key(email))
	return len(o.SenderDomains) == 0 || slices.ContainsFunc(o.SenderDomains, func(allowed string) bool {
		allowed = address.HostOf(allowed)
		return domain == allowed || strings.HasSuffix(domain, "."+allowed)
	})
}

func (o *Organization) outsideSenderDomains(email string) string {
	return shape.Quote(email) + " is outside the sender domains of the organization: " + strings.Join(o.SenderDomains, ", ")
}

// SenderProblem returns why a user cannot own a campaign, or "" if the user can.
func (i *Identity) SenderProblem(tx *store.Tx, user uuid.UUID) (string, error) {
	doc, err := i.Users.Get(tx, user)
	if err != nil {
		return "", err
	}
	if !doc.Record.Active {
		return inactiveUser, nil
	}
	org, err := i.Organizations.Get(tx, tx.Org())
	if err != nil || org.Record.allowsSender(doc.Record.Email) {
		return "", err
	}
	return org.Record.outsideSenderDomains(doc.Record.Email), nil
}

// UsersOutsideSenderDomains returns the users who must change their address before they can own a
// campaign.
func (i *Identity) UsersOutsideSenderDomains(tx *store.Tx) ([]User, error) {
	outside := []User{}
	org, err := i.Organizations.Get(tx, tx.Org())
	if err != nil {
		return nil, err
	}
	err = i.Users.Table.Scan(tx, func(d store.Doc[User]) (bool, error) {
		if !org.Record.allowsSender(d.Record.Email) {
			outside = append(outside, d.Record)
		}
		return true, nil
	})
	return outside, err
}

// SetActive activates or deactivates a user. The API keys of a deactivated user stop working with
// the commit. It is idempotent.
func (i *Identity) SetActive(tx *store.Tx, user uuid.UUID, active bool) (store.Doc[User], error) {
	doc, err := i.Users.Get(tx, user)
	if err != nil {
		return doc, err
	}
	rec := doc.Record
	rec.Active = active
	return i.Users.Replace(tx, doc, rec)
}
