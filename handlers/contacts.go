package handlers

func (a *API) contactOperations() []Operation {
	alias := updateOperation(a.CRM.Contacts, "update_preview_contact", "/v1/preview/contacts/{contact_id}")
	alias.Summary = "The same as update_contact, at its older path"
	return append(recordOperations(a.CRM.Contacts), alias)
}
