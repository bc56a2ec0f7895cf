package handlers

import (
	"net/http"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/store"
)

// FieldQuery is the query of list_fields.
type FieldQuery struct {
	Entity crm.Entity `json:"entity" doc:"Only the fields of this entity."`
}

// fieldOperations returns the operations on custom fields.
func (a *API) fieldOperations() []Operation {
	fields := a.CRM.Fields
	trash := trashOperations(a, fields, []fault.Code{fault.InUse}, []fault.Code{fault.FieldKeyTaken})
	for i := range trash {
		if trash[i].listKind == nil {
			trash[i] = withAccess(identity.Admin, trash[i])
		}
	}
	return append([]Operation{
		withAccess(identity.Admin, createOperation(fields, fault.FieldKeyTaken)),
		read(Operation{
			Name: "list_fields", Method: http.MethodGet, Path: "/v1/fields", Access: identity.Read,
			Summary: "List all custom fields on one page",
		}, func(_ *call, tx *store.Tx, in FieldQuery) (readable[crm.Field], error) {
			list, damaged, err := a.CRM.ListFields(tx, in.Entity)
			return readable[crm.Field]{list, damaged}, err
		}),
		withAccess(identity.Admin, updateOperation(fields, "update_field", "/v1/fields/{id}", fault.InUse)),
	}, trash...)
}
