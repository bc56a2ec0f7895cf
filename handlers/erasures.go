package handlers

import (
	"net/http"

	"prospector/internal/erasure"
	"prospector/internal/identity"
	"prospector/internal/operation"
	"prospector/store"
)

// ErasureBody names a person to erase.
type ErasureBody struct {
	Email  string `json:"email" rule:"required,format=email" doc:"Any email address of the person. The address of a role, such as info@, is taken from the contacts who have it, and they stay."`
	Reason string `json:"reason" rule:"required,maxlen=1000" doc:"Why the person is erased, such as the number of a request. The operation keeps it without the address and the name of the person."`
	DryRun bool   `json:"dry_run" doc:"Only counts what would be erased, and lists what would be left."`
}

// erasureOperations returns the operations that erase people.
func (a *API) erasureOperations() []Operation {
	return []Operation{
		write(Operation{
			Name: "create_erasure", Method: http.MethodPost, Path: "/v1/erasures", Access: identity.Admin, Status: http.StatusAccepted,
			Summary: "Erase a person from the organization and from the catalog, in the background; it cannot be undone",
			example: []byte(`{"email": "hank@globex.example", "reason": "Request 2026-17", "dry_run": true}`),
		}, func(_ *call, tx *store.Tx, in ErasureBody) (store.Doc[operation.Operation], error) {
			return a.Erasures.Start(tx, erasure.Request{Email: in.Email, Reason: in.Reason, DryRun: in.DryRun})
		}),
	}
}
