package cmd

import (
	"bufio"
	"fmt"
	"io"
	"strings"

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
			fields, err := givenFields(c, "email", "first-name", "last-name", "title", "access")
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
	create.Flags().String("access", "", "`access` in the console: read, write or admin (default write)")

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
				table(w, "ID\tEMAIL\tNAME\tACCESS\tACTIVE\tLAST SEEN", result.Users, func(u identity.User) []any {
					name := fmt.Sprintf("%s %s", u.FirstName, u.LastName)
					return []any{u.ID, u.Email, name, u.Access, u.Active, orNever(u.LastSeenAt)}
				})
			})
		},
	}
	list.Flags().String("org", "", "id or `name` of the organization")
	return group("user", "Manage users", create, list, userInviteCommand(), userPasswordCommand())
}

func userInviteCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "invite", Short: "Make a one-time link with which a user sets a password and signs in", Args: noArgs,
		Long: "Make a one-time link to the console with which a user sets a password and signs in. It is valid for 72 hours\n" +
			"(sessions.invite). An older link of the user becomes void.",
		Example: `  prospector user invite --org "Acme Sales" --email ada@acme.example`,
		RunE: func(c *cobra.Command, _ []string) error {
			user, err := userRef(c)
			if err != nil {
				return err
			}
			link, err := run(c, admin.InviteUser, user)
			if err != nil {
				return err
			}
			return show(c, link, func(w io.Writer) {
				fmt.Fprintf(w, "The link is valid once, until %s:\n\n%s\n", link.ExpiresAt, link.URL)
			})
		},
	}
	userFlags(c)
	return c
}

func userPasswordCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "set-password", Short: "Set the password of a user, read from standard input", Args: noArgs,
		Long: "Set the password of a user. It is read from standard input, up to the end of the line, and must have at least 10\n" +
			"characters. All sessions of the user end.",
		Example: `  prospector user set-password --org "Acme Sales" --email ada@acme.example`,
		RunE: func(c *cobra.Command, _ []string) error {
			user, err := userRef(c)
			if err != nil {
				return err
			}
			password, err := bufio.NewReader(c.InOrStdin()).ReadString('\n')
			if err != nil && err != io.EOF {
				return err
			}
			changed, err := run(c, admin.SetPassword, admin.PasswordInput{UserRef: user, Password: strings.TrimRight(password, "\r\n")})
			if err != nil {
				return err
			}
			return show(c, changed, func(w io.Writer) { fmt.Fprintf(w, "Set the password of %s\n", changed.Email) })
		},
	}
	userFlags(c)
	return c
}

func userFlags(c *cobra.Command) {
	c.Flags().String("org", "", "id or `name` of the organization")
	c.Flags().String("email", "", "email `address` of the user")
}

// userRef returns the user that the flags name.
func userRef(c *cobra.Command) (admin.UserRef, error) {
	org, err := required(c, "org")
	if err != nil {
		return admin.UserRef{}, err
	}
	email, err := required(c, "email")
	return admin.UserRef{Org: org, Email: email}, err
}
