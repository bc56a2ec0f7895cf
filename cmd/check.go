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
		err := s.checkStore(ctx, in.Repair, note)
		if err != nil {
			return result, err
		}
		result.Records, err = s.Index.Check(ctx, in.Repair, report, note)
		return result, err
	},
}

// checkStore holds the store against itself. With repair it mends what follows from the records.
func (s *Service) checkStore(ctx context.Context, repair bool, note func(what string, repaired bool)) error {
	orgs, err := s.Store.Organizations()
	if err != nil {
		return err
	}
	err = checkPart("store: ", repair, note, func(mend bool, report store.Report) error {
		return s.Store.Verify(ctx, mend, report)
	})
	for _, org := range append(orgs, uuid.Nil) {
		if err != nil {
			return err
		}
		err = checkPart(fmt.Sprintf("store of organization %s: ", org), repair, note, func(mend bool, report store.Report) error {
			verify := func(tx *store.Tx) error {
				if err := s.Kinds.Verify(tx, report); err != nil {
					return err
				}
				return errors.Join(s.Catalog.Verify(tx, report), s.Previews.Verify(tx, report), s.Outreach.Verify(tx, report), s.Sequences.Verify(tx, report), s.Webhooks.Verify(tx, report))
			}
			if mend {
				return s.Store.Update(ctx, org, store.Actor{Operation: "check"}, verify)
			}
			return s.Store.View(org, verify)
		})
	}
	return err
}

// checkPart looks first and, when something is wrong that is to be repaired, looks again where it may write: all others wait
// meanwhile.
func checkPart(about string, repair bool, note func(what string, repaired bool), verify func(mend bool, report store.Report) error) error {
	look := func(mend bool) (found []problem, err error) {
		err = verify(mend, func(mended bool, format string, args ...any) {
			found = append(found, problem{about + fmt.Sprintf(format, args...), mended})
		})
		if !errors.Is(err, store.ErrDamaged) {
			return found, err
		}
		for i := range found { // nothing was written
			found[i].Repaired = false
		}
		return append(found, problem{about + err.Error(), false}), nil
	}
	found, err := look(false)
	if err == nil && repair && len(found) > 0 {
		found, err = look(true)
	}
	for _, p := range found {
		note(p.What, p.Repaired)
	}
	return err
}

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
				err = errors.New("the check found problems that are not repaired; --repair mends keys and indexes, a backup brings back records ('prospector restore')")
			}
			return err
		},
	}
	c.Flags().Bool("repair", false, "write keys anew that disagree with their records, and make indexes anew that disagree with the store")
	return c
}
