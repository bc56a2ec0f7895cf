package cmd

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
)

func eraseCommand() *cobra.Command {
	var in admin.EraseInput
	c := &cobra.Command{
		Use: "erase", Short: "Erase a person everywhere but in backups", Args: noArgs, PreRunE: requires("org", "email"),
		Long: "Erase the person with an email address from an organization and from the catalog: contacts, sequences, messages, the\n" +
			"trash, members of Previews, stored answers, webhook events, and mentions of the address and the full name in other\n" +
			"records. The command lists fields that may still tell something about the person. A keyed hash of each address of the\n" +
			"person stays in the suppressions, so that the addresses are never written to or added again. The address of a role,\n" +
			"such as info@, is taken from the contacts who have it, and they stay. Existing backups are not changed. Without --yes\n" +
			"the command only counts.\n\n" +
			"The store file keeps deleted bytes in its free pages. The command removes them if no server is running. Otherwise stop\n" +
			"the server and run 'prospector compact'. Several erasures at the same time wait for one another.",
		Example: `  prospector erase --org "Acme Sales" --email hank@globex.example --yes`,
		RunE: func(c *cobra.Command, _ []string) error {
			done, err := run(c, admin.Erase, in)
			if err != nil {
				return err
			}
			compacted := false
			if in.Confirmed {
				cfg, err := loadConfig(c)
				if err != nil {
					return err
				}
				if compacted, err = admin.Compact(cfg); err != nil {
					return err
				}
			}
			return show(c, done, func(w io.Writer) {
				verb := "Would erase"
				if in.Confirmed {
					verb = "Erased"
				}
				var counts []string
				for _, of := range done.Erased {
					counts = append(counts, fmt.Sprintf("%s %d", of.Kind, of.Count))
				}
				fmt.Fprintf(w, "%s: %s\n", verb, cmp.Or(strings.Join(counts, ", "), "nothing"))
				for _, l := range done.Left {
					fmt.Fprintf(w, "Left: %s %s, %s: %s\n", l.Kind, l.ID, l.Field, l.Why)
				}
				if done.LeftOmitted > 0 {
					fmt.Fprintf(w, "Left: %d more fields\n", done.LeftOmitted)
				}
				switch {
				case !in.Confirmed:
					fmt.Fprintln(w, "Nothing was changed. Confirm with --yes.")
				case !compacted:
					fmt.Fprintln(w, "Free pages of the store file may still have deleted bytes. Stop the server and run 'prospector compact'.")
				}
			})
		},
	}
	orgFlag(c, &in.Org)
	c.Flags().StringVar(&in.Email, "email", "", "`address` of the person")
	c.Flags().StringVar(&in.Reason, "reason", "", "why the person is erased; the operation keeps it as `text`")
	c.Flags().BoolVar(&in.Confirmed, "yes", false, "erase; without it, only count")
	return c
}

func compactCommand() *cobra.Command {
	return &cobra.Command{
		Use: "compact", Short: "Rewrite the store file without deleted data", Args: noArgs,
		Long: "Rewrite the store file without the deleted data that its free pages still have. No server may be running. The disk\n" +
			"needs space for a second copy of the file.",
		Example: "  prospector compact",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := loadConfig(c)
			if err != nil {
				return err
			}
			done, err := admin.Compact(cfg)
			if err == nil && !done {
				err = fmt.Errorf("a server is using %s; stop it first", cfg.DataDir)
			}
			if err != nil {
				return err
			}
			return show(c, struct {
				Compacted bool `json:"compacted"`
			}{true}, func(w io.Writer) { fmt.Fprintln(w, "Rewrote the store file") })
		},
	}
}
