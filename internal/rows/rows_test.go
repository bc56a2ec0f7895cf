package rows_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"prospector/internal/rows"
	"prospector/internal/shape"
)

func gzipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// inUTF16 encodes a text like a spreadsheet, with a byte-order mark.
func inUTF16(t testing.TB, text string, order binary.AppendByteOrder) string {
	t.Helper()
	var b []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

// TestEncodings checks that encoding and compression do not change a table.
func TestEncodings(t *testing.T) {
	const table = "a,b\r\n\"Zoë\r\n😀\",=1\r\n\r\n3,\"4\"\r\n"
	want := []string{`2 ["Zoë\r\n😀" "=1"]`, `5 ["3" "4"]`}
	texts := map[string]string{
		"UTF-8":            table,
		"UTF-8 with mark":  "\ufeff" + table,
		"UTF-16 LE":        inUTF16(t, table, binary.LittleEndian),
		"UTF-16 BE":        inUTF16(t, table, binary.BigEndian),
		"two gzip members": string(gzipped(t, table[:12])) + string(gzipped(t, table[12:])),
	}
	for name, text := range texts {
		for _, in := range []struct {
			name string
			text []byte
		}{{name, []byte(text)}, {name + ", gzipped", gzipped(t, text)}} {
			if strings.HasPrefix(name, "two") && in.name != name {
				continue // what is gzipped twice is no table
			}
			columns, table, err := all(t, bytes.NewReader(in.text))
			if got := describeAll(table); err != nil || !slices.Equal(columns, []string{"a", "b"}) || !slices.Equal(got, want) {
				t.Errorf("%s: %q %q, %v", in.name, columns, got, err)
			}
			// Reading one byte at a time makes no difference.
			if _, again, err := all(t, onebyte{bytes.NewReader(in.text)}); err != nil || !slices.Equal(describeAll(again), want) {
				t.Errorf("%s, byte by byte: %q, %v", in.name, describeAll(again), err)
			}
		}
	}
}

// TestOtherFormats refuses files that are no tables, and says what they are.
func TestOtherFormats(t *testing.T) {
	for start, want := range map[string]string{
		"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":          "an Excel file of the old format (.xls); save it as .xlsx or CSV",
		"PK\x05\x06" + strings.Repeat("\x00", 18):   "an empty zip archive",
		string(gzipped(t, "PK\x03\x04")):            "a zip archive in another archive",
		string(gzipped(t, string(gzipped(t, "a")))): "a gzip file in another one",
		"%PDF-1.7\n":                    "a PDF document",
		"\x89PNG\r\n\x1a\n":             "a picture",
		"\xff\xfe\x00\x00a\x00\x00\x00": "UTF-32",
		"\x00\x00\xfe\xff\x00\x00\x00a": "UTF-32",
	} {
		if _, _, err := all(t, strings.NewReader(start)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", start, err, want)
		}
	}
}

type onebyte struct{ io.Reader }

func (r onebyte) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(1, len(p))]) }

// TestCutOff checks that truncation is reported and that complete rows before it are read.
func TestCutOff(t *testing.T) {
	var text strings.Builder
	text.WriteString("a,b\n")
	for i := range 20_000 {
		fmt.Fprintf(&text, "%d,%x\n", i, i*7919)
	}
	whole := gzipped(t, text.String())
	for _, end := range []int{len(whole) / 2, len(whole) - 4} {
		_, table, err := all(t, bytes.NewReader(whole[:end]))
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(table) == 0 {
			t.Fatalf("cut off at %d of %d: %d rows, %v", end, len(whole), len(table), err)
		}
		for i, row := range table {
			if want := fmt.Sprintf(`%d ["%d" "%x"]`, i+2, i, i*7919); describe(row) != want {
				t.Fatalf("row %d is %s", i, describe(row))
			}
		}
	}
	for _, end := range []int{2, 9, 10, 11} {
		if _, _, err := all(t, bytes.NewReader(whole[:end])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut off at %d: %v", end, err)
		}
	}
	if _, _, err := all(t, strings.NewReader("\x1f\x8b no gzip, but a name of a column")); err == nil || !strings.Contains(err.Error(), "gzip") {
		t.Error(err)
	}
	// The same holds within an open quote: the rows read with it are returned first, then the
	// failure.
	broken := errors.New("the disk is gone")
	_, table, err := all(t, io.MultiReader(strings.NewReader("a,b\n1,2\n3,\"4\n5,6\n7"), failing{broken}))
	if !errors.Is(err, broken) || len(table) != 3 || describe(table[0]) != `2 ["1" "2"]` || table[1].Err == nil || describe(table[2]) != `4 ["5" "6"]` {
		t.Errorf("%q, %v", describeAll(table), err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestJSONLines(t *testing.T) {
	text := "\n \r\n{\"a\": \"ééééé\"}\r\n" + // 3
		"\t{\"b\": {\"c\": [\"x\\n\"]}} \n\n" + // 4
		"{\"a\": 1\n" + // 6
		"[1]\n" +
		"7\n" +
		"{\"a\": 1, \"a\": 2}\n" +
		"{\"a\": \"\xff\"}\n" + // 10
		"{\"a\": 1} {\"a\": 2}\n" +
		"a,b\n" +
		"{}\n" + // 13
		"{\"z\": null}" // 14
	for name, in := range map[string]string{"plain": text, "with mark": "\ufeff" + text, "gzipped": string(gzipped(t, text))} {
		columns, table, err := all(t, strings.NewReader(in))
		if err != nil || columns != nil {
			t.Errorf("%s: %v, columns %q", name, err, columns)
		}
		var good, bad []string
		for _, row := range table {
			if row.Err == nil {
				good = append(good, fmt.Sprint(row.Line, keys(row.Object), row.Cells == nil))
				continue
			}
			bad = append(bad, fmt.Sprint(row.Line, ": ", row.Err))
		}
		if got := strings.Join(good, "; "); got != "3 [a] true; 4 [b] true; 13 [] true; 14 [z] true" {
			t.Errorf("%s: %s", name, got)
		}
		for i, want := range []string{"6: unexpected end", "7: not an object", "8: not an object", `9: duplicate key "a"`, "10: invalid UTF-8", "11: unexpected data", "12: "} {
			line, reason, _ := strings.Cut(want, ": ")
			if len(bad) != 7 || !strings.HasPrefix(bad[i], line+": ") || !strings.Contains(bad[i], reason) {
				t.Errorf("%s: %q, want %s", name, bad, want)
			}
		}
	}
	_, table, err := all(t, strings.NewReader(inUTF16(t, "{\"a\": \"😀\"}\n", binary.LittleEndian)))
	if err != nil || len(table) != 1 || table[0].Object.Get("a").Text != "😀" {
		t.Errorf("%+v, %v", table, err)
	}
}

func keys(object shape.Value) []string {
	list := []string{}
	for _, m := range object.Members {
		list = append(list, m.Key)
	}
	return list
}

const most = 8 << 20 // bytes of a row

// TestLongLines checks that a line that is too long is reported and skipped, that the lines around
// it are read, and that a line of exactly the maximum length is accepted.
func TestLongLines(t *testing.T) {
	if raceDetector {
		t.Skip("one goroutine reads, and slowly")
	}
	long := strings.Repeat("x", most)
	for name, c := range map[string]struct{ text, want string }{
		"CSV":              {"a,b\n1,2\n" + long + ",3\n4,5\n", `2 ["1" "2"]; 3: longer than 8388608 bytes; 4 ["4" "5"]`},
		"the last":         {"a,b\n1,2\n" + long + ",3", `2 ["1" "2"]; 3: longer than 8388608 bytes`},
		"twice":            {"a,b\n" + long + ",\n" + long + ",\n4,5", `2: longer than 8388608 bytes; 3: longer than 8388608 bytes; 4 ["4" "5"]`},
		"quoted":           {"a,b\n\"" + long + "\",3\n4,5\n", `2: longer than 8388608 bytes; 3 ["4" "5"]`},
		"in a quote":       {"a,b\n1,\"2\n" + long + "\"\n4,5\n", "2: " + open + `; 3: longer than 8388608 bytes; 4 ["4" "5"]`},
		"behind a quote":   {"a,b\n1,\"2\n3,4\n5,6\n" + long + "x\n7,8\n", "2: " + open + `; 3 ["3" "4"]; 4 ["5" "6"]; 5: longer than 8388608 bytes; 6 ["7" "8"]`},
		"behind two":       {"a,b\n1,\"2\nx\",\"y\n3,4\n" + long + "x\n7,8\n", "2: " + open + "; 3: " + open + `; 4 ["3" "4"]; 5: longer than 8388608 bytes; 6 ["7" "8"]`},
		"behind many":      {"a,b\n1,\"2\nx\",\"y\n" + long + "x\n7,8\n", "2: " + open + "; 3: " + open + `; 4: longer than 8388608 bytes; 5 ["7" "8"]`},
		"behind too many":  {"a,b\n1,2,\"3\n" + long + "x\n7,8\n", "2: " + open + `; 3: longer than 8388608 bytes; 4 ["7" "8"]`},
		"JSON":             {"{}\n{\"a\": \"" + long + "\"}\n{}", "1 []; 2: longer than 8388608 bytes; 3 []"},
		"exactly the most": {"a\n" + long[1:] + "\n1\n", fmt.Sprintf(`2 [%q]; 3 ["1"]`, long[1:])},
	} {
		_, table, err := all(t, strings.NewReader(c.text))
		if got := strings.Join(describeAll(table), "; "); err != nil || got != c.want {
			t.Errorf("%s: %.400s, %v", name, got, err)
		}
	}
}

// TestWideRows checks that rows with more cells or values than anybody needs are refused, because each takes memory.
func TestWideRows(t *testing.T) {
	wide := strings.Repeat("x,", 16_383)
	for name, c := range map[string]struct{ text, want string }{
		"CSV":        {"a,b\n1,2\n" + wide + "x,x\n4,5\n", `2 ["1" "2"]; 3: more than 16384 cells; 4 ["4" "5"]`},
		"the most":   {"a,b\n" + wide + "x\n", `2: 16384 cells, but the header has 2`},
		"JSON":       {"{}\n{\"a\": [" + strings.Repeat("0,", 50_000) + "0]}\n{}", "1 []; 2: more than 50000 JSON values; 3 []"},
		"the values": {"{\"a\": \"" + strings.Repeat("0,", 50_000) + "\"}", "1 []"},
	} {
		_, table, err := all(t, strings.NewReader(c.text))
		if got := strings.Join(describeAll(table), "; "); err != nil || got != c.want {
			t.Errorf("%s: %.400s, %v", name, got, err)
		}
	}
}

// allocated returns the number of bytes that fn allocates, a measure of work that does not depend
// on time.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestOpenQuoteBeforeMuch checks that an unclosed quote before more data than a row may have is
// abandoned, and that the lines after it are read as rows. The reader buffers at most one row of
// maximum size.
func TestOpenQuoteBeforeMuch(t *testing.T) {
	if raceDetector {
		t.Skip("one goroutine reads, and slowly")
	}
	const lines = 200_000
	var b strings.Builder
	b.WriteString("a,b\n1,\"2\n")
	for i := range lines {
		fmt.Fprintf(&b, "%06d,%s\n", i, strings.Repeat("y", 40))
	}
	b.WriteString("200000,end\"\n") // that would close it
	text := b.String()
	// Without the quote every line costs the same. With it, reading ahead adds two buffers of the
	// maximum row size, which grow by appending.
	measure := func(text string) uint64 {
		return allocated(func() {
			r, err := rows.Open(strings.NewReader(text), rows.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i, line := 0, 3; ; line++ {
				row, err := r.Next()
				switch {
				case errors.Is(err, io.EOF) && i == lines+1:
					return
				case err != nil:
					t.Fatalf("after %d rows: %v", i, err)
				case row.Line == 2:
					line--
				case row.Err != nil || row.Line != line || row.Cells[0] != fmt.Sprintf("%06d", i):
					t.Fatalf("row %d is %s, want line %d", i, describe(row), line)
				default:
					i++
				}
			}
		})
	}
	plain := measure(strings.Replace(text, `"`, "", 1))
	if quoted := measure(text); quoted > plain+20*most {
		t.Errorf("an open quote costs %d MiB on top of %d", (quoted-plain)>>20, plain>>20)
	}
	// If every line opens a quote, the reader does not read the rest of the file for each of them.
	for _, line := range []string{"1,\"2\n", "x\",\"\n", "1,\"2\n3,4\n", "\"\"\"\n", "x\",\"\"\"\n", "\"\n"} {
		work := func(n int) uint64 {
			text := "a,b\n" + strings.Repeat(line, n)
			return allocated(func() {
				if _, _, err := all(t, strings.NewReader(text)); err != nil {
					t.Fatal(err)
				}
			})
		}
		if few, many := work(500), work(4000); many > 16*few {
			t.Errorf("%q: eight times the lines cost %d times as much", line, many/few)
		}
	}
}

// TestEnvelope reads the records of one entity from an export of an organization.
func TestEnvelope(t *testing.T) {
	r, err := rows.Open(strings.NewReader(`{"entity":"tags","record":{"name":"a"}}
{"entity":"contacts","record":{"email":"a@x.example"}}
{"entity":"contacts","record":"none"}
{"entity":"contacts","record":{},"more":1}
{"entity":"contacts","record":{"entity":"tags","record":{}}}
{"email":"b@x.example"}
`), rows.Options{Entity: "contacts"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		row, err := r.Next()
		if err == io.EOF {
			break
		}
		names := make([]string, len(row.Object.Members))
		for i, m := range row.Object.Members {
			names[i] = m.Key
		}
		got = append(got, fmt.Sprint(row.Line, names, row.Err, err))
	}
	want := []string{"2 [email] <nil> <nil>", "3 [entity record] <nil> <nil>", "4 [entity record more] <nil> <nil>", "5 [entity record] <nil> <nil>", "6 [email] <nil> <nil>"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
