package rows_test

import (
	"archive/zip"
	"bytes"
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

// read reads a file of any format.
func read(t testing.TB, in io.Reader, o rows.Options) (r *rows.Reader, table []rows.Row, err error) {
	t.Helper()
	if r, err = rows.Open(in, o); err != nil {
		return nil, nil, err
	}
	t.Cleanup(r.Close)
	for {
		row, err := r.Next()
		if err == io.EOF {
			return r, table, nil
		}
		if err != nil {
			return r, table, err
		}
		table = append(table, row)
	}
}

// TestSpreadsheets reads files that a spreadsheet library wrote.
func TestSpreadsheets(t *testing.T) {
	for name, c := range map[string]struct {
		o       rows.Options
		columns string
		want    []string
	}{
		"kontakte.xlsx": {rows.Options{}, "Vorname,Nachname,E-Mail,Telefon,Beitritt,Zuletzt,Umsatz,Kunde,PLZ", []string{
			`4 ["Zoë" "Müller" "zoe@initech.example" "491511234567" "2025-03-04" "2025-04-03 14:30:00" "1234.5670" "true" "01067"]`,
			`5 ["Jürgen" "Groß" "j.gross@globex.example" "+49 30 1234" "1999-12-31" "" "1500000" "false" "80331"]`,
		}},
		"kontakte.xlsx, another sheet": {rows.Options{Sheet: "intern"}, "not for import", nil},
		"streamed.xlsx":                {rows.Options{}, "First Name,Last Name,Email", []string{`2 ["Ada" "Berg" "ada@x.example"]`, `3 ["Bo" "Lum" "bo@x.example"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			file, _, _ := strings.Cut(name, ",")
			content, err := os.ReadFile("testdata/" + file)
			if err != nil {
				t.Fatal(err)
			}
			f, err := os.Open("testdata/" + file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for _, in := range []io.Reader{f, onebyte{bytes.NewReader(content)}} {
				r, table, err := read(t, in, c.o)
				if err != nil {
					t.Fatal(err)
				}
				if got := describeAll(table); strings.Join(r.Columns, ",") != c.columns || !slices.Equal(got, c.want) {
					t.Errorf("%q %q", r.Columns, got)
				}
				names, _ := r.Sheets()
				if file == "kontakte.xlsx" && !slices.Equal(names, []string{"Kontakte", "Notizen", "Intern"}) {
					t.Errorf("the sheets are %q", names)
				}
			}
		})
	}
	f, err := os.Open("testdata/password.xlsx")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, _, err := read(t, f, rows.Options{}); err == nil || !strings.Contains(err.Error(), "spreadsheet with a password") {
		t.Error(err)
	}
}

// book makes an .xlsx file of a sheet, with further parts or others in the place of the usual ones.
func book(t testing.TB, sheet string, parts map[string]string) []byte {
	t.Helper()
	all := map[string]string{
		"[Content_Types].xml": "<Types/>",
		"_rels/.rels":         `<Relationships><Relationship Id="rId1" Type="http://x/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml":     `<workbook><sheets><sheet name="A" sheetId="1" r:id="r1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="r1" Type="http://x/worksheet" Target="worksheets/sheet1.xml"/>
			<Relationship Id="r2" Type="http://x/worksheet" Target="/xl/worksheets/sheet2.xml"/>
			<Relationship Id="r3" Type="http://x/styles" Target="styles.xml"/><Relationship Id="r4" Type="http://x/sharedStrings" Target="sharedStrings.xml"/></Relationships>`,
		"xl/styles.xml":            `<styleSheet/>`,
		"xl/worksheets/sheet1.xml": sheet,
	}
	for name, text := range parts {
		all[name] = text
	}
	return zipped(t, all)
}

// sheetOf returns a sheet with rows of inline texts.
func sheetOf(table ...string) string {
	var b strings.Builder
	b.WriteString("<worksheet><sheetData>")
	for i, row := range table {
		fmt.Fprintf(&b, `<row r="%d">`, i+1)
		for _, cell := range strings.Split(row, ",") {
			fmt.Fprintf(&b, `<c t="inlineStr"><is><t>%s</t></is></c>`, cell)
		}
		b.WriteString("</row>")
	}
	return b.String() + "</sheetData></worksheet>"
}

func TestCells(t *testing.T) {
	const styles = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="dd\.mm\.yyyy;@"/><numFmt numFmtId="165" formatCode="[h]:mm &quot;days&quot;"/>
		<numFmt numFmtId="166" formatCode="[Red]#,##0\ &quot;Stück dazu&quot;"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>
		<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/><xf numFmtId="20"/></cellXfs></styleSheet>`
	const strs = `<sst><si><t>plain</t></si><si><r><t>two </t></r><r><t>runs</t></r><rPh><t>not this</t></rPh></si><si><t xml:space="preserve"> a_x000D_&#10;b </t></si></sst>`
	for name, c := range map[string]struct{ cells, want string }{
		"shared strings":        {`<c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>2</v></c>`, `"plain" "two runs" " a\r\nb "`},
		"formulas":              {`<c t="str"><f>A1</f><v>result</v></c><c><f>1+1</f><v>2</v></c><c><f>x()</f></c>`, `"result" "2"`},
		"errors":                {`<c t="e"><f>1/0</f><v>#DIV/0!</v></c><c t="e"><v>#N/A</v></c>`, `"#DIV/0!" "#N/A"`},
		"yes and no":            {`<c t="b"><v>1</v></c><c t="b"><v>0</v></c>`, `"true" "false"`},
		"whole numbers in full": {`<c><v>4.9151123456780003E+14</v></c><c><v>1E+15</v></c><c><v>0.1</v></c>`, `"491511234567800" "1000000000000000" "0.1"`},
		"thousandths":           {`<c><v>1234.567</v></c><c s="4"><v>1250</v></c>`, `"1234.5670" "1250"`},
		"dates":                 {`<c s="1"><v>45720</v></c><c s="2"><v>45720.6041666667</v></c><c s="1"><v>1</v></c><c s="1"><v>59</v></c><c s="1"><v>61</v></c>`, `"2025-03-04" "2025-03-04 14:30:00" "1900-01-01" "1900-02-28" "1900-03-01"`},
		"what is no date":       {`<c s="3"><v>1.5</v></c><c s="5"><v>0.25</v></c><c s="1"><v>-3</v></c><c s="1"><v>9E+99</v></c><c s="99"><v>45720</v></c>`, `"1.5" "0.25" "-3" "9` + strings.Repeat("0", 99) + `" "45720"`},
		"ISO dates":             {`<c t="d"><v>2025-03-04T10:12:00</v></c>`, `"2025-03-04 10:12:00"`},
		"gaps":                  {`<c r="C2" t="str"><v>x</v></c><c r="E2" t="str"><v>y</v></c>`, `"" "" "x" "" "y"`},
	} {
		t.Run(name, func(t *testing.T) {
			sheet := `<worksheet><sheetData><row><c t="str"><v>first_name</v></c><c t="str"><v>last_name</v></c><c t="str"><v>c</v></c><c t="str"><v>d</v></c><c t="str"><v>e</v></c></row><row>` +
				c.cells + `</row></sheetData></worksheet>`
			_, table, err := read(t, bytes.NewReader(book(t, sheet, map[string]string{"xl/styles.xml": styles, "xl/sharedStrings.xml": strs})), rows.Options{})
			if err != nil || len(table) != 1 {
				t.Fatal(table, err)
			}
			for len(table[0].Cells) > 0 && table[0].Cells[len(table[0].Cells)-1] == "" {
				table[0].Cells = table[0].Cells[:len(table[0].Cells)-1]
			}
			if got := strings.Trim(fmt.Sprintf("%q", table[0].Cells), "[]"); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	old := book(t, `<worksheet><sheetData><row><c t="str"><v>name</v></c></row><row><c s="1"><v>44258</v></c></row></sheetData></worksheet>`, map[string]string{
		"xl/styles.xml": styles, "xl/workbook.xml": `<workbook><workbookPr date1904="1"/><sheets><sheet name="A" r:id="r1"/></sheets></workbook>`})
	if _, table, err := read(t, bytes.NewReader(old), rows.Options{}); err != nil || table[0].Cells[0] != "2025-03-04" {
		t.Errorf("in a workbook that counts from 1904: %q, %v", describeAll(table), err)
	}
}

func TestSheets(t *testing.T) {
	const two = `<workbook><sheets><sheet name="Old" state="hidden" r:id="r1"/><sheet name="People" r:id="r2"/></sheets></workbook>`
	people := map[string]string{"xl/workbook.xml": two, "xl/worksheets/sheet2.xml": sheetOf("email,title", "b@x.example,CEO")}
	hidden := map[string]string{"xl/workbook.xml": `<workbook><sheets><sheet name="Old" state="veryHidden" r:id="r1"/></sheets></workbook>`}
	first := sheetOf("email,title", "a@x.example,CTO")
	for name, c := range map[string]struct {
		file  []byte
		sheet string
		want  string // a cell, or the error
	}{
		"the first visible":   {book(t, first, people), "", "b@x.example"},
		"by name":             {book(t, first, people), "Old", "a@x.example"},
		"by name, other case": {book(t, first, people), " people", "b@x.example"},
		"no such sheet":       {book(t, first, people), "Firms", `no sheet "Firms"; its sheets are: People, Old`},
		"all hidden":          {book(t, first, hidden), "", "all sheets of the file are hidden; name one of them: Old"},
		"empty":               {book(t, sheetOf(), nil), "", "the file is empty"},
		"no sheet":            {book(t, "", map[string]string{"xl/workbook.xml": "<workbook/>"}), "", "no sheet with cells"},
		"a document":          {zipped(t, map[string]string{"[Content_Types].xml": "x", "word/document.xml": "x"}), "", "not an Excel spreadsheet"},
		"OpenDocument":        {zipped(t, map[string]string{"mimetype": "x", "content.xml": "x"}), "", "not an Excel spreadsheet"},
		"binary":              {zipped(t, map[string]string{"[Content_Types].xml": "x", "xl/workbook.bin": "x"}), "", ".xlsb"},
		"not a spreadsheet":   {[]byte("email\na@x.example\n"), "A", "not a spreadsheet"},
		"broken":              {book(t, "<worksheet><sheetData><row><c></row>", nil), "", "truncated"},
		"broken marks":        {book(t, "<worksheet><sheetData><row <c>", nil), "", "damaged"},
		"a missing text":      {book(t, `<worksheet><sheetData><row><c t="s"><v>7</v></c></row></sheetData></worksheet>`, map[string]string{"xl/sharedStrings.xml": "<sst></sst>"}), "", "refers to text 7"},
		"an entity":           {book(t, `<!DOCTYPE x [<!ENTITY a "aaaa">]><worksheet><sheetData><row><c t="str"><v>&a;</v></c></row></sheetData></worksheet>`, nil), "", "damaged"},
		"titles above":        {book(t, sheetOf("Report", "of,2025", "Vorname,Nachname,E-Mail", "Ada,Berg,a@x.example"), nil), "", "Ada"},
		"unknown names":       {book(t, sheetOf("Report", "aa,bb,cc", "1,2,3"), nil), "", "1"},
		"no header":           {book(t, sheetOf("a@x.example,CEO", "b@x.example,CTO"), nil), "", "a@x.example"},
	} {
		t.Run(name, func(t *testing.T) {
			_, table, err := read(t, bytes.NewReader(c.file), rows.Options{Sheet: c.sheet})
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %s", err, c.want)
				}
				return
			}
			if len(table) == 0 || table[0].Cells[0] != c.want {
				t.Errorf("%q, want %s", describeAll(table), c.want)
			}
		})
	}
	in := "<worksheet><dimension ref=\"A1:D9\"/><sheetData>" + `<row r="1"><c t="str"><v>email</v></c><c t="str"><v>title</v></c><c t="str"><v>notes</v></c></row>
		<row r="2"><c r="A2" t="str"><v>a@x.example</v></c></row><row r="3"><c r="D3" t="str"><v>beside</v></c></row><row r="9"><c r="A9" t="str"><v>made by Ada</v></c></row></sheetData></worksheet>`
	r, table, err := read(t, bytes.NewReader(book(t, in, nil)), rows.Options{})
	want := []string{`2 ["a@x.example" "" "" ""]`, `3 ["" "" "" "beside"]`, "9: 1 cell, but the header has 4"}
	if got := describeAll(table); err != nil || len(r.Columns) != 4 || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

// repeated reads a text many times, between others.
func repeated(head, text string, n int, foot string) io.Reader {
	parts := []io.Reader{strings.NewReader(head)}
	for range n {
		parts = append(parts, strings.NewReader(text))
	}
	return io.MultiReader(append(parts, strings.NewReader(foot))...)
}

// written is an .xlsx file whose parts may be large.
func written(t testing.TB, parts map[string]io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	usual, err := zip.NewReader(bytes.NewReader(book(t, "", nil)), int64(len(book(t, "", nil))))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range usual.File {
		if parts[f.Name] == nil {
			err = errors.Join(err, w.Copy(f))
		}
	}
	for name, in := range parts {
		f, made := w.Create(name)
		_, copied := io.Copy(f, in)
		err = errors.Join(err, made, copied)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSpreadsheetBombs checks that files that were made to exhaust the reader are refused.
func TestSpreadsheetBombs(t *testing.T) {
	spaces, rowsOf := strings.Repeat(" ", 1<<20), strings.Repeat("<row></row>", 1<<16)
	const sheet, strs = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
	for name, c := range map[string]struct {
		parts map[string]io.Reader
		most  int64
		want  string
	}{
		"a long text":        {map[string]io.Reader{sheet: repeated("<worksheet><sheetData><row><c t=\"str\"><v>", spaces, 16, "")}, 0, "a cell of more than 262144 bytes"},
		"a long string":      {map[string]io.Reader{sheet: strings.NewReader(sheetOf("a,b")), strs: repeated("<sst><si><t>", spaces, 16, "")}, 0, "a cell of more than 262144 bytes"},
		"a text of runs":     {map[string]io.Reader{sheet: strings.NewReader(sheetOf("a,b")), strs: repeated("<sst><si>", "<t>"+spaces[:1<<16]+"</t>", 16, "")}, 0, "a cell of more than 262144 bytes"},
		"a long name":        {map[string]io.Reader{sheet: repeated("<", "aaaaaaaaaaaaaaaa", 1<<15, "")}, 0, "a cell of more than 262144 bytes"},
		"much from little":   {map[string]io.Reader{sheet: repeated("<worksheet><sheetData>", rowsOf, 100, "")}, 0, "more than 200 times its size"},
		"more than the most": {map[string]io.Reader{sheet: repeated("<worksheet><sheetData>", rowsOf, 1, "")}, 1 << 18, "more than 262144 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			file := written(t, c.parts)
			used := allocated(func() {
				if _, _, err := read(t, bytes.NewReader(file), rows.Options{MaxBytes: c.most}); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %s", err, c.want)
				}
			})
			if name != "much from little" && used > 32<<20 {
				t.Errorf("%d MiB were allocated", used>>20)
			}
		})
	}
	wide := `<worksheet><sheetData><row><c t="str"><v>email</v></c></row>` + strings.Repeat(`<row><c r="XFD1" t="str"><v>x</v></c></row>`, 2000) + `</sheetData></worksheet>`
	r, err := rows.Open(bytes.NewReader(book(t, wide, nil)), rows.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if batch, err := r.NextBatch(); err != nil || len(batch) > 100 || batch[0].Err == nil {
		t.Errorf("a batch of %d wide rows, %v", len(batch), err)
	}
}

// TestFlatSpreadsheets reads a large sheet with as many texts and checks that the memory in use does not grow with it.
func TestFlatSpreadsheets(t *testing.T) {
	count := 60_000
	if os.Getenv("PROSPECTOR_SOAK") != "" {
		count = 1_000_000
	}
	if raceDetector {
		t.Skip("one goroutine reads, and slowly")
	}
	sheet, strs := &lines{head: "<worksheet><sheetData>", count: count, foot: "</sheetData></worksheet>"}, &lines{head: "<sst>", count: count, foot: "</sst>"}
	sheet.line = func(n int) string {
		return fmt.Sprintf(`<row r="%d"><c t="s"><v>%d</v></c><c t="s"><v>%d</v></c><c><v>%d</v></c></row>`, n+1, n, n*7919%count, n)
	}
	strs.line = func(n int) string { return fmt.Sprintf("<si><t>person.%d@x.example</t></si>", n) }
	file := t.TempDir() + "/large.xlsx"
	if err := os.WriteFile(file, written(t, map[string]io.Reader{"xl/worksheets/sheet1.xml": sheet, "xl/sharedStrings.xml": strs}), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := rows.Open(f, rows.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var most uint64
	n := 0
	for err == nil {
		var batch []rows.Row
		batch, err = r.NextBatch()
		for _, row := range batch {
			if want := fmt.Sprintf("person.%d@x.example", n*7919%count); row.Cells[1] != want || row.Line != n+1 {
				t.Fatalf("row %d is %s, want %s", n, describe(row), want)
			}
			n++
		}
		if n%20_000 == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
	}
	if err != io.EOF || n != count || most > 64<<20 {
		t.Errorf("%d rows, %d MiB in use, %v", n, most>>20, err)
	}
}

// lines reads as generated lines.
type lines struct {
	head, foot string
	line       func(n int) string
	n, count   int
	rest       string
	ended      bool
}

func (l *lines) Read(p []byte) (int, error) {
	for l.rest == "" {
		switch {
		case l.head != "":
			l.rest, l.head = l.head, ""
		case l.n < l.count:
			l.rest = l.line(l.n)
			l.n++
		case !l.ended:
			l.rest, l.ended = l.foot, true
		default:
			return 0, io.EOF
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// FuzzSpreadsheet reads arbitrary parts. A row between them is read, if the file can be read at all, and as many cells as
// the header has.
func FuzzSpreadsheet(f *testing.F) {
	f.Add(`<row r="2"><c r="B2" t="s" s="1"><v>0</v></c></row>`, `<si><t>x</t></si>`, `<numFmt numFmtId="164" formatCode="d.m.yy"/><cellXfs><xf numFmtId="164"/></cellXfs>`)
	f.Add(`<row><c r="A1"><v>1e400</v></c><c r="XFE1" t="b"/><c t="inlineStr"><is><r><t>a</t></r><rPh><t>b</t></rPh></is></c></row>`, `<si/>`, `<xf/>`)
	f.Add(`</sheetData>`, `</sst><si>`, `<cellXfs><xf numFmtId="14"/>`)
	f.Add(`<row r="99999999999"><c s="-1"><v>45000.999999</v></c>`, `<si><t>_x000D__xZZZZ_</t></si>`, `&#0;`)
	f.Fuzz(func(t *testing.T, sheet, strs, styles string) {
		if len(sheet)+len(strs)+len(styles) > 1<<14 {
			return
		}
		file := book(t, `<worksheet><sheetData><row r="1"><c t="str"><v>first_name</v></c><c t="str"><v>last_name</v></c></row>`+sheet+
			`<row><c t="str"><v>last</v></c></row></sheetData></worksheet>`, map[string]string{
			"xl/sharedStrings.xml": "<sst>" + strs + "</sst>", "xl/styles.xml": "<styleSheet>" + styles + "</styleSheet>"})
		r, table, err := read(t, bytes.NewReader(file), rows.Options{})
		if err != nil {
			return
		}
		for i, row := range table {
			if row.Err == nil && len(row.Cells) != len(r.Columns) || i > 0 && row.Line <= table[i-1].Line {
				t.Fatalf("%d columns, but %q", len(r.Columns), describeAll(table))
			}
		}
	})
}
