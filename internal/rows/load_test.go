package rows_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"prospector/internal/rows"
)

const (
	together  = 1000   // rows that are put at once
	maxListed = 10_000 // errors that a result lists
)

var errBroken = errors.New("it is broken")

// sink stores rows with one column. The cell determines what happens to its row.
type sink struct {
	puts   [][]string
	makes  int
	onMake func(n int) error // of the nth call
	onPut  func(n int) error
}

func (s *sink) sink() rows.Sink[string] {
	return rows.Sink[string]{
		Make: func(table []rows.Row) ([]string, error) {
			s.makes++
			if s.onMake != nil {
				if err := s.onMake(s.makes); err != nil {
					return nil, err
				}
			}
			var items []string
			for _, row := range table {
				items = append(items, row.Cells[0])
			}
			return items, nil
		},
		Put: func(items []string) ([]rows.Outcome, error) {
			if s.onPut != nil {
				if err := s.onPut(len(s.puts) + 1); err != nil {
					return nil, err
				}
			}
			s.puts = append(s.puts, items)
			outcomes := make([]rows.Outcome, len(items))
			for i, item := range items {
				switch {
				case strings.HasPrefix(item, "bad"):
					outcomes[i].Err = fmt.Errorf("%s is bad", item)
				case strings.HasPrefix(item, "new"):
					outcomes[i].Added = true
				}
			}
			return outcomes, nil
		},
	}
}

// load loads a table inside a synctest bubble, which fails the test if a goroutine outlives Load.
func (s *sink) load(t *testing.T, ctx context.Context, in io.Reader) (result rows.Result, err error) {
	t.Helper()
	table, err := rows.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	return rows.Load(ctx, table, s.sink())
}

// numbered returns a table of n rows, each holding its line number.
func numbered(n int, name func(line int) string) string {
	var b strings.Builder
	b.WriteString("a\n")
	for line := 2; line < n+2; line++ {
		b.WriteString(name(line) + "\n")
	}
	return b.String()
}

func always(name string) func(int) string {
	return func(line int) string { return fmt.Sprintf("%s %d", name, line) }
}

func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			text  string
			want  rows.Result
			sizes []int
		}{
			{"a\n", rows.Result{}, nil},
			{"a\n1,2\n\n", rows.Result{Skipped: 1, Errors: []rows.RowError{{2, "2 cells, but the header has 1"}}}, nil},
			{"a\nnew\n\nold\n\"x\"y\nbad one\nnew\n1,2\nbad two\n", rows.Result{Added: 2, Updated: 1, Skipped: 4, Errors: []rows.RowError{
				{5, closed}, {6, "bad one is bad"}, {8, "2 cells, but the header has 1"}, {9, "bad two is bad"}}}, []int{5}},
			{numbered(together, always("new")), rows.Result{Added: together}, []int{together}},
			{numbered(together+1, always("new")), rows.Result{Added: together + 1}, []int{together, 1}},
			{numbered(5*together, always("old")), rows.Result{Updated: 5 * together}, []int{together, together, together, together, together}},
		} {
			var s sink
			got, err := s.load(t, t.Context(), strings.NewReader(c.text))
			if c.want.Errors == nil {
				c.want.Errors = []rows.RowError{}
			}
			if c.want.Warnings = []string{}; err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%.40q: %+v, %v", c.text, got, err)
			}
			var sizes []int
			for _, put := range s.puts {
				sizes = append(sizes, len(put))
			}
			if !slices.Equal(sizes, c.sizes) {
				t.Errorf("%.40q is put as %v, want %v", c.text, sizes, c.sizes)
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
		table, err := rows.NewReader(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		puts := 0
		got, err := rows.Load(t.Context(), table, rows.Sink[rows.Row]{
			Make: func(table []rows.Row) ([]rows.Row, error) { return table, nil },
			Put: func(items []rows.Row) ([]rows.Outcome, error) {
				if puts++; len(items) > 8 {
					t.Errorf("%s: %d at a time", name, len(items))
				}
				return make([]rows.Outcome, len(items)), nil
			},
		})
		if err != nil || got.Updated != 10 || puts != 2 {
			t.Errorf("%s: %d in %d times, %v", name, got.Updated, puts, err)
		}
	}
}

// TestLoadInOrder checks that rows are stored, and errors reported, in the order of the table.
func TestLoadInOrder(t *testing.T) {
	var s sink
	got, err := s.load(t, t.Context(), strings.NewReader(numbered(3500, func(line int) string {
		switch line % 7 {
		case 1:
			return "bad " + fmt.Sprint(line)
		case 3:
			return "1,2"
		case 5:
			return "new " + fmt.Sprint(line)
		}
		return fmt.Sprint(line)
	})))
	if err != nil || got.Added != 500 || got.Updated != 2000 || got.Skipped != 1000 || len(got.Errors) != 1000 {
		t.Fatalf("%d added, %d updated, %d skipped, %d errors, %v", got.Added, got.Updated, got.Skipped, len(got.Errors), err)
	}
	if !slices.IsSortedFunc(got.Errors, func(a, b rows.RowError) int { return a.Line - b.Line }) {
		t.Error("the errors are not in order")
	}
	for _, e := range got.Errors {
		if want := map[int]string{1: fmt.Sprintf("bad %d is bad", e.Line), 3: "2 cells, but the header has 1"}[e.Line%7]; e.Message != want {
			t.Fatalf("%+v, want %s", e, want)
		}
	}
	var line int
	for _, item := range slices.Concat(s.puts...) {
		var at int
		if _, err := fmt.Sscan(item[strings.LastIndex(item, " ")+1:], &at); err != nil || at <= line {
			t.Fatalf("%q is put behind %d", item, line)
		}
		line = at
	}
}

// TestLoadReportsFirstErrors checks that only the first errors are listed and that all are counted.
func TestLoadReportsFirstErrors(t *testing.T) {
	const good, bad = 250, 12_345 // the last listed error is in the middle of a batch
	for name, of := range map[string]func(line int) string{
		"unreadable": func(int) string { return "1,2" },
		"refused":    always("bad"),
		"both": func(line int) string {
			if line%2 == 0 {
				return "1,2"
			}
			return "bad"
		},
	} {
		var s sink
		got, err := s.load(t, t.Context(), strings.NewReader(numbered(good+bad, func(line int) string {
			if line < good+2 {
				return "new"
			}
			return of(line)
		})))
		if err != nil || got.Skipped != bad || got.Added != good || len(got.Errors) != maxListed {
			t.Fatalf("%s: %d skipped, %d added, %d errors, %v", name, got.Skipped, got.Added, len(got.Errors), err)
		}
		for i, e := range got.Errors {
			if e.Line != good+2+i {
				t.Errorf("%s: error %d is of line %d", name, i, e.Line)
				break
			}
		}
	}
}

// TestLoadFails checks that the result of a failed load counts the rows stored before.
func TestLoadFails(t *testing.T) {
	text := numbered(10*together, func(line int) string {
		if line%together == 0 {
			return "1,2"
		}
		return "new"
	})
	for name, c := range map[string]struct {
		s           sink
		in          io.Reader
		added, most int
		want        error
	}{
		"putting":                {sink{onPut: failsAt(4)}, strings.NewReader(text), 3*together - 3, 4, errBroken},
		"putting at all":         {sink{onPut: failsAt(1)}, strings.NewReader(text), 0, 1, errBroken},
		"making":                 {sink{onMake: failsAt(4)}, strings.NewReader(text), 3*together - 3, 4, errBroken},
		"making at all":          {sink{onMake: failsAt(1)}, strings.NewReader(text), 0, 1, errBroken},
		"reading":                {sink{}, io.MultiReader(strings.NewReader(numbered(3*together+5, always("new"))+"new"), failing{errBroken}), 3*together + 5, 0, errBroken},
		"a gzip that is cut off": {sink{}, bytes.NewReader(cut(gzipped(t, numbered(3*together, always("new"))))), 3 * together, 0, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, err := c.s.load(t, t.Context(), c.in)
				if !errors.Is(err, c.want) || got.Added != c.added || len(slices.Concat(c.s.puts...)) != c.added {
					t.Errorf("%d added, %d put, %v; want %d, %v", got.Added, len(slices.Concat(c.s.puts...)), err, c.added, c.want)
				}
				if got.Skipped != len(got.Errors) || got.Skipped > c.most || got.Errors == nil || got.Warnings == nil {
					t.Errorf("%+v", got)
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
	if _, err := s.load(t, t.Context(), strings.NewReader(numbered(100*together, func(int) string { return "new" }))); !errors.Is(err, errBroken) || s.makes == 0 || s.makes >= 100 {
		t.Errorf("items were made %d times, %v", s.makes, err)
	}
}

// TestLoadOwnsItsGoroutine checks that nothing reads the table or calls Make after Load has
// returned, so that the caller may close what they use.
func TestLoadOwnsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var making atomic.Bool
		second, done := make(chan struct{}), make(chan struct{})
		s := sink{
			onMake: func(n int) error {
				if n == 2 {
					making.Store(true)
					close(second)
					synctest.Wait() // until all others wait for this
					making.Store(false)
					close(done)
				}
				return nil
			},
			onPut: func(int) error {
				<-second
				return errBroken
			},
		}
		if _, err := s.load(t, t.Context(), strings.NewReader(numbered(5*together, always("new")))); !errors.Is(err, errBroken) {
			t.Error(err)
		}
		if making.Load() {
			t.Error("items are still being made when Load returns")
		}
		<-done
	})
}

// TestLoadCancelled checks that a canceled load returns what was stored so far.
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
		got, err := s.load(t, ctx, strings.NewReader(numbered(20*together, always("new"))))
		if !errors.Is(err, context.Canceled) || got.Added != 2*together {
			t.Errorf("%d added, %v", got.Added, err)
		}
		// A context that is canceled before the start is reported.
		s = sink{onPut: func(int) error { return ctx.Err() }}
		if got, err := s.load(t, ctx, strings.NewReader("a\nnew\n")); !errors.Is(err, context.Canceled) || got.Added != 0 {
			t.Errorf("%+v, %v", got, err)
		}
		// A deadline is reported as such.
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s = sink{onPut: func(int) error {
			<-ctx.Done()
			synctest.Wait() // until all who have to know do
			return nil
		}}
		if _, err := s.load(t, ctx, strings.NewReader(numbered(3*together, always("new")))); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
