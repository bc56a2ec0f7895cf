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
		Long:    "Check that every record can be read, that its keys and its change log are true, and that the indexes agree with\nthe store. It exits with 1 when something is wrong. An index that cannot be opened is told of once: opening it, as check does too, has\nit made anew.",
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
				err = errors.New("the check found problems that are not repaired; --repair mends keys and indexes, a backup brings back records ('prospector restore')")
			}
			return err
		},
	}
	c.Flags().Bool("repair", false, "write keys anew that disagree with their records, and make indexes anew that disagree with the store")
	return c
}
