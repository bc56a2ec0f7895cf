// Package rows reads tables that other programs wrote: CSV with a header, spreadsheets (.xlsx), address books (vCard) and
// JSON, optionally packed, in any common encoding and of any size. It owns the file formats, the recognition of columns,
// the conversion of cells to values, and the report of what could not be read. The package knows no
// kind of record.
//
// A Reader makes rows of a file:
//
//	bytes ─▶ unpack.go ─┬─▶ encoding.go, charset.go ─┬─▶ find_header.go, csv.go ─┬─▶ rows.go: Sample, Next, NextBatch
//	                    │                            ├─▶ array.go (JSON)         │
//	                    │                            ├─▶ vcard.go ───────────────┤
//	                    └─▶ xlsx.go and xlsx_*.go ───┴───────────────────────────┘
//
// Columns make values of rows:
//
//	Sample ─▶ recognize.go, known_headers.txt ─▶ which field a column sets ─▶ inspect.go shows it to who imports the file
//	all rows ─▶ survey.go ─▶ how a column writes dates and numbers: a first pass, in which nothing is imported
//	each row ─▶ reading.go ─▶ value.go with date.go, number.go, person.go, opt_out.go and word.go ─▶ Cells, Dropped
//
// load.go passes them on in batches, and report.go counts what became of them.
package rows

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

const (
	// maxRow is the maximum size of a row in bytes, the default maximum of a request body. Without it,
	// an unclosed quote would turn the rest of the file into one row.
	maxRow = 8 << 20
	// maxValues is how many JSON values a line may have, as many as a request body. Parsed, each takes some 100 bytes.
	maxValues = 50_000
	// maxRaw is the number of bytes of an unreadable row that are kept.
	maxRaw = 1 << 16
)

// Limits of a batch. A larger batch would delay other writers.
const (
	batchRows  = 1000
	batchBytes = 8 << 20
)

// Limits of the rows by which columns are recognized.
const (
	sampleRows  = 200
	sampleBytes = 1 << 19
)

// Row is one row of a table: the cells of a CSV row, or the object on a line of JSON.
type Row struct {
	Line   int // the physical line on which it starts, counted from 1
	Cells  []string
	Object shape.Value
	Raw    string // the row as it came, if it is JSON or could not be read
	Err    error  // why the row is invalid, or nil

	size int // in bytes
}

// Options of a Reader.
type Options struct {
	// Lines says that the table is known to be JSON lines. Otherwise a file that starts with a brace is
	// JSON lines, and any other is CSV.
	Lines bool
	// Entity selects the records to read from an export of an organization, in which every line
	// names its entity. Records of other entities are skipped.
	Entity string
	// MaxBytes is the maximum size of the file when it is unpacked. 0 means 64 GiB.
	MaxBytes int64
	// Encoding is one of Encodings. If it is empty, the encoding is detected.
	Encoding string
	// Sheet is the name of the sheet of a spreadsheet to read. If it is empty, the first visible one is read.
	Sheet string
}

// Reader reads the rows of a table.
type Reader struct {
	// Columns are the names in the header of a table; nil for JSON.
	Columns []string

	entity   string
	isExport bool // of an organization
	in       *bufio.Reader
	decoder  *decoder
	onClose  func()
	book     *workbook // nil unless the file is a spreadsheet
	next     func() (Row, error)
	sample   []Row // the first rows, when they have been asked for
	coming   []Row // the next rows, among them those of the sample
	after    error // why there are no more after them
	isCSV    bool
	line     int    // the number of the next line
	again    []byte // lines to read again
	againAt  int    // the position of the next line in again
	long     bool   // a line that was too long follows again
	comma    byte
}

// Open starts to read a table. It finds out how the file is packed, its format, its encoding, and the
// delimiter and the header of CSV. A zip archive or a spreadsheet is read by position if r is a file, and copied to a
// temporary file otherwise. The caller closes r after the Reader. Options that do not fit the file are a
// *fault.Error with the paths encoding and sheet.
func Open(r io.Reader, o Options) (*Reader, error) {
	if o.Encoding != "" && !slices.Contains(Encodings(), o.Encoding) {
		return nil, invalid("encoding", "%q is not one of: %s", shorten(o.Encoding), strings.Join(Encodings(), ", "))
	}
	content, book, release, err := unpack(r, cmp.Or(o.MaxBytes, maxUnpacked), o.Sheet)
	if err != nil {
		return nil, err
	}
	t := &Reader{entity: o.Entity, onClose: release, book: book, line: 1}
	if book != nil {
		err = t.openSheet()
	} else {
		err = t.openText(content, o)
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// openText starts to read a file that is text.
func (t *Reader) openText(content io.Reader, o Options) error {
	packed := bufio.NewReaderSize(content, window)
	if err := checkText(packed); err != nil {
		return err
	}
	if o.Sheet != "" {
		return invalid("sheet", "the file is not a spreadsheet with sheets")
	}
	t.decoder = newDecoder(packed, o.Encoding)
	t.in = bufio.NewReaderSize(t.decoder, 1<<16)
	start, _ := t.in.Peek(t.in.Size())
	if bytes.IndexByte(start, '\n') < 0 && bytes.IndexByte(start, '\r') >= 0 {
		t.in = bufio.NewReaderSize(carriageReturns{t.in}, 1<<16)
	}
	switch {
	case isArray(start):
		t.next = t.nextInArray
		return nil
	case isCards(start):
		t.next, t.Columns = t.nextCard, slices.Clone(cardColumns)
		return nil
	}
	t.next = t.nextLine
	return t.detect(o.Lines)
}

// carriageReturns reads a file of old spreadsheets, in which a carriage return ends a line.
type carriageReturns struct{ in io.Reader }

func (c carriageReturns) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	for i, b := range p[:n] {
		if b == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// Close removes temporary files.
func (t *Reader) Close() {
	if t.book != nil {
		t.book.Close()
	}
	t.onClose()
}

// Encoding names the encoding of the file as far as it was read. A file that has only ASCII characters is
// utf-8, and so is a spreadsheet.
func (t *Reader) Encoding() string {
	if t.decoder == nil {
		return utf8Text
	}
	return t.decoder.name
}

// EncodingUnsure reports whether another encoding is almost as probable.
func (t *Reader) EncodingUnsure() bool { return t.decoder != nil && t.decoder.unsure }

// Delimiter returns the character between the cells of a CSV file, or "" for other formats.
func (t *Reader) Delimiter() string {
	if !t.isCSV {
		return ""
	}
	return string(t.comma)
}

// Sheets returns the names of the sheets of a spreadsheet, the visible ones first, and the one that is read.
func (t *Reader) Sheets() (names []string, read string) {
	if t.book == nil {
		return nil, ""
	}
	return t.book.names(), t.book.sheet
}

// detect finds out the format, and reads the header of CSV.
func (t *Reader) detect(lines bool) (err error) {
	for err == nil {
		var line []byte
		if line, err = t.readLine(); err != nil {
			break
		}
		text := bytes.TrimSpace(line)
		if len(text) == 0 && !lines {
			continue
		}
		t.back(line)
		if lines || text[0] == '{' {
			return nil
		}
		t.isCSV = true
		return t.readHeader()
	}
	if err == io.EOF {
		return errEmpty
	}
	if lines && errors.Is(err, errLong) {
		t.long = true
		t.line--
		return nil
	}
	return err
}

// Sample returns the first rows, which Next returns, too, so that columns can be recognized by their
// content. It returns less if the file cannot be read further.
func (t *Reader) Sample() []Row {
	if t.sample != nil {
		return t.sample
	}
	n := 0
	for size := 0; n < sampleRows && size < sampleBytes && t.hasNext(n); n++ {
		size += t.coming[n].size + len(t.coming[n].Raw)
	}
	t.sample = slices.Clone(t.coming[:n])
	return t.sample
}

// NextBatch returns the next rows, as many as may be written at once. At the end of the table it
// returns io.EOF together with the last rows, of which there may be none.
func (t *Reader) NextBatch() (batch []Row, err error) {
	for size := 0; len(batch) < batchRows && size < batchBytes; {
		row, err := t.Next()
		if err != nil {
			return batch, err
		}
		batch = append(batch, row)
		size += row.size
	}
	return batch, nil
}

// Next returns the next row, or io.EOF at the end. An invalid row has an Err and does not end the
// table.
func (t *Reader) Next() (row Row, err error) {
	if !t.hasNext(0) {
		return row, t.after
	}
	row, t.coming = t.coming[0], t.coming[1:]
	return row, nil
}

// hasNext reports whether there are more than n rows. It reads on until it knows whether the row after them is one of the
// last, which may be a row of totals.
func (t *Reader) hasNext(n int) bool {
	for t.after == nil && len(t.coming) < n+lastRows {
		row, err := t.next()
		if err != nil {
			t.after = err
			t.markTotals(t.coming[n:])
			break
		}
		t.coming = append(t.coming, row)
	}
	return n < len(t.coming)
}

// lastRows is how many rows at the end may be rows of totals.
const lastRows = 3

// totalWords begin a row of totals, in lower case.
var totalWords = []string{"total", "totals", "grand total", "sum", "gesamt", "gesamtsumme", "summe", "insgesamt", "somme", "total général", "suma", "total general"}

var errTotals = errors.New("is a row of totals")

// markTotals marks the rows of totals among the last.
func (t *Reader) markTotals(last []Row) {
	for i := range last {
		if row := &last[i]; t.Columns != nil && row.Err == nil && row.isTotals() {
			row.Err = errTotals
		}
	}
}

var isDomain = regexp.MustCompile(`[a-z0-9]\.[a-z]{2,}(/|$)`)

// isTotals reports whether the first value of a row is such a word, and no value is an address.
func (r *Row) isTotals() bool {
	first := ""
	for _, c := range r.Cells {
		lower := strings.ToLower(strings.TrimSpace(c))
		if first == "" {
			first = lower
		}
		if strings.Contains(lower, "@") || strings.Contains(lower, "://") || isDomain.MatchString(lower) {
			return false
		}
	}
	return slices.ContainsFunc(totalWords, func(word string) bool {
		rest, has := strings.CutPrefix(first, word)
		return has && strings.Trim(rest, " :=#.,()-0123456789") == ""
	})
}

// nextLine reads the next row of CSV or JSON lines.
func (t *Reader) nextLine() (Row, error) {
	for {
		line, err := t.readLine()
		if err != nil && !errors.Is(err, errLong) {
			return Row{}, err
		}
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		row := Row{Line: t.line - 1, Err: err}
		switch {
		case err != nil:
		case t.Columns == nil:
			row.size = len(line)
			row.Raw = string(bytes.TrimSpace(line))
			row.Object, row.Err = parseObject([]byte(row.Raw))
			if t.isOther(&row) {
				continue
			}
		default:
			if row = t.cellsFrom(line); row.Err == nil && row.isBlank() {
				continue
			}
			row.fit(len(t.Columns))
		}
		return row, nil
	}
}

// isBlank reports whether a row has only empty cells, which spreadsheets write below a table.
func (r *Row) isBlank() bool {
	return !slices.ContainsFunc(r.Cells, func(c string) bool { return strings.TrimSpace(c) != "" })
}

// fit gives a row as many cells as the header has. Programs leave out empty cells at the end of a row. A
// row of one cell in a wide table is something else, such as the footer of a report.
func (r *Row) fit(columns int) {
	if r.Err != nil {
		return
	}
	for len(r.Cells) > columns && strings.TrimSpace(r.Cells[len(r.Cells)-1]) == "" {
		r.Cells = r.Cells[:len(r.Cells)-1]
	}
	switch n := len(r.Cells); {
	case n > columns:
		r.Err = fmt.Errorf("%d cells, but the header has %d", n, columns)
	case n == 1 && columns > 2:
		r.Err = fmt.Errorf("1 cell, but the header has %d", columns)
	}
	r.pad(columns)
}

// pad adds the cells that are missing at the end of a row.
func (r *Row) pad(columns int) {
	for len(r.Cells) < columns {
		r.Cells = append(r.Cells, "")
	}
}

// isOther unwraps a record of an export of an organization, and reports whether a line of it belongs to another entity. The
// first line of such an export says so; those of earlier versions have nothing but records.
func (t *Reader) isOther(row *Row) bool {
	entity, record := row.Object.Get("entity"), row.Object.Get("record")
	if entity.Kind != shape.String {
		return false
	}
	t.isExport = t.isExport || row.Object.Get("export").Kind == shape.Object
	if record.Kind != shape.Object || !t.isExport && len(row.Object.Members) != 2 {
		return t.isExport
	}
	row.Object = record
	return entity.Text != t.entity
}

// parseObject parses a line of JSON. Its errors speak of the line instead of the body of a request.
func parseObject(line []byte) (shape.Value, error) {
	if shape.CountValues(line) > maxValues {
		return shape.Value{}, fmt.Errorf("more than %d JSON values", maxValues)
	}
	v, err := shape.ParseObject(line)
	var wrong *fault.Error
	if errors.As(err, &wrong) {
		err = errors.New(strings.Replace(wrong.Message, "the body", "the line", 1))
	}
	return v, err
}

var errEmpty = errors.New("the file is empty")

var errLong = fmt.Errorf("longer than %d bytes", maxRow)

// readLine returns the next line including its line ending. A line that is too long is skipped and
// returned as errLong.
func (t *Reader) readLine() ([]byte, error) {
	if rest := t.again[t.againAt:]; len(rest) > 0 {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		t.againAt += end
		t.line++
		return rest[:end], nil
	}
	t.again, t.againAt = nil, 0
	if t.long {
		t.long = false
		t.line++
		return nil, errLong
	}
	var line []byte
	for long := false; ; {
		part, err := t.in.ReadSlice('\n')
		if len(line)+len(part) > maxRow {
			long, line = true, nil
		}
		if !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, fmt.Errorf("truncated: %w", err)
		case err != nil && err != io.EOF:
			return nil, err
		case err == io.EOF && len(line) == 0 && !long:
			return nil, io.EOF
		}
		t.line++
		if long {
			return nil, errLong
		}
		return line, nil
	}
}

// back unreads the lines that were read last.
func (t *Reader) back(lines []byte) {
	t.line -= bytes.Count(lines, []byte{'\n'})
	if len(lines) > 0 && lines[len(lines)-1] != '\n' {
		t.line--
	}
	if t.againAt >= len(lines) {
		t.againAt -= len(lines) // they were read from again
	} else {
		t.again, t.againAt = lines, 0
	}
}
