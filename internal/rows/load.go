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

// A batch is so many rows, or so many bytes of them. A larger one keeps other writers waiting.
const (
	batchRows  = 1000
	batchBytes = 8 << 20
)

// errorsMost is how many bad rows are told one by one.
const errorsMost = 10_000

// Result is what became of the rows of a table.
type Result struct {
	Added    int        `json:"added"`
	Updated  int        `json:"updated"` // rows that named one that was there
	Skipped  int        `json:"skipped"` // bad rows, of which Errors tells the first 10,000
	Errors   []RowError `json:"errors"`
	Warnings []string   `json:"warnings"`
	Failed   string     `json:"failed,omitempty"` // why the rest of the table was not read
}

// RowError is why a row was skipped.
type RowError struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// Outcome is what became of one row.
type Outcome struct {
	Added bool
	Err   error // why it was skipped
}

// Sink takes the rows of a table in, as items that it makes of them.
type Sink[I any] struct {
	// Make makes items of rows. It runs beside Put.
	Make func([]Row) ([]I, error)
	// Put writes items down, all of those that it can, and gives the outcome of each.
	Put func([]I) ([]Outcome, error)
}

// Load puts the rows of a table into a sink. Bad rows are skipped. When it fails, what was put before stays, and the result
// tells of it.
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
	defer func() { // it reads the table no more when Load has returned
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
		result.Errors = append(result.Errors, bad[:min(len(bad), errorsMost-len(result.Errors))]...)
		if m.err != nil && m.err != io.EOF {
			return result, m.err
		}
	}
	return result, ctx.Err()
}

// made is a batch that can be put.
type made[I any] struct {
	items []I
	lines []int // of the items
	bad   []RowError
	err   error // why it is the last; io.EOF when all is well
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

// putBatch puts a batch and counts what became of it. It gives all its bad rows.
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
			bad = append(bad, RowError{m.lines[i], said(o.Err)})
		case o.Added:
			r.Added++
		default:
			r.Updated++
		}
	}
	return bad, nil
}

// said is all that is wrong with a row, in one line and without the code that is for programs.
func said(err error) string {
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
