package cmd

import (
	"cmp"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"prospector/internal/service"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, the commit and the format of the store", Args: noArgs,
		Example: "  prospector version --json",
		RunE: func(c *cobra.Command, _ []string) error {
			v := struct {
				Version     string `json:"version"`
				Commit      string `json:"commit"`
				StoreFormat int    `json:"store_format"`
				Go          string `json:"go"`
			}{service.Version(), service.Commit(), service.StoreFormat(), runtime.Version()}
			return show(c, v, func(w io.Writer) {
				fmt.Fprintf(w, "prospector %s (commit %s, store format %d, %s)\n",
					v.Version, cmp.Or(v.Commit, "unknown"), v.StoreFormat, v.Go)
			})
		},
	}
}
