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
	return group("user", "Manage users", userCreateCommand(), userListCommand(), userInviteCommand(), userPasswordCommand())
}

func userCreateCommand() *cobra.Command {
	var in admin.Input
	c := &cobra.Command{
		Use: "create", Short: "Create a user of an organization", Args: noArgs, PreRunE: requires("org", "email"),
		Example: `  prospector user create --org "Acme Sales" --email ada@acme.example --first-name Ada`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if in.Fields, err = givenFields(c, "email", "first-name", "last-name", "title", "access"); err != nil {
				return err
			}
			return runAndShow(c, admin.CreateUser, in, func(w io.Writer, user identity.User) {
				fmt.Fprintf(w, "Created user %s, %s\n", user.Email, user.ID)
			})
		},
	}
	orgFlag(c, &in.Org)
	c.Flags().String("email", "", "email `address`")
	c.Flags().String("first-name", "", "first `name`")
	c.Flags().String("last-name", "", "last `name`")
	c.Flags().String("title", "", "job `title`")
	c.Flags().String("access", "", "`access` in the console: read, write or admin (default write)")
	return c
}

func userListCommand() *cobra.Command {
	var in admin.Input
	c := &cobra.Command{
		Use: "list", Short: "List the users of an organization", Args: noArgs, PreRunE: requires("org"),
		Example: `  prospector user list --org "Acme Sales"`,
		RunE: func(c *cobra.Command, _ []string) error {
			return runAndShow(c, admin.ListUsers, in, func(w io.Writer, list admin.UserList) {
				table(w, "ID\tEMAIL\tNAME\tACCESS\tACTIVE\tLAST SEEN", list.Users, func(u identity.User) []any {
					name := fmt.Sprintf("%s %s", u.FirstName, u.LastName)
					return []any{u.ID, u.Email, name, u.Access, u.Active, orNever(u.LastSeenAt)}
				})
			})
		},
	}
	orgFlag(c, &in.Org)
	return c
}

func userInviteCommand() *cobra.Command {
	var in admin.UserRef
	c := &cobra.Command{
		Use: "invite", Short: "Make a one-time link with which a user sets a password and signs in", Args: noArgs, PreRunE: requires("org", "email"),
		Long: "Make a one-time link to the console with which a user sets a password and signs in. It is valid for 72 hours\n" +
			"(sessions.invite). An older link of the user becomes void.",
		Example: `  prospector user invite --org "Acme Sales" --email ada@acme.example`,
		RunE: func(c *cobra.Command, _ []string) error {
			return runAndShow(c, admin.InviteUser, in, func(w io.Writer, link admin.InviteLink) {
				fmt.Fprintf(w, "The link is valid once, until %s:\n\n%s\n", link.ExpiresAt, link.URL)
			})
		},
	}
	userFlags(c, &in)
	return c
}

func userPasswordCommand() *cobra.Command {
	var in admin.PasswordInput
	c := &cobra.Command{
		Use: "set-password", Short: "Set the password of a user, read from standard input", Args: noArgs, PreRunE: requires("org", "email"),
		Long: "Set the password of a user. It is read from standard input, up to the end of the line, and must have at least 10\n" +
			"characters. All sessions of the user end.",
		Example: `  prospector user set-password --org "Acme Sales" --email ada@acme.example`,
		RunE: func(c *cobra.Command, _ []string) error {
			password, err := bufio.NewReader(c.InOrStdin()).ReadString('\n')
			if err != nil && err != io.EOF {
				return err
			}
			in.Password = strings.TrimRight(password, "\r\n")
			return runAndShow(c, admin.SetPassword, in, func(w io.Writer, user identity.User) {
				fmt.Fprintf(w, "Set the password of %s\n", user.Email)
			})
		},
	}
	userFlags(c, &in.UserRef)
	return c
}

func userFlags(c *cobra.Command, user *admin.UserRef) {
	orgFlag(c, &user.Org)
	c.Flags().StringVar(&user.Email, "email", "", "email `address` of the user")
}
