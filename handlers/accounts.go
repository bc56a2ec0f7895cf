package handlers

func (a *API) accountOperations() []Operation { return recordOperations(a.CRM.Accounts) }
