package crm

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Suppression is an email address, or a domain with all its subdomains, that must not receive
// email.
type Suppression struct {
	record.Head
	Email  shape.Text `json:"email" rule:"format=suppressed_email,personal=address" doc:"Set either email or domain, not both. *@acme.example, @acme.example and *.acme.example stand for a domain and become one."`
	Domain shape.Text `json:"domain" rule:"format=suppressed_domain" doc:"Includes all subdomains. It cannot be a public suffix such as co.uk."`
	Reason shape.Text `json:"reason" doc:"erased if a person was erased: then neither email nor domain is known, but the address is suppressed."`

	erased erasedHash
}

// bySubject is the secondary key that finds suppressions by what they suppress.
const bySubject = "subject"

// moveDomain moves a domain that was given as an email address, such as *@acme.example, to where it belongs.
// The format has left only the domain of it, which has no @.
func (s *Suppression) moveDomain() {
	if s.Email != "" && s.Domain == "" && !strings.Contains(string(s.Email), "@") {
		s.Email, s.Domain = "", s.Email
	}
}

// subject returns the address or domain in canonical form. Only an address contains an @.
func (s *Suppression) subject() string {
	if s.erased.Hash != "" {
		return erasedSubject + s.erased.Hash
	}
	if s.Email != "" {
		return address.Key(string(s.Email))
	}
	// Earlier versions accepted a few domains that have no canonical form.
	return cmp.Or(address.HostOf(string(s.Domain)), shape.Fold(string(s.Domain)))
}

func (c *CRM) suppressionRules() record.Rules[Suppression] {
	return record.Rules[Suppression]{
		Object: "suppression", Entity: "suppressions", Example: exampleSuppression, Check: checkSuppression,
		Events: record.EventRules[Suppression]{NoUpdate: true},
		// The key is not unique: stores of earlier versions may have several spellings of an address.
		Keys: []store.Key[Suppression]{store.TextKey(bySubject, (*Suppression).subject).At(address.Version)},
		Import: record.ImportRules[Suppression]{
			IsErased: c.namesErased,
			Key: func(s *Suppression) string {
				settled := *s
				settled.moveDomain()
				return settled.subject()
			},
			Add: func(tx *store.Tx, draft record.Draft[Suppression]) (uuid.UUID, bool, error) {
				doc, created, err := c.Suppress(tx, draft)
				return doc.ID, created, err
			},
		},
	}
}

var exampleSuppression = record.Example[Suppression](`{
	"id": "019cb03f-5a10-7d21-9c52-1b6cf94a8e25", "created_at": "2026-03-02T20:31:07.344Z", "updated_at": "2026-03-02T20:31:07.344Z",
	"email": "bill@initech.example", "domain": null, "reason": "manual"
}`)

func checkSuppression(_ *store.Tx, _, s *Suppression, p *fault.Problems) error {
	switch {
	case p.Has("email") || p.Has("domain"):
	case s.Email == "" && s.Domain == "":
		p.Invalid("email", "required, unless domain is set")
	case s.Email != "" && s.Domain != "":
		p.Invalid("domain", "not allowed together with email")
	}
	s.moveDomain()
	return nil
}

// Suppress adds an address or a domain to the suppression list. If it is already on the list in any
// spelling, Suppress returns the existing record. A record that an opt-out added takes the new reason,
// so that it stays when the contact opts in again. Any other record is unchanged.
func (c *CRM) Suppress(
	tx *store.Tx, draft record.Draft[Suppression],
) (doc store.Doc[Suppression], created bool, err error) {
	rec, problems := draft.Open()
	rec.moveDomain()
	if problems.Count() == 0 && (rec.Email == "") != (rec.Domain == "") {
		doc, found, err := c.listed(tx, &rec)
		if err != nil || found {
			return doc, false, err
		}
	}
	doc, err = c.Suppressions.Create(tx, draft)
	return doc, err == nil, err
}

// listed returns the suppression of the same address or domain, if there is one. One that an opt-out
// added takes the reason of s.
func (c *CRM) listed(tx *store.Tx, s *Suppression) (doc store.Doc[Suppression], found bool, err error) {
	id, found, err := c.suppressionOf(tx, s.subject())
	if err == nil && !found && s.Email != "" { // the address must not come back
		var erased string
		if erased, err = c.erasedSubjectOf(tx, string(s.Email)); err == nil {
			id, found, err = c.suppressionOf(tx, erased)
		}
	}
	if err != nil || !found {
		return doc, false, err
	}
	if doc, err = c.Suppressions.Get(tx, id); err != nil {
		return doc, false, err
	}
	if doc.Record.Reason == ReasonOptedOut && s.Reason != ReasonOptedOut {
		rec := doc.Record
		rec.Reason = s.Reason
		doc, err = c.Suppressions.Replace(tx, doc, rec)
	}
	return doc, true, err
}

// SuppressEmail adds an address to the suppression list like Suppress.
func (c *CRM) SuppressEmail(tx *store.Tx, email, reason string) error {
	rec := Suppression{Email: shape.Text(email), Reason: shape.Text(reason)}
	if _, found, err := c.listed(tx, &rec); err != nil || found {
		return err
	}
	_, err := c.Suppressions.Insert(tx, rec)
	return err
}

// IsSuppressed reports whether an email address, its domain or a parent domain is on the
// suppression list, in any spelling.
func (c *CRM) IsSuppressed(tx *store.Tx, email string) bool {
	if email == "" || c.Suppressions.Table.Count(tx) == 0 {
		return false
	}
	key := address.Key(email)
	return c.isListed(tx, key) || c.listsDomain(tx, address.DomainOf(key)) || c.IsErased(tx, email)
}

// SuppressionsOf returns the suppressions that block an email address: of the address, of its domain
// and of parent domains.
func (c *CRM) SuppressionsOf(tx *store.Tx, email string) (all []Suppression, err error) {
	key := address.Key(email)
	erased, err := c.erasedSubjectOf(tx, email)
	if err != nil {
		return nil, err
	}
	subjects := slices.AppendSeq([]string{key, erased}, address.Domains(address.DomainOf(key)))
	for _, subject := range subjects {
		id, listed, err := c.suppressionOf(tx, subject)
		if err != nil {
			return nil, err
		}
		if !listed {
			continue
		}
		doc, err := c.Suppressions.Get(tx, id)
		if err != nil {
			return nil, err
		}
		all = append(all, doc.Record)
	}
	return all, nil
}

// IsCompanySuppressed reports whether the domain of a company's website or a parent domain is on the
// suppression list. A website on a shared host says nothing about the company.
func (c *CRM) IsCompanySuppressed(tx *store.Tx, website string) bool {
	if website == "" || c.Suppressions.Table.Count(tx) == 0 {
		return false
	}
	domain := address.HostOf(website)
	return !c.hosts.IsShared(domain) && c.listsDomain(tx, domain)
}

// listsDomain reports whether a canonical domain or a parent domain is on the suppression list.
func (c *CRM) listsDomain(tx *store.Tx, domain string) bool {
	for name := range address.Domains(domain) {
		if c.isListed(tx, name) {
			return true
		}
	}
	return false
}

func (c *CRM) isListed(tx *store.Tx, subject string) bool {
	_, listed, err := c.suppressionOf(tx, subject)
	return listed || err != nil // a list that cannot be read must not let anything through
}

// suppressionOf returns the oldest suppression of a canonical address or domain.
func (c *CRM) suppressionOf(tx *store.Tx, subject string) (uuid.UUID, bool, error) {
	if subject == "" {
		return uuid.Nil, false, nil
	}
	return c.Suppressions.Table.Oldest(tx, bySubject, []byte(subject))
}
