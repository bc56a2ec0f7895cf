package cmd

import (
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"prospector/internal/admin"
)

func restoreCommand() *cobra.Command {
	var record, from string
	c := &cobra.Command{
		Use: "restore FILE", Short: "Replace all data with a backup, or bring one record back",
		Args: func(c *cobra.Command, args []string) error {
			if record != "" || from != "" {
				return noArgs(c, args)
			}
			return oneArg("the backup")(c, args)
		},
		Long: "Replace all data with a backup. The server must be stopped. The backup is checked before anything is changed, and the\n" +
			"old store is kept. Campaigns and webhook deliveries are held, because most of what the backup would send\n" +
			"has been sent. Continue them with 'prospector resume'.\n\n" +
			"With --record KIND/ID --from FILE, one record that is damaged or missing is brought back as it is in the backup. The\n" +
			"server may be running. References to records that no longer exist are cleared.",
		Example: "  prospector restore prospector-2026-03-01.backup\n" +
			"  prospector restore --record contacts/0197a3c4-5d21-7000-8a11-2f6c3b9d4e10 --from prospector-2026-03-01.backup",
		RunE: func(c *cobra.Command, args []string) error {
			if record != "" || from != "" {
				return restoreRecord(c, record, from)
			}
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
	c.Flags().StringVar(&record, "record", "", "bring back only this record, such as contacts/`ID`")
	c.Flags().StringVar(&from, "from", "", "the backup `file` that has the record")
	return c
}

// restoreRecord brings one record back from a backup.
func restoreRecord(c *cobra.Command, record, from string) error {
	kind, text := path.Split(record) // the kind may be that of a path, such as webhooks/subscriptions
	id, err := uuid.Parse(text)
	switch {
	case record == "" || from == "":
		return usage("--record and --from are required together")
	case err != nil || len(text) != 36:
		return usage("--record: %q is not KIND/ID, such as contacts/0197a3c4-5d21-7000-8a11-2f6c3b9d4e10", record)
	}
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r, err := runFile(c, admin.RestoreRecord, admin.RestoreRecordInput{Kind: path.Base(kind), ID: id}, f, int(info.Size()))
	if err != nil {
		return err
	}
	return show(c, r, func(w io.Writer) {
		fmt.Fprintf(w, "Restored %s %s of organization %s\n", r.Kind, r.ID, r.Organization)
		if len(r.Cleared) > 0 {
			fmt.Fprintf(w, "Cleared references to records that no longer exist: %s\n", strings.Join(r.Cleared, ", "))
		}
	})
}

func resumeCommand() *cobra.Command {
	var in admin.ResumeInput
	c := &cobra.Command{
		Use: "resume", Short: "Release all held campaigns, and continue deliveries after a restore", Args: noArgs,
		Long: "Releases the held campaigns of all organizations and, after a restore, lets webhook deliveries\n" +
			"continue. An organization that has moved, because 'org export --hold' has exported it, stays held unless --org names\n" +
			"it. With --org, deliveries stay as they are. For each campaign it prints how many overdue steps are sent or skipped, how many sequences\n" +
			"begin again, and how many messages may be delivered twice. If a campaign needs a decision that no option\n" +
			"makes, it prints the figures, names the options and releases nothing. Messages that were sent after the backup was made are not known to the restored store:\n" +
			"with --overdue send, their recipients receive them again.",
		Example: "  prospector resume --dry-run\n  prospector resume --overdue skip",
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := run(c, admin.Resume, in)
			if err == nil {
				err = show(c, r, func(w io.Writer) { printResumed(w, r, in.DryRun) })
			}
			if needs := r.Needs(); err == nil && len(needs) > 0 {
				return fmt.Errorf("nothing was released: decide with --%s", strings.Join(needs, " and --"))
			}
			return err
		},
	}
	choiceFlag(c, &in.Overdue, "overdue", "", "what becomes of steps whose time has passed: send or skip; required if there are any", "send", "skip")
	choiceFlag(c, &in.Captured, "captured", "",
		"what becomes of captured messages: restart or keep; required if there are any and messages are sent now", "restart", "keep")
	choiceFlag(c, &in.Unknown, "unknown", "",
		"what becomes of messages that the mail server did not confirm: sent, retry or keep; required if campaigns are held because of them",
		"sent", "retry", "keep")
	c.Flags().StringVar(&in.Org, "org", "", "id or `name` of the only organization whose campaigns are released")
	c.Flags().BoolVar(&in.DryRun, "dry-run", false, "only print what would happen")
	return c
}

func printResumed(w io.Writer, r admin.ResumeResult, dryRun bool) {
	isOpen := len(r.Needs()) > 0
	released := 0
	for _, c := range r.Campaigns {
		switch {
		case c.StillHeld != "":
			fmt.Fprintf(w, "Campaign %q stays held: %s\n", c.Name, c.StillHeld)
			continue
		case isOpen:
			fmt.Fprintf(w, "Campaign %q (%s): %d steps overdue, %d sequences with captured messages, %d messages unknown\n",
				c.Name, c.Reason, c.Overdue, c.Captured, c.Unknown)
			for _, d := range c.Needs {
				fmt.Fprintf(w, "  --%s: %s\n", d.Path, d.Message)
			}
			continue
		}
		released++
		fmt.Fprintf(w, "Campaign %q (%s): %d to send, %d to skip, %d to restart", c.Name, c.Reason, c.ToSend, c.ToSkip, c.ToRestart)
		if c.MayDuplicate > 0 {
			fmt.Fprintf(w, ", %d may be delivered twice", c.MayDuplicate)
		}
		fmt.Fprintln(w)
	}
	if isOpen {
		return
	}
	verb := "Released"
	if dryRun {
		verb = "Would release"
	}
	fmt.Fprintf(w, "%s %d campaigns and %d deliveries\n", verb, released, r.Deliveries)
}
