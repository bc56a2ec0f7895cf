package cmd

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
)

func checkCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "check", Short: "Check the store and its indexes", Args: noArgs,
		Long: "Check that every record can be read, that its keys and its change log are consistent, and that the indexes agree with\n" +
			"the store. The exit status is 1 if there are problems. An index that cannot be opened is reported once, because\n" +
			"opening it rebuilds it.",
		Example: "  prospector check --repair",
		RunE: func(c *cobra.Command, _ []string) error {
			repair, err := c.Flags().GetBool("repair")
			if err != nil {
				return err
			}
			result, err := run(c, admin.Check, admin.CheckInput{Repair: repair})
			if err != nil {
				return err
			}
			err = show(c, result, func(w io.Writer) {
				for _, p := range result.Problems {
					if p.Repaired {
						fmt.Fprintf(w, "%s (repaired)\n", p.What)
					} else {
						fmt.Fprintln(w, p.What)
					}
				}
				fmt.Fprintf(w, "Checked %d records, found %d problems\n", result.Records, len(result.Problems))
			})
			if err == nil && !result.OK {
				err = errors.New("the check found problems that are not repaired; --repair repairs keys and indexes, 'prospector restore' recovers records from a backup")
			}
			return err
		},
	}
	c.Flags().Bool("repair", false, "rewrite keys that disagree with their records, and rebuild indexes that disagree with the store")
	return c
}
