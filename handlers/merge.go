package handlers

import (
	"net/http"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/operation"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// exampleOne and exampleOther are records that nothing has. exampleOther is merged in the example of a merge.
const (
	exampleOne   = "019cd707-3f90-7d4c-8a3e-5b0c6f2d9a18"
	exampleOther = "019cd707-3f91-775a-b036-789ac35526e1"
)

// mergeOperation merges records of a kind into another.
func mergeOperation[T any](a *API, k *record.Kind[T], merge func(*store.Tx, uuid.UUID, crm.MergeBody) (store.Doc[T], error)) Operation {
	return write(Operation{
		Name: "merge_" + k.Entity, Method: http.MethodPost, Path: "/v1/" + k.Entity + "/{id}/merge", Access: identity.Write,
		Codes:   []fault.Code{fault.InUse},
		Summary: "Merge other " + k.Entity + " into " + k.WithArticle(),
		example: []byte(`{"ids": ["` + exampleOther + `"]}`),
	}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in crm.MergeBody) (m merged[T], err error) {
		op, err := a.OperationLog.Begin(tx, operation.Operation{Kind: operation.Merge, Entity: shape.Text(k.Entity), Matched: 1 + len(in.IDs),
			State: operation.State{Merged: &operation.Merged{Into: id, IDs: in.IDs}}})
		if err != nil {
			return m, err
		}
		tx.ActFor(op.ID)
		m.operation = op.ID
		if m.Doc, err = merge(tx, id, in); err != nil {
			return m, err
		}
		op.Record.Changed = op.Record.Matched
		_, err = a.OperationLog.End(tx, op, op.Record, operation.Completed)
		return m, err
	}))
}

// merged is the record that others were merged into.
type merged[T any] struct {
	store.Doc[T]
	operation uuid.UUID
}

func (m merged[T]) meta() Meta { return Meta{OperationID: m.operation} }
