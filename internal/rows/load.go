package rows

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"prospector/internal/fault"
)

// Limits of a batch. A larger batch would delay other writers.
const (
	batchRows  = 1000
	batchBytes = 8 << 20
)

// maxErrors is the number of invalid rows that a Result lists.
const maxErrors = 10_000

// Result is the outcome of an import.
type Result struct {
	Added    int        `json:"added"`
	Updated  int        `json:"updated"` // rows that changed an existing record
	Skipped  int        `json:"skipped"` // invalid rows; Errors lists the first 10,000
	Errors   []RowError `json:"errors"`
	Warnings []string   `json:"warnings"`
	Failed   string     `json:"failed,omitempty"` // why the import stopped early
}

// RowError describes why a row was skipped.
type RowError struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// Outcome is the result for one row.
type Outcome struct {
	Added bool
	Err   error // why the row was skipped, or nil
}

// Sink converts rows to items of type I and stores them.
type Sink[I any] struct {
	// Make converts rows to items. It runs concurrently with Put.
	Make func([]Row) ([]I, error)
	// Put stores the valid items and returns the outcome of each.
	Put func([]I) ([]Outcome, error)
}

// Load stores the rows of a table in a sink and skips invalid rows. If Load fails, the rows that
// were already stored remain, and the result counts them.
func Load[I any](ctx context.Context, t *Reader, sink Sink[I]) (Result, error) {
	ctx, stop := context.WithCancel(ctx)
	ready := make(chan made[I], 1)
	go func() {
		defer close(ready)
		for m := (made[I]{}); m.err == nil; {
			m = makeBatch(t, sink)
			select {
			case ready <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() { // the goroutine must not read the table after Load has returned
		stop()
		for range ready {
		}
	}()
	result := Result{Errors: []RowError{}, Warnings: []string{}}
	for m := range ready {
		bad, err := putBatch(&result, m, sink)
		if err != nil {
			return result, err
		}
		slices.SortFunc(bad, func(a, b RowError) int { return cmp.Compare(a.Line, b.Line) })
		result.Skipped += len(bad)
		result.Errors = append(result.Errors, bad[:min(len(bad), maxErrors-len(result.Errors))]...)
		if m.err != nil && m.err != io.EOF {
			return result, m.err
		}
	}
	return result, ctx.Err()
}

// made is a batch that is ready for Put.
type made[I any] struct {
	items []I
	lines []int // the lines of the items
	bad   []RowError
	err   error // set in the last batch; io.EOF at the end of the table
}

func makeBatch[I any](t *Reader, sink Sink[I]) (m made[I]) {
	var rows []Row
	for size := 0; len(rows)+len(m.bad) < batchRows && size < batchBytes; {
		row, err := t.Next()
		if m.err = err; err != nil {
			break
		}
		if row.Err != nil {
			m.bad = append(m.bad, RowError{row.Line, row.Err.Error()})
			continue
		}
		rows, m.lines = append(rows, row), append(m.lines, row.Line)
		size += row.size
	}
	items, err := sink.Make(rows)
	if err != nil {
		m.err = err
	}
	m.items = items
	return m
}

// putBatch stores a batch, updates the counts in r and returns the invalid rows.
func putBatch[I any](r *Result, m made[I], sink Sink[I]) ([]RowError, error) {
	if len(m.items) == 0 {
		return m.bad, nil
	}
	outcomes, err := sink.Put(m.items)
	if err != nil {
		return nil, err
	}
	bad := m.bad
	for i, o := range outcomes {
		switch {
		case o.Err != nil:
			bad = append(bad, RowError{m.lines[i], rowMessage(o.Err)})
		case o.Added:
			r.Added++
		default:
			r.Updated++
		}
	}
	return bad, nil
}

// rowMessage returns all problems of a row in one line, without the error code.
func rowMessage(err error) string {
	var wrong *fault.Error
	switch {
	case !errors.As(err, &wrong):
		return err.Error()
	case wrong.Code == fault.NotFound:
		return "id: does not exist"
	case len(wrong.Details) == 0:
		return wrong.Message
	}
	var all []string
	for _, d := range wrong.Details {
		all = append(all, d.Path+": "+d.Message)
	}
	return strings.Join(all, "; ")
}
