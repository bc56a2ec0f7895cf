package rows

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"io"
	"slices"
	"strings"
)

// RejectColumn is the column of rejects that says why a row was skipped.
const RejectColumn = "why skipped"

// Rejects writes skipped rows as a CSV file with the columns and the delimiter of the table they come
// from, and a column that says why. Rows of JSON lines have one column, "row". Text that a spreadsheet
// would run as a formula is escaped, which an import undoes.
type Rejects struct {
	w       *csv.Writer
	columns int
}

// NewRejects writes the header of rejects.
func NewRejects(w io.Writer, t *Reader) (*Rejects, error) {
	if _, err := io.WriteString(w, "\ufeff"); err != nil { // without it, spreadsheets do not read UTF-8
		return nil, err
	}
	r := AppendRejects(w, t)
	columns := t.Columns
	if columns == nil {
		columns = []string{"row"}
	}
	return r, r.write(append(slices.Clone(columns), RejectColumn))
}

// AppendRejects continues rejects that have a header already.
func AppendRejects(w io.Writer, t *Reader) *Rejects {
	r := &Rejects{w: csv.NewWriter(w), columns: 1}
	if t.Columns != nil {
		r.w.Comma, r.columns = rune(cmp.Or(t.comma, delimiters[0])), len(t.Columns)
	}
	return r
}

// Add writes a skipped row. The text of a row that could not be divided into cells is in the first
// column.
func (r *Rejects) Add(row *Row, why string) error {
	cells := slices.Clone(row.Cells)
	if cells == nil {
		cells = []string{row.Raw}
	}
	for len(cells) < r.columns {
		cells = append(cells, "")
	}
	return r.write(append(cells[:r.columns:r.columns], append([]string{why}, cells[r.columns:]...)...))
}

func (r *Rejects) write(cells []string) error {
	for i, c := range cells {
		cells[i] = EscapeFormula(strings.ToValidUTF8(c, "\ufffd"))
	}
	return r.w.Write(cells)
}

// Flush writes what is buffered.
func (r *Rejects) Flush() error {
	r.w.Flush()
	return r.w.Error()
}

// WithoutRejects returns rejects that have no header without the rows for which names returns true, and how many these
// were. The other rows stay as they are.
func WithoutRejects(text []byte, delimiter string, names func(cells []string) bool) (kept []byte, removed int, err error) {
	comma := byte(',')
	if delimiter != "" {
		comma = delimiter[0]
	}
	for len(text) > 0 {
		c, n := cells{comma: comma}, 0
		for n == 0 || c.at == quoted && n < len(text) { // a row has more lines while a quote is open
			line := text[n:]
			if end := bytes.IndexByte(line, '\n'); end >= 0 {
				line = line[:end+1]
			}
			if err := c.add(line); err != nil {
				return nil, 0, err
			}
			n += len(line)
		}
		if names(c.split()) {
			removed++
		} else {
			kept = append(kept, text[:n]...)
		}
		text = text[n:]
	}
	return kept, removed, nil
}
