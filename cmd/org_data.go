package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
)

func orgExportCommand() *cobra.Command {
	var in admin.ExportInput
	c := &cobra.Command{
		Use: "export FILE", Short: "Export everything that an organization has", Args: oneArg("the file to write"), PreRunE: requires("org"),
		Long: "Export a snapshot of an organization to a new file, which 'prospector org import' reads. It has one JSON object per\n" +
			"line, such as {\"entity\": \"contacts\", \"record\": {...}, \"names\": {...}}: each record as the API returns it, and what\n" +
			"else belongs to the organization, such as its history. A FILE that ends in .gz is packed. API keys, passwords,\n" +
			"sessions, webhook secrets, deliveries and Previews stay. Keep the file secret: it has the key of the organization's\n" +
			"unsubscribe links. With --hold, the organization sends nothing any more, because it is going to continue elsewhere.",
		Example: "  prospector org export --org \"Acme Sales\" acme.jsonl.gz\n  prospector org export --org \"Acme Sales\" --hold acme.jsonl.gz",
		RunE: func(c *cobra.Command, args []string) error {
			to, err := newTarget(c, args[0])
			if err != nil {
				return err
			}
			defer to.Drop()
			in.Gzip = strings.HasSuffix(args[0], ".gz")
			e, err := run(c, admin.ExportOrg, in)
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
				if in.Hold {
					fmt.Fprintf(w, "Its campaigns are held. 'prospector resume --org' releases them if it does not move after all.\n")
				}
			})
		},
	}
	orgFlag(c, &in.Org)
	c.Flags().BoolVar(&in.Hold, "hold", false, "hold its campaigns, because it moves to another installation")
	return c
}

func orgImportCommand() *cobra.Command {
	var in admin.ImportOrgInput
	c := &cobra.Command{
		Use: "import FILE", Short: "Import an organization that was exported", Args: oneArg("the file, or - for standard input"),
		Long: "Import an organization from a file that 'prospector org export' wrote. Its records have the ids that they had, or with\n" +
			"--new-ids others. An organization with the id or the name must not exist. If anything is wrong, nothing is imported.\n" +
			"The campaigns of the organization are held until 'prospector resume': the installation that exported it may have\n" +
			"sent since. Nobody can sign in or has an API key before you run 'prospector user invite' or 'prospector key create',\n" +
			"and webhook subscriptions are paused until they have a new secret.",
		Example: "  prospector org import acme.jsonl.gz\n  prospector org import acme.jsonl.gz --organization \"Acme copy\" --new-ids",
		RunE: func(c *cobra.Command, args []string) error {
			file, err := openImport(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			r, err := runFile(c, admin.ImportOrg, in, file, file.size)
			if err != nil {
				return err
			}
			return show(c, r, func(w io.Writer) {
				fmt.Fprintf(w, "Imported organization %q, %s, with %d records\n", r.Name, r.ID, r.Records)
				fmt.Fprintf(w, "Its campaigns are held until you run 'prospector resume --org %s'.\n", r.ID)
			})
		},
	}
	c.Flags().StringVar(&in.Name, "organization", "", "`name` of the organization, instead of that in the file")
	c.Flags().BoolVar(&in.NewIDs, "new-ids", false, "give all records new ids")
	return c
}

func orgDeleteCommand() *cobra.Command {
	var in admin.Input
	var isConfirmed bool
	c := &cobra.Command{
		Use: "delete", Short: "Delete an organization and all its data", Args: noArgs, PreRunE: requires("org"),
		Long: "Delete an organization with all its records, users and keys. This cannot be undone. Use 'prospector org export' to\n" +
			"keep a copy.",
		Example: `  prospector org delete --org "Acme Sales" --yes`,
		RunE: func(c *cobra.Command, _ []string) error {
			if !isConfirmed {
				return usage("org delete permanently deletes all data of %q; confirm with --yes", in.Org)
			}
			return runAndShow(c, admin.DeleteOrg, in, func(w io.Writer, done admin.RecordCount) {
				fmt.Fprintf(w, "Deleted organization %q with %d records\n", in.Org, done.Records)
			})
		},
	}
	orgFlag(c, &in.Org)
	c.Flags().BoolVar(&isConfirmed, "yes", false, "confirm that all data is deleted")
	return c
}
