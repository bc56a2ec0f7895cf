package handlers

import (
	"net/http"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/store"
)

// viewCodes are the errors of operations that write a view.
var viewCodes = []fault.Code{fault.ViewNameTaken, fault.InvalidFilter, fault.InvalidSort}

// accountViewsPath is the older path of the views of accounts.
const accountViewsPath = "/v1/account-views"

// accountViewOperations returns the operations on the views of accounts at their older path. Other views do not
// exist there.
func (a *API) accountViewOperations() []Operation {
	k := a.CRM.Views
	const path, one = accountViewsPath, accountViewsPath + "/{id}"
	mustExist := a.mustBeAccountView
	return []Operation{
		write(Operation{
			Name: "create_account_view", Method: http.MethodPost, Path: path, Access: identity.Write,
			Status: http.StatusCreated, Codes: viewCodes, Summary: "Create a view of accounts",
		}, func(_ *call, tx *store.Tx, in createBody[crm.View]) (store.Doc[crm.View], error) {
			doc, err := k.Create(tx, in.Draft)
			if err == nil && !doc.Record.IsOfAccounts() {
				var p fault.Problems
				p.Invalid("entity", "must be accounts; /v1/views has the views of %s", doc.Record.Entity)
				err = p.Err()
			}
			return doc, err
		}),
		read(Operation{
			Name: "get_account_view", Method: http.MethodGet, Path: one, Access: identity.Read, Summary: "Get a view of accounts",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (store.Doc[crm.View], error) {
			if err := mustExist(tx, id); err != nil {
				return store.Doc[crm.View]{}, err
			}
			return k.Get(tx, id)
		})),
		write(Operation{
			Name: "update_account_view", Method: http.MethodPatch, Path: one, Access: identity.Write, Codes: viewCodes,
			Summary: "Update a view of accounts; absent fields stay unchanged, null clears a field",
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, in updateBody[crm.View]) (store.Doc[crm.View], error) {
			if err := mustExist(tx, id); err != nil {
				return store.Doc[crm.View]{}, err
			}
			return k.Update(tx, id, ifMatch(c.request), in.body)
		})),
		write(Operation{
			Name: "delete_account_view", Method: http.MethodDelete, Path: one, Access: identity.Write,
			Status: http.StatusNoContent, Summary: "Delete a view of accounts",
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, _ nothing) (nothing, error) {
			if err := mustExist(tx, id); err != nil {
				return nothing{}, err
			}
			return nothing{}, k.Delete(tx, id, ifMatch(c.request))
		})),
		listSome[crm.View](Operation{
			Name: "list_account_views", Path: path + "/list", Summary: "List the views of accounts, with filters, search and sorting",
		}, k.List, (*call).org, func(_ *call, all index.Query) (index.Query, error) {
			return restrictTo(all, a.CRM.AccountViews), nil
		}),
	}
}

// mustBeAccountView fails with not_found unless a view of accounts has the id.
func (a *API) mustBeAccountView(tx *store.Tx, id uuid.UUID) error {
	doc, err := a.CRM.Views.Get(tx, id)
	if err == nil && !doc.Record.IsOfAccounts() {
		err = fault.ErrNotFound
	}
	return err
}
