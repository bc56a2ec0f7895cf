package handlers

import (
	"net/http"
	"reflect"

	"github.com/google/uuid"

	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/store"
)

// historyOperation tells what became of a record.
func historyOperation[T any](k *record.Kind[T]) Operation {
	return read(Operation{
		Name: "get_" + k.Object + "_history", Method: http.MethodGet, Path: "/v1/" + k.Entity + "/{id}/history", Access: identity.Read,
		Summary: "Read who changed " + k.WithArticle() + " in the last 90 days, when and which fields, the newest first",
	}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in PageQuery) (part[record.Change], error) {
		changes, err := k.History(tx, id)
		return part[record.Change]{changes, in}, err
	}))
}

// part is a page of a list that is at hand as a whole.
type part[T any] struct {
	all   all[T]
	query PageQuery
}

func (part[T]) output() outputSource { return outputSource{typ: reflect.TypeFor[T](), list: true} }

func (p part[T]) list(api *API) ([]byte, error) {
	total, size := len(p.all), p.query.PageSize
	from := total
	if p.query.Page-1 < (total+size-1)/size {
		from = (p.query.Page - 1) * size
	}
	records, err := p.all[from:min(from+size, total)].records()
	return api.listEnvelope(records, paginate(p.query.Page, size, total)), err
}
