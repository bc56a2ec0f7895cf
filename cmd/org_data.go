package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
)

func orgExportCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "export FILE", Short: "Write all records of an organization to a file", Args: oneArg("the file to write"),
		Long: "Write all records of an organization, as they are at one moment, to a file that does not exist yet: one a line, as\n" +
			"{\"entity\": \"contacts\", \"record\": {...}}, each record as the API answers it. Behind an audience, lines of the\nentity audience-contacts say who is in it.",
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
			return show(c, admin.RecordCount{Records: e.Records}, func(w io.Writer) { fmt.Fprintf(w, "Wrote %d records to %s\n", e.Records, args[0]) })
		},
	}
	c.Flags().String("org", "", "its id or `name`")
	return c
}

func orgDeleteCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "delete", Short: "Delete an organization with all that it has", Args: noArgs,
		Long:    "Delete an organization with all its records, users and keys, at once and for good. 'prospector org export' keeps a copy.",
		Example: `  prospector org delete --org "Acme Sales" --yes`,
		RunE: func(c *cobra.Command, _ []string) error {
			org, err := required(c, "org")
			if err != nil {
				return err
			}
			if yes, err := c.Flags().GetBool("yes"); err != nil || !yes {
				return usage("org delete deletes everything that %q has, for good: say so with --yes", org)
			}
			done, err := run(c, admin.DeleteOrg, admin.Input{Org: org})
			if err != nil {
				return err
			}
			return show(c, done, func(w io.Writer) { fmt.Fprintf(w, "Deleted organization %q with %d records\n", org, done.Records) })
		},
	}
	c.Flags().String("org", "", "its id or `name`")
	c.Flags().Bool("yes", false, "yes, delete all of it")
	return c
}
