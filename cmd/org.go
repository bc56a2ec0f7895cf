package cmd

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
	"prospector/internal/identity"
)

func orgCommand() *cobra.Command {
	return group("org", "Manage organizations", orgCreateCommand(), orgListCommand(), orgSetCommand(), orgExportCommand(), orgImportCommand(), orgDeleteCommand())
}

func orgCreateCommand() *cobra.Command {
	var in admin.Input
	c := &cobra.Command{
		Use: "create", Short: "Create an organization", Args: noArgs, PreRunE: requires("name"),
		Example: `  prospector org create --name "Acme Sales" --time-zone Europe/Berlin`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if in.Fields, err = givenFields(c, "name", "time-zone"); err != nil {
				return err
			}
			return runAndShow(c, admin.CreateOrg, in, func(w io.Writer, org identity.Organization) {
				fmt.Fprintf(w, "Created organization %q, %s\n", org.Name, org.ID)
				all, err := run(c, admin.ListOrgs, admin.Input{})
				same := slices.DeleteFunc(all.Organizations, func(o identity.Organization) bool { return o.Name != org.Name })
				if err == nil && len(same) > 1 {
					fmt.Fprintf(w, "%d organizations have this name. Refer to them by id.\n", len(same))
				}
			})
		},
	}
	c.Flags().String("name", "", "`name` of the organization")
	c.Flags().String("time-zone", "", "IANA time `zone` (default UTC)")
	return c
}

func orgListCommand() *cobra.Command {
	var in admin.Input
	c := &cobra.Command{
		Use: "list", Short: "List organizations", Args: noArgs,
		Example: "  prospector org list --json",
		RunE: func(c *cobra.Command, _ []string) error {
			return runAndShow(c, admin.ListOrgs, in, func(w io.Writer, list admin.OrgList) {
				table(w, "ID\tNAME\tCREATED", list.Organizations, func(o identity.Organization) []any {
					return []any{o.ID, o.Name, o.CreatedAt}
				})
			})
		},
	}
	c.Flags().StringVar(&in.Org, "org", "", "list only the organization with this id or `name`")
	return c
}

func orgSetCommand() *cobra.Command {
	var in admin.Input
	c := &cobra.Command{
		Use: "set", Short: "Set limits and settings of an organization", Args: noArgs, PreRunE: requires("org"),
		Example: `  prospector org set --org "Acme Sales" --rate-limit 600 --accounts-per-month unlimited`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if in.Fields, err = changedSettings(c); err != nil {
				return err
			}
			return runAndShow(c, admin.SetOrg, in, func(w io.Writer, org admin.ChangedOrg) {
				fmt.Fprintf(w, "Changed organization %q, %s\n", org.Name, org.ID)
				if len(org.UsersOutside) > 0 {
					fmt.Fprintf(w, "Warning: the addresses of these users are outside %s. They cannot own a campaign until you change them, and those that they own are held:\n",
						strings.Join(org.SenderDomains, ", "))
				}
				for _, u := range org.UsersOutside {
					fmt.Fprintf(w, "  %s %s\n", u.ID, escapeControls(u.Email))
				}
			})
		},
	}
	orgFlag(c, &in.Org)
	c.Flags().String("accounts-per-month", "", "accounts that Imports may create per month: a `number` or unlimited")
	c.Flags().String("contacts-per-month", "", "contacts that Imports may create per month: a `number` or unlimited")
	c.Flags().String("rate-limit", "", "requests per minute: a `number`, 0 for no limit, or default")
	c.Flags().String("time-zone", "", "IANA time `zone`")
	c.Flags().String("billing-mode", "", "platform or usage_based")
	c.Flags().StringArray("sender-domain", nil,
		"`domain` that the email addresses of users can have; repeat it for several, any removes the restriction")
	return c
}

// changedSettings returns the settings whose flags were set, as fields of a request body.
func changedSettings(c *cobra.Command) (map[string]any, error) {
	fields := map[string]any{}
	for flag, field := range map[string]string{
		"accounts-per-month": "accounts_per_month", "contacts-per-month": "contacts_per_month", "rate-limit": "rate_limit_per_minute",
	} {
		v, _ := c.Flags().GetString(flag)
		n, err := strconv.ParseUint(v, 10, 53)
		switch {
		case !c.Flags().Changed(flag):
		case v == "unlimited" && flag != "rate-limit", v == "default" && flag == "rate-limit":
			fields[field] = nil
		case err != nil:
			return nil, usage("--%s: %q is not a non-negative integer or %q", flag, v, wordFor(flag))
		default:
			fields[field] = n
		}
	}
	for flag, field := range map[string]string{"time-zone": "time_zone", "billing-mode": "billing_mode"} {
		if v, _ := c.Flags().GetString(flag); c.Flags().Changed(flag) {
			fields[field] = v
		}
	}
	if c.Flags().Changed("sender-domain") {
		domains, _ := c.Flags().GetStringArray("sender-domain")
		if len(domains) == 0 || slices.Contains(domains, "") {
			return nil, usage("--sender-domain: must not be empty; any removes the restriction")
		}
		if slices.Equal(domains, []string{"any"}) {
			domains = []string{}
		}
		fields["sender_domains"] = domains
	}
	if len(fields) == 0 {
		return nil, usage("%srequires at least one setting (see '%s --help')", nameOf(c), c.CommandPath())
	}
	return fields, nil
}

// wordFor returns the word that a flag accepts beside numbers.
func wordFor(flag string) string {
	if flag == "rate-limit" {
		return "default"
	}
	return "unlimited"
}
