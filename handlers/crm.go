package handlers

import (
	"net/http"
	"slices"

	"prospector/internal/fault"
)

// crmOperations are those of the records that a sales team works with.
func (a *API) crmOperations() []Operation {
	c := a.CRM
	alias := updateOperation(c.Contacts, "update_preview_contact", "/v1/preview/contacts/{contact_id}", fault.ExternalIDTaken)
	alias.Summary = "The same as update_contact, at its older path"
	return slices.Concat(
		inUse(entityOperations(c.Accounts)),
		entityOperations(c.Contacts),
		[]Operation{alias},
		entityOperations(c.Opportunities),
		entityOperations(c.Tasks),
		entityOperations(c.Meetings),
		recordOperations(c.Tags, fault.TagNameTaken),
		recordOperations(c.Views, fault.ViewNameTaken, fault.InvalidFilter),
		a.fieldOperations(),
		a.suppressionOperations(),
	)
}

// inUse notes that records of a kind may be needed by others.
func inUse(ops []Operation) []Operation {
	for i := range ops {
		if ops[i].Method == http.MethodDelete {
			ops[i].Codes = append(ops[i].Codes, fault.InUse)
		}
	}
	return ops
}
