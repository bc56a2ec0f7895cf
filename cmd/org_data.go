package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
)

func orgExportCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "export FILE", Short: "Export all records of an organization", Args: oneArg("the file to write"),
		Long: "Export a snapshot of all records of an organization to a new file, as JSON lines such as\n" +
			"{\"entity\": \"contacts\", \"record\": {...}}. Each record is as the API returns it. An audience is followed by\n" +
			"lines of the entity audience-contacts with its members.",
		Example: `  prospector org export --org "Acme Sales" acme.jsonl`,
		RunE: func(c *cobra.Command, args []string) error {
			org, err := required(c, "org")
			if err != nil {
				return err
			}
			to, err := newTarget(c, args[0])
			if err != nil {
				return err
			}
			defer to.Drop()
			e, err := run(c, admin.ExportOrg, admin.Input{Org: org})
			if err != nil {
				return err
			}
			if err := to.Take(e.File); err != nil {
				return err
			}
			result := struct {
				Records int `json:"records"`
				Damaged int `json:"damaged,omitempty"`
			}{e.Records, e.Damaged}
			return show(c, result, func(w io.Writer) {
				fmt.Fprintf(w, "Wrote %d records to %s\n", e.Records, args[0])
				if e.Damaged > 0 {
					fmt.Fprintf(w, "Left out %d damaged records; 'prospector check' lists them\n", e.Damaged)
				}
			})
		},
	}
	c.Flags().String("org", "", "id or `name` of the organization")
	return c
}

func orgDeleteCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "delete", Short: "Delete an organization and all its data", Args: noArgs,
		Long: "Delete an organization with all its records, users and keys. This cannot be undone. Use 'prospector org export' to\n" +
			"keep a copy.",
		Example: `  prospector org delete --org "Acme Sales" --yes`,
		RunE: func(c *cobra.Command, _ []string) error {
			org, err := required(c, "org")
			if err != nil {
				return err
			}
			if yes, err := c.Flags().GetBool("yes"); err != nil || !yes {
				return usage("org delete permanently deletes all data of %q; confirm with --yes", org)
			}
			done, err := run(c, admin.DeleteOrg, admin.Input{Org: org})
			if err != nil {
				return err
			}
			return show(c, done, func(w io.Writer) { fmt.Fprintf(w, "Deleted organization %q with %d records\n", org, done.Records) })
		},
	}
	c.Flags().String("org", "", "id or `name` of the organization")
	c.Flags().Bool("yes", false, "confirm that all data is deleted")
	return c
}
