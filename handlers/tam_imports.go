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
		write(Operation{
			Name: "import_tam_preview", Method: http.MethodPost, Path: "/v1/tam/preview/{preview_id}/import",
			Access: identity.Write, Status: http.StatusAccepted,
			Codes: []fault.Code{fault.ImportLimitExceeded, fault.PreviewNotReady, fault.NothingToImport},
			Summary: "Import a Preview: create Accounts and Contacts of its selected members in the " +
				"background; a repeated request returns the same Import",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (acceptedImport, error) {
			doc, created, err := a.TAM.Accept(tx, id)
			return acceptedImport{doc, created}, err
		})),
		read(Operation{
			Name: "get_tam_import", Method: http.MethodGet, Path: "/v1/tam/imports/{operation_id}",
			Access:  identity.Read,
			Summary: "Get the progress and results of an Import",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (store.Doc[tam.Import], error) {
			return a.TAM.Imports.Get(tx, id)
		})),
		list[tam.Import](Operation{Name: "list_tam_imports", Path: "/v1/tam/imports/list", Summary: "List Imports"}, a.TAM.ImportList),
		read(Operation{
			Name: "get_tam_import_balance", Method: http.MethodGet, Path: "/v1/tam/balance",
			Access: identity.Read, Codes: []fault.Code{fault.NotFound},
			Summary: "Get how many Accounts and Contacts Imports may still create this month, optionally with " +
				"the usage of a Preview",
		}, func(_ *call, tx *store.Tx, in BalanceQuery) (tam.Balance, error) {
			if in.PreviewID == "" {
				return a.TAM.Balance(tx, uuid.NullUUID{})
			}
			id, err := shape.ParseID(string(in.PreviewID))
			if err != nil { // not an id, so no such Preview exists
				return tam.Balance{}, fault.ErrNotFound
			}
			return a.TAM.Balance(tx, uuid.NullUUID{UUID: id, Valid: true})
		}),
	}
}
