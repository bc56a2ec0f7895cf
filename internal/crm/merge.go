package crm

import (
	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// MergeBody names the records to merge into another.
type MergeBody struct {
	IDs    shape.IDs            `json:"ids" rule:"required,nonempty,maxlen=100" doc:"The records that are merged into the one of the path. Their ids are not found afterwards; details of the error name the record."`
	Fields map[string]uuid.UUID `json:"fields" rule:"maxlen=1000" doc:"The id of the record whose value is taken, by field. Without it, empty fields are filled from ids in order, tags are united, true wins over false, and differing notes are joined."`
}

// MergeContacts merges contacts into the contact id. Their references, audiences, sequences and messages become
// those of the contact.
func (c *CRM) MergeContacts(tx *store.Tx, id uuid.UUID, body MergeBody) (store.Doc[Contact], error) {
	return c.Contacts.Merge(tx, id, body.IDs, body.Fields, func() error {
		if c.hooks.ContactsMerged == nil {
			return nil
		}
		return c.hooks.ContactsMerged(tx, id, body.IDs)
	})
}

// MergeAccounts merges accounts into the account id. References to them become references to the account.
func (c *CRM) MergeAccounts(tx *store.Tx, id uuid.UUID, body MergeBody) (store.Doc[Account], error) {
	doc, err := c.Accounts.Merge(tx, id, body.IDs, body.Fields, func() error { return nil })
	if err != nil || c.hooks.AccountChanged == nil {
		return doc, err
	}
	for _, other := range body.IDs {
		if err := c.hooks.AccountChanged(tx, other); err != nil {
			return doc, err
		}
	}
	return doc, nil
}
