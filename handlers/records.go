package handlers

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/store"
)

// recordOperations are the operations that every kind of record has. codes are the conflicts over its unique keys.
func recordOperations[T any](k *record.Kind[T], codes ...fault.Code) []Operation {
	one, path := k.Object, "/v1/"+k.Entity
	return []Operation{
		write(Operation{
			Name: "create_" + one, Method: http.MethodPost, Path: path, Access: identity.Write, Status: http.StatusCreated,
			Codes: codes, Summary: "Create " + article(one),
		}, func(_ *call, tx *store.Tx, in creates[T]) (store.Doc[T], error) {
			return k.Create(tx, in.Draft)
		}),
		read(Operation{
			Name: "get_" + one, Method: http.MethodGet, Path: path + "/{id}", Access: identity.Read,
			Summary: "Read " + article(one),
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (store.Doc[T], error) {
			return k.Get(tx, id)
		})),
		updateOperation(k, "update_"+one, path+"/{id}", codes...),
		write(Operation{
			Name: "delete_" + one, Method: http.MethodDelete, Path: path + "/{id}", Access: identity.Write, Status: http.StatusNoContent,
			Summary: "Delete " + article(one) + " and every reference to it",
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, _ nothing) (nothing, error) {
			return nothing{}, k.Delete(tx, id, ifMatch(c.request))
		})),
		listing[T](Operation{
			Name: "list_" + k.Entity, Path: path + "/list", Summary: "List " + k.Entity + ", filtered, searched and sorted",
		}, k.List),
	}
}

func article(object string) string {
	if strings.ContainsAny(object[:1], "aeio") {
		return "an " + object
	}
	return "a " + object
}

// updateOperation changes a record: absent fields stay, null clears.
func updateOperation[T any](k *record.Kind[T], name, path string, codes ...fault.Code) Operation {
	return write(Operation{
		Name: name, Method: http.MethodPatch, Path: path, Access: identity.Write, Codes: codes,
		Summary: "Change " + article(k.Object) + ": an absent field stays, null clears",
	}, byID(func(c *call, tx *store.Tx, id uuid.UUID, in updates[T]) (store.Doc[T], error) {
		return k.Update(tx, id, ifMatch(c.request), in.Value)
	}))
}
