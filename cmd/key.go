package cmd

import (
	"context"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"prospector/handlers"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

var keyCreate = adminOp[body, handlers.NewKey]{
	name: "key-create",
	do: func(ctx context.Context, s *Service, in body) (key handlers.NewKey, err error) {
		v, err := in.value()
		if err != nil {
			return key, err
		}
		err = s.change(ctx, in.Org, "key create", func(tx *store.Tx) error {
			doc, plaintext, err := s.Identity.CreateKey(tx, record.NewDraft[identity.Key](v))
			key = handlers.NewKey{Key: doc.Record, Plaintext: plaintext}
			return err
		})
		return key, err
	},
}

// keys is what key list prints.
type keys struct {
	Keys []identity.Key `json:"keys"`
}

var keyList = adminOp[body, keys]{
	name: "key-list",
	do: func(_ context.Context, s *Service, in body) (list keys, err error) {
		err = s.view(in.Org, func(tx *store.Tx) error {
			list.Keys, err = s.Identity.ListKeys(tx)
			return err
		})
		return list, err
	},
}

// keyRef names a key of an organization.
type keyRef struct {
	Org string    `json:"org"`
	ID  uuid.UUID `json:"id"`
}

var keyDeactivate = adminOp[keyRef, identity.Key]{
	name: "key-deactivate",
	do: func(ctx context.Context, s *Service, in keyRef) (key identity.Key, err error) {
		err = s.change(ctx, in.Org, "key deactivate", func(tx *store.Tx) error {
			doc, err := s.Identity.DeactivateKey(tx, in.ID)
			if fault.CodeOf(err) == fault.NotFound {
				return fmt.Errorf("the organization has no key %s; 'prospector key list' shows those it has", in.ID)
			}
			key = doc.Record
			return err
		})
		return key, err
	},
}

func orNever(t shape.Time) string {
	if !t.Valid() {
		return "never"
	}
	return t.String()
}

func keyCommand() *cobra.Command {
	create := &cobra.Command{
		Use: "create", Short: "Create an API key; it is shown once", Args: noArgs,
		Example: `  prospector key create --org "Acme Sales" --name "CRM sync" --access write`,
		RunE: func(c *cobra.Command, _ []string) error {
			org, err := required(c, "org")
			if err != nil {
				return err
			}
			if _, err := required(c, "name"); err != nil {
				return err
			}
			fields, err := givenFields(c, "name", "access", "user")
			if err != nil {
				return err
			}
			if user, ok := fields["user"]; ok {
				delete(fields, "user")
				fields["user_id"] = user
			}
			key, err := keyCreate.run(c, body{Org: org, Fields: fields})
			if err != nil {
				return err
			}
			return show(c, key, func(w io.Writer) {
				fmt.Fprintf(w, "Created key %q, %s, with %s access. It is shown only now:\n\n%s\n", key.Name, key.ID, key.Access, key.Plaintext)
			})
		},
	}
	create.Flags().String("org", "", "the organization's id or `name`")
	create.Flags().String("user", "", "`id` of the user it acts for (default: the organization's first)")
	create.Flags().String("name", "", "what the key is for")
	create.Flags().String("access", "", "read, write or admin (default write)")

	list := &cobra.Command{
		Use: "list", Short: "List the API keys of an organization", Args: noArgs,
		Example: `  prospector key list --org "Acme Sales"`,
		RunE: func(c *cobra.Command, _ []string) error {
			org, err := required(c, "org")
			if err != nil {
				return err
			}
			result, err := keyList.run(c, body{Org: org})
			if err != nil {
				return err
			}
			return show(c, result, func(w io.Writer) {
				table(w, "ID\tNAME\tACCESS\tACTIVE\tEXPIRES\tLAST USED", result.Keys, func(k identity.Key) string {
					return fmt.Sprintf("%s\t%s\t%s\t%v\t%s\t%s", k.ID, k.Name, k.Access, k.Active, orNever(k.ExpiresAt), orNever(k.LastUsedAt))
				})
			})
		},
	}
	list.Flags().String("org", "", "the organization's id or `name`")

	deactivate := &cobra.Command{
		Use: "deactivate ID", Short: "Deactivate an API key, at once and for good", Args: oneArg("the key's id"),
		Example: `  prospector key deactivate --org "Acme Sales" 019f6f3e-0d4e-7c1e-9d0a-3a6c1c1f7b52`,
		RunE: func(c *cobra.Command, args []string) error {
			org, err := required(c, "org")
			if err != nil {
				return err
			}
			id, err := uuid.Parse(args[0])
			if err != nil {
				return usage("%q is no key's id; 'prospector key list' shows them", args[0])
			}
			key, err := keyDeactivate.run(c, keyRef{Org: org, ID: id})
			if err != nil {
				return err
			}
			return show(c, key, func(w io.Writer) { fmt.Fprintf(w, "Deactivated key %q, %s\n", key.Name, key.ID) })
		},
	}
	deactivate.Flags().String("org", "", "the organization's id or `name`")
	return group("key", "Create, list and deactivate API keys", create, list, deactivate)
}
