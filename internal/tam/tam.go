package tam

import (
	"prospector/index"
	"prospector/internal/crm"
	"prospector/store"
)

// TAM holds the catalogue and the Previews.
type TAM struct {
	*Catalog

	crm *crm.CRM
}

// New declares what the package keeps in the store.
func New(c *crm.CRM) *TAM {
	return &TAM{Catalog: newCatalog(), crm: c}
}

// Lists gives what the lists of each kind need to know.
func (t *TAM) Lists() []*index.Kind { return []*index.Kind{t.CompanyList, t.PersonList} }

// Verify holds the tables of the transaction's organization against their keys and logs.
func (t *TAM) Verify(tx *store.Tx, report store.Report) error {
	if err := t.Companies.Verify(tx, report); err != nil {
		return err
	}
	return t.People.Verify(tx, report)
}
