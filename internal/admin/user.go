package admin

import (
	"context"

	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/service"
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
	do: func(_ context.Context, s *service.Service, in Input) (UserList, error) {
		list := UserList{[]identity.User{}}
		err := view(s, in.Org, func(tx *store.Tx) error {
			return s.Identity.Users.Table.Scan(tx, func(d store.Doc[identity.User]) (bool, error) {
				list.Users = append(list.Users, d.Record)
				return true, nil
			})
		})
		return list, err
	},
}
