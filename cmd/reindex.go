package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
)

func reindexCommand() *cobra.Command {
	return &cobra.Command{
		Use: "reindex", Short: "Rebuild all indexes from the store", Args: noArgs,
		Long: "Rebuild all indexes from the store. Lists keep working, but those of large organizations are slower until it is done.\n" +
			"You rarely need this: missing and damaged indexes are rebuilt automatically.",
		Example: "  prospector reindex",
		RunE: func(c *cobra.Command, _ []string) error {
			return runAndShow(c, admin.Reindex, struct{}{}, func(w io.Writer, done admin.RecordCount) {
				fmt.Fprintf(w, "Indexed %d records\n", done.Records)
			})
		},
	}
}
