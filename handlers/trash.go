package handlers

import (
	"net/http"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/store"
)

// DeleteQuery says how a record is deleted.
type DeleteQuery struct {
	Permanent bool `json:"permanent" rule:"default=false" doc:"Deletes the record at once, without the trash. A record that is in the trash already is removed from it."`
}

// trashOperations returns the operations on the deleted records of an entity, and the one that deletes a record.
func trashOperations[T any](k *record.Kind[T]) []Operation {
	return []Operation{
		write(Operation{
			Name: "delete_" + k.Object, Method: http.MethodDelete, Path: "/v1/" + k.Entity + "/{id}",
			Access: identity.Write, Status: http.StatusNoContent, Codes: deletionCodes(k),
			Summary: "Delete " + k.WithArticle() + " and all references to it; the trash keeps the record for 30 days",
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, in DeleteQuery) (nothing, error) {
			if in.Permanent {
				return nothing{}, k.Erase(tx, id, ifMatch(c.request))
			}
			return nothing{}, k.Delete(tx, id, ifMatch(c.request))
		})),
		list[record.Trashed[T]](Operation{
			Name: "list_" + k.Entity + "_trash", Path: "/v1/" + k.Entity + "/trash/list",
			Summary: "List deleted " + k.Entity + ", with filters, search and sorting",
		}, k.TrashList),
		write(Operation{
			Name: "restore_" + k.Object, Method: http.MethodPost, Path: "/v1/" + k.Entity + "/{id}/restore",
			Access: identity.Write, Codes: []fault.Code{fault.ExternalIDTaken},
			Summary: "Restore " + k.WithArticle() + " from the trash; references that other records had to it do not come back",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (store.Doc[T], error) {
			return k.Restore(tx, id)
		})),
	}
}
