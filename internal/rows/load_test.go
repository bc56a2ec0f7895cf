package rows_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"prospector/internal/rows"
)

const together = 1000 // rows that are written at once

var errBroken = errors.New("it is broken")

// sink stores rows with one column.
type sink struct {
	puts     [][]string
	prepared int
	onMake   func(n int) error // of the nth call
	onPut    func(n int) error
}

// load loads a table inside a synctest bubble, which fails the test if a goroutine outlives Load.
func (s *sink) load(t *testing.T, ctx context.Context, in io.Reader) error {
	t.Helper()
	table, err := rows.Open(in, rows.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rows.Load(ctx, table, func(table []rows.Row) ([]string, error) {
		s.prepared++
		if s.onMake != nil {
			if err := s.onMake(s.prepared); err != nil {
				return nil, err
			}
		}
		var items []string
		for _, row := range table {
			if row.Err != nil {
				items = append(items, row.Err.Error())
			} else {
				items = append(items, row.Cells[0])
			}
		}
		return items, nil
	}, func(items []string) error {
		if s.onPut != nil {
			if err := s.onPut(len(s.puts) + 1); err != nil {
				return err
			}
		}
		s.puts = append(s.puts, items)
		return nil
	})
}

func (s *sink) count() int { return len(slices.Concat(s.puts...)) }

// numbered returns a table of n rows, each holding its line number.
func numbered(n int) string {
	var b strings.Builder
	b.WriteString("a\n")
	for line := 2; line < n+2; line++ {
		fmt.Fprintf(&b, "new %d\n", line)
	}
	return b.String()
}

func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			text  string
			sizes []int
		}{
			{"a\n", nil},
			{"a\n1,2\n\n", []int{1}},
			{"a\nnew\n\nold\n\"x\"y\nbad one\nnew\n1,2\nbad two\n", []int{7}},
			{numbered(together), []int{together}},
			{numbered(together + 1), []int{together, 1}},
			{numbered(5 * together), []int{together, together, together, together, together}},
		} {
			var s sink
			if err := s.load(t, t.Context(), strings.NewReader(c.text)); err != nil {
				t.Errorf("%.40q: %v", c.text, err)
			}
			var sizes []int
			for _, put := range s.puts {
				sizes = append(sizes, len(put))
			}
			if !slices.Equal(sizes, c.sizes) {
				t.Errorf("%.40q is written as %v, want %v", c.text, sizes, c.sizes)
			}
		}
	})
}

// TestLoadOfLargeRows checks that batches of large rows have fewer rows.
func TestLoadOfLargeRows(t *testing.T) {
	if raceDetector {
		t.Skip("other tests load beside each other, and less")
	}
	cell := strings.Repeat("x", 1<<20)
	for name, text := range map[string]string{
		"CSV":  "a\n" + strings.Repeat(cell+"\n", 10),
		"JSON": strings.Repeat(`{"a": "`+cell+`"}`+"\n", 10),
	} {
		table, err := rows.Open(strings.NewReader(text), rows.Options{})
		if err != nil {
			t.Fatal(err)
		}
		puts, n := 0, 0
		err = rows.Load(t.Context(), table, func(table []rows.Row) ([]rows.Row, error) { return table, nil }, func(items []rows.Row) error {
			if puts++; len(items) > 8 {
				t.Errorf("%s: %d at a time", name, len(items))
			}
			n += len(items)
			return nil
		})
		if err != nil || n != 10 || puts != 2 {
			t.Errorf("%s: %d in %d times, %v", name, n, puts, err)
		}
	}
}

// TestLoadInOrder checks that rows are written in the order of the table, also those of the sample.
func TestLoadInOrder(t *testing.T) {
	var s sink
	if err := s.load(t, t.Context(), strings.NewReader(numbered(3500))); err != nil || s.count() != 3500 {
		t.Fatalf("%d, %v", s.count(), err)
	}
	for i, item := range slices.Concat(s.puts...) {
		if item != fmt.Sprintf("new %d", i+2) {
			t.Fatalf("%q is item %d", item, i)
		}
	}
}

// TestLoadFails checks that what was written before a failure stays.
func TestLoadFails(t *testing.T) {
	text := numbered(10 * together)
	for name, c := range map[string]struct {
		s     sink
		in    io.Reader
		added int
		want  error
	}{
		"writing":                {sink{onPut: failsAt(4)}, strings.NewReader(text), 3 * together, errBroken},
		"writing at all":         {sink{onPut: failsAt(1)}, strings.NewReader(text), 0, errBroken},
		"preparing":              {sink{onMake: failsAt(4)}, strings.NewReader(text), 3 * together, errBroken},
		"preparing at all":       {sink{onMake: failsAt(1)}, strings.NewReader(text), 0, errBroken},
		"reading":                {sink{}, io.MultiReader(strings.NewReader(numbered(3*together+5)+"new"), failing{errBroken}), 3*together + 5, errBroken},
		"a gzip that is cut off": {sink{}, bytes.NewReader(cut(gzipped(t, numbered(3*together)))), 3 * together, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if err := c.s.load(t, t.Context(), c.in); !errors.Is(err, c.want) || c.s.count() != c.added {
					t.Errorf("%d written, %v; want %d, %v", c.s.count(), err, c.added, c.want)
				}
			})
		})
	}
}

// cut removes the checksum at the end, so that all rows are present but the file is truncated.
func cut(zipped []byte) []byte { return zipped[:len(zipped)-8] }

func failsAt(call int) func(int) error {
	return func(n int) error {
		if n == call {
			return errBroken
		}
		return nil
	}
}

// TestLoadStops checks that the rest of a table is not read after a failure.
func TestLoadStops(t *testing.T) {
	s := sink{onPut: failsAt(1)}
	if err := s.load(t, t.Context(), strings.NewReader(numbered(100*together))); !errors.Is(err, errBroken) || s.prepared == 0 || s.prepared >= 100 {
		t.Errorf("batches were prepared %d times, %v", s.prepared, err)
	}
}

// TestLoadOwnsItsGoroutine checks that nothing reads the table or prepares a batch after Load has
// returned, so that the caller may close what they use.
func TestLoadOwnsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var preparing atomic.Bool
		second, done := make(chan struct{}), make(chan struct{})
		s := sink{
			onMake: func(n int) error {
				if n == 2 {
					preparing.Store(true)
					close(second)
					synctest.Wait() // until all others wait for this
					preparing.Store(false)
					close(done)
				}
				return nil
			},
			onPut: func(int) error {
				<-second
				return errBroken
			},
		}
		if err := s.load(t, t.Context(), strings.NewReader(numbered(5*together))); !errors.Is(err, errBroken) {
			t.Error(err)
		}
		if preparing.Load() {
			t.Error("a batch is still being prepared when Load returns")
		}
		<-done
	})
}

// TestLoadCancelled checks that a canceled load keeps what was written so far.
func TestLoadCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := sink{}
		s.onPut = func(n int) error {
			if n == 3 {
				cancel()
			}
			return ctx.Err() // as the store does
		}
		if err := s.load(t, ctx, strings.NewReader(numbered(20*together))); !errors.Is(err, context.Canceled) || s.count() != 2*together {
			t.Errorf("%d written, %v", s.count(), err)
		}
		// A deadline is reported as such.
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s = sink{onPut: func(int) error {
			<-ctx.Done()
			synctest.Wait() // until all who have to know do
			return nil
		}}
		if err := s.load(t, ctx, strings.NewReader(numbered(3*together))); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
