package catalog

import (
	"reflect"

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
	rec := old.Record
	merge(&rec, &in)
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

// merge sets the fields of a record for which an update has a value. The others stay as they are.
func merge[T any](rec *T, in *T) {
	into, from := reflect.ValueOf(rec).Elem(), reflect.ValueOf(in).Elem()
	for i := range from.NumField() {
		v := from.Field(i)
		hasValue := !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0)
		if field := into.Field(i); hasValue && field.CanSet() { // others are not part of what the API shows
			field.Set(v)
		}
	}
}
