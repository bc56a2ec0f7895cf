package tam

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// fillAccount gives an Account what it has no value of.
func fillAccount(a *crm.Account, c *catalog.Company) {
	a.Name = cmp.Or(a.Name, c.Name)
	a.Website = cmp.Or(a.Website, c.Website)
	a.Industry = cmp.Or(a.Industry, c.Industry)
	a.EmployeeCount = cmp.Or(a.EmployeeCount, c.EmployeeCount)
	a.AnnualRevenue = cmp.Or(a.AnnualRevenue, c.AnnualRevenue)
	a.FoundedYear = cmp.Or(a.FoundedYear, c.FoundedYear)
	a.Description = cmp.Or(a.Description, c.Description)
	a.Country = cmp.Or(a.Country, c.Country)
	a.Location = cmp.Or(a.Location, c.Location)
	a.LinkedinURL = cmp.Or(a.LinkedinURL, c.LinkedinURL)
	a.PhoneNumber = cmp.Or(a.PhoneNumber, c.PhoneNumber)
}

// fillContact gives a Contact what it has no value of.
func fillContact(c *crm.Contact, p *catalog.Person, account uuid.NullUUID) {
	if !c.AccountID.Valid {
		c.AccountID = account
	}
	c.FirstName = cmp.Or(c.FirstName, p.FirstName)
	c.LastName = cmp.Or(c.LastName, p.LastName)
	c.Email = cmp.Or(c.Email, p.Email)
	c.Title = cmp.Or(c.Title, p.Title)
	c.PhoneNumber = cmp.Or(c.PhoneNumber, p.PhoneNumber)
	c.LinkedinURL = cmp.Or(c.LinkedinURL, p.LinkedinURL)
	c.Location = cmp.Or(c.Location, p.Location)
}

// replace writes a record that was there before. When only its origin is new, which nobody sees, it keeps its updated_at and
// emits nothing.
func replace[T any](tx *store.Tx, kind *record.Kind[T], old store.Doc[T], rec T, adopted bool) error {
	doc, err := kind.Replace(tx, old, rec)
	if err == nil && adopted && doc.Change == old.Change {
		_, err = kind.Table.Update(tx, old, rec, nil)
	}
	return err
}

// withTags adds tags to those that a record has, as many as it may have.
func withTags(have, more shape.IDs) shape.IDs {
	held := make(map[uuid.UUID]bool, len(have))
	for _, tag := range have {
		held[tag] = true
	}
	tags := slices.Clone(have)
	for _, tag := range more {
		if !held[tag] && len(tags) < crm.MaxTags {
			tags = append(tags, tag)
		}
	}
	return tags
}
