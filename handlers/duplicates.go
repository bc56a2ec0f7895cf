package handlers

import (
	"net/http"

	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// DuplicatesBody selects a page of duplicates.
type DuplicatesBody struct {
	Next     shape.Text `json:"next" doc:"The cursor from the page before."`
	PageSize int        `json:"page_size" rule:"min=1,max=100,default=50" doc:"The number of groups."`
}

// searchesPerPage is the number of transactions that look for one page of duplicates. A page that is not full
// then has a cursor.
const searchesPerPage = 20

// duplicatesOperation lists the groups of records that have something in common. find continues a page.
func duplicatesOperation[T any](k *record.Kind[T], shared string, find func(*store.Tx, *crm.DuplicatePage[T], int) (bool, error)) Operation {
	return withoutTx(Operation{
		Name: "find_duplicate_" + k.Entity, Method: http.MethodPost, Path: "/v1/" + k.Entity + "/duplicates", Access: identity.Read,
		Summary: "List groups of " + k.Entity + " that share " + shared,
		example: []byte(`{"page_size": 20}`),
	}, func(c *call, in DuplicatesBody) (crm.DuplicatePage[T], error) {
		page := crm.DuplicatePage[T]{Groups: []crm.DuplicateGroup[T]{}, Next: in.Next}
		for range searchesPerPage {
			var done bool
			err := c.api.Store.View(c.principal.Org, func(tx *store.Tx) (err error) {
				done, err = find(tx, &page, in.PageSize)
				return err
			})
			if err != nil || done {
				return page, err
			}
			c.work.Pause(c.request.Context())
		}
		return page, nil
	})
}

// duplicateOperations returns the operations that find and merge duplicates.
func (a *API) duplicateOperations() []Operation {
	c := a.CRM
	return []Operation{
		mergeOperation(a, c.Contacts, c.MergeContacts),
		mergeOperation(a, c.Accounts, c.MergeAccounts),
		duplicatesOperation(c.Contacts, "an email address, a LinkedIn URL, or a name and an account",
			func(tx *store.Tx, page *crm.DuplicatePage[crm.Contact], size int) (bool, error) {
				return crm.FindDuplicates(tx, c.Contacts, c.SharedByContacts(), page, size)
			}),
		duplicatesOperation(c.Accounts, "a website, a LinkedIn URL, or a name and a country",
			func(tx *store.Tx, page *crm.DuplicatePage[crm.Account], size int) (bool, error) {
				return crm.FindDuplicates(tx, c.Accounts, c.SharedByAccounts(), page, size)
			}),
	}
}
