package handlers

import (
	"net/http"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/store"
)

// mergeOperation merges records of a kind into another.
func mergeOperation[T any](k *record.Kind[T], merge func(*store.Tx, uuid.UUID, crm.MergeBody) (store.Doc[T], error)) Operation {
	return write(Operation{
		Name: "merge_" + k.Entity, Method: http.MethodPost, Path: "/v1/" + k.Entity + "/{id}/merge", Access: identity.Write,
		Summary: "Merge other " + k.Entity + " into " + k.WithArticle(),
		example: []byte(`{"ids": ["$OTHER_ID"]}`),
	}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in crm.MergeBody) (store.Doc[T], error) {
		return merge(tx, id, in)
	}))
}
