package catalog

import "prospector/store"

// Portions returns what exports of an organization leave out.
func (c *Catalog) Portions() []store.Portion {
	const left = "the catalog belongs to the installation"
	return []store.Portion{{Table: c.Companies, Left: left}, {Table: c.People, Left: left}, {Table: c.erased, Left: left}}
}
