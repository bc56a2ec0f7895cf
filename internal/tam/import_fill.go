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

// fillAccount sets the empty fields of an Account.
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

// fillContact sets the empty fields of a Contact.
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
	c.Country = cmp.Or(c.Country, p.Country)
}

// updateRecord updates an existing record. If only its private origin changed (originChanged), the
// record is stored without a new updated_at and without an event.
func updateRecord[T any](tx *store.Tx, kind *record.Kind[T], old store.Doc[T], rec T, originChanged bool) error {
	doc, err := kind.Replace(tx, old, rec)
	if err == nil && originChanged && doc.Change == old.Change {
		_, err = kind.Table.Update(tx, old, rec, nil)
	}
	return err
}

// addTags returns the tags of a record with more tags, up to the maximum number of tags.
func addTags(have, more shape.IDs) shape.IDs {
	present := make(map[uuid.UUID]bool, len(have))
	for _, tag := range have {
		present[tag] = true
	}
	tags := slices.Clone(have)
	for _, tag := range more {
		if !present[tag] && len(tags) < crm.MaxTags {
			tags = append(tags, tag)
		}
	}
	return tags
}
