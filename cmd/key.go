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
	return group("key", "Manage API keys", keyCreateCommand(), keyListCommand(), keyDeactivateCommand())
}

func keyCreateCommand() *cobra.Command {
	var in admin.Input
	c := &cobra.Command{
		Use: "create", Short: "Create an API key, which is shown only once", Args: noArgs, PreRunE: requires("org", "name"),
		Example: `  prospector key create --org "Acme Sales" --name "CRM sync" --access write`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if in.Fields, err = givenFields(c, "name", "access", "user"); err != nil {
				return err
			}
			if user, ok := in.Fields["user"]; ok {
				delete(in.Fields, "user")
				in.Fields["user_id"] = user
			}
			return runAndShow(c, admin.CreateKey, in, func(w io.Writer, key admin.NewKey) {
				fmt.Fprintf(w, "Created key %q, %s, with %s access. It is shown only once:\n\n%s\n", key.Name, key.ID, key.Access, key.Plaintext)
			})
		},
	}
	orgFlag(c, &in.Org)
	c.Flags().String("user", "", "`id` of the user that it acts for (default: the first user of the organization)")
	c.Flags().String("name", "", "`name` of the key, such as what it is used for")
	c.Flags().String("access", "", "`access` of the key: read, write or admin (default write)")
	return c
}

func keyListCommand() *cobra.Command {
	var in admin.Input
	c := &cobra.Command{
		Use: "list", Short: "List the API keys of an organization", Args: noArgs, PreRunE: requires("org"),
		Example: `  prospector key list --org "Acme Sales"`,
		RunE: func(c *cobra.Command, _ []string) error {
			return runAndShow(c, admin.ListKeys, in, func(w io.Writer, list admin.KeyList) {
				table(w, "ID\tNAME\tACCESS\tACTIVE\tEXPIRES\tLAST USED", list.Keys, func(k identity.Key) []any {
					return []any{k.ID, k.Name, k.Access, k.Active, orNever(k.ExpiresAt), orNever(k.LastUsedAt)}
				})
			})
		},
	}
	orgFlag(c, &in.Org)
	return c
}

func keyDeactivateCommand() *cobra.Command {
	var in admin.KeyRef
	c := &cobra.Command{
		Use: "deactivate ID", Short: "Deactivate an API key permanently", Args: oneArg("the key's id"), PreRunE: requires("org"),
		Example: `  prospector key deactivate --org "Acme Sales" 019f6f3e-0d4e-7c1e-9d0a-3a6c1c1f7b52`,
		RunE: func(c *cobra.Command, args []string) (err error) {
			if in.ID, err = uuid.Parse(args[0]); err != nil {
				return usage("%q is not the id of a key; 'prospector key list' shows the ids", args[0])
			}
			return runAndShow(c, admin.DeactivateKey, in, func(w io.Writer, key identity.Key) {
				fmt.Fprintf(w, "Deactivated key %q, %s\n", key.Name, key.ID)
			})
		},
	}
	orgFlag(c, &in.Org)
	return c
}
