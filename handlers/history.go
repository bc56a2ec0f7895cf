package handlers

import (
	"net/http"
	"reflect"

	"github.com/google/uuid"

	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/store"
)

// historyOperation lists the recent changes of a record.
func historyOperation[T any](k *record.Kind[T]) Operation {
	return read(Operation{
		Name: "get_" + k.Object + "_history", Method: http.MethodGet, Path: "/v1/" + k.Entity + "/{id}/history",
		Access: identity.Read,
		Summary: "List the changes of " + k.WithArticle() + " in the last 90 days, newest first: who, " +
			"when and which fields",
	}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in PageQuery) (listSlice[record.Change], error) {
		changes, err := k.History(tx, id)
		return listSlice[record.Change]{changes, in}, err
	}))
}

// listSlice is one page of a list that is completely in memory.
type listSlice[T any] struct {
	all   all[T]
	query PageQuery
}

func (listSlice[T]) output() outputSource { return outputSource{typ: reflect.TypeFor[T](), list: true} }

func (p listSlice[T]) list(api *API) ([]byte, error) {
	total, size := len(p.all), p.query.PageSize
	from := total
	if p.query.Page-1 < (total+size-1)/size {
		from = (p.query.Page - 1) * size
	}
	records, err := p.all[from:min(from+size, total)].records()
	return api.listEnvelope(records, paginate(p.query.Page, size, total), 0), err
}
