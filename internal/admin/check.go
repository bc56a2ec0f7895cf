package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"prospector/internal/service"
	"prospector/store"
)

// CheckResult is the output of check.
type CheckResult struct {
	OK       bool      `json:"ok"`
	Records  int       `json:"records"`
	Problems []Problem `json:"problems"`
}

type Problem struct {
	What     string `json:"what"`
	Repaired bool   `json:"repaired"`
}

type CheckInput struct {
	Repair bool `json:"repair"`
}

var Check = Operation[CheckInput, CheckResult]{
	name: "check",
	doLong: func(ctx context.Context, s *service.Service, in CheckInput, report Progress) (CheckResult, error) {
		result := CheckResult{OK: true, Problems: []Problem{}}
		note := func(what string, repaired bool) {
			result.Problems = append(result.Problems, Problem{what, repaired})
			result.OK = result.OK && repaired
		}
		err := checkStore(ctx, s, in.Repair, note)
		if err != nil {
			return result, err
		}
		result.Records, err = s.Index.Check(ctx, in.Repair, report, note)
		return result, err
	},
}

// checkStore checks that the store is consistent. With repair, it rewrites what can be derived from
// the records.
func checkStore(ctx context.Context, s *service.Service, repair bool, note func(what string, repaired bool)) error {
	orgs, err := s.Store.Organizations()
	if err != nil {
		return err
	}
	err = checkPart("store: ", repair, note, func(write bool, report store.Report) error {
		return s.Store.Verify(ctx, write, report)
	})
	for _, org := range append(orgs, uuid.Nil) {
		if err != nil {
			return err
		}
		about := fmt.Sprintf("store of organization %s: ", org)
		err = checkPart(about, repair, note, func(write bool, report store.Report) error {
			verify := func(tx *store.Tx) error {
				if err := s.Kinds.Verify(tx, report); err != nil {
					return err
				}
				return errors.Join(
					s.Catalog.Verify(tx, report), s.Previews.Verify(tx, report), s.Outreach.Verify(tx, report),
					s.Sequences.Verify(tx, report), s.Webhooks.Verify(tx, report),
				)
			}
			if write {
				return s.Store.Update(ctx, org, store.Actor{Operation: "check"}, verify)
			}
			return s.Store.View(org, verify)
		})
	}
	return err
}

// checkPart verifies in a read transaction first. It verifies again in a write transaction, which
// blocks all other writers, only if there is something to repair.
func checkPart(
	about string, repair bool, note func(what string, repaired bool), verify func(write bool, report store.Report) error,
) error {
	look := func(write bool) (found []Problem, err error) {
		err = verify(write, func(repaired bool, format string, args ...any) {
			found = append(found, Problem{about + fmt.Sprintf(format, args...), repaired})
		})
		if !errors.Is(err, store.ErrDamaged) {
			return found, err
		}
		for i := range found { // the transaction was rolled back
			found[i].Repaired = false
		}
		return append(found, Problem{about + err.Error(), false}), nil
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
