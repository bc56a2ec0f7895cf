package cmd

import (
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"prospector/internal/admin"
	"prospector/internal/identity"
	"prospector/internal/shape"
)

// orNever formats an optional time.
func orNever(t shape.Time) string {
	if !t.Valid() {
		return "never"
	}
	return t.String()
}

func keyCommand() *cobra.Command {
	create := &cobra.Command{
		Use: "create", Short: "Create an API key, which is shown only once", Args: noArgs,
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
			key, err := run(c, admin.CreateKey, admin.Input{Org: org, Fields: fields})
			if err != nil {
				return err
			}
			return show(c, key, func(w io.Writer) {
				fmt.Fprintf(w, "Created key %q, %s, with %s access. It is shown only once:\n\n%s\n", key.Name, key.ID, key.Access, key.Plaintext)
			})
		},
	}
	create.Flags().String("org", "", "id or `name` of the organization")
	create.Flags().String("user", "", "`id` of the user that it acts for (default: the first user of the organization)")
	create.Flags().String("name", "", "`name` of the key, such as what it is used for")
	create.Flags().String("access", "", "`access` of the key: read, write or admin (default write)")

	list := &cobra.Command{
		Use: "list", Short: "List the API keys of an organization", Args: noArgs,
		Example: `  prospector key list --org "Acme Sales"`,
		RunE: func(c *cobra.Command, _ []string) error {
			org, err := required(c, "org")
			if err != nil {
				return err
			}
			result, err := run(c, admin.ListKeys, admin.Input{Org: org})
			if err != nil {
				return err
			}
			return show(c, result, func(w io.Writer) {
				table(w, "ID\tNAME\tACCESS\tACTIVE\tEXPIRES\tLAST USED", result.Keys, func(k identity.Key) []any {
					return []any{k.ID, k.Name, k.Access, k.Active, orNever(k.ExpiresAt), orNever(k.LastUsedAt)}
				})
			})
		},
	}
	list.Flags().String("org", "", "id or `name` of the organization")

	deactivate := &cobra.Command{
		Use: "deactivate ID", Short: "Deactivate an API key permanently", Args: oneArg("the key's id"),
		Example: `  prospector key deactivate --org "Acme Sales" 019f6f3e-0d4e-7c1e-9d0a-3a6c1c1f7b52`,
		RunE: func(c *cobra.Command, args []string) error {
			org, err := required(c, "org")
			if err != nil {
				return err
			}
			id, err := uuid.Parse(args[0])
			if err != nil {
				return usage("%q is not the id of a key; 'prospector key list' shows the ids", args[0])
			}
			key, err := run(c, admin.DeactivateKey, admin.KeyRef{Org: org, ID: id})
			if err != nil {
				return err
			}
			return show(c, key, func(w io.Writer) { fmt.Fprintf(w, "Deactivated key %q, %s\n", key.Name, key.ID) })
		},
	}
	deactivate.Flags().String("org", "", "id or `name` of the organization")
	return group("key", "Manage API keys", create, list, deactivate)
}
