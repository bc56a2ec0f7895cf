package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
)

func restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "Put a backup in the place of all data", Args: oneArg("the backup"),
		Long: "Put a backup in the place of all data. No server may be running. The backup is checked before anything is touched, and the\n" +
			"old store is kept aside. Campaigns are paused and deliveries held, for most of what the backup would send was sent already;\n" +
			"'prospector resume' lets them go on.",
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
					fmt.Fprintf(w, "The old data is in %s\n", result.Aside)
				}
				fmt.Fprintln(w, "Campaigns are paused and deliveries held until 'prospector resume'")
			})
		},
	}
}

func resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "resume", Short: "Let go on what a restore has paused", Args: noArgs,
		Long:    "Let campaigns and deliveries go on that a restore has paused and held. Look first at what they would send: whatever was\nsent after the backup was made is not known to it and is sent again.",
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
