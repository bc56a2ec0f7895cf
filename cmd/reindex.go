package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
)

func reindexCommand() *cobra.Command {
	return &cobra.Command{
		Use: "reindex", Short: "Make all indexes anew from the store", Args: noArgs,
		Long:    "Make all indexes anew from the store. Lists go on meanwhile, but those of large organizations are slower until it\nis done. It is never needed in normal use: indexes that are missing or damaged are made anew by themselves.",
		Example: "  prospector reindex",
		RunE: func(c *cobra.Command, _ []string) error {
			result, err := run(c, admin.Reindex, struct{}{})
			if err != nil {
				return err
			}
			return show(c, result, func(w io.Writer) { fmt.Fprintf(w, "Indexed %d records\n", result.Records) })
		},
	}
}
