package admin

import (
	"context"

	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/store"
)

// InitInput describes a first organization and its first user.
type InitInput struct {
	Org  map[string]any `json:"org"`  // as in a request body of the API
	User map[string]any `json:"user"` // as in a request body of the API
}

// Initialized is the output of init.
type Initialized struct {
	Organization identity.Organization `json:"organization"`
	User         identity.User         `json:"user"`
	Link         InviteLink            `json:"link"`
}

// Init creates an organization with a user, and a one-time link for the user.
var Init = Operation[InitInput, Initialized]{
	name: "init", createsStore: true,
	do: func(ctx context.Context, s *service.Service, in InitInput) (out Initialized, err error) {
		user, err := Input{Fields: in.User}.value()
		if err != nil {
			return out, err
		}
		draft := record.NewDraft[identity.User](user)
		if _, p := draft.Open(); p.Err() != nil { // before the organization exists
			return out, p.Err()
		}
		org, err := Input{Fields: in.Org}.value()
		if err != nil {
			return out, err
		}
		actor := store.Actor{Operation: "init"}
		doc, err := s.Identity.CreateOrganization(ctx, actor, org)
		if err != nil {
			return out, err
		}
		out.Organization = doc.Record
		err = s.Store.Update(ctx, doc.ID, actor, func(tx *store.Tx) error {
			user, err := s.Identity.Users.Create(tx, draft)
			if err != nil {
				return err
			}
			out.User = user.Record
			out.Link, err = inviteLink(s, tx, user.ID)
			return err
		})
		return out, err
	},
}
