package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
)

func backupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Write a backup of everything to a file", Args: oneArg("the file to write"),
		Long: "Write a backup of everything, as it is at one moment, to a file that does not exist yet. The server goes on meanwhile. The\n" +
			"backup is made and checked inside the data directory, which needs room for two more copies of the store, and then handed over.",
		Example: "  prospector backup prospector-$(date +%F).backup",
		RunE: func(c *cobra.Command, args []string) error {
			to, err := newTarget(c, args[0])
			if err != nil {
				return err
			}
			defer to.Drop()
			b, err := run(c, admin.Backup, struct{}{})
			if err != nil {
				return err
			}
			if err := to.Take(b.File); err != nil {
				return err
			}
			result := struct {
				File    string `json:"file"`
				Bytes   int64  `json:"bytes"`
				SHA256  string `json:"sha256"`
				Records int    `json:"records"`
			}{args[0], b.Bytes, b.SHA256, b.Records}
			return show(c, result, func(w io.Writer) {
				fmt.Fprintf(w, "Wrote %s: %d records, %d bytes, SHA-256 %s\n", result.File, result.Records, result.Bytes, result.SHA256)
			})
		},
	}
}
