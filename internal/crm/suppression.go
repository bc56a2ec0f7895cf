package crm

import (
	"errors"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Suppression is an email address, or a domain with all its subdomains, that must not receive
// email.
type Suppression struct {
	record.Head
	Email  shape.Text `json:"email" rule:"format=email" doc:"Set either email or domain, not both."`
	Domain shape.Text `json:"domain" rule:"format=domain" doc:"Includes all subdomains."`
	Reason shape.Text `json:"reason"`
}

// key returns the address or domain in the form used for comparison. Only an address contains an @.
func (s *Suppression) key() []byte {
	if s.Email != "" {
		return []byte(FoldEmail(string(s.Email)))
	}
	return []byte(s.Domain)
}

func (c *CRM) suppressionRules() record.Rules[Suppression] {
	return record.Rules[Suppression]{
		Object: "suppression", Entity: "suppressions", Silent: true, Check: checkSuppression,
		Unique: []store.Unique[Suppression]{{
			Name: "what", Of: (*Suppression).key,
			Taken: func(_ *Suppression, other uuid.UUID) error { return suppressed(other) },
		}},
		AfterDelete: func(tx *store.Tx, s *Suppression) error {
			if c.hooks.Released == nil {
				return nil
			}
			return c.hooks.Released(tx, s)
		},
	}
}

func checkSuppression(_ *store.Tx, _, s *Suppression, p *fault.Problems) error {
	switch {
	case p.Has("email") || p.Has("domain"):
	case s.Email == "" && s.Domain == "":
		p.Invalid("email", "required, unless domain is set")
	case s.Email != "" && s.Domain != "":
		p.Invalid("domain", "not allowed together with email")
	}
	return nil
}

// suppressed is the error for an address or domain that the record with this id already suppresses.
type suppressed uuid.UUID

func (suppressed) Error() string { return "already suppressed" }

// Suppress adds an address or a domain to the suppression list. If it is already on the list,
// Suppress returns the existing record unchanged.
func (c *CRM) Suppress(
	tx *store.Tx, draft record.Draft[Suppression],
) (doc store.Doc[Suppression], created bool, err error) {
	doc, err = c.Suppressions.Create(tx, draft)
	var already suppressed
	if errors.As(err, &already) {
		doc, err = c.Suppressions.Get(tx, uuid.UUID(already))
		return doc, false, err
	}
	if err == nil {
		err = c.afterSuppress(tx, &doc.Record)
	}
	return doc, true, err
}

func (c *CRM) afterSuppress(tx *store.Tx, s *Suppression) error {
	if c.hooks.Suppressed == nil {
		return nil
	}
	return c.hooks.Suppressed(tx, s)
}

// SuppressEmail adds an address to the suppression list if it is not there yet.
func (c *CRM) SuppressEmail(tx *store.Tx, email, reason string) error {
	if c.isListed(tx, FoldEmail(email)) {
		return nil
	}
	doc, err := c.Suppressions.Insert(tx, Suppression{Email: shape.Text(email), Reason: shape.Text(reason)})
	if err != nil {
		return err
	}
	return c.afterSuppress(tx, &doc.Record)
}

// SuppressAll adds each valid item to the suppression list.
func (c *CRM) SuppressAll(tx *store.Tx, items []record.Item[Suppression]) ([]record.Outcome, error) {
	outcomes := make([]record.Outcome, len(items))
	for i := range items {
		o := &outcomes[i]
		err := tx.Try(func() error {
			draft, err := items[i].Draft()
			if err != nil {
				return err
			}
			doc, created, err := c.Suppress(tx, draft)
			o.ID, o.Created = doc.ID, created
			return err
		})
		if err != nil && !errors.As(err, &o.Err) {
			return nil, err
		}
	}
	return outcomes, nil
}

// IsSuppressed reports whether an email address, its domain or a parent domain is on the
// suppression list.
func (c *CRM) IsSuppressed(tx *store.Tx, email string) bool {
	if email == "" || c.Suppressions.Table.Count(tx) == 0 {
		return false
	}
	folded := FoldEmail(email)
	return c.isListed(tx, folded) || c.IsDomainSuppressed(tx, folded[strings.LastIndexByte(folded, '@')+1:])
}

// IsDomainSuppressed reports whether a domain or a parent domain is on the suppression list.
func (c *CRM) IsDomainSuppressed(tx *store.Tx, domain string) bool {
	if c.Suppressions.Table.Count(tx) == 0 {
		return false
	}
	for more := domain != ""; more; _, domain, more = strings.Cut(domain, ".") {
		if c.isListed(tx, domain) {
			return true
		}
	}
	return false
}

func (c *CRM) isListed(tx *store.Tx, key string) bool {
	_, listed := c.Suppressions.Table.Find(tx, "what", []byte(key))
	return listed
}
