package rows

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
)

// batch is how many rows are written together. A larger one keeps other writers waiting.
const batch = 1000

// errorsMost is how many bad rows are told one by one.
const errorsMost = 10_000

// Result is what became of the rows of a table.
type Result struct {
	Added    int        `json:"added"`
	Updated  int        `json:"updated"` // rows that named one that was there
	Skipped  int        `json:"skipped"` // bad rows, of which Errors tells the first 10,000
	Errors   []RowError `json:"errors"`
	Warnings []string   `json:"warnings"`
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
	type made struct {
		lines []int
		items []I
		bad   []RowError
		err   error
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ready := make(chan made, 1)
	go func() {
		defer close(ready)
		for more := true; more; {
			var m made
			var rows []Row
			for len(rows)+len(m.bad) < batch && m.err == nil {
				var row Row
				row, m.err = t.Next()
				switch {
				case m.err != nil:
				case row.Err != nil:
					m.bad = append(m.bad, RowError{row.Line, row.Err.Error()})
				default:
					rows, m.lines = append(rows, row), append(m.lines, row.Line)
				}
			}
			more = m.err == nil
			if errors.Is(m.err, io.EOF) {
				m.err = nil
			}
			var err error
			if m.items, err = sink.Make(rows); err != nil {
				more, m.err = false, err
			}
			select {
			case ready <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	result := Result{Errors: []RowError{}, Warnings: []string{}}
	defer func() {
		slices.SortStableFunc(result.Errors, func(a, b RowError) int { return cmp.Compare(a.Line, b.Line) })
	}()
	for m := range ready {
		for _, bad := range m.bad {
			result.skip(bad)
		}
		if len(m.items) > 0 {
			outcomes, err := sink.Put(m.items)
			if err != nil {
				return result, err
			}
			for i, o := range outcomes {
				switch {
				case o.Err != nil:
					result.skip(RowError{m.lines[i], o.Err.Error()})
				case o.Added:
					result.Added++
				default:
					result.Updated++
				}
			}
		}
		if m.err != nil {
			return result, m.err
		}
	}
	return result, ctx.Err()
}

func (r *Result) skip(bad RowError) {
	r.Skipped++
	if len(r.Errors) < errorsMost {
		r.Errors = append(r.Errors, bad)
	}
}
