package admin

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"prospector/handlers"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/store"
)

// NewKey is a key that was created.
type NewKey = handlers.NewKey

var CreateKey = Operation[Input, NewKey]{
	name: "key-create",
	do: func(ctx context.Context, s *service.Service, in Input) (key NewKey, err error) {
		v, err := in.value()
		if err != nil {
			return key, err
		}
		err = change(ctx, s, in.Org, "key create", func(tx *store.Tx) error {
			doc, plaintext, err := s.Identity.CreateKey(tx, record.NewDraft[identity.Key](v))
			key = NewKey{Key: doc.Record, Plaintext: plaintext}
			return err
		})
		return key, err
	},
}

// KeyList is the output of key list.
type KeyList struct {
	Keys []identity.Key `json:"keys"`
}

var ListKeys = Operation[Input, KeyList]{
	name: "key-list",
	do: func(_ context.Context, s *service.Service, in Input) (list KeyList, err error) {
		err = view(s, in.Org, func(tx *store.Tx) error {
			list.Keys, err = s.Identity.ListKeys(tx)
			return err
		})
		return list, err
	},
}

// KeyRef refers to a key of an organization.
type KeyRef struct {
	Org string    `json:"org"`
	ID  uuid.UUID `json:"id"`
}

var DeactivateKey = Operation[KeyRef, identity.Key]{
	name: "key-deactivate",
	do: func(ctx context.Context, s *service.Service, in KeyRef) (key identity.Key, err error) {
		err = change(ctx, s, in.Org, "key deactivate", func(tx *store.Tx) error {
			doc, err := s.Identity.DeactivateKey(tx, in.ID)
			if fault.CodeOf(err) == fault.NotFound {
				return fmt.Errorf("the organization has no key %s; 'prospector key list' shows its keys", in.ID)
			}
			key = doc.Record
			return err
		})
		return key, err
	},
}
