package handlers

import (
	"net/http"

	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/store"
)

// suppressionOperations returns the operations on suppressions.
func (a *API) suppressionOperations() []Operation {
	k := a.CRM.Suppressions
	return []Operation{
		write(Operation{
			Name: "create_suppression", Method: http.MethodPost, Path: "/v1/suppressions",
			Access: identity.Admin, Status: http.StatusCreated,
			Summary: "Suppress an email address, or a domain and its subdomains; an existing suppression is " +
				"returned unchanged, except that one with the reason opted_out takes the new reason",
		}, func(_ *call, tx *store.Tx, in createBody[crm.Suppression]) (createdOrExisting[crm.Suppression], error) {
			doc, created, err := a.CRM.Suppress(tx, in.Draft)
			return createdOrExisting[crm.Suppression]{doc, created}, err
		}),
		withAccess(identity.Admin, deleteOperation(k)),
		listOperation(k),
	}
}

// createdOrExisting is a record that this request created, or that already existed.
type createdOrExisting[T any] struct {
	store.Doc[T]
	created bool
}

// status returns 201 for a created record and 200 for an existing one.
func (m createdOrExisting[T]) status() int {
	if m.created {
		return http.StatusCreated
	}
	return http.StatusOK
}
