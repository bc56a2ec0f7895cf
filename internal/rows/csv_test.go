package rows_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"prospector/internal/rows"
)

// all reads a table to the end.
func all(t testing.TB, in io.Reader) (columns []string, table []rows.Row, err error) {
	t.Helper()
	r, err := rows.Open(in, rows.Options{})
	if err != nil {
		return nil, nil, err
	}
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Columns, table, nil
		}
		if err != nil {
			return r.Columns, table, err
		}
		table = append(table, row)
	}
}

// describe formats a row in one line: its line number, and its cells or its error.
func describe(row rows.Row) string {
	if row.Err != nil {
		return fmt.Sprintf("%d: %v", row.Line, row.Err)
	}
	return fmt.Sprintf("%d %q", row.Line, row.Cells)
}

func describeAll(table []rows.Row) []string {
	list := []string{}
	for _, row := range table {
		list = append(list, describe(row))
	}
	return list
}

const (
	open   = "unclosed quote"
	closed = "unexpected text after a closing quote; write a quote inside quotes twice"
)

// TestCSV reads tables with the columns a and b, as other programs write them.
func TestCSV(t *testing.T) {
	for name, c := range map[string]struct {
		text string // behind the header
		want []string
	}{
		"header only":               {"", nil},
		"plain":                     {"1,2\n3,4\n", []string{`2 ["1" "2"]`, `3 ["3" "4"]`}},
		"no last newline":           {"1,2\n3,4", []string{`2 ["1" "2"]`, `3 ["3" "4"]`}},
		"no last newline, quoted":   {"1,\"2\"", []string{`2 ["1" "2"]`}},
		"carriage returns":          {"1,2\r\n\"3\",\"4\"\r\n", []string{`2 ["1" "2"]`, `3 ["3" "4"]`}},
		"a last carriage return":    {"1,2\r", []string{`2 ["1" "2"]`}},
		"a last one behind a quote": {"1,\"2\"\r", []string{`2 ["1" "2"]`}},
		"empty cells":               {",\n\"\",\" \"\n1,\n,2\n", []string{`4 ["1" ""]`, `5 ["" "2"]`}}, // rows of nothing else are left out
		"blank lines":               {"\n1,2\n\r\n  \t\n3,4\n\n\n", []string{`3 ["1" "2"]`, `6 ["3" "4"]`}},
		"spaces are kept":           {" 1 , 2\t\n", []string{`2 [" 1 " " 2\t"]`}},
		"unicode":                   {"Zoë,名前 😀\u00a0\n", []string{`2 ["Zoë" "名前 😀\u00a0"]`}},
		"all inside of quotes":      {"\"a,\"\"b\"\"\r\n\n\rc\",2\n3,4\n", []string{`2 ["a,\"b\"\r\n\n\rc" "2"]`, `5 ["3" "4"]`}},
		"only quotes":               {"\"\"\"\",\"\"\"\"\"\"\n", []string{`2 ["\"" "\"\""]`}},
		"a blank line in quotes":    {"\"\n\",2\n3,4\n", []string{`2 ["\n" "2"]`, `4 ["3" "4"]`}},
		"spaces around quotes":      {" \"1\" ,\t \"2\"  \n 3,\"4\"\t\r\n", []string{`2 ["1" "2"]`, `3 [" 3" "4"]`}},
		"spaces inside of quotes":   {"\" 1 \",\" 2\"\n", []string{`2 [" 1 " " 2"]`}},
		"bare quotes":               {"5\" disk,a \"b\" c\n3,4\n", []string{`2 ["5\" disk" "a \"b\" c"]`, `3 ["3" "4"]`}},
		"too few, too many":         {"1\n1,2,3\n4,5, \n", []string{`2 ["1" ""]`, "3: 3 cells, but the header has 2", `4 ["4" "5"]`}},
		"an open quote":             {"1,2\n\"3,4\n5,6\n\n7,8", []string{`2 ["1" "2"]`, "3: " + open, `4 ["5" "6"]`, `6 ["7" "8"]`}},
		"open on the last line":     {"1,2\n3,\"4\n", []string{`2 ["1" "2"]`, "3: " + open}},
		"a quote is all":            {"\"", []string{"2: " + open}},
		"an open one, closed later": {"\"1,2\n3,4\n5\",6\n7,8\n", []string{`2 ["1,2\n3,4\n5" "6"]`, `5 ["7" "8"]`}},
		"open, then a good quote":   {"1,\"2\n3,4\n\"5\",\"6\"\n7,8\n", []string{"2: " + closed, `3 ["3" "4"]`, `4 ["5" "6"]`, `5 ["7" "8"]`}},
		"open in a quoted row":      {"\"1\n1\",\"2\n3,4\n", []string{"2: " + open, "3: " + open, `4 ["3" "4"]`}},
		"closed in the middle":      {"\"1\"x,2\n3,4\n", []string{"2: " + closed, `3 ["3" "4"]`}},
		"closed in a later line":    {"\"1\n2\"x,3\n4,5\n", []string{"2: " + closed, `3 ["2\"x" "3"]`, `4 ["4" "5"]`}},
		"no UTF-8":                  {"1,2\nM\xfcller,4\n5,6\n", []string{`2 ["1" "2"]`, `3 ["Müller" "4"]`, `4 ["5" "6"]`}},
		"no UTF-8 in quotes":        {"1,\"2\n\xff\"\n5,6\n", []string{`2 ["1" "2\nÿ"]`, `4 ["5" "6"]`}},
		"NUL":                       {"1,\x00\n\"\x00\",2\n", []string{`2 ["1" "\x00"]`, `3 ["\x00" "2"]`}},
		"a JSON line":               {"{\"a\": 1}\n1,2\n", []string{`2 ["{\"a\": 1}" ""]`, `3 ["1" "2"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			columns, table, err := all(t, strings.NewReader("a,b\n"+c.text))
			if got := describeAll(table); err != nil || !slices.Equal(columns, []string{"a", "b"}) || !slices.Equal(got, c.want) {
				t.Errorf("%q\ngives %q %q, %v\nwant  %q", c.text, columns, got, err, c.want)
			}
		})
	}
}

// TestQuotesWithinQuotes checks that the lines after an unclosed quote are read again, also if one
// of them opens a quote that is abandoned before the first.
func TestQuotesWithinQuotes(t *testing.T) {
	_, table, err := all(t, strings.NewReader("a,b,c,d\n\"1\n,,x\",\"\ny\",\"\n1,2,3,4\n5,6,7,8\n"))
	want := []string{"2: " + open, "3: " + open, "4: " + open, `5 ["1" "2" "3" "4"]`, `6 ["5" "6" "7" "8"]`}
	if got := describeAll(table); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestHeaders covers headers and the line number of the first row.
func TestHeaders(t *testing.T) {
	for _, c := range []struct {
		header, row string
		want        []string
		line        int
	}{
		{"a,b\n", "1,2", []string{"a", "b"}, 2},
		{"\n \r\n\t\na,b\n", "1,2", []string{"a", "b"}, 5},
		{" a , \"b\" \r\n", "1,2", []string{"a", "b"}, 2},
		{"a,a\n", "1,2", []string{"a", "a"}, 2},
		{",\n", "1,2", []string{"", ""}, 2},
		{"a,\" \"\n", "1,2", []string{"a", ""}, 2},
		{"\"a\nx\",\"b \"\"y\"\"\"\n", "1,2", []string{"a\nx", `b "y"`}, 3},
		{"a;b\n", "1;2", []string{"a", "b"}, 2},
		{"a\tb\n", "1\t2", []string{"a", "b"}, 2},
		{"\"a;1\",b;c,d\n", "1,2,3", []string{"a;1", "b;c", "d"}, 2},
		{"\"a; b; c; d\",e\n", "1,2", []string{"a; b; c; d", "e"}, 2},
		{"\"a, b, c\";d\n", "1;2", []string{"a, b, c", "d"}, 2},
		{"a\n", "1", []string{"a"}, 2},
	} {
		columns, table, err := all(t, strings.NewReader(c.header+c.row))
		if err != nil || !slices.Equal(columns, c.want) {
			t.Errorf("%q has the columns %q, %v; want %q", c.header, columns, err, c.want)
		} else if len(table) != 1 || table[0].Err != nil || table[0].Line != c.line {
			t.Errorf("behind %q is %q", c.header, describeAll(table))
		}
	}
	for _, c := range []struct{ text, want string }{
		{"", "the file is empty"},
		{"\n\r\n \t\n", "the file is empty"},
		{"\ufeff", "the file is empty"},
		{"a,\"b\n1,2\n", "header: " + open},
		{"\"a\"x,b\n1,2\n", "header: " + closed},
		{strings.Repeat("a,", 4<<20) + "a\n1,2\n", "longer than 8388608 bytes"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if _, _, err := all(t, strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%.20q: %v, want %s", c.text, err, c.want)
			}
		})
	}
}

// TestSeparators checks that semicolons or tabs separate cells if the header has more of them than
// commas.
func TestSeparators(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a;b\n1,5;2\n\"3;4\";5\n", `2 ["1,5" "2"] 3 ["3;4" "5"]`},
		{"a\tb\n1,2;\t3\n\"4\t5\" \t6\n \"7\"\t8\n", `2 ["1,2;" "3"] 3 ["4\t5" "6"] 4 ["7" "8"]`},
		{"a\tb\n\t1\n", `2 ["" "1"]`},
		{"a,b\n1;2,3\t4\n", `2 ["1;2" "3\t4"]`},
	} {
		_, table, err := all(t, strings.NewReader(c.text))
		if got := strings.Join(describeAll(table), " "); err != nil || got != c.want {
			t.Errorf("%q gives %s, %v; want %s", c.text, got, err, c.want)
		}
	}
}

// randomCell returns a cell of characters that make tables hard to parse.
func randomCell(r *rand.Rand) string {
	parts := []string{"", "a", "ü", "😀", ",", ";", "\t", "\"", "\"\"", "\n", "\r\n", "\r", " ", "'", "=1", "\\", "\u00a0", "\ufeff"}
	cell := ""
	for range r.IntN(6) {
		cell += parts[r.IntN(len(parts))]
	}
	return cell
}

// TestRandomTables writes tables in all dialects and reads them again. Cells are unchanged, and
// every row has its physical line number. encoding/csv agrees, except for the carriage returns that
// it removes.
func TestRandomTables(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 180))
	for range 3000 {
		comma := []string{",", ";", "\t"}[r.IntN(3)]
		newline := []string{"\n", "\r\n"}[r.IntN(2)]
		width := 2 + r.IntN(3)
		header := slices.Repeat([]string{"name"}, width)
		text := strings.Join(header, comma) + newline
		var want []string
		var plain [][]string
		for range r.IntN(6) {
			for r.IntN(8) == 0 {
				text += newline
			}
			cells := make([]string, width)
			line := 1 + strings.Count(text, "\n")
			for i := range cells {
				cells[i] = randomCell(r)
				quoted := r.IntN(2) == 0 || strings.ContainsAny(cells[i], "\",;\t\r\n")
				if i > 0 {
					text += comma
				} else if strings.TrimSpace(cells[i]) == "" {
					quoted = true // else all of the line might be blank
				}
				if quoted {
					text += `"` + strings.ReplaceAll(cells[i], `"`, `""`) + `"`
				} else {
					text += cells[i]
				}
			}
			text += newline
			plain = append(plain, cells)
			if strings.TrimSpace(strings.Join(cells, "")) != "" { // rows of empty cells are left out
				want = append(want, fmt.Sprintf("%d %q", line, cells))
			}
		}
		if r.IntN(2) == 0 {
			text = strings.TrimSuffix(text, newline)
		}
		_, table, err := all(t, strings.NewReader(text))
		if got := describeAll(table); err != nil || !slices.Equal(got, want) && len(want) > 0 {
			t.Fatalf("%q\ngives %q, %v\nwant  %q", text, got, err, want)
		}
		std := csv.NewReader(strings.NewReader(text))
		std.Comma = rune(comma[0])
		records, err := std.ReadAll()
		if err != nil {
			t.Fatalf("%q is no CSV: %v", text, err)
		}
		for i, cells := range records[1:] {
			for c := range cells {
				if cells[c] != strings.ReplaceAll(plain[i][c], "\r\n", "\n") {
					t.Fatalf("%q: the standard library reads %q", text, cells)
				}
			}
		}
	}
}

// FuzzCSV puts arbitrary bytes between valid rows. The valid rows are always read, every row has
// its line number, and reading from that line on returns the same rows if it is UTF-8. If encoding/csv can read
// the whole table, it agrees.
func FuzzCSV(f *testing.F) {
	for _, seed := range []string{"", "1,2", ",", "\"1,2", "\"1\n2\",3\n4,5", "\"1\"x,2\n\"", "x\",\"\nx\",\"\nx\",\"", "a,\"\"\"\"\n\n \n\"\r\n\",\r", "\xff,\x00\n,,,", " \"a\" ,b\n\t\"", "\"\"\"\n\"\"\"", "{\"a\": 1}", "\ufeffa,b", "\x1f\x8b\x08", "\xff\xfea\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, dirt []byte) {
		if len(dirt) > 4096 {
			return
		}
		const head = "a,b\nfirst,1\n"
		text := head + string(dirt) + "\nlast,1\nlast,2"
		_, table, err := all(t, strings.NewReader(text))
		if err != nil || len(table) < 3 {
			t.Fatalf("%q, %v", describeAll(table), err)
		}
		end := 1 + strings.Count(text, "\n")
		last := table[len(table)-2:]
		if describe(table[0]) != `2 ["first" "1"]` || describe(last[0]) != fmt.Sprintf(`%d ["last" "1"]`, end-1) || describe(last[1]) != fmt.Sprintf(`%d ["last" "2"]`, end) {
			t.Fatalf("the good rows are not kept: %q", describeAll(table))
		}
		lines := strings.SplitAfter(text, "\n")
		for i, row := range table {
			if i > 0 && row.Line <= table[i-1].Line {
				t.Fatalf("the lines do not ascend: %q", describeAll(table))
			}
			if i == 0 || i > 4 && i < len(table)-3 || !utf8.Valid(dirt) { // the encoding is judged by the whole file
				continue
			}
			_, rest, err := all(t, strings.NewReader("a,b\n"+strings.Join(lines[row.Line-1:], "")))
			if err != nil || len(rest) != len(table)-i {
				t.Fatalf("from line %d on there are %q, %v; and before %q", row.Line, describeAll(rest), err, describeAll(table[i:]))
			}
			for j := range rest {
				if rest[j].Line += row.Line - 2; describe(rest[j]) != describe(table[i+j]) {
					t.Fatalf("from line %d on there is %s, and before %s", row.Line, describe(rest[j]), describe(table[i+j]))
				}
			}
		}
		agree(t, text, table)

		_, _, _ = all(t, bytes.NewReader(dirt)) // it may be all there is
	})
}

// agree compares a table of two columns with the result of encoding/csv, if that can read the
// table. It skips tables that encoding/csv reads differently: it removes carriage returns, keeps
// lines of spaces and accepts invalid UTF-8.
func agree(t *testing.T, text string, table []rows.Row) {
	t.Helper()
	if regexp.MustCompile(`\r|\n[\s\v]+(\n|$)|[^\x00-\x7f]`).MatchString(text) {
		return
	}
	std := csv.NewReader(strings.NewReader(text))
	std.FieldsPerRecord = -1
	var want []string
	for {
		cells, err := std.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return
		}
		if strings.TrimSpace(strings.Join(cells, "")) == "" && want != nil { // rows of empty cells are left out
			continue
		}
		line, _ := std.FieldPos(0)
		for ; len(cells) > 2 && strings.TrimSpace(cells[len(cells)-1]) == ""; cells = cells[:len(cells)-1] {
		}
		if len(cells) == 1 {
			cells = append(cells, "")
		}
		if want = append(want, fmt.Sprintf("%d %q", line, cells)); len(cells) > 2 {
			want[len(want)-1] = fmt.Sprintf("%d: %d cells, but the header has 2", line, len(cells))
		}
	}
	if got := describeAll(table); !slices.Equal(got, want[1:]) {
		t.Fatalf("%q\nis %q\nand to the standard library %q", text, got, want[1:])
	}
}
