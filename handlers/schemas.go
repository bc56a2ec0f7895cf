package handlers

import (
	"net/http"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/identity"
)

// schemaOperation describes every kind that has a list.
func (a *API) schemaOperation() Operation {
	kinds := []*index.Kind{a.CRM.Accounts.List, a.CRM.Contacts.List, a.CRM.Tags.List}
	o := Operation{
		Name: "get_schema", Method: http.MethodGet, Path: "/v1/schemas/{entity}", Access: identity.Read,
		Summary: "Read which fields an entity has and how its lists filter and sort by them",
	}
	for _, k := range kinds {
		o.Entities = append(o.Entities, k.Entity)
	}
	return plain(o, func(c *call, _ nothing) (index.Schema, error) {
		for _, k := range kinds {
			if k.Entity == c.params["entity"] {
				return k.Schema(), nil
			}
		}
		return index.Schema{}, fault.ErrNotFound
	})
}
