package handlers

import (
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/bulk"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/identity"
	"prospector/internal/operation"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// Selection selects records.
type Selection struct {
	IDs     shape.IDs   `json:"ids" rule:"maxlen=10000" doc:"The records. Alternatively, give filters or search. An empty list of filters selects all records."`
	Filters shape.Value `json:"filters" rule:"component=Filters"`
	Search  string      `json:"search" doc:"Search words, as in a list."`
	Expect  *int        `json:"expect" rule:"min=0" doc:"The number of records that you expect. If the selection has another number, nothing happens."`
	DryRun  bool        `json:"dry_run" doc:"Only counts the records. The operation is completed at once."`
}

// BulkBody selects records and says what happens to them.
type BulkBody struct {
	Selection
	Set        shape.Value `json:"set" rule:"component=BulkChanges" doc:"Fields to set, as in an update. Null clears a field."`
	AddTags    []string    `json:"add_tags" rule:"nonempty,maxlen=1000" doc:"Tags to add, by id or name."`
	RemoveTags []string    `json:"remove_tags" rule:"nonempty,maxlen=1000" doc:"Tags to remove, by id or name."`
	Delete     bool        `json:"delete" doc:"Deletes the records. It cannot be combined with changes."`
	Force      bool        `json:"force" rule:"default=false" doc:"With delete: makes dynamic audiences static, with the contacts that they have, if their filters name a record or if contacts would join them because it is deleted. Otherwise such a record fails with in_use."`
}

// bulkOperation changes or deletes many records in the background.
func bulkOperation[T any](a *API, k *record.Kind[T]) Operation {
	return writeWithLookup(Operation{
		Name: "bulk_" + k.Entity, Method: http.MethodPost, Path: "/v1/" + k.Entity + "/bulk", Access: identity.Write,
		Status: http.StatusAccepted, Codes: []fault.Code{fault.InvalidFilter, fault.CountChanged},
		Summary: "Change or delete many " + k.Entity + " in the background: up to 10,000 by id, or all that match a query",
		example: []byte(`{"filters": [{"field": "tags", "condition": "is_empty"}], "set": {"notes": "checked"}}`),
	}, func(c *call, in createBody[BulkBody]) (bulk.Request, error) {
		body, p := in.Open()
		selects := c.selects("ids", body.IDs, body.Search, &p)
		changes := bulkChanges(c.body, &body, &p)
		if err := p.Err(); err != nil {
			return bulk.Request{}, err
		}
		r := bulk.Request{Kind: operation.Delete, Entity: k.Entity, DryRun: body.DryRun, Force: body.Force}
		if changes.Kind == shape.Object {
			r.Kind = operation.Update
			err := a.Store.View(c.org(), func(tx *store.Tx) (err error) {
				r.Body, err = k.CheckUpdate(tx, changes)
				return err
			})
			if err != nil {
				return r, underSet(err)
			}
		}
		return r, c.selectRecords(k.List, selects, &body.Selection, &r)
	}, func(_ *call, tx *store.Tx, _ createBody[BulkBody], r bulk.Request) (store.Doc[operation.Operation], error) {
		return a.Bulk.Start(tx, r)
	})
}

// selectRecords sets the records of a bulk request.
func (c *call) selectRecords(kind *index.Kind, selects bool, s *Selection, r *bulk.Request) (err error) {
	r.IDs = s.IDs
	if selects {
		if r.IDs, err = c.selectAll(kind, s.Filters, s.Search, bulk.MaxRecords); err != nil {
			return err
		}
	}
	if s.Expect != nil && *s.Expect != len(r.IDs) {
		return fault.New(fault.CountChanged, "the selection has %d records, not %d", len(r.IDs), *s.Expect)
	}
	slices.SortFunc(r.IDs, store.CompareIDs) // records that are stored beside each other are changed together
	return nil
}

// bulkChanges returns the body of the updates that a bulk request asks for, or an absent value if it deletes. It
// refuses a request that asks for nothing, or for both.
func bulkChanges(given shape.Value, body *BulkBody, p *fault.Problems) (changes shape.Value) {
	changes = shape.Value{Kind: shape.Object}
	switch {
	case body.Set.Kind == shape.Absent || body.Set.Kind == shape.Null:
	case body.Set.Kind != shape.Object:
		p.Invalid("set", "must be an object")
	case len(body.Set.Members) == 0:
		p.Invalid("set", "must not be empty")
	default:
		for _, m := range body.Set.Members {
			if m.Key == "add_tags" || m.Key == "remove_tags" {
				p.Invalid("set."+m.Key, "give %s beside set", m.Key)
			}
		}
		changes.Members = slices.Clone(body.Set.Members)
	}
	for _, key := range []string{"add_tags", "remove_tags"} {
		if v := given.Get(key); v.Kind == shape.List {
			changes.Members = append(changes.Members, shape.Member{Key: key, Value: v})
		}
	}
	if body.Force && !body.Delete {
		p.Invalid("force", "must be combined with delete")
	}
	switch {
	case body.Delete && len(changes.Members) > 0:
		p.Invalid("delete", "must not be combined with set, add_tags or remove_tags")
	case body.Delete:
		return shape.Value{}
	case len(changes.Members) == 0 && !p.Has("set") && !p.Has("add_tags") && !p.Has("remove_tags") && !p.Has("delete"):
		p.Invalid("set", "required, unless add_tags, remove_tags or delete is given")
	}
	return changes
}

// underSet returns an error about the fields of a record with their paths in a bulk request.
func underSet(err error) error {
	var refused *fault.Error
	if !errors.As(err, &refused) || refused.Code != fault.ValidationFailed {
		return err
	}
	var p fault.Problems
	for _, d := range refused.Details {
		if !strings.HasPrefix(d.Path, "add_tags") && !strings.HasPrefix(d.Path, "remove_tags") {
			d.Path = "set." + d.Path
		}
		p.Invalid(d.Path, "%s", d.Message)
	}
	return p.Err()
}

// selects reports whether the body selects records with a query instead of ids. It refuses a body with both, and a
// body with neither.
func (c *call) selects(key string, ids shape.IDs, search string, p *fault.Problems) bool {
	given := func(key string) bool {
		return c.body.Get(key).Kind != shape.Absent && c.body.Get(key).Kind != shape.Null
	}
	named, described := given(key), given("filters") || len(shape.Words(search)) > 0
	switch {
	case named && described:
		p.Invalid(key, "must not be combined with filters or search")
	case named && len(ids) == 0 && !p.Has(key):
		p.Invalid(key, "must not be empty")
	case !named && !described && !p.Has("search"):
		p.Invalid(key, "required, unless filters or search is given")
	}
	return described && !named
}

// selectAll returns the ids of all records that a query matches. More than limit are refused.
func (c *call) selectAll(kind *index.Kind, filters shape.Value, search string, limit int) ([]uuid.UUID, error) {
	query := filter.ListBody{Filters: filters, Search: search}
	ids, total, err := c.api.Index.Select(c.request.Context(), c.org(), kind, c.compileQuery(kind, query, fault.Problems{}), min(limit, math.MaxInt-1)+1)
	if err == nil && total > limit {
		var p fault.Problems
		p.Add(fault.InvalidFilter, "filters", "must match at most %d records, not %d", limit, total)
		err = p.Err()
	}
	return ids, err
}

// UndoBody says how an operation is undone.
type UndoBody struct {
	DryRun bool `json:"dry_run" doc:"Only counts, in an operation of its own, what would be put back and what would be kept."`
}

// operationOperations returns the operations on bulk operations.
func (a *API) operationOperations() []Operation {
	const path = "/v1/operations"
	return []Operation{
		read(Operation{
			Name: "get_operation", Method: http.MethodGet, Path: path + "/{id}", Access: identity.Read,
			Summary: "Get the progress and results of a bulk operation, an import, a merge, an undo or an erasure",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (store.Doc[operation.Operation], error) {
			return a.OperationLog.Table.Get(tx, id)
		})),
		write(Operation{
			Name: "undo_operation", Method: http.MethodPost, Path: path + "/{id}/undo", Access: identity.Write, Status: http.StatusAccepted,
			Codes:   []fault.Code{fault.NotUndoable, fault.OperationRunning, fault.AlreadyUndone, fault.UndoConflict},
			Summary: "Undo a bulk operation, an import, a merge, or an undo, in the background; nobody is written to because of it",
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, in UndoBody) (store.Doc[operation.Operation], error) {
			if err := a.mayUndo(c, tx, id); err != nil {
				return store.Doc[operation.Operation]{}, err
			}
			return a.Undos.Start(tx, id, in.DryRun)
		})),
		list[operation.Operation](Operation{
			Name: "list_operations", Path: path + "/list", Summary: "List bulk operations, imports, merges, undos and erasures",
		}, a.OperationLog.List),
		write(Operation{
			Name: "cancel_operation", Method: http.MethodPost, Path: path + "/{id}/cancel", Access: identity.Write,
			Codes:   []fault.Code{fault.InvalidTransition},
			Summary: "Cancel a running bulk operation, import of a file or undo; records that it has changed stay changed",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (doc store.Doc[operation.Operation], err error) {
			if doc, err = a.OperationLog.Table.Get(tx, id); err != nil || doc.Record.Status != operation.Running {
				return a.OperationLog.Cancel(tx, id)
			}
			switch doc.Record.Kind {
			case operation.Import:
				if _, err := a.Imports.Cancel(tx, id); err != nil {
					return doc, err
				}
				return a.OperationLog.Table.Get(tx, id)
			case operation.TAMImport:
				return doc, fault.New(fault.InvalidTransition, "the Import of a Preview cannot be cancelled; when it has ended, it can be undone")
			}
			return a.OperationLog.Cancel(tx, id)
		})),
	}
}

// mayUndo refuses the undo of an operation on custom fields to those who may not delete and restore them.
func (a *API) mayUndo(c *call, tx *store.Tx, id uuid.UUID) error {
	doc, err := a.OperationLog.Table.Get(tx, id)
	if err == nil && string(doc.Record.Entity) == a.CRM.Fields.Entity && !c.principal.Access.Covers(identity.Admin) {
		err = forbidden(identity.Admin)
	}
	return err
}
