package handlers

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/duplicate"
	"prospector/internal/fault"
	"prospector/internal/identity"
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
	}
}
