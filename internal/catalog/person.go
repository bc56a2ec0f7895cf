package catalog

import (
	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// putPerson adds a person, or updates the existing one. A person with an id is found by it. Without
// an id, it is the oldest person with the same LinkedIn URL, or else the oldest with the same email
// address.
func (c *Catalog) putPerson(tx *store.Tx, it *item[Person]) (added bool, err error) {
	in := it.rec
	if erased, err := c.isErased(tx, string(in.Email)); err != nil || erased {
		return false, err
	}
	id, found, err := c.findPerson(tx, in)
	if err != nil {
		return false, err
	}
	if !found && in.FirstName == "" && in.LastName == "" && in.Email == "" && in.LinkedinURL == "" {
		var p fault.Problems
		p.Invalid("email", "required, or linkedin_url, or first_name or last_name")
		return false, p.Err()
	}
	if in.CompanyID == "" && it.employer != "" {
		if in.CompanyID, err = c.companyIDByWebsite(tx, it.employer); err != nil {
			return false, err
		}
		if in.CompanyID == "" {
			in.pending.Website = c.hosts.Website(it.employer)
		}
	}
	if found {
		return false, c.updatePerson(tx, id, in)
	}
	if id = tx.NewID(); in.ID == "" {
		in.ID = id.String()
	}
	if in.Seniority == "" {
		in.Seniority = shape.Text(seniorityOf(string(in.Title)))
	}
	_, err = c.People.Insert(tx, id, in)
	return true, err
}

func (c *Catalog) findPerson(tx *store.Tx, in Person) (id uuid.UUID, found bool, err error) {
	if in.ID != "" {
		id, found = c.People.Find(tx, byID, []byte(in.ID))
		return id, found, nil
	}
	id, found, err = oldest(tx, c.People, byLinkedIn, address.LinkedIn(string(in.LinkedinURL)))
	if err == nil && !found {
		id, found, err = oldest(tx, c.People, byEmail, address.Key(string(in.Email)))
	}
	return id, found, err
}

// companyIDByWebsite returns the catalog id of the oldest company that the website identifies, or ""
// if there is no such company.
func (c *Catalog) companyIDByWebsite(tx *store.Tx, website string) (shape.Text, error) {
	id, found, err := c.oldestByWebsite(tx, website)
	if err != nil || !found {
		return "", err
	}
	company, err := c.Companies.Get(tx, id)
	return shape.Text(company.Record.ID), err
}

func (c *Catalog) updatePerson(tx *store.Tx, id uuid.UUID, in Person) error {
	old, err := c.People.Get(tx, id)
	if err != nil {
		return err
	}
	rec := old.Record.merge(in)
	changed := shape.Of[Person]().Diff(&old.Record, &rec)
	if len(changed) == 0 && rec.pending == old.Record.pending {
		return nil
	}
	_, err = c.People.Update(tx, old, rec, changed)
	return err
}

// assignPendingEmployees sets the employer of the people whose pending employer is identified by the
// website of the company.
func (c *Catalog) assignPendingEmployees(tx *store.Tx, company Company) error {
	key := c.hosts.Key(string(company.Website))
	if key == "" {
		return nil
	}
	ids, err := c.People.IDs(tx, byAwaited, []byte(key), 0)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := c.updatePerson(tx, id, Person{CompanyID: shape.Text(company.ID)}); err != nil {
			return err
		}
	}
	return nil
}

// merge returns the person with the values of an update. Fields without a value in the update stay
// as they are. A seniority that was derived from the title is derived again when the title changes.
func (p Person) merge(in Person) Person {
	old := p
	merge(&p, &in)
	if in.CompanyID != "" || in.pending.Website != "" { // the update names an employer
		p.CompanyID, p.pending = in.CompanyID, in.pending
	}
	if in.Seniority == "" && p.Title != old.Title && string(old.Seniority) == seniorityOf(string(old.Title)) {
		p.Seniority = shape.Text(seniorityOf(string(p.Title)))
	}
	return p
}
