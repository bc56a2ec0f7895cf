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
			"old store is kept. Campaigns and webhook deliveries are held, because most of what the backup would send\n" +
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
				fmt.Fprintln(w, "Campaigns and deliveries are held until you run 'prospector resume'")
			})
		},
	}
}

func resumeCommand() *cobra.Command {
	var in admin.ResumeInput
	c := &cobra.Command{
		Use: "resume", Short: "Release all held campaigns, and continue deliveries after a restore", Args: noArgs,
		Long: "Releases the held campaigns of all organizations and, after a restore, lets webhook deliveries\n" +
			"continue. For each campaign it prints how many overdue steps are sent or skipped and how many sequences\n" +
			"begin again. Messages that were sent after the backup was made are not known to the restored store:\n" +
			"with --overdue send, their recipients receive them again.",
		Example: "  prospector resume --dry-run\n  prospector resume --overdue skip",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkChoice("overdue", in.Overdue, "send", "skip"); err != nil {
				return err
			}
			if err := checkChoice("captured", in.Captured, "restart", "keep"); err != nil {
				return err
			}
			r, err := run(c, admin.Resume, in)
			if err != nil {
				return err
			}
			return show(c, r, func(w io.Writer) { printResumed(w, r, in.DryRun) })
		},
	}
	c.Flags().StringVar(&in.Overdue, "overdue", "", "what becomes of steps whose time has passed: send or skip; required if there are any")
	c.Flags().StringVar(&in.Captured, "captured", "", "what becomes of captured messages: restart or keep; required if there are any and messages are sent now")
	c.Flags().BoolVar(&in.DryRun, "dry-run", false, "only print what would happen")
	return c
}

func printResumed(w io.Writer, r admin.ResumeResult, dryRun bool) {
	released := 0
	for _, c := range r.Campaigns {
		if c.StillHeld != "" {
			fmt.Fprintf(w, "Campaign %q stays held: %s\n", c.Name, c.StillHeld)
			continue
		}
		released++
		fmt.Fprintf(w, "Campaign %q (%s): %d to send, %d to skip, %d to restart\n", c.Name, c.Reason, c.ToSend, c.ToSkip, c.ToRestart)
	}
	verb := "Released"
	if dryRun {
		verb = "Would release"
	}
	fmt.Fprintf(w, "%s %d campaigns and %d deliveries\n", verb, released, r.Deliveries)
}
