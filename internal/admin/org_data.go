package admin

import (
	"context"
	"errors"

	"prospector/internal/service"
	"prospector/store"
)

// RecordCount is the output of commands that process all records.
type RecordCount struct {
	Records int `json:"records"`
}

// DeleteOrg deletes an organization with all its data in one transaction. Then it frees the space.
var DeleteOrg = Operation[Input, RecordCount]{
	name: "org-delete",
	do: func(ctx context.Context, s *service.Service, in Input) (done RecordCount, err error) {
		org, err := organization(s, in.Org)
		if err != nil {
			return done, err
		}
		err = s.Store.Update(ctx, org.ID, store.Actor{Operation: "org delete"}, func(tx *store.Tx) error {
			done.Records = recordsOf(s, tx)
			tx.DropOrganization()
			return nil
		})
		if err != nil {
			return done, err
		}
		s.Index.RemoveOrganization(org.ID)
		s.Webhooks.Sender.Forget(org.ID)
		return done, errors.Join(s.Imports.Forget(org.ID), s.Store.EmptyTrash(ctx))
	},
}
