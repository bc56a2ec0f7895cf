package crm

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

// Contact is a person that the organization may contact.
type Contact struct {
	record.Head
	AccountID    uuid.NullUUID `json:"account_id" label:"Account" rule:"ref=accounts"`
	FirstName    shape.Text    `json:"first_name" rule:"line,personal"`
	LastName     shape.Text    `json:"last_name" rule:"line,personal"`
	Email        shape.Text    `json:"email" rule:"format=email,grams,personal=address" doc:"A new contact needs an email, a linkedin_url, or both first_name and last_name."`
	OtherEmails  []string      `json:"other_emails" rule:"format=email,maxlen=10,personal=address" doc:"Further addresses of the contact. They find the contact, and who opted out with one of them is not written to, but only email is written to. A merge may leave more than 10."`
	Title        shape.Text    `json:"title" rule:"line,personal"`
	PhoneNumber  shape.Text    `json:"phone_number" rule:"personal"`
	OtherPhones  []string      `json:"other_phones" rule:"maxlen=10,personal" doc:"Further phone numbers of the contact. A merge may leave more than 10."`
	LinkedinURL  shape.Text    `json:"linkedin_url" label:"LinkedIn URL" rule:"personal"`
	Location     shape.Text    `json:"location" rule:"personal"`
	City         shape.Text    `json:"city" rule:"personal"`
	Country      shape.Text    `json:"country" rule:"personal"`
	Source       Source        `json:"source" rule:"fixed,default=api"`
	DoNotContact bool          `json:"do_not_contact" doc:"True if the contact has opted out of outreach. When it becomes true, the email address is suppressed with the reason opted_out."`
	Notes        shape.Text    `json:"notes" rule:"maxlen=100000,long,personal"`
	Scoring      Scoring       `json:"scoring"`
	OtherIDs     []string      `json:"other_external_ids" label:"Other external IDs" rule:"maxlen=20,personal=id" doc:"The record's ids in further systems, each unique within the entity. They find the record, as external_id does."`
	Common
	Origin Origin `json:"-"`
}

// Private returns the part of the record that is stored but never returned by the API.
func (c *Contact) Private() any { return &c.Origin }

// Scoring rates how promising a contact is.
type Scoring struct {
	HeatScore shape.Text `json:"heat_score" rule:"enum=hot|warm|cold"`
}

func (c *CRM) contactRules() record.Rules[Contact] {
	return record.Rules[Contact]{
		Object: "contact", Entity: "contacts", Check: c.checkContact, Example: contactExample,
		AfterChange: c.contactChanged, AfterUpdate: c.confirmOptOut,
		Keys: []store.Key[Contact]{sourceKey(func(c *Contact) *Origin { return &c.Origin }), otherAddresses},
		Events: record.EventRules[Contact]{
			More: []store.Trigger{{
				Event:       "unsubscribed",
				Description: "A contact opted out of outreach: do_not_contact became true.",
				Example:     optedOut(contactExample),
			}},
			OfUpdate: func(before, after *Contact) []string {
				if !before.DoNotContact && after.DoNotContact {
					return []string{"updated", "unsubscribed"}
				}
				return []string{"updated"}
			},
		},
		Trash: &record.TrashRules[Contact]{
			SetsOf: func(tx *store.Tx, id uuid.UUID) ([]uuid.UUID, error) { return c.audiences.AudiencesOf(tx, id) },
			MayRestore: func(tx *store.Tx, id uuid.UUID, trashed, restored []byte, force bool) error {
				return c.audiences.ContactJoining(tx, id, IndirectChange{Before: [][]byte{trashed}, After: restored, SameTime: true, Force: force})
			},
			AfterRestore: func(tx *store.Tx, contact *Contact, audiences []uuid.UUID) error {
				return c.follower.ContactRestored(tx, contact.ID, audiences)
			},
		},
		Undo: &record.UndoRules[Contact]{
			InUse: c.isContactInUse, MaySet: c.mayUndoContact, BeforeDelete: c.takeOptOutBack,
		},
		Merge: &record.MergeRules[Contact]{Fold: foldContact, SourceOf: func(c *Contact) string { return c.Origin.SourceID }},
		Import: record.ImportRules[Contact]{
			IsErased: c.namesErased,
			IsSuppressed: func(tx *store.Tx, contact *Contact) bool {
				return slices.ContainsFunc(contact.Addresses(), func(email string) bool { return c.IsSuppressed(tx, email) })
			},
			OptOut: record.OptOut{
				Field: optOutField, By: "email",
				Skipped: c.suppressSkipped, Record: c.optOutSkipped, Doubt: c.noteDoubt,
			},
		},
		Match: record.MatchRules{
			Fields: matchFields("contacts", c.hosts), Version: address.Version,
			Further: map[string]string{"email": byOtherAddress},
			Identifies: func(field, text string) bool {
				return field != "linkedin_url" || identifiesPerson(address.LinkedIn(text))
			},
			Identity: contactIdentity,
		},
		Alike: &record.Alike[Contact]{
			Key: contactNameKey, Version: nameVersion, Prefix: contactNameKey, Common: commonOfContacts,
		},
	}
}

// profilePaths are how the paths of profiles begin on LinkedIn.
var profilePaths = []string{"in/", "pub/", "profile/", "sales/lead/", "sales/people/", "talent/profile/"}

// identifiesPerson reports whether a canonical LinkedIn URL is that of a profile. The page of a company is not.
func identifiesPerson(url string) bool {
	host, path, _ := strings.Cut(url, "/")
	return strings.Contains(host, "linkedin.") && slices.ContainsFunc(profilePaths, func(begin string) bool {
		name, is := strings.CutPrefix(path, begin)
		return is && name != "" && !strings.HasPrefix(name, "dir/")
	})
}

// checkContact requires that a new contact is reachable or has a full name, and refuses to add the address of a person who was
// erased. It removes other addresses and numbers that are there twice.
func (x *CRM) checkContact(tx *store.Tx, before, c *Contact, p *fault.Problems) error {
	c.OtherEmails = distinct(c.OtherEmails, string(c.Email), address.Key)
	c.OtherPhones = distinct(c.OtherPhones, string(c.PhoneNumber), phoneKey)
	c.OtherIDs = distinct(c.OtherIDs, string(c.ExternalID), shape.Fold)
	if before != nil && before.DoNotContact != c.DoNotContact {
		c.Origin.DoubtfulOptOut = uuid.Nil
	}
	var had []string
	if before != nil {
		had = append(slices.Clip(before.OtherEmails), string(before.Email))
		left := slices.DeleteFunc(slices.Clone(had), c.hasAddress)
		if !before.DoNotContact && x.IsCovered(tx, left) { // who has said no at an address that goes has still said no
			c.DoNotContact = true
		}
	}
	for _, email := range append(slices.Clip(c.OtherEmails), string(c.Email)) { // also those of roles, which may be erased
		isNew := !slices.ContainsFunc(had, func(other string) bool { return address.Key(other) == address.Key(email) })
		if email != "" && isNew && x.IsErased(tx, email) {
			return errErased
		}
	}
	known := c.Email != "" || c.LinkedinURL != "" || c.FirstName != "" && c.LastName != ""
	if before != nil || known || slices.ContainsFunc([]string{"email", "linkedin_url", "first_name", "last_name"}, p.Has) {
		return nil
	}
	p.Invalid("email", "required, unless linkedin_url or both first_name and last_name are set")
	return nil
}

// Recipient holds the fields of a contact that messages use.
type Recipient struct {
	FirstName, LastName string
	Reach
	AccountID uuid.NullUUID

	public []byte // the whole contact as stored; valid until the transaction ends
}

// Members returns a reader of any member of the contact. It is valid until the transaction ends.
func (r *Recipient) Members() shape.Members { return shape.NewMembers(string(r.public)) }

// Recipients reads contacts as recipients. For speed, it decodes only the fields of a Recipient.
type Recipients struct {
	contacts, accounts *store.Reader
}

// Recipients returns a reader that is valid until the transaction ends.
func (c *CRM) Recipients(tx *store.Tx) *Recipients {
	return &Recipients{
		contacts: tx.Reader(c.Contacts.Table.Name()),
		accounts: tx.Reader(c.Accounts.Table.Name()),
	}
}

// Reach is what decides whether a contact can be written to.
type Reach struct {
	Email    string   // the address that is written to
	Others   []string // see Contact.OtherEmails
	OptedOut bool
}

// Reach returns what decides whether a contact can be written to.
func (r *Recipients) Reach(id uuid.UUID) (to Reach, found bool, err error) {
	recipient, found, err := r.Read(id)
	return recipient.Reach, found, err
}

// Read returns a contact as a recipient.
func (r *Recipients) Read(id uuid.UUID) (to Recipient, found bool, err error) {
	_, public, err := r.contacts.Public(id)
	if err != nil || public == nil {
		return to, false, err
	}
	contact := shape.NewMembers(string(public))
	if account, err := shape.ParseID(contact.Text("account_id")); err == nil {
		to.AccountID = uuid.NullUUID{UUID: account, Valid: true}
	}
	to.FirstName, to.LastName = contact.Text("first_name"), contact.Text("last_name")
	to.Email, to.Others = contact.Text("email"), contact.Texts("other_emails")
	to.OptedOut = contact.Flag("do_not_contact")
	to.public = public
	return to, true, nil
}

// Account returns a reader of the members of a contact's account. It has none if there is no
// account.
func (r *Recipients) Account(to *Recipient) (shape.Members, error) {
	if !to.AccountID.Valid {
		return shape.Members{}, nil
	}
	_, public, err := r.accounts.Public(to.AccountID.UUID)
	return shape.NewMembers(string(public)), err
}
