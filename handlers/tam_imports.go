package handlers

import (
	"net/http"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/shape"
	"prospector/internal/tam"
	"prospector/store"
)

// acceptedImport is an Import that was accepted by this request or by an earlier one.
type acceptedImport struct {
	store.Doc[tam.Import]
	created bool
}

func (a acceptedImport) status() int {
	if a.created {
		return http.StatusAccepted
	}
	return http.StatusOK
}

// BalanceQuery is the query of get_tam_import_balance.
type BalanceQuery struct {
	PreviewID shape.Text `json:"preview_id" doc:"The id of a Preview. The response then also reports what its Import would use."`
}

// importOperations returns the operations on Imports, and on the balance that limits them.
func (a *API) importOperations() []Operation {
	return []Operation{
		writeWithLookup(Operation{
			Name: "import_tam_preview", Method: http.MethodPost, Path: "/v1/tam/preview/{preview_id}/import",
			Access: identity.Write, Status: http.StatusAccepted,
			Codes:   []fault.Code{fault.ImportLimitExceeded, fault.PreviewNotReady, fault.NothingToImport, fault.ImportAccepted},
			example: []byte(`{"max_accounts": 300, "max_contacts": 1000}`),
			Summary: "Import a Preview: create Accounts and Contacts of its selected members, or of the first ones, " +
				"in the background; a repeated request returns the same Import",
		}, func(c *call, in tam.ImportBody) (*tam.ImportPlan, error) {
			id, err := c.pathID(0)
			if err != nil {
				return nil, err
			}
			return a.TAM.PlanImport(c.request.Context(), c.org(), id, in.ImportMax)
		}, func(_ *call, tx *store.Tx, _ tam.ImportBody, plan *tam.ImportPlan) (acceptedImport, error) {
			doc, created, err := a.TAM.Accept(tx, plan)
			return acceptedImport{doc, created}, err
		}),
		read(Operation{
			Name: "get_tam_import", Method: http.MethodGet, Path: "/v1/tam/imports/{operation_id}",
			Access:  identity.Read,
			Summary: "Get the progress and results of an Import",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (store.Doc[tam.Import], error) {
			return a.TAM.Imports.Get(tx, id)
		})),
		list[tam.Import](Operation{Name: "list_tam_imports", Path: "/v1/tam/imports/list", Summary: "List Imports"}, a.TAM.ImportList),
		withoutTx(Operation{
			Name: "get_tam_import_balance", Method: http.MethodGet, Path: "/v1/tam/balance",
			Access: identity.Read, Codes: []fault.Code{fault.NotFound},
			Summary: "Get how many Accounts and Contacts Imports may still create this month, optionally with " +
				"the usage of a Preview",
		}, func(c *call, in BalanceQuery) (tam.Balance, error) {
			var preview uuid.NullUUID
			if in.PreviewID != "" {
				id, err := shape.ParseID(string(in.PreviewID))
				if err != nil { // not an id, so no such Preview exists
					return tam.Balance{}, fault.ErrNotFound
				}
				preview = uuid.NullUUID{UUID: id, Valid: true}
			}
			return a.TAM.Balance(c.request.Context(), c.org(), preview)
		}),
	}
}
