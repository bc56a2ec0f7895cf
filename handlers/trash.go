package handlers

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/bulk"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/operation"
	"prospector/internal/record"
	"prospector/store"
)

// DeleteQuery says how a record is deleted.
type DeleteQuery struct {
	Permanent bool `json:"permanent" rule:"default=false" doc:"Deletes the record at once, without the trash. A record that is in the trash already is removed from it."`
	ForceQuery
}

// ForceQuery makes a deletion possible that dynamic audiences would otherwise refuse.
type ForceQuery struct {
	Force bool `json:"force" rule:"default=false" doc:"Makes dynamic audiences static, with the contacts that they have, if their filters name the record or if contacts would join them because it is deleted. Otherwise such a deletion is refused with in_use."`
}

// RestoreBody says how a record is restored.
type RestoreBody struct {
	Force bool `json:"force" rule:"default=false" doc:"Makes dynamic audiences static, with the contacts that they have, if a contact would join them because tags, its account or values were deleted since, or because it gets them back. Otherwise the record is not restored, and the error is in_use. A dynamic audience whose filters name something that is gone becomes static, too."`
}

// trashOperations returns the operations on the deleted records of an entity, and the one that deletes a record. codes
// are the reasons why a deletion may be refused, besides in_use, and taken are those of a restoration.
func trashOperations[T any](a *API, k *record.Kind[T], codes, taken []fault.Code) []Operation {
	return []Operation{
		write(Operation{
			Name: "delete_" + k.Object, Method: http.MethodDelete, Path: "/v1/" + k.Entity + "/{id}",
			Access: identity.Write, Status: http.StatusNoContent, Codes: append(codes, deletionCodes(k)...),
			Summary: "Delete " + k.WithArticle() + " and all references to it; the trash keeps the record for 30 days",
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, in DeleteQuery) (nothing, error) {
			if in.Force {
				if err := k.ForceDelete(tx, id); err != nil {
					return nothing{}, err
				}
			}
			if in.Permanent {
				return nothing{}, k.Erase(tx, id, ifMatch(c.request))
			}
			return nothing{}, k.Delete(tx, id, ifMatch(c.request))
		})),
		list[record.Trashed[T]](Operation{
			Name: "list_" + underscored(k.Entity) + "_trash", Path: "/v1/" + k.Entity + "/trash/list",
			Summary: "List deleted " + spaced(k.Entity) + ", with filters, search and sorting",
		}, k.TrashList),
		write(Operation{
			Name: "restore_" + k.Object, Method: http.MethodPost, Path: "/v1/" + k.Entity + "/{id}/restore",
			Access: identity.Write, Codes: append(taken, restoreCodes(k)...),
			Summary: "Restore " + k.WithArticle() + " from the trash, with what its deletion alone took out of other records",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in RestoreBody) (store.Doc[T], error) {
			return k.Restore(tx, id, in.Force)
		})),
		trashBulkOperation(a, k),
	}
}

// TrashBulkBody selects records of the trash and says what happens to them.
type TrashBulkBody struct {
	Selection
	Restore bool `json:"restore" doc:"Restores the records. It cannot be combined with delete."`
	Delete  bool `json:"delete" doc:"Deletes the records permanently. This cannot be undone."`
	Force   bool `json:"force" rule:"default=false" doc:"With restore: makes dynamic audiences static, with the contacts that they have, if a contact would join them because tags, its account or values were deleted since. Otherwise such a record fails with in_use."`
}

// trashBulkOperation restores or finally deletes many records of the trash in the background.
func trashBulkOperation[T any](a *API, k *record.Kind[T]) Operation {
	return writeWithLookup(Operation{
		Name: "bulk_" + underscored(k.Entity) + "_trash", Method: http.MethodPost, Path: "/v1/" + k.Entity + "/trash/bulk", Access: identity.Write,
		Status: http.StatusAccepted, Codes: []fault.Code{fault.InvalidFilter, fault.CountChanged},
		Summary: "Restore or permanently delete many deleted " + spaced(k.Entity) + " in the background: up to 10,000 by id, or all that match a query",
		example: []byte(`{"filters": [], "restore": true}`),
	}, func(c *call, in createBody[TrashBulkBody]) (bulk.Request, error) {
		body, p := in.Open()
		selects := c.selects("ids", body.IDs, body.Search, &p)
		switch {
		case body.Restore == body.Delete && !p.Has("restore") && !p.Has("delete"):
			p.Invalid("restore", "exactly one of restore and delete must be true")
		case body.Force && !body.Restore:
			p.Invalid("force", "must be combined with restore")
		}
		if err := p.Err(); err != nil {
			return bulk.Request{}, err
		}
		r := bulk.Request{Kind: operation.Restore, Entity: k.Entity, DryRun: body.DryRun, Force: body.Force}
		if body.Delete {
			r.Kind, r.Final = operation.Delete, true
		}
		return r, c.selectRecords(k.TrashList, selects, &body.Selection, &r)
	}, func(_ *call, tx *store.Tx, _ createBody[TrashBulkBody], r bulk.Request) (store.Doc[operation.Operation], error) {
		return a.Bulk.Start(tx, r)
	})
}

// underscored returns an entity as part of the name of an operation, spaced as words.
func underscored(entity string) string { return strings.ReplaceAll(entity, "-", "_") }
func spaced(entity string) string      { return strings.ReplaceAll(entity, "-", " ") }

// restoreCodes returns in_use if the kind, or one that refers to it, may refuse to restore a record.
func restoreCodes[T any](k *record.Kind[T]) []fault.Code {
	if k.MayRefuseToRestore() {
		return []fault.Code{fault.InUse}
	}
	return nil
}
