package handlers

func (a *API) contactOperations() []Operation {
	return append(recordOperations(a.CRM.Contacts),
		// The path that the description gives the update; PATCH /v1/contacts/{id} is the same operation.
		updateOperation(a.CRM.Contacts, "update_preview_contact", "/v1/preview/contacts/{contact_id}"))
}
