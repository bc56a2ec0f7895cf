package handlers

import (
	"slices"

	"prospector/internal/fault"
)

// crmOperations are those of the records that a sales team works with.
func (a *API) crmOperations() []Operation {
	c := a.CRM
	alias := updateOperation(c.Contacts, "update_preview_contact", "/v1/preview/contacts/{contact_id}", fault.ExternalIDTaken)
	alias.Summary = "The same as update_contact, at its older path"
	return slices.Concat(
		entityOperations(c.Accounts),
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
