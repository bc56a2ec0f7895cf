package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
)

func backupCommand() *cobra.Command {
	var in admin.BackupInput
	c := &cobra.Command{
		Use: "backup FILE", Short: "Back up all data to a file", Args: oneArg("the file to write"),
		Long: "Back up a snapshot of all data to a new file. The server keeps running. The backup is made and checked inside the\n" +
			"data directory, which needs space for two more copies of the store, and then moved to the file. A damaged store is\n" +
			"refused. With --accept-damage, the backup is made without the damaged records, and they are listed.",
		Example: "  prospector backup prospector-$(date +%F).backup",
		RunE: func(c *cobra.Command, args []string) error {
			to, err := newTarget(c, args[0])
			if err != nil {
				return err
			}
			defer to.Drop()
			b, err := run(c, admin.Backup, in)
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

				Missing []admin.Dropped `json:"missing,omitempty"`
			}{args[0], b.Bytes, b.SHA256, b.Records, b.Missing}
			return show(c, result, func(w io.Writer) {
				fmt.Fprintf(w, "Wrote %s: %d records, %d bytes, SHA-256 %s\n", result.File, result.Records, result.Bytes, result.SHA256)
				printDropped(w, result.Missing, "Missing because it is damaged:", "Replaced because it is damaged:")
			})
		},
	}
	c.Flags().BoolVar(&in.AcceptDamage, "accept-damage", false, "make a backup without the damaged records and list them")
	return c
}
