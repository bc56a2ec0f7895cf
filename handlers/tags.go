package handlers

import "prospector/internal/fault"

func (a *API) tagOperations() []Operation { return recordOperations(a.CRM.Tags, fault.TagNameTaken) }
