package rows

import (
	"context"
	"io"
)

// Load reads a table to its end in batches. prepare converts a batch to what write stores. It runs
// concurrently with write, so that preparing the next batch does not wait. If Load fails, the batches that were
// written before remain.
func Load[B any](ctx context.Context, t *Reader, prepare func([]Row) (B, error), write func(B) error) error {
	ctx, stop := context.WithCancel(ctx)
	type step struct {
		batch B
		rows  int
		err   error // io.EOF in the last step
	}
	ready := make(chan step, 1)
	go func() {
		defer close(ready)
		for s := (step{}); s.err == nil; {
			var table []Row
			var bad error
			table, s.err = t.NextBatch()
			s.rows = len(table)
			if s.batch, bad = prepare(table); bad != nil {
				s.rows, s.err = 0, bad
			}
			select {
			case ready <- s:
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
	for s := range ready {
		if s.rows > 0 {
			if err := write(s.batch); err != nil {
				return err
			}
		}
		if s.err == io.EOF {
			return nil
		}
		if s.err != nil {
			return s.err
		}
	}
	return ctx.Err()
}
