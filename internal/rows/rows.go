// Package rows reads tables of records of any size as they come from other programs: CSV with a header, or JSON lines, gzipped
// or not, with a byte-order mark or without. It gives each row with the line that it begins on, and goes on behind one that
// cannot be read. It knows no kind of record.
package rows

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

// rowMost bounds a row, in bytes: it is as large as a request may be unless set otherwise. An open quote would else make a row of
// all that follows.
const rowMost = 8 << 20

// Row is one row of a table: cells under the columns of a CSV file, or the object on a line of JSON.
type Row struct {
	Line   int // the physical line that it begins on, the first is 1
	Cells  []string
	Object shape.Value
	Err    error // why it cannot be read

	size int // in bytes
}

// Reader reads the rows of a table.
type Reader struct {
	// Columns are the names in the header of a CSV file; nil for JSON lines.
	Columns []string
	// Entity is what of an export of an organization is read, each line of which says what it is; the rest is passed over.
	Entity string

	in    *bufio.Reader
	line  int    // the number of the next line
	again []byte // lines that are read once more
	place int    // of the next in again
	long  bool   // behind again came a line that was too long
	comma byte
}

// NewReader finds out what the table is: lines that begin with a brace are JSON, everything else is CSV.
func NewReader(r io.Reader) (*Reader, error) {
	t, err := newReader(r)
	for err == nil {
		var line []byte
		if line, err = t.readLine(); err != nil {
			break
		}
		text := bytes.TrimSpace(line)
		if len(text) == 0 {
			continue
		}
		if array := bytes.TrimSpace(bytes.TrimPrefix(text, []byte("["))); text[0] == '[' && (len(array) == 0 || array[0] == '{') {
			return nil, errors.New("the file is a JSON array; put each object on its own line, without brackets and commas")
		}
		if text[0] != '{' {
			return t, t.readHeader(line)
		}
		t.back(line)
		return t, nil
	}
	if err == io.EOF {
		err = errEmpty
	}
	return nil, err
}

// NewLineReader reads a table that is known to be JSON lines.
func NewLineReader(r io.Reader) (*Reader, error) {
	t, err := newReader(r)
	if err == nil {
		if _, end := t.in.Peek(1); end != nil {
			_, err = t.readLine()
		}
	}
	if err == io.EOF {
		err = errEmpty
	}
	return t, err
}

func newReader(r io.Reader) (*Reader, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	magic, _ := in.Peek(4)
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		plain, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("invalid gzip header: %w", err)
		}
		in = bufio.NewReaderSize(plain, 1<<16)
	case bytes.Equal(magic, []byte("PK\x03\x04")):
		return nil, errors.New("the file is a spreadsheet or a zip archive; save it as CSV")
	}
	// Spreadsheets write UTF-16 too; a mark at the beginning tells.
	in = bufio.NewReaderSize(transform.NewReader(in, unicode.BOMOverride(encoding.Nop.NewDecoder())), 1<<16)
	return &Reader{in: in, line: 1}, nil
}

func (t *Reader) readHeader(first []byte) error {
	count := map[byte]int{}
	for quoted, i := false, 0; i < len(first); i++ {
		if first[i] == '"' {
			quoted = !quoted
		} else if !quoted {
			count[first[i]]++
		}
	}
	t.comma = ','
	for _, other := range []byte{';', '\t'} {
		if count[other] > count[t.comma] {
			t.comma = other
		}
	}
	header := t.cellsFrom(first)
	if header.Err != nil {
		return fmt.Errorf("header: %w", header.Err)
	}
	t.Columns = header.Cells
	for i, name := range t.Columns {
		t.Columns[i] = strings.TrimSpace(name)
	}
	return nil
}

// Next gives the next row; io.EOF is the end. A row that cannot be read says why and does not end the table.
func (t *Reader) Next() (Row, error) {
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
			row.Object, row.Err = parseObject(bytes.TrimSpace(line))
			if t.isOther(&row) {
				continue
			}
		default:
			row = t.cellsFrom(line)
			if row.Err == nil && len(row.Cells) != len(t.Columns) {
				row.Err = fmt.Errorf("%d cells, but the header has %d", len(row.Cells), len(t.Columns))
			}
		}
		return row, nil
	}
}

// isOther takes a record of an export out of its envelope, and tells when it is of another entity.
func (t *Reader) isOther(row *Row) bool {
	entity, record := row.Object.Get("entity"), row.Object.Get("record")
	if len(row.Object.Members) != 2 || entity.Kind != shape.String || record.Kind != shape.Object {
		return false
	}
	row.Object = record
	return entity.Text != t.Entity
}

// parseObject reads a line of JSON. What is wrong with it is said of the body of a request elsewhere.
func parseObject(line []byte) (shape.Value, error) {
	v, err := shape.ParseObject(line)
	var wrong *fault.Error
	if errors.As(err, &wrong) {
		err = errors.New(strings.Replace(wrong.Message, "the body", "the line", 1))
	}
	return v, err
}

var errEmpty = errors.New("the file is empty")

var errLong = fmt.Errorf("longer than %d bytes", rowMost)

// readLine gives the next line with its end, which the last may lack. One that is too long is read and gone.
func (t *Reader) readLine() ([]byte, error) {
	if rest := t.again[t.place:]; len(rest) > 0 {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		t.place += end
		t.line++
		return rest[:end], nil
	}
	t.again, t.place = nil, 0
	if t.long {
		t.long = false
		t.line++
		return nil, errLong
	}
	var line []byte
	for long := false; ; {
		part, err := t.in.ReadSlice('\n')
		if len(line)+len(part) > rowMost {
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

// back makes the lines that were just read the next ones again.
func (t *Reader) back(lines []byte) {
	t.line -= bytes.Count(lines, []byte{'\n'})
	if len(lines) > 0 && lines[len(lines)-1] != '\n' {
		t.line--
	}
	if t.place >= len(lines) {
		t.place -= len(lines) // they came from there
	} else {
		t.again, t.place = lines, 0
	}
}

func validText(cells []string) error {
	for i, c := range cells {
		if !utf8.ValidString(c) {
			return fmt.Errorf("cell %d is not valid UTF-8; save the file as UTF-8", i+1)
		}
	}
	return nil
}
