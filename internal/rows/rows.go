// Package rows reads tables that other programs wrote: CSV with a header, or JSON lines, optionally
// gzipped or with a byte-order mark, of any size. It owns the file formats, the mapping of columns
// to fields and loading in batches. An invalid row is reported with its line number and does not
// end the table. The package knows no kind of record.
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

// maxRow is the maximum size of a row in bytes, the default maximum of a request body. Without it,
// an unclosed quote would turn the rest of the file into one row.
const maxRow = 8 << 20

// Row is one row of a table: the cells of a CSV row, or the object on a line of JSON.
type Row struct {
	Line   int // the physical line on which it starts, counted from 1
	Cells  []string
	Object shape.Value
	Err    error // why the row is invalid, or nil

	size int // in bytes
}

// Reader reads the rows of a table.
type Reader struct {
	// Columns are the names in the header of a CSV file; nil for JSON lines.
	Columns []string
	// Entity selects the records to read from an export of an organization, in which every line
	// names its entity. Records of other entities are skipped.
	Entity string

	in    *bufio.Reader
	line  int    // the number of the next line
	again []byte // lines to read again
	place int    // the position of the next line in again
	long  bool   // a line that was too long follows again
	comma byte
}

// NewReader detects the format: a file that starts with a brace is JSON lines, any other is CSV.
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
		array := bytes.TrimSpace(bytes.TrimPrefix(text, []byte("[")))
		if text[0] == '[' && (len(array) == 0 || array[0] == '{') {
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

// NewLineReader returns a reader for a table that is known to be JSON lines.
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
	// Some spreadsheets write UTF-16 with a byte-order mark.
	decoded := transform.NewReader(in, unicode.BOMOverride(encoding.Nop.NewDecoder()))
	in = bufio.NewReaderSize(decoded, 1<<16)
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

// Next returns the next row, or io.EOF at the end. An invalid row has an Err and does not end the
// table.
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

// isOther unwraps a record of an export, and reports whether it belongs to another entity.
func (t *Reader) isOther(row *Row) bool {
	entity, record := row.Object.Get("entity"), row.Object.Get("record")
	if len(row.Object.Members) != 2 || entity.Kind != shape.String || record.Kind != shape.Object {
		return false
	}
	row.Object = record
	return entity.Text != t.Entity
}

// parseObject parses a line of JSON. Its errors speak of the line instead of the body of a request.
func parseObject(line []byte) (shape.Value, error) {
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
	if t.place >= len(lines) {
		t.place -= len(lines) // they were read from again
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
