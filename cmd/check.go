package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"prospector/store"
)

// checked is what check prints.
type checked struct {
	OK       bool      `json:"ok"`
	Records  int       `json:"records"`
	Problems []problem `json:"problems"`
}

type problem struct {
	What     string `json:"what"`
	Repaired bool   `json:"repaired"`
}

type checkInput struct {
	Repair bool `json:"repair"`
}

var check = adminOp[checkInput, checked]{
	name: "check",
	long: func(ctx context.Context, s *Service, in checkInput, report progress) (checked, error) {
		result := checked{OK: true, Problems: []problem{}}
		note := func(what string, repaired bool) {
			result.Problems = append(result.Problems, problem{what, repaired})
			result.OK = result.OK && repaired
		}
		orgs, err := s.Store.Organizations()
		if err != nil {
			return result, err
		}
		for _, org := range append(orgs, uuid.Nil) {
			err := s.Store.View(org, func(tx *store.Tx) error {
				return s.Kinds.Verify(tx, func(format string, args ...any) {
					note(fmt.Sprintf("store of organization %s: ", org)+fmt.Sprintf(format, args...), false)
				})
			})
			if err != nil {
				return result, err
			}
		}
		result.Records, err = s.Index.Check(ctx, in.Repair, report, note)
		return result, err
	},
}

func checkCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "check", Short: "Check the store and its indexes", Args: noArgs,
		Long:    "Check that every record can be read, that its keys and its change log are true, and that the indexes agree with\nthe store. It exits with 1 when something is wrong.",
		Example: "  prospector check --repair",
		RunE: func(c *cobra.Command, _ []string) error {
			repair, err := c.Flags().GetBool("repair")
			if err != nil {
				return err
			}
			result, err := check.run(c, checkInput{Repair: repair})
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
				err = errors.New("the check found problems that are not repaired; --repair mends indexes, a backup the store")
			}
			return err
		},
	}
	c.Flags().Bool("repair", false, "make the indexes anew that disagree with the store")
	return c
}
