package crm

import (
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// MergeBody names the records to merge into another.
type MergeBody struct {
	IDs    shape.IDs            `json:"ids" rule:"required,nonempty,maxlen=100" doc:"The records that are merged into the one of the path. Their ids are not found afterwards; details of the error name the record."`
	Fields map[string]uuid.UUID `json:"fields" rule:"maxlen=1000" doc:"The id of the record whose value is taken, by field; not for do_not_contact. Without it, empty fields are filled from ids in order, tags are united, true wins over false, and differing notes are joined."`
	Force  bool                 `json:"force" rule:"default=false" doc:"Makes dynamic audiences static, with the contacts that they have, if they name a merged account or if the merge would make contacts join them. Otherwise the merge is refused with in_use."`
}

// MergeContacts merges contacts into the contact id. Their references, audiences, sequences and messages become
// those of the contact. An opt-out of any of them is kept: do_not_contact cannot be chosen.
func (c *CRM) MergeContacts(tx *store.Tx, id uuid.UUID, body MergeBody) (store.Doc[Contact], error) {
	const optOut = "do_not_contact"
	if _, chosen := body.Fields[optOut]; chosen {
		var p fault.Problems
		p.Invalid("fields."+optOut, "cannot be chosen: if one of the contacts has opted out, the merged one has too")
		return store.Doc[Contact]{}, p.Err()
	}
	change := IndirectChange{Force: body.Force}
	for _, id := range append([]uuid.UUID{id}, body.IDs...) {
		if doc, err := c.Contacts.Table.Get(tx, id); err == nil { // Merge reports those that cannot be read
			change.Before = append(change.Before, doc.JSON)
		}
	}
	if err := c.follower.ContactsMerging(tx, id, body.IDs); err != nil {
		return store.Doc[Contact]{}, err
	}
	doc, err := c.Contacts.Merge(tx, id, body.IDs, body.Fields, func() error { return c.follower.ContactsMerged(tx, id, body.IDs) })
	if err != nil {
		return doc, err
	}
	change.After = doc.JSON
	return doc, c.audiences.ContactJoining(tx, id, change)
}

// MergeAccounts merges accounts into the account id. References to them become references to the account.
func (c *CRM) MergeAccounts(tx *store.Tx, id uuid.UUID, body MergeBody) (store.Doc[Account], error) {
	if body.Force {
		if err := c.Accounts.ForceMerge(tx, id, body.IDs); err != nil {
			return store.Doc[Account]{}, err
		}
	}
	doc, err := c.Accounts.Merge(tx, id, body.IDs, body.Fields, func() error { return nil })
	if err != nil {
		return doc, err
	}
	return doc, c.follower.AccountsMerged(tx, body.IDs)
}
