package admin

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"

	"prospector/internal/service"
	"prospector/store"
)

// CheckResult is the output of check.
type CheckResult struct {
	OK       bool      `json:"ok"`
	Records  int       `json:"records"`
	Problems []Problem `json:"problems"`
	// Notes say what is no problem: indexes that are old, and will be brought up to date.
	Notes []string `json:"notes,omitempty"`
	// Dropped lists what CheckInput.Drop has taken out, and Salvage is the file with what could be saved
	// of it.
	Dropped []Dropped `json:"dropped,omitempty"`
	Salvage *File     `json:"salvage,omitempty"`
}

type Problem struct {
	What     string `json:"what"`
	Repaired bool   `json:"repaired"`
}

type CheckInput struct {
	Repair bool `json:"repair"`
	// Drop takes unreadable records and history entries out before anything else is repaired.
	Drop bool `json:"drop"`
}

var Check = Operation[CheckInput, CheckResult]{
	name: "check",
	doLong: func(ctx context.Context, s *service.Service, in CheckInput, report Progress) (CheckResult, error) {
		result := CheckResult{OK: true, Problems: []Problem{}}
		note := func(what string, repaired bool) {
			result.Problems = append(result.Problems, Problem{what, repaired})
			result.OK = result.OK && repaired
		}
		var err error
		if in.Drop {
			result.Dropped, err = dropDamaged(ctx, s, func(found []salvage) error { return result.save(s, found) })
			if err != nil {
				return result, err
			}
		}
		if err := checkStore(ctx, s, in.Repair, note); err != nil {
			return result, err
		}
		result.Records, err = s.Index.Check(ctx, in.Repair, report, note, func(what string) { result.Notes = append(result.Notes, what) })
		return result, err
	},
}

// save writes what can be saved of damaged records to a file.
func (r *CheckResult) save(s *service.Service, found []salvage) error {
	file, err := makeTemporary(s, func(w io.Writer) error { return writeSalvage(w, found) })
	r.Salvage = &file
	return err
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
			verify := func(tx *store.Tx) error { return s.Verify(tx, report) }
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
