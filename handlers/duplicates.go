package handlers

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"prospector/internal/bulk"
	"prospector/internal/crm"
	"prospector/internal/duplicate"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/operation"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// DuplicatesBody selects a page of duplicates.
type DuplicatesBody struct {
	MinScore shape.Number `json:"min_score" doc:"The least score of a group, from 0.5 to 1. 0.8 if it is not given."`
	Next     shape.Text   `json:"next" doc:"The cursor from the page before."`
	PageSize int          `json:"page_size" rule:"min=1,max=100,default=50" doc:"The number of groups."`
}

// scoreFrom returns a score of a body, or least if it is not given. It must be from least to 1.
func scoreFrom(n shape.Number, least, otherwise float64) (float64, error) {
	var p fault.Problems
	switch {
	case !n.Valid:
		return otherwise, nil
	case n.Float < least || n.Float > 1:
		p.Invalid("min_score", "must be from %g to 1, not %g", least, n.Float)
	}
	return n.Float, p.Err()
}

// finder finds the duplicates of a kind.
type finder[T any] interface {
	Page(ctx context.Context, st *store.Store, org uuid.UUID, min float64, next string, size int) (crm.DuplicatePage[T], error)
	Groups(ctx context.Context, st *store.Store, org uuid.UUID, min float64, mayBeOld bool) ([]duplicate.Group, error)
	Dismiss(tx *store.Tx, body crm.DismissBody) (crm.Dismissed, error)
}

// duplicatesOperation lists the groups of records that may be the same.
func duplicatesOperation[T any](k *record.Kind[T], find finder[T]) Operation {
	return withoutTx(Operation{
		Name: "find_duplicate_" + k.Entity, Method: http.MethodPost, Path: "/v1/" + k.Entity + "/duplicates", Access: identity.Read,
		Summary: "List groups of " + k.Entity + " that may be the same, the most likely first",
		example: []byte(`{"page_size": 20}`),
	}, func(c *call, in DuplicatesBody) (page crm.DuplicatePage[T], err error) {
		min, err := scoreFrom(in.MinScore, duplicate.MinScore, duplicate.DefaultScore)
		if err != nil {
			return page, err
		}
		return find.Page(c.request.Context(), c.api.Store, c.org(), min, string(in.Next), in.PageSize)
	})
}

// dismissOperation says that records are not the same.
func dismissOperation[T any](k *record.Kind[T], find finder[T]) Operation {
	return write(Operation{
		Name: "dismiss_duplicate_" + k.Entity, Method: http.MethodPost, Path: "/v1/" + k.Entity + "/duplicates/dismiss", Access: identity.Write,
		Summary: "Say that " + k.Entity + " are not the same, so that they are not listed as duplicates, or take it back",
		example: []byte(`{"ids": ["` + exampleOne + `", "` + exampleOther + `"]}`),
	}, func(_ *call, tx *store.Tx, in crm.DismissBody) (crm.Dismissed, error) { return find.Dismiss(tx, in) })
}

// MergeDuplicatesBody selects the groups that are merged.
type MergeDuplicatesBody struct {
	MinScore shape.Number `json:"min_score" rule:"required" doc:"The least score of a group, from 0.9 to 1."`
	Expect   *int         `json:"expect" rule:"min=0" doc:"The number of groups that you expect. If there is another number, nothing happens."`
	DryRun   bool         `json:"dry_run" doc:"Only counts the groups. The operation is completed at once."`
}

// mergeDuplicatesOperation merges all groups from a score on in the background.
func mergeDuplicatesOperation[T any](a *API, k *record.Kind[T], find finder[T]) Operation {
	return writeWithLookup(Operation{
		Name: "merge_duplicate_" + k.Entity, Method: http.MethodPost, Path: "/v1/" + k.Entity + "/duplicates/merge", Access: identity.Write,
		Status: http.StatusAccepted, Codes: []fault.Code{fault.CountChanged},
		Summary: "Merge all groups of duplicate " + k.Entity + " from a score on, in the background",
		example: []byte(`{"min_score": 0.95, "dry_run": true}`),
	}, func(c *call, in MergeDuplicatesBody) (bulk.Request, error) {
		r := bulk.Request{Kind: operation.Merge, Entity: k.Entity, DryRun: in.DryRun}
		min, err := scoreFrom(in.MinScore, duplicate.MergeScore, duplicate.MergeScore)
		if err != nil {
			return r, err
		}
		groups, err := find.Groups(c.request.Context(), a.Store, c.org(), min, false)
		if err != nil {
			return r, err
		}
		if in.Expect != nil && *in.Expect != len(groups) {
			return r, fault.New(fault.CountChanged, "there are %d groups, not %d", len(groups), *in.Expect)
		}
		for i := range groups {
			r.Groups = append(r.Groups, groups[i].IDs)
		}
		return r, nil
	}, func(_ *call, tx *store.Tx, _ MergeDuplicatesBody, r bulk.Request) (store.Doc[operation.Operation], error) {
		return a.Bulk.Start(tx, r)
	})
}

// duplicateOperations returns the operations that find and merge duplicates.
func (a *API) duplicateOperations() []Operation {
	c := a.CRM
	return []Operation{
		mergeOperation(a, c.Contacts, c.MergeContacts),
		mergeOperation(a, c.Accounts, c.MergeAccounts),
		duplicatesOperation(c.Contacts, c.ContactDuplicates),
		duplicatesOperation(c.Accounts, c.AccountDuplicates),
		dismissOperation(c.Contacts, c.ContactDuplicates),
		dismissOperation(c.Accounts, c.AccountDuplicates),
		mergeDuplicatesOperation(a, c.Contacts, c.ContactDuplicates),
		mergeDuplicatesOperation(a, c.Accounts, c.AccountDuplicates),
	}
}
