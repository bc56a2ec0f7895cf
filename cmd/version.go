package cmd

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
)

// Version is the version of the program.
const Version = "0.1.0"

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		Example: "  prospector version --json",
		RunE: func(c *cobra.Command, _ []string) error {
			v := struct {
				Version string `json:"version"`
				Go      string `json:"go"`
			}{Version, runtime.Version()}
			return show(c, v, func(w io.Writer) { fmt.Fprintf(w, "prospector %s (%s)\n", v.Version, v.Go) })
		},
	}
}
