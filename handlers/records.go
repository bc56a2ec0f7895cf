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

// entityOperations are the operations of an entity: those of every record, and what its many records need.
func entityOperations[T any](k *record.Kind[T]) []Operation {
	return append(recordOperations(k, fault.ExternalIDTaken), batchOperation(k), historyOperation(k), exportOperation(k.List))
}

// recordOperations are the operations that every kind of record has. codes are the conflicts over its unique keys.
func recordOperations[T any](k *record.Kind[T], codes ...fault.Code) []Operation {
	path := "/v1/" + k.Entity
	return []Operation{
		createOperation(k, codes...),
		getOperation(k),
		updateOperation(k, "update_"+k.Object, path+"/{id}", codes...),
		deleteOperation(k),
		listOperation(k),
	}
}

func getOperation[T any](k *record.Kind[T]) Operation {
	return read(Operation{
		Name: "get_" + k.Object, Method: http.MethodGet, Path: "/v1/" + k.Entity + "/{id}", Access: identity.Read,
		Summary: "Read " + k.WithArticle(),
	}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (store.Doc[T], error) {
		return k.Get(tx, id)
	}))
}

func createOperation[T any](k *record.Kind[T], codes ...fault.Code) Operation {
	return write(Operation{
		Name: "create_" + k.Object, Method: http.MethodPost, Path: "/v1/" + k.Entity, Access: identity.Write, Status: http.StatusCreated,
		Codes: codes, Summary: "Create " + k.WithArticle(),
	}, func(_ *call, tx *store.Tx, in creates[T]) (store.Doc[T], error) {
		return k.Create(tx, in.Draft)
	})
}

// updateOperation changes a record: absent fields stay, null clears.
func updateOperation[T any](k *record.Kind[T], name, path string, codes ...fault.Code) Operation {
	return write(Operation{
		Name: name, Method: http.MethodPatch, Path: path, Access: identity.Write, Codes: codes,
		Summary: "Change " + k.WithArticle() + ": an absent field stays, null clears",
	}, byID(func(c *call, tx *store.Tx, id uuid.UUID, in updates[T]) (store.Doc[T], error) {
		return k.Update(tx, id, ifMatch(c.request), in.Value)
	}))
}

// deleteOperation deletes a record. codes are why it may not go, beside that another names it.
func deleteOperation[T any](k *record.Kind[T], codes ...fault.Code) Operation {
	if k.MayBeInUse() {
		codes = append(codes, fault.InUse)
	}
	return write(Operation{
		Name: "delete_" + k.Object, Method: http.MethodDelete, Path: "/v1/" + k.Entity + "/{id}", Access: identity.Write, Status: http.StatusNoContent,
		Codes: codes, Summary: "Delete " + k.WithArticle() + " and every reference to it",
	}, byID(func(c *call, tx *store.Tx, id uuid.UUID, _ nothing) (nothing, error) {
		return nothing{}, k.Delete(tx, id, ifMatch(c.request))
	}))
}

func listOperation[T any](k *record.Kind[T]) Operation {
	return listing[T](Operation{
		Name: "list_" + strings.ReplaceAll(k.Entity, "-", "_"), Path: "/v1/" + k.Entity + "/list",
		Summary: "List " + strings.ReplaceAll(k.Entity, "-", " ") + ", filtered, searched and sorted",
	}, k.List)
}
