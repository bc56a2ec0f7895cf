package handlers

import (
	"net/http"
	"strings"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/identity"
	"prospector/store"
)

// schemaOperation describes every entity that one of the operations lists.
func schemaOperation(ops []Operation) Operation {
	kinds := map[string]*index.Kind{}
	o := Operation{
		Name: "get_schema", Method: http.MethodGet, Path: "/v1/schemas/{entity}", Access: identity.Read,
		Summary: "Get the fields of an entity, and how its lists can filter and sort by them",
	}
	for _, op := range ops {
		if k := op.listKind; k != nil && kinds[op.listEntity()] == nil {
			kinds[op.listEntity()] = k
			o.Entities = append(o.Entities, op.listEntity())
		}
	}
	return read(o, func(c *call, tx *store.Tx, _ nothing) (filter.Schema, error) {
		k, ok := kinds[c.params["entity"]]
		if !ok {
			return filter.Schema{}, fault.ErrNotFound
		}
		customs, err := k.Customs(tx)
		if err != nil {
			return filter.Schema{}, err
		}
		schema := c.queryable(k).Schema(customs)
		schema.Entity = c.params["entity"]
		return schema, nil
	})
}

// listEntity returns the entity that an operation lists.
func (o *Operation) listEntity() string {
	if o.Path == accountViewsPath+"/list" {
		return strings.TrimPrefix(accountViewsPath, "/v1/")
	}
	return o.listKind.Entity
}
