package rows_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"prospector/internal/rows"
)

// TestSpectrum reads the cases of csv-spectrum, a collection of tables that CSV readers get wrong.
func TestSpectrum(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"comma in quotes":     {"first,last,address,city,zip\nJohn,Doe,120 any st.,\"Anytown, WW\",08123", []string{`2 ["John" "Doe" "120 any st." "Anytown, WW" "08123"]`}},
		"empty":               {"a,b,c\n1,\"\",\"\"\n2,3,4", []string{`2 ["1" "" ""]`, `3 ["2" "3" "4"]`}},
		"empty, CRLF":         {"a,b,c\r\n1,\"\",\"\"\r\n2,3,4", []string{`2 ["1" "" ""]`, `3 ["2" "3" "4"]`}},
		"escaped quotes":      {"a,b\n1,\"ha \"\"ha\"\" ha\"\n3,4\n", []string{`2 ["1" "ha \"ha\" ha"]`, `3 ["3" "4"]`}},
		"JSON":                {"key,val\n1,\"{\"\"type\"\": \"\"Point\"\", \"\"coordinates\"\": [102.0, 0.5]}\"\n", []string{`2 ["1" "{\"type\": \"Point\", \"coordinates\": [102.0, 0.5]}"]`}},
		"coordinates":         {"Contact Phone Number,Location Coordinates,Cities,Counties\n2095257564,37\ufffd36'37.8\"N 121\ufffd2'17.9\"W,Modesto,Stanislaus", []string{`2 ["2095257564" "37�36'37.8\"N 121�2'17.9\"W" "Modesto" "Stanislaus"]`}},
		"newlines":            {"a,b,c\n1,2,3\n\"Once upon \na time\",5,6\n7,8,9\n", []string{`2 ["1" "2" "3"]`, `3 ["Once upon \na time" "5" "6"]`, `5 ["7" "8" "9"]`}},
		"newlines, CRLF":      {"a,b,c\r\n1,2,3\r\n\"Once upon \r\na time\",5,6\r\n7,8,9\r\n", []string{`2 ["1" "2" "3"]`, `3 ["Once upon \r\na time" "5" "6"]`, `5 ["7" "8" "9"]`}},
		"quotes and newlines": {"a,b\n1,\"ha \n\"\"ha\"\" \nha\"\n3,4\n", []string{`2 ["1" "ha \n\"ha\" \nha"]`, `5 ["3" "4"]`}},
		"simple":              {"a,b,c\n1,2,3\n", []string{`2 ["1" "2" "3"]`}},
		"simple, CRLF":        {"a,b,c\r\n1,2,3\r\n", []string{`2 ["1" "2" "3"]`}},
		"UTF-8":               {"a,b,c\n1,2,3\n4,5,ʤ", []string{`2 ["1" "2" "3"]`, `3 ["4" "5" "ʤ"]`}},
		"old Macintosh":       {"a,b\r1,2\r3,4", []string{`2 ["1" "2"]`, `3 ["3" "4"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, table, err := all(t, strings.NewReader(c.text))
			if got := describeAll(table); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// TestTitles checks which lines above a header are skipped.
func TestTitles(t *testing.T) {
	for _, c := range []struct {
		text, delimiter string
		columns         []string
		line            int
	}{
		{"sep=;\r\nVorname;Nachname\r\nAda;Berg\r\n", ";", []string{"Vorname", "Nachname"}, 3},
		{"Kundenliste, Stand 03.11.2025\n\nVorname;Nachname;Umsatz\nAda;Berg;1,5\n", ";", []string{"Vorname", "Nachname", "Umsatz"}, 4},
		{"Contacts;;\n;;\nVorname;Nachname;E-Mail\nAda;Berg;a@x.example\n", ";", []string{"Vorname", "Nachname", "E-Mail"}, 4},
		{"Notes:\n\"When exporting your connections, some addresses are missing, \"\"you\"\" may ask why.\"\n\nFirst Name,Last Name,URL,Email Address\nAda,Berg,,a@x.example\n", ",", []string{"First Name", "Last Name", "URL", "Email Address"}, 5},
		{"Name\nBerg, Ada\nLum, Bo\n", ",", []string{"Name"}, 2},
		{"first_name|last_name\nAda|Berg\n", "|", []string{"first_name", "last_name"}, 2},
		{"a@x.example\nb@x.example\n", ",", []string{"column 1"}, 1},
		{"\u200bVorname\u00a0;Nachname\nAda;Berg\n", ";", []string{"Vorname", "Nachname"}, 2},
	} {
		r, err := rows.Open(strings.NewReader(c.text), rows.Options{})
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		row, err := r.Next()
		if !slices.Equal(r.Columns, c.columns) || r.Delimiter() != c.delimiter || err != nil || row.Line != c.line {
			t.Errorf("%q has the columns %q, separated by %q; line %d, %v", c.text, r.Columns, r.Delimiter(), row.Line, err)
		}
	}
}

func zipped(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range files {
		f, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(f, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestZip(t *testing.T) {
	table := "a,b\n1,2\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string // the error, or "" if the table is read
	}{
		"one file":           {map[string]string{"x.csv": table}, ""},
		"with the rest of a": {map[string]string{"dir/": "", "dir/x.csv": table, "__MACOSX/dir/._x.csv": "x", "dir/.DS_Store": "x"}, ""},
		"two files":          {map[string]string{"x.csv": table, "y.csv": table}, "exactly one file"},
		"no file":            {map[string]string{"dir/": ""}, "exactly one file"},
	} {
		t.Run(name, func(t *testing.T) {
			packed := zipped(t, c.files)
			file := t.TempDir() + "/table.zip"
			if err := os.WriteFile(file, packed, 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for _, in := range []io.Reader{f, onebyte{bytes.NewReader(packed)}} { // by position, and as a stream
				r, err := rows.Open(in, rows.Options{})
				if c.want != "" {
					if err == nil || !strings.Contains(err.Error(), c.want) {
						t.Errorf("%v, want %s", err, c.want)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if row, err := r.Next(); err != nil || describe(row) != `2 ["1" "2"]` {
					t.Errorf("%s, %v", describe(row), err)
				}
				r.Close()
			}
		})
	}
	if _, err := rows.Open(bytes.NewReader([]byte("PK\x03\x04 and nothing more")), rows.Options{}); err == nil || !strings.Contains(err.Error(), "zip") {
		t.Error(err)
	}
}

// zeros reads as lines without end.
type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left <= 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), z.left))
	for i := range p[:n] {
		p[i] = "0,0\n"[i%4]
	}
	z.left -= int64(n)
	return n, nil
}

// TestBombs checks that a file that unpacks to very much is refused before it has been read, and that one
// beyond the limit is.
func TestBombs(t *testing.T) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, io.MultiReader(strings.NewReader("a,b\n"), &zeros{64 << 20})); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	zw := zip.NewWriter(&archive)
	f, err := zw.Create("x.csv")
	if err == nil {
		_, err = io.Copy(f, io.MultiReader(strings.NewReader("a,b\n"), &zeros{64 << 20}))
	}
	if err = errors.Join(err, zw.Close()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		in   []byte
		most int64
		want string
	}{
		"gzip":              {packed.Bytes(), 0, "unpacks to more than 200 times its size"},
		"zip":               {archive.Bytes(), 0, "unpacks to more than 200 times its size"},
		"gzip over a limit": {packed.Bytes(), 1 << 20, "more than 1048576 bytes"},
		"zip over a limit":  {archive.Bytes(), 1 << 20, "more than 1048576 bytes"},
		"a plain file":      {[]byte("a,b\n" + strings.Repeat("1,2\n", 1<<19)), 1 << 20, "more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := rows.Open(bytes.NewReader(c.in), rows.Options{MaxBytes: c.most})
			n := 0
			for err == nil {
				_, err = r.NextBatch()
				n++
			}
			if !strings.Contains(err.Error(), c.want) || n > 20_000 {
				t.Errorf("after %d batches: %v", n, err)
			}
		})
	}
}

// TestFlatMemory reads a large generated table in every encoding and checks that the memory in use does not
// grow with it.
func TestFlatMemory(t *testing.T) {
	size := int64(6 << 20)
	if os.Getenv("PROSPECTOR_SOAK") != "" {
		size = 1 << 30
	}
	if raceDetector {
		t.Skip("one goroutine reads, and slowly")
	}
	for name, in := range map[string]io.Reader{
		"utf-8":        io.MultiReader(strings.NewReader("a,b\nZoë,ö\n"), &zeros{size}),
		"iso-8859-1":   io.MultiReader(strings.NewReader("a,b\nZo\xeb,\xf6\n"), &zeros{size}),
		"windows-1252": io.MultiReader(strings.NewReader("a,b\nZo\xeb,\x80\n"), &zeros{size}),
	} {
		r, err := rows.Open(in, rows.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var most uint64
		n := 0
		for err == nil {
			var batch []rows.Row
			batch, err = r.NextBatch()
			if n += len(batch); n%100_000 == 0 {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		}
		if err != io.EOF || n != int(size/4)+1 || r.Encoding() != name || most > 64<<20 {
			t.Errorf("%s: %d rows, read as %s, %d MiB in use, %v", name, n, r.Encoding(), most>>20, err)
		}
	}
}

// TestRejects checks that skipped rows can be imported again as they came.
func TestRejects(t *testing.T) {
	text := "a;b;c\n=1;\"x\ny\";'\n1;2;3;4\n\"open;2\nx;+49;-\n"
	r, err := rows.Open(strings.NewReader(text), rows.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	rejects, err := rows.NewRejects(&out, r)
	for n := 0; err == nil; n++ {
		var row rows.Row
		if row, err = r.Next(); err == nil {
			err = rejects.Add(&row, fmt.Sprint("why ", n))
		}
	}
	if err != io.EOF || rejects.Flush() != nil {
		t.Fatal(err)
	}
	columns, table, err := all(t, &out)
	want := []string{`2 ["'=1" "x\ny" "''" "why 0"]`, "4: 5 cells, but the header has 4", `5 ["\"open;2\n" "" "" "why 2"]`, `7 ["x" "'+49" "'-" "why 3"]`}
	if got := describeAll(table); err != nil || !slices.Equal(columns, []string{"a", "b", "c", rows.RejectColumn}) || !slices.Equal(got, want) {
		t.Errorf("%q %q, %v", columns, got, err)
	}
}
