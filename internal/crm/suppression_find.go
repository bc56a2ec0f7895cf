package crm

import (
	"iter"
	"slices"

	"prospector/internal/address"
	"prospector/store"
)

// SuppressionsOf returns the suppressions that block an email address: of the address, of its domain
// and of parent domains.
func (c *CRM) SuppressionsOf(tx *store.Tx, email string) (all []Suppression, err error) {
	if email == "" {
		return nil, nil
	}
	key := address.Key(email)
	keys := slices.Concat([]string{key}, slices.Collect(iter.Seq[string](address.Domains(address.DomainOf(key)))))
	for _, key := range keys {
		id, listed, err := c.suppressionOf(tx, key)
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
