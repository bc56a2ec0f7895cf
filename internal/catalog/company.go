package catalog

import (
	"cmp"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// putCompany adds a company, or updates the existing one. A company with an id is found by it. A
// company without one is found by its website, unless that is on a shared host; if several companies
// have the website, the oldest is updated. People whose pending employer has the website get the
// company's id.
func (c *Catalog) putCompany(tx *store.Tx, it *item[Company]) (added bool, err error) {
	in := it.rec
	in.Website = shape.Text(c.hosts.Website(string(in.Website)))
	id, found := uuid.Nil, false
	if in.ID != "" {
		id, found = c.Companies.Find(tx, byID, []byte(in.ID))
	} else if in.Website != "" {
		if id, found, err = c.oldestByWebsite(tx, string(in.Website)); err != nil {
			return false, err
		}
	}
	if found {
		return false, c.updateCompany(tx, id, in)
	}
	if in.Name == "" {
		var p fault.Problems
		p.Invalid("name", "required")
		return false, p.Err()
	}
	if id = tx.NewID(); in.ID == "" {
		in.ID = id.String()
	}
	if _, err = c.Companies.Insert(tx, id, in); err == nil {
		err = c.assignPendingEmployees(tx, in)
	}
	return true, err
}

func (c *Catalog) updateCompany(tx *store.Tx, id uuid.UUID, in Company) error {
	old, err := c.Companies.Get(tx, id)
	if err != nil {
		return err
	}
	rec := old.Record.merge(in)
	changed := shape.Of[Company]().Diff(&old.Record, &rec)
	if len(changed) == 0 {
		return nil
	}
	if _, err := c.Companies.Update(tx, old, rec, changed); err != nil || rec.Website == old.Record.Website {
		return err
	}
	return c.assignPendingEmployees(tx, rec)
}

// oldestByWebsite finds the oldest company that the website identifies.
func (c *Catalog) oldestByWebsite(tx *store.Tx, website string) (uuid.UUID, bool, error) {
	return oldest(tx, c.Companies, byWebsite, c.hosts.Key(website))
}

func oldest[T any](tx *store.Tx, table *store.Table[T], key, value string) (uuid.UUID, bool, error) {
	if value == "" {
		return uuid.Nil, false, nil
	}
	return table.Oldest(tx, key, []byte(value))
}

// merge returns the company with the values of an update. Fields without a value in the update stay
// as they are.
func (c Company) merge(in Company) Company {
	c.Name = cmp.Or(in.Name, c.Name)
	c.Website = cmp.Or(in.Website, c.Website)
	c.Industry = cmp.Or(in.Industry, c.Industry)
	c.SubIndustry = cmp.Or(in.SubIndustry, c.SubIndustry)
	c.EmployeeCount = cmp.Or(in.EmployeeCount, c.EmployeeCount)
	c.AnnualRevenue = cmp.Or(in.AnnualRevenue, c.AnnualRevenue)
	c.FoundedYear = cmp.Or(in.FoundedYear, c.FoundedYear)
	c.Description = cmp.Or(in.Description, c.Description)
	if len(in.Keywords) > 0 {
		c.Keywords = in.Keywords
	}
	if len(in.Technologies) > 0 {
		c.Technologies = in.Technologies
	}
	c.Country = cmp.Or(in.Country, c.Country)
	c.Location = cmp.Or(in.Location, c.Location)
	c.LinkedinURL = cmp.Or(in.LinkedinURL, c.LinkedinURL)
	c.PhoneNumber = cmp.Or(in.PhoneNumber, c.PhoneNumber)
	return c
}
