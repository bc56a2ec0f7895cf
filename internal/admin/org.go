package admin

import (
	"context"

	"prospector/internal/identity"
	"prospector/internal/service"
	"prospector/store"
)

var CreateOrg = Operation[Input, identity.Organization]{
	name: "org-create", createsStore: true,
	do: func(ctx context.Context, s *service.Service, in Input) (identity.Organization, error) {
		v, err := in.value()
		if err != nil {
			return identity.Organization{}, err
		}
		doc, err := s.Identity.CreateOrganization(ctx, store.Actor{Operation: "org create"}, v)
		return doc.Record, err
	},
}

// OrgList is the output of org list.
type OrgList struct {
	Organizations []identity.Organization `json:"organizations"`
}

var ListOrgs = Operation[Input, OrgList]{
	name: "org-list",
	do: func(_ context.Context, s *service.Service, in Input) (OrgList, error) {
		if in.Org != "" {
			one, err := organization(s, in.Org)
			return OrgList{[]identity.Organization{one}}, err
		}
		all, err := Organizations(s)
		return OrgList{all}, err
	},
}

// ChangedOrg is the output of org set.
type ChangedOrg struct {
	identity.Organization
	// UsersOutside are the users whose address is outside the sender domains. They cannot own a campaign.
	UsersOutside []identity.User `json:"users_outside_sender_domains"`
}

var SetOrg = Operation[Input, ChangedOrg]{
	name: "org-set",
	do: func(ctx context.Context, s *service.Service, in Input) (org ChangedOrg, err error) {
		v, err := in.value()
		if err != nil {
			return org, err
		}
		err = change(ctx, s, in.Org, "org set", func(tx *store.Tx) error {
			doc, err := s.Identity.Configure(tx, v)
			if err != nil {
				return err
			}
			org.Organization = doc.Record
			org.UsersOutside, err = s.Identity.UsersOutsideSenderDomains(tx)
			return err
		})
		return org, err
	},
}
