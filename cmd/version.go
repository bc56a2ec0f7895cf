package cmd

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"prospector/internal/service"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		Example: "  prospector version --json",
		RunE: func(c *cobra.Command, _ []string) error {
			v := struct {
				Version string `json:"version"`
				Go      string `json:"go"`
			}{service.Version(), runtime.Version()}
			return show(c, v, func(w io.Writer) { fmt.Fprintf(w, "prospector %s (%s)\n", v.Version, v.Go) })
		},
	}
}
