package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
	"prospector/internal/identity"
)

func userCommand() *cobra.Command {
	create := &cobra.Command{
		Use: "create", Short: "Create a user of an organization", Args: noArgs,
		Example: `  prospector user create --org "Acme Sales" --email ada@acme.example --first-name Ada`,
		RunE: func(c *cobra.Command, _ []string) error {
			org, err := required(c, "org")
			if err != nil {
				return err
			}
			if _, err := required(c, "email"); err != nil {
				return err
			}
			fields, err := givenFields(c, "email", "first-name", "last-name", "title")
			if err != nil {
				return err
			}
			user, err := run(c, admin.CreateUser, admin.Input{Org: org, Fields: fields})
			if err != nil {
				return err
			}
			return show(c, user, func(w io.Writer) { fmt.Fprintf(w, "Created user %s, %s\n", user.Email, user.ID) })
		},
	}
	create.Flags().String("org", "", "id or `name` of the organization")
	create.Flags().String("email", "", "email `address`")
	create.Flags().String("first-name", "", "first `name`")
	create.Flags().String("last-name", "", "last `name`")
	create.Flags().String("title", "", "job `title`")

	list := &cobra.Command{
		Use: "list", Short: "List the users of an organization", Args: noArgs,
		Example: `  prospector user list --org "Acme Sales"`,
		RunE: func(c *cobra.Command, _ []string) error {
			org, err := required(c, "org")
			if err != nil {
				return err
			}
			result, err := run(c, admin.ListUsers, admin.Input{Org: org})
			if err != nil {
				return err
			}
			return show(c, result, func(w io.Writer) {
				table(w, "ID\tEMAIL\tNAME", result.Users, func(u identity.User) string {
					return fmt.Sprintf("%s\t%s\t%s %s", u.ID, u.Email, u.FirstName, u.LastName)
				})
			})
		},
	}
	list.Flags().String("org", "", "id or `name` of the organization")
	return group("user", "Manage users", create, list)
}
