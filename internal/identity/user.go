package identity

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
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
	Email     string     `json:"email" rule:"required,format=email" doc:"Its domain must be one of the organization's sender_domains, if it has any. Two active users cannot have the same address."`
	FirstName shape.Text `json:"first_name" rule:"line"`
	LastName  shape.Text `json:"last_name" rule:"line"`
	Title     shape.Text `json:"title" rule:"line"`
	Access    Access     `json:"access" rule:"default=write,enum=read|write|admin" doc:"What the user can do in the console. API keys have their own access."`
	Active    bool       `json:"active" rule:"readonly,default=true" doc:"A user who is not active cannot sign in, the user's API keys do not work, and nothing is sent in the user's name."`
	// LastSeenAt is not stored here, because then every request would cause a write.
	LastSeenAt shape.Time `json:"last_seen_at" rule:"readonly" doc:"The last request in a session of the user, to the minute after a crash."`
}

func (u *User) isAdmin() bool { return u.Active && u.Access == Admin }

func (i *Identity) userRules() record.Rules[User] {
	return record.Rules[User]{
		Object: "user", Entity: "users", Events: record.EventRules[User]{None: true}, Check: i.checkUser,
		CheckReference: func(u *User, object string) string {
			if object == "api_key" && !u.Active {
				return inactiveUser
			}
			return ""
		},
		AfterChange: i.userChanged,
	}
}

// userChanged keeps the last admin, and the credential and the sessions of a changed user consistent.
func (i *Identity) userChanged(tx *store.Tx, before, after *User) error {
	if before == nil || after == nil {
		return nil
	}
	if before.isAdmin() && !after.isAdmin() {
		if err := i.requireAdmin(tx); err != nil {
			return err
		}
	}
	if before.Active && !after.Active {
		if err := i.endSessions(tx, after.ID, uuid.Nil); err != nil {
			return err
		}
	}
	if before.Active == after.Active && before.Email == after.Email {
		return nil
	}
	old, err := i.credential(tx, after.ID)
	if err != nil || old.ID == uuid.Nil {
		return err
	}
	return i.changeCredential(tx, after.ID, func(c *credential) {
		c.Address = address.Key(after.Email)
		if !after.Active {
			c.Link = nil
		}
	})
}

// requireAdmin returns an error if no active user of the organization is an admin.
func (i *Identity) requireAdmin(tx *store.Tx) error {
	found := false
	err := i.Users.Table.Scan(tx, func(u store.Doc[User]) (bool, error) {
		found = u.Record.isAdmin()
		return !found, nil
	})
	if err == nil && !found {
		err = fault.New(fault.LastAdmin, "the user is the last active admin of the organization; make another user an admin first")
	}
	return err
}

// ShowUser adds last_seen_at to a user.
func (i *Identity) ShowUser(tx *store.Tx, doc store.Doc[User]) (store.Doc[User], error) {
	seen, err := i.uses.last(tx, doc.ID)
	if err != nil {
		return doc, err
	}
	doc.Record.LastSeenAt = seen
	doc.JSON, err = json.Marshal(&doc.Record)
	return doc, err
}

// ListUsers returns the users of the transaction's organization. It leaves out damaged ones.
func (i *Identity) ListUsers(tx *store.Tx) ([]User, error) {
	users := []User{}
	err := i.Users.Table.Scan(tx, func(d store.Doc[User]) (bool, error) {
		d, err := i.ShowUser(tx, d)
		users = append(users, d.Record)
		return true, err
	})
	return users, err
}

// UserWithEmail returns the active user with an address, or else the one who is not active.
func (i *Identity) UserWithEmail(tx *store.Tx, email string) (found store.Doc[User], err error) {
	err = i.Users.Table.Scan(tx, func(d store.Doc[User]) (bool, error) {
		if address.Key(d.Record.Email) == address.Key(email) && (found.ID == uuid.Nil || d.Record.Active) {
			found = d
		}
		return !found.Record.Active, nil
	})
	if err == nil && found.ID == uuid.Nil {
		err = fault.New(fault.NotFound, "the organization has no user with the address %s", shape.Quote(email))
	}
	return found, err
}

const inactiveUser = "the user is deactivated"

// checkUser refuses a new address that is outside the organization's sender domains, or that another active user of
// the organization has.
func (i *Identity) checkUser(tx *store.Tx, before, u *User, p *fault.Problems) error {
	if p.Has("email") || before != nil && before.Email == u.Email {
		return nil
	}
	org, err := i.Organizations.Get(tx, tx.Org())
	if err == nil && !org.Record.allowsSender(u.Email) {
		p.Invalid("email", "%s", org.Record.outsideSenderDomains(u.Email))
	}
	if err == nil && u.Active {
		err = i.checkAddress(tx, u, p)
	}
	return err
}

// checkAddress refuses the address of another active user, because an address and a password must lead to one user.
func (i *Identity) checkAddress(tx *store.Tx, u *User, p *fault.Problems) error {
	other, err := i.UserWithEmail(tx, u.Email)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return nil
	case err == nil && other.Record.Active && other.ID != u.ID:
		p.Invalid("email", "the active user %s has the same address %s", other.ID, shape.Quote(other.Record.Email))
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

// SetActive activates or deactivates a user. The API keys and sessions of a deactivated user stop working
// with the commit. It is idempotent.
func (i *Identity) SetActive(tx *store.Tx, user uuid.UUID, active bool) (store.Doc[User], error) {
	doc, err := i.Users.Get(tx, user)
	if err != nil {
		return doc, err
	}
	rec := doc.Record
	if active && !rec.Active {
		var p fault.Problems
		if err := errors.Join(i.checkAddress(tx, &rec, &p), p.Err()); err != nil {
			return doc, err
		}
	}
	rec.Active = active
	return i.Users.Replace(tx, doc, rec)
}
