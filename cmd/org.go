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
	create := &cobra.Command{
		Use: "create", Short: "Create an organization", Args: noArgs,
		Example: `  prospector org create --name "Acme Sales" --time-zone Europe/Berlin`,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := required(c, "name"); err != nil {
				return err
			}
			fields, err := givenFields(c, "name", "time-zone")
			if err != nil {
				return err
			}
			org, err := run(c, admin.CreateOrg, admin.Input{Fields: fields})
			if err != nil {
				return err
			}
			return show(c, org, func(w io.Writer) {
				fmt.Fprintf(w, "Created organization %q, %s\n", org.Name, org.ID)
				all, err := run(c, admin.ListOrgs, admin.Input{})
				same := slices.DeleteFunc(all.Organizations, func(o identity.Organization) bool { return o.Name != org.Name })
				if err == nil && len(same) > 1 {
					fmt.Fprintf(w, "%d organizations have this name. Refer to them by id.\n", len(same))
				}
			})
		},
	}
	create.Flags().String("name", "", "`name` of the organization")
	create.Flags().String("time-zone", "", "IANA time `zone` (default UTC)")

	list := &cobra.Command{
		Use: "list", Short: "List organizations", Args: noArgs,
		Example: "  prospector org list --json",
		RunE: func(c *cobra.Command, _ []string) error {
			org, err := c.Flags().GetString("org")
			if err != nil {
				return err
			}
			result, err := run(c, admin.ListOrgs, admin.Input{Org: org})
			if err != nil {
				return err
			}
			return show(c, result, func(w io.Writer) {
				table(w, "ID\tNAME\tCREATED", result.Organizations, func(o identity.Organization) []any {
					return []any{o.ID, o.Name, o.CreatedAt}
				})
			})
		},
	}
	list.Flags().String("org", "", "list only the organization with this id or `name`")

	set := &cobra.Command{
		Use: "set", Short: "Set limits and settings of an organization", Args: noArgs,
		Example: `  prospector org set --org "Acme Sales" --rate-limit 600 --accounts-per-month unlimited`,
		RunE: func(c *cobra.Command, _ []string) error {
			org, err := required(c, "org")
			if err != nil {
				return err
			}
			fields, err := changedSettings(c)
			if err != nil {
				return err
			}
			result, err := run(c, admin.SetOrg, admin.Input{Org: org, Fields: fields})
			if err != nil {
				return err
			}
			return show(c, result, func(w io.Writer) {
				fmt.Fprintf(w, "Changed organization %q, %s\n", result.Name, result.ID)
				if len(result.UsersOutside) > 0 {
					fmt.Fprintf(w, "Warning: the addresses of these users are outside %s. They cannot own a campaign until you change them, and those that they own are held:\n",
						strings.Join(result.SenderDomains, ", "))
				}
				for _, u := range result.UsersOutside {
					fmt.Fprintf(w, "  %s %s\n", u.ID, escapeControls(u.Email))
				}
			})
		},
	}
	set.Flags().String("org", "", "id or `name` of the organization")
	set.Flags().String("accounts-per-month", "", "accounts that Imports may create per month: a `number` or unlimited")
	set.Flags().String("contacts-per-month", "", "contacts that Imports may create per month: a `number` or unlimited")
	set.Flags().String("rate-limit", "", "requests per minute: a `number`, 0 for no limit, or default")
	set.Flags().String("time-zone", "", "IANA time `zone`")
	set.Flags().String("billing-mode", "", "platform or usage_based")
	set.Flags().StringArray("sender-domain", nil,
		"`domain` that the email addresses of users can have; repeat it for several, any removes the restriction")
	return group("org", "Manage organizations", create, list, set, orgExportCommand(), orgImportCommand(), orgDeleteCommand())
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
