package admin

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/record"
	"prospector/internal/rows"
	"prospector/internal/service"
	"prospector/store"
)

// ImportInput describes a file of records.
type ImportInput struct {
	Org     string            `json:"org"`
	Entity  string            `json:"entity"`
	Map     map[string]string `json:"map,omitempty"`
	MatchOn string            `json:"match_on,omitempty"`
	Lines   bool              `json:"lines,omitempty"` // the name of the file says that it contains JSON lines
}

var ImportRecords = Operation[ImportInput, rows.Result]{
	name: "import", Unit: Bytes,
	doFile: func(ctx context.Context, s *service.Service, in ImportInput, file io.Reader) (r rows.Result, err error) {
		org, err := organization(s, in.Org)
		if err != nil {
			return r, err
		}
		t, err := readTable(file, in.Lines)
		if err != nil {
			return r, err
		}
		t.Entity = in.Entity
		load := loading{s: s, org: org.ID, in: in, table: t}
		switch in.Entity {
		case "accounts":
			return importInto(ctx, load, s.CRM.Accounts, nil)
		case "contacts":
			return importInto(ctx, load, s.CRM.Contacts, nil)
		case "suppressions":
			return importInto(ctx, load, s.CRM.Suppressions, s.CRM.SuppressAll)
		}
		return r, fmt.Errorf("%q cannot be imported", in.Entity)
	},
}

// readTable starts to read a file. lines says that it contains JSON lines.
func readTable(file io.Reader, lines bool) (*rows.Reader, error) {
	open := rows.NewReader
	if lines {
		open = rows.NewLineReader
	}
	t, err := open(file)
	if err != nil {
		return nil, fmt.Errorf("the file cannot be imported: %w", err)
	}
	return t, nil
}

// loading is a running import.
type loading struct {
	s     *service.Service
	org   uuid.UUID
	in    ImportInput
	table *rows.Reader
}

// importInto imports records of a kind. put writes them. If it is nil, they are written as by a batch.
func importInto[T any](
	ctx context.Context, l loading, k *record.Kind[T],
	put func(*store.Tx, []record.Item[T]) ([]record.Outcome, error),
) (rows.Result, error) {
	if put == nil {
		put = func(tx *store.Tx, items []record.Item[T]) ([]record.Outcome, error) {
			return k.Batch(tx, items, l.in.MatchOn)
		}
	}
	var importer *record.Importer[T]
	err := l.s.Store.View(l.org, func(tx *store.Tx) (err error) {
		importer, err = k.NewImporter(tx, l.table.Columns, l.in.Map)
		return err
	})
	if err != nil {
		return rows.Result{}, err
	}
	result, err := rows.Load(ctx, l.table, rows.Sink[record.Item[T]]{
		Make: func(table []rows.Row) (items []record.Item[T], err error) {
			err = l.s.Store.View(l.org, func(tx *store.Tx) error {
				items, err = importer.Items(tx, table)
				return err
			})
			return items, err
		},
		Put: func(items []record.Item[T]) (done []rows.Outcome, err error) {
			err = l.s.Store.Update(ctx, l.org, store.Actor{Operation: "import " + l.in.Entity}, func(tx *store.Tx) error {
				outcomes, err := put(tx, items)
				done = make([]rows.Outcome, len(outcomes))
				for i, o := range outcomes {
					done[i].Added = o.Created
					if o.Err != nil {
						done[i].Err = o.Err
					}
				}
				return err
			})
			return done, err
		},
	})
	result.Warnings = importer.Warnings()
	return imported(ctx, l.s, l.in.Entity, result, err)
}

// imported returns the result of an import. An import that failed after it had written rows returns a
// result with Failed set, because its rows must be reported.
func imported(ctx context.Context, s *service.Service, entity string, result rows.Result, err error) (rows.Result, error) {
	if told := len(result.Errors); told < result.Skipped {
		result.Warnings = append(result.Warnings, fmt.Sprintf("only the first %[2]d of %[1]d invalid rows are shown", result.Skipped, told))
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil && result.Added+result.Updated > 0 {
		result.Failed = strings.TrimSuffix(Message(err), "; nothing was changed")
		s.Log.Info("import stopped early",
			"entity", entity, "added", result.Added, "updated", result.Updated, "reason", result.Failed)
		err = nil
	}
	return result, err
}
