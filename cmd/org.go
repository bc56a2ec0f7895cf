package cmd

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
	"prospector/internal/identity"
)

func orgCommand() *cobra.Command {
	create := &cobra.Command{
		Use: "create", Short: "Create an organization", Args: noArgs,
		Example: `  prospector org create --name "Acme Sales"`,
		RunE: func(c *cobra.Command, _ []string) error {
			name, err := required(c, "name")
			if err != nil {
				return err
			}
			org, err := run(c, admin.CreateOrg, admin.Input{Fields: map[string]any{"name": name}})
			if err != nil {
				return err
			}
			return show(c, org, func(w io.Writer) {
				fmt.Fprintf(w, "Created organization %q, %s\n", org.Name, org.ID)
				all, err := run(c, admin.ListOrgs, admin.Input{})
				same := slices.DeleteFunc(all.Organizations, func(o identity.Organization) bool { return o.Name != org.Name })
				if err == nil && len(same) > 1 {
					fmt.Fprintf(w, "%d organizations have that name now: name them by their ids\n", len(same))
				}
			})
		},
	}
	create.Flags().String("name", "", "its `name`")

	list := &cobra.Command{
		Use: "list", Short: "List the organizations", Args: noArgs,
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
				table(w, "ID\tNAME\tCREATED", result.Organizations, func(o identity.Organization) string {
					return fmt.Sprintf("%s\t%s\t%s", o.ID, o.Name, o.CreatedAt)
				})
			})
		},
	}
	list.Flags().String("org", "", "only the one with this id or `name`")

	set := &cobra.Command{
		Use: "set", Short: "Set the limits and settings of an organization", Args: noArgs,
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
			return show(c, result, func(w io.Writer) { fmt.Fprintf(w, "Set organization %q, %s\n", result.Name, result.ID) })
		},
	}
	set.Flags().String("org", "", "its id or `name`")
	set.Flags().String("accounts-per-month", "", "accounts that Imports may create in a month: a `number` or unlimited")
	set.Flags().String("contacts-per-month", "", "contacts that Imports may create in a month: a `number` or unlimited")
	set.Flags().String("rate-limit", "", "requests a minute: a `number`, 0 for no limit, or default")
	set.Flags().String("time-zone", "", "IANA time `zone`")
	set.Flags().String("billing-mode", "", "platform or usage_based")
	return group("org", "Create, list, set, export and delete organizations", create, list, set, orgExportCommand(), orgDeleteCommand())
}

// changedSettings are the settings that flags name, as a body has them.
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
			return nil, usage("--%s must be a number of 0 or more, or %s, not %q", flag, wordFor(flag), v)
		default:
			fields[field] = n
		}
	}
	for flag, field := range map[string]string{"time-zone": "time_zone", "billing-mode": "billing_mode"} {
		if v, _ := c.Flags().GetString(flag); c.Flags().Changed(flag) {
			fields[field] = v
		}
	}
	if len(fields) == 0 {
		return nil, usage("%sneeds something to set (see '%s --help')", nameOf(c), c.CommandPath())
	}
	return fields, nil
}

func wordFor(flag string) string {
	if flag == "rate-limit" {
		return "default"
	}
	return "unlimited"
}
