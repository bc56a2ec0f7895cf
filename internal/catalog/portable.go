package catalog

import "prospector/store"

// Portions returns what the package has in the store.
func (c *Catalog) Portions() []store.Portion {
	const left = "the catalog belongs to the installation"
	return []store.Portion{{Table: c.Companies, WhyLeft: left}, {Table: c.People, WhyLeft: left}, {Table: c.erased, WhyLeft: left}}
}
