package catalog

import (
	"prospector/internal/address"
	"prospector/store"
)

// erased marks the addresses that were erased, in the catalog's organization.
type erased struct {
	Hash string `json:"hash"`
}

const byHash = "hash"

func newErased() *store.Table[erased] {
	return store.NewTable("erased_people", nil, []store.Key[erased]{
		store.TextKey(byHash, func(e *erased) string { return e.Hash }),
	}).Unlogged()
}

// PeopleWith returns the people with an address.
func (c *Catalog) PeopleWith(tx *store.Tx, email string) (people []Person, err error) {
	ids, err := c.People.IDs(tx, byEmail, []byte(address.Key(email)), 0)
	if err != nil {
		return nil, err
	}
	err = c.People.Each(tx, ids, func(doc store.Doc[Person]) error {
		people = append(people, doc.Record)
		return nil
	})
	return people, err
}

// ErasePeople deletes the people with an address. Imports leave them out from then on.
func (c *Catalog) ErasePeople(tx *store.Tx, email string) error {
	hash, err := c.erasures.Add(tx, address.Key(email))
	if err != nil {
		return err
	}
	if ids, err := c.erased.IDs(tx, byHash, []byte(hash), 1); err != nil {
		return err
	} else if len(ids) == 0 {
		if _, err := c.erased.Insert(tx, tx.NewID(), erased{hash}); err != nil {
			return err
		}
	}
	ids, err := c.People.IDs(tx, byEmail, []byte(address.Key(email)), 0)
	if err != nil {
		return err
	}
	return c.People.Each(tx, ids, func(doc store.Doc[Person]) error { return c.People.Delete(tx, doc) })
}

// isErased reports whether the person with an address was erased.
func (c *Catalog) isErased(tx *store.Tx, email string) (bool, error) {
	if email == "" || c.erased.Count(tx) == 0 {
		return false, nil
	}
	hash, err := c.erasures.Find(tx, address.Key(email))
	if err != nil || hash == "" {
		return false, err
	}
	ids, err := c.erased.IDs(tx, byHash, []byte(hash), 1)
	return len(ids) > 0, err
}
