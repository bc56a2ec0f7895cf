package handlers

import (
	"net/http"

	"prospector/internal/identity"
	"prospector/store"
)

// IndexProgress is how far the index of an entity is built.
type IndexProgress struct {
	Entity   string `json:"entity" rule:"required"`
	Building bool   `json:"building" doc:"The index does not contain all records yet. Lists with filters, a search or a sort return 503 until it lacks at most 25,000."`
	Indexed  int    `json:"indexed_records"`
	Records  int    `json:"records" doc:"How many records the index will contain."`
}

// indexOperation returns the operation that reports how far indexes are built.
func (a *API) indexOperation() Operation {
	return read(Operation{
		Name: "list_indexes", Method: http.MethodGet, Path: "/v1/indexes", Access: identity.Read,
		Summary: "List how far the indexes of entities with many records are built",
	}, func(_ *call, tx *store.Tx, _ nothing) (indexes all[IndexProgress], err error) {
		for _, p := range a.Index.Progress(tx.Org()) {
			indexes = append(indexes, IndexProgress{p.Entity, p.Building, p.Indexed, p.Records})
		}
		return indexes, nil
	})
}
