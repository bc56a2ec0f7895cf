package admin

import (
	"context"

	"github.com/google/uuid"

	"prospector/handlers"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/internal/shape"
	"prospector/store"
)

var CreateUser = Operation[Input, identity.User]{
	name: "user-create",
	do: func(ctx context.Context, s *service.Service, in Input) (user identity.User, err error) {
		v, err := in.value()
		if err != nil {
			return user, err
		}
		err = change(ctx, s, in.Org, "user create", func(tx *store.Tx) error {
			doc, err := s.Identity.Users.Create(tx, record.NewDraft[identity.User](v))
			user = doc.Record
			return err
		})
		return user, err
	},
}

// UserList is the output of user list.
type UserList struct {
	Users []identity.User `json:"users"`
}

var ListUsers = Operation[Input, UserList]{
	name: "user-list",
	do: func(_ context.Context, s *service.Service, in Input) (list UserList, err error) {
		err = view(s, in.Org, func(tx *store.Tx) error {
			list.Users, err = s.Identity.ListUsers(tx)
			return err
		})
		return list, err
	},
}

// UserRef refers to a user of an organization.
type UserRef struct {
	Org   string `json:"org"`
	Email string `json:"email"`
}

// changeUser runs fn with a user in a write transaction of the user's organization.
func (r UserRef) changeUser(ctx context.Context, s *service.Service, operation string, fn func(*store.Tx, identity.User) error) error {
	return change(ctx, s, r.Org, operation, func(tx *store.Tx) error {
		user, err := s.Identity.UserWithEmail(tx, r.Email)
		if err != nil {
			return err
		}
		return fn(tx, user.Record)
	})
}

// InviteLink is a one-time link.
type InviteLink = handlers.InviteLink

// InviteUser makes a one-time link with which a user sets a password and signs in.
var InviteUser = Operation[UserRef, InviteLink]{
	name: "user-invite",
	do: func(ctx context.Context, s *service.Service, in UserRef) (invite InviteLink, err error) {
		err = in.changeUser(ctx, s, "user invite", func(tx *store.Tx, user identity.User) error {
			invite, err = inviteLink(s, tx, user.ID)
			return err
		})
		return invite, err
	},
}

func inviteLink(s *service.Service, tx *store.Tx, user uuid.UUID) (InviteLink, error) {
	link, err := s.Identity.Invite(tx, user)
	return InviteLink{URL: s.API.WelcomeURL(link.Token), ExpiresAt: shape.At(link.ExpiresAt)}, err
}

// PasswordInput is a new password of a user.
type PasswordInput struct {
	UserRef
	Password string `json:"password"`
}

// SetPassword sets the password of a user and ends the user's sessions.
var SetPassword = Operation[PasswordInput, identity.User]{
	name: "user-set-password",
	do: func(ctx context.Context, s *service.Service, in PasswordInput) (user identity.User, err error) {
		var p identity.Principal
		err = view(s, in.Org, func(tx *store.Tx) error {
			found, err := s.Identity.UserWithEmail(tx, in.Email)
			p = identity.Principal{Org: tx.Org(), User: found.ID}
			return err
		})
		if err != nil {
			return user, err
		}
		hash, err := s.Identity.HashPassword(ctx, p, "operator", in.Password)
		if err != nil {
			return user, err
		}
		err = in.changeUser(ctx, s, "user set-password", func(tx *store.Tx, u identity.User) error {
			user = u
			return s.Identity.SetPassword(tx, u.ID, hash, uuid.Nil)
		})
		return user, err
	},
}
