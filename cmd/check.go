package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
)

func checkCommand() *cobra.Command {
	var in admin.CheckInput
	var drop string
	c := &cobra.Command{
		Use: "check", Short: "Check the store and its indexes", Args: noArgs,
		Long: "Check that every record can be read, that its keys and its change log are consistent, and that the indexes agree with\n" +
			"the store. The exit status is 1 if there are problems. An index that cannot be opened is reported once, because\n" +
			"opening it rebuilds it. An index that is merely old is no problem: the output says so, and the exit status is 0.\n\n" +
			"With --repair --drop FILE, damaged records, history entries and jobs are taken out of the store. What can be saved of\n" +
			"them is first written to FILE, one JSON object per line: the record if it still is JSON, and its stored bytes.",
		Example: "  prospector check --repair\n  prospector check --repair --drop damaged.jsonl",
		RunE: func(c *cobra.Command, _ []string) error {
			if drop == "" {
				result, err := run(c, admin.Check, in)
				return printCheck(c, result, "", err)
			}
			if !in.Repair {
				return usage("--drop requires --repair")
			}
			to, err := newTarget(c, drop)
			if err != nil {
				return err
			}
			defer to.Drop()
			in.Drop = true
			result, err := run(c, admin.Check, in)
			if err == nil && result.Salvage != nil {
				err = to.Take(*result.Salvage)
			}
			return printCheck(c, result, drop, err)
		},
	}
	c.Flags().BoolVar(&in.Repair, "repair", false, "rewrite keys that disagree with their records, and rebuild indexes that disagree with the store")
	c.Flags().StringVar(&drop, "drop", "", "with --repair: take damaged records out and write what can be saved of them to a new `file`")
	return c
}

// printCheck prints the result of a check. It returns an error if there are problems left.
func printCheck(c *cobra.Command, result admin.CheckResult, file string, err error) error {
	if err != nil {
		return err
	}
	result.Salvage = nil // a temporary file
	err = show(c, result, func(w io.Writer) {
		printDropped(w, result.Dropped, "Dropped", "Replaced")
		if len(result.Dropped) > 0 {
			fmt.Fprintf(w, "Wrote what could be saved to %s\n", file)
		}
		for _, p := range result.Problems {
			if p.Repaired {
				fmt.Fprintf(w, "%s (repaired)\n", p.What)
			} else {
				fmt.Fprintln(w, p.What)
			}
		}
		for _, note := range result.Notes {
			fmt.Fprintln(w, note)
		}
		fmt.Fprintf(w, "Checked %d records, found %d problems\n", result.Records, len(result.Problems))
	})
	if err == nil && !result.OK {
		err = errors.New("the check found problems that are not repaired; --repair repairs keys and indexes, " +
			"--drop takes damaged records out, 'prospector restore' recovers records from a backup")
	}
	return err
}

// printDropped prints what was taken out of the store after the word gone, what was replaced after the word replaced, and
// all warnings.
func printDropped(w io.Writer, dropped []admin.Dropped, gone, replaced string) {
	for _, d := range dropped {
		word := gone
		if d.Replaced {
			word = replaced
		}
		fmt.Fprintf(w, "%s %s\n", word, describeDropped(d))
	}
	for _, d := range dropped {
		if d.Warning != "" {
			fmt.Fprintf(w, "WARNING: %s: %s\n", describeDropped(d), d.Warning)
		}
	}
}

// describeDropped returns what was taken out of the store.
func describeDropped(d admin.Dropped) string {
	switch {
	case d.Missing > 0:
		return fmt.Sprintf("%d records of %s of organization %s, of which nothing is left", d.Missing, d.Kind, d.Organization)
	case d.Page > 0:
		return fmt.Sprintf("page %d of the file with entries of %s of organization %s", d.Page, cmp.Or(d.Kind, "all kinds"), d.Organization)
	case d.Entry != "":
		return fmt.Sprintf("entry %s of %s of organization %s", d.Entry, d.Kind, d.Organization)
	case d.ID.Valid:
		return fmt.Sprintf("%s %s of organization %s", d.Kind, d.ID.UUID, d.Organization)
	}
	return fmt.Sprintf("history entry %d of %s of organization %s", d.Change, d.Kind, d.Organization)
}
