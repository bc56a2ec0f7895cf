package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
)

func restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "Replace all data with a backup", Args: oneArg("the backup"),
		Long: "Replace all data with a backup. The server must be stopped. The backup is checked before anything is changed, and the\n" +
			"old store is kept. Campaigns are paused and webhook deliveries are held, because most of what the backup would send\n" +
			"has been sent. Continue them with 'prospector resume'.",
		Example: "  prospector restore prospector-2026-03-01.backup",
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := loadConfig(c)
			if err != nil {
				return err
			}
			by, finish := caller(c, cfg, admin.Bytes)
			result, err := admin.Restore(c.Context(), by, args[0])
			finish()
			if err != nil {
				return err
			}
			return show(c, result, func(w io.Writer) {
				fmt.Fprintf(w, "Restored %d records from %s to %s\n", result.Records, args[0], cfg.DataDir)
				if result.Aside != "" {
					fmt.Fprintf(w, "The old store was moved to %s\n", result.Aside)
				}
				fmt.Fprintln(w, "Campaigns are paused and deliveries are held until you run 'prospector resume'")
			})
		},
	}
}

func resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "resume", Short: "Continue campaigns and deliveries after a restore", Args: noArgs,
		Long: "Continue the campaigns and deliveries that a restore has paused and held. First check what they would send: what was sent\n" +
			"after the backup was made is sent again.",
		Example: "  prospector resume",
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := run(c, admin.Resume, struct{}{})
			if err != nil {
				return err
			}
			return show(c, r, func(w io.Writer) {
				fmt.Fprintf(w, "Resumed %d campaigns and %d deliveries\n", r.Campaigns, r.Deliveries)
			})
		},
	}
}
