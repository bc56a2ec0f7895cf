package handlers

import (
	"slices"

	"prospector/internal/fault"
)

// crmOperations returns the operations on the records of a sales team.
func (a *API) crmOperations() []Operation {
	c := a.CRM
	alias := updateOperation(c.Contacts, "update_preview_contact", "/v1/preview/contacts/{contact_id}", fault.ExternalIDTaken, fault.Erased)
	alias.Summary = "Update a contact at the older path of update_contact"
	contacts := entityOperations(a, c.Contacts)
	for i := range contacts {
		if name := contacts[i].Name; name == "create_contact" || name == "update_contact" {
			contacts[i].Codes = append(slices.Clone(contacts[i].Codes), fault.Erased)
		}
	}
	return slices.Concat(
		entityOperations(a, c.Accounts),
		contacts,
		[]Operation{alias},
		entityOperations(a, c.Opportunities),
		entityOperations(a, c.Tasks),
		entityOperations(a, c.Meetings),
		basicOperations(c.Tags, fault.TagNameTaken),
		trashOperations(a, c.Tags, []fault.Code{fault.InUse}, []fault.Code{fault.TagNameTaken}),
		recordOperations(a, c.Views, viewCodes...),
		a.accountViewOperations(),
		a.fieldOperations(),
		a.duplicateOperations(),
		a.suppressionOperations(),
	)
}
