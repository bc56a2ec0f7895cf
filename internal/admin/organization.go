package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/store"
)

// Organizations returns all organizations. One whose record is damaged has no name that it could be found by.
func Organizations(s *service.Service) ([]identity.Organization, error) {
	list := []identity.Organization{}
	ids, err := s.Store.Organizations()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		err := s.Store.View(id, func(tx *store.Tx) error {
			doc, err := s.Identity.Organizations.Get(tx, id)
			switch {
			case err == nil:
				list = append(list, doc.Record)
			case errors.Is(err, store.ErrDamaged):
				list, err = append(list, identity.Organization{Head: record.Head{ID: id}, Name: "(damaged)"}), nil
			}
			return err
		})
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return nil, err
		}
	}
	return list, nil
}

// organization finds an organization by its id or its name, which must be unique. An id takes
// precedence, because an organization may choose the id of another as its name.
func organization(s *service.Service, idOrName string) (identity.Organization, error) {
	orgs, err := Organizations(s)
	if err != nil {
		return identity.Organization{}, err
	}
	var named []identity.Organization
	var ids []string
	for _, o := range orgs {
		if o.ID.String() == idOrName {
			return o, nil
		}
		if o.Name == idOrName {
			named, ids = append(named, o), append(ids, o.ID.String())
		}
	}
	switch len(named) {
	case 0:
		return identity.Organization{}, fmt.Errorf("there is no organization %q; 'prospector org list' shows all organizations", idOrName)
	case 1:
		return named[0], nil
	}
	return identity.Organization{}, fmt.Errorf("%d organizations are named %q; use an id: %s",
		len(named), idOrName, strings.Join(ids, ", "))
}

// change runs fn in a write transaction of an organization, on behalf of the operator.
func change(ctx context.Context, s *service.Service, idOrName, operation string, fn func(*store.Tx) error) error {
	org, err := organization(s, idOrName)
	if err != nil {
		return err
	}
	return s.Store.Update(ctx, org.ID, store.Actor{Operation: operation}, fn)
}

// view runs fn in a read transaction of an organization.
func view(s *service.Service, idOrName string, fn func(*store.Tx) error) error {
	org, err := organization(s, idOrName)
	if err != nil {
		return err
	}
	return s.Store.View(org.ID, fn)
}
