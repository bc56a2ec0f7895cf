package handlers

import (
	"net/http"

	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/store"
)

// suppressionOperations are those of the list of whom nothing may be sent to.
func (a *API) suppressionOperations() []Operation {
	k := a.CRM.Suppressions
	return []Operation{
		write(Operation{
			Name: "create_suppression", Method: http.MethodPost, Path: "/v1/suppressions", Access: identity.Admin, Status: http.StatusCreated,
			Summary: "Suppress an email address, or a domain with its subdomains; what is suppressed already is answered as it is",
		}, func(_ *call, tx *store.Tx, in creates[crm.Suppression]) (made[crm.Suppression], error) {
			doc, created, err := a.CRM.Suppress(tx, in.Draft)
			return made[crm.Suppression]{doc, created}, err
		}),
		withAccess(identity.Admin, deleteOperation(k)),
		listOperation(k),
	}
}

// made is a record that was created, or was there already.
type made[T any] struct {
	store.Doc[T]
	created bool
}

// status is that of the answer: 200 for what was there.
func (m made[T]) status() int {
	if m.created {
		return http.StatusCreated
	}
	return http.StatusOK
}
