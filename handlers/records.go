package handlers

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// entityOperations returns the operations on an entity: those of every kind of record, and batch, history,
// export, facets, bulk and trash.
func entityOperations[T any](a *API, k *record.Kind[T]) []Operation {
	return append(recordOperations(a, k, fault.ExternalIDTaken),
		batchOperation(k), historyOperation(k), a.exportOperation(k.List, nil), a.facetsOperation(k.List), bulkOperation(a, k))
}

// recordOperations returns the operations that every kind of record has. codes are the conflicts over its
// unique keys.
func recordOperations[T any](a *API, k *record.Kind[T], codes ...fault.Code) []Operation {
	if k.TrashList != nil {
		return append(basicOperations(k, codes...), trashOperations(a, k, nil, codes)...)
	}
	return append(basicOperations(k, codes...), deleteOperation(k))
}

// basicOperations are recordOperations without those that delete records.
func basicOperations[T any](k *record.Kind[T], codes ...fault.Code) []Operation {
	return []Operation{
		createOperation(k, codes...),
		getOperation(k),
		updateOperation(k, "update_"+k.Object, "/v1/"+k.Entity+"/{id}", codes...),
		listOperation(k),
	}
}

func getOperation[T any](k *record.Kind[T]) Operation {
	return read(Operation{
		Name: "get_" + k.Object, Method: http.MethodGet, Path: "/v1/" + k.Entity + "/{id}", Access: identity.Read,
		Summary: "Get " + k.WithArticle(),
	}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (store.Doc[T], error) {
		return k.Get(tx, id)
	}))
}

func createOperation[T any](k *record.Kind[T], codes ...fault.Code) Operation {
	return write(Operation{
		Name: "create_" + k.Object, Method: http.MethodPost, Path: "/v1/" + k.Entity,
		Access: identity.Write, Status: http.StatusCreated,
		Codes: codes, Summary: "Create " + k.WithArticle(),
	}, func(_ *call, tx *store.Tx, in createBody[T]) (store.Doc[T], error) {
		return k.Create(tx, in.Draft)
	})
}

// updateOperation updates a record: absent fields stay unchanged, null clears a field.
func updateOperation[T any](k *record.Kind[T], name, path string, codes ...fault.Code) Operation {
	return updateWith(k, k.Update, name, path, codes...)
}

// updateWith is updateOperation with another update than that of the kind.
func updateWith[T any](
	k *record.Kind[T], update func(*store.Tx, uuid.UUID, record.Precondition, shape.Value) (store.Doc[T], error),
	name, path string, codes ...fault.Code,
) Operation {
	return write(Operation{
		Name: name, Method: http.MethodPatch, Path: path, Access: identity.Write, Codes: codes,
		Summary: "Update " + k.WithArticle() + "; absent fields stay unchanged, null clears a field",
	}, byID(func(c *call, tx *store.Tx, id uuid.UUID, in updateBody[T]) (store.Doc[T], error) {
		return update(tx, id, ifMatch(c.request), in.body)
	}))
}

// deleteOperation deletes a record. codes are the reasons why it may refuse to, besides in_use.
func deleteOperation[T any](k *record.Kind[T], codes ...fault.Code) Operation {
	return write(Operation{
		Name: "delete_" + k.Object, Method: http.MethodDelete, Path: "/v1/" + k.Entity + "/{id}",
		Access: identity.Write, Status: http.StatusNoContent,
		Codes: append(codes, deletionCodes(k)...), Summary: "Delete " + k.WithArticle() + " and all references to it",
	}, byID(func(c *call, tx *store.Tx, id uuid.UUID, _ nothing) (nothing, error) {
		return nothing{}, k.Delete(tx, id, ifMatch(c.request))
	}))
}

// deletionCodes returns in_use if other kinds require the records of this one.
func deletionCodes[T any](k *record.Kind[T]) []fault.Code {
	if k.MayBeInUse() {
		return []fault.Code{fault.InUse}
	}
	return nil
}

func listOperation[T any](k *record.Kind[T]) Operation {
	return list[T](Operation{
		Name: "list_" + strings.ReplaceAll(k.Entity, "-", "_"), Path: "/v1/" + k.Entity + "/list",
		Summary: "List " + strings.ReplaceAll(k.Entity, "-", " ") + ", with filters, search and sorting",
	}, k.List)
}
