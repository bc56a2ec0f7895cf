package rows

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"

	"prospector/internal/address"
)

const (
	// headerLines and headerBytes limit how much of a file is looked at to find its header.
	headerLines = 60
	headerBytes = 1 << 18
	// maxTitles is the number of lines that may precede the header.
	maxTitles = 20
	// maxCompared is the number of cells of a row that are compared with the table of headers.
	maxCompared = 300
	// maxHeader is the size of a header in bytes. What is said about a file repeats the names in it.
	maxHeader = 256 << 10
)

// delimiters separate the cells of tables. The first wins if nothing speaks for another.
var delimiters = []byte{',', ';', '\t', '|'}

// readHeader finds the delimiter and the header of a CSV file and reads both. Lines above the header
// are skipped if they are clearly not part of the table: a line sep=; for spreadsheets, blank lines and
// titles.
func (t *Reader) readHeader() error {
	t.skipSeparatorLine()
	start, err := t.peekLines()
	if err != nil {
		return err
	}
	skip, comma := findHeader(start, t.comma)
	t.comma = comma
	for {
		line, err := t.readLine()
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		header := t.cellsFrom(line)
		if skip--; skip >= 0 && header.Err == nil {
			continue
		}
		if err := header.checkHeader(); err != nil {
			return err
		}
		t.Columns = header.Cells
		if isData(header.Cells) {
			t.back([]byte(header.Raw))
			t.Columns = numbered(len(t.Columns))
			return nil
		}
		t.Columns = cleanNames(t.Columns)
		return nil
	}
}

// checkHeader returns an error if a row cannot be a header.
func (r *Row) checkHeader() error {
	switch {
	case r.Err != nil:
		return fmt.Errorf("header: %w", r.Err)
	case r.size > maxHeader:
		return fmt.Errorf("header: has %d bytes, but at most %d are possible; is the first row really the names of columns?", r.size, maxHeader)
	}
	return nil
}

// numbered returns the names of columns of a table without a header.
func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("column %d", i+1)
	}
	return names
}

// cleanNames returns the names of columns without what is not seen.
func cleanNames(cells []string) []string {
	names := make([]string, len(cells))
	for i, name := range cells {
		names[i] = strings.TrimSpace(strings.Map(visible, UnescapeFormula(strings.ToValidUTF8(name, "\ufffd"))))
	}
	return names
}

// visible removes characters that are not seen, which would make names look the same but differ.
func visible(r rune) rune {
	switch r {
	case '\u200b', '\u200c', '\u200d', '\u200e', '\u200f', '\u2060', '\ufeff', '\u00ad':
		return -1
	case '\u00a0', '\u202f', '\u2007':
		return ' '
	}
	return r
}

// isData reports whether the first row of a table is not a header: it contains an email address.
func isData(cells []string) bool {
	for _, c := range cells {
		if address.IsEmail(strings.TrimSpace(c)) {
			return true
		}
	}
	return false
}

// skipSeparatorLine reads a first line such as sep=; which spreadsheets take for the delimiter.
func (t *Reader) skipSeparatorLine() {
	line, err := t.readLine()
	if err != nil {
		t.back(line)
		return
	}
	text := strings.Trim(strings.TrimRight(string(line), "\r\n"), `"`)
	if len(text) == 5 && strings.EqualFold(text[:4], "sep=") && bytes.IndexByte(delimiters, text[4]) >= 0 {
		t.comma = text[4]
		return
	}
	t.back(line)
}

// peekLines returns the first lines, which are read again.
func (t *Reader) peekLines() ([]byte, error) {
	var all []byte
	for n := 0; n < headerLines && len(all) < headerBytes; n++ {
		line, err := t.readLine()
		if errors.Is(err, errLong) {
			t.long = true
			t.line--
			break
		}
		if err != nil && len(all) == 0 {
			return nil, err
		}
		if err != nil {
			break // and again when the lines are read
		}
		all = append(all, line...)
	}
	t.back(all)
	return all, nil
}

// parseRows returns the rows at the start of a table, as far as they can be read: those that may be its header, and
// one more.
func parseRows(start []byte, comma byte) (list [][]string) {
	c := cells{comma: comma}
	for line := range bytes.Lines(start) {
		if c.at != quoted {
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			c = cells{comma: comma}
		}
		if c.add(line) != nil {
			c = cells{comma: comma}
			continue
		}
		if c.at != quoted {
			if list = append(list, c.split()); len(list) > maxTitles {
				break
			}
		}
	}
	return list
}

// findHeader returns how many rows precede the header, and the delimiter, which is fixed if it is not 0.
// The header is the first row with names of the table of headers, if the row below it has as many cells.
// Otherwise it is the first row, and its delimiter is the one that it has most of.
func findHeader(start []byte, fixed byte) (skip int, comma byte) {
	best, rank := cmp.Or(fixed, mostFrequent(start)), 1
	for _, d := range delimiters {
		if fixed != 0 && d != fixed || bytes.IndexByte(start, d) < 0 {
			continue
		}
		list := parseRows(start, d)
		for i := range min(len(list), maxTitles) {
			n, known := len(list[i]), knownNames(list[i])
			isConsistent := i+1 < len(list) && len(list[i+1]) == n
			if n < 2 || known < 2 || !isConsistent {
				continue
			}
			if known > rank || known == rank && i < skip {
				best, skip, rank = d, i, known
			}
			break
		}
	}
	return skip, best
}

// mostFrequent returns the delimiter that the first row has most of, outside of quotes.
func mostFrequent(start []byte) byte {
	start = bytes.TrimLeft(start, " \t\r\n")
	count, isQuoted := map[byte]int{}, false
	for _, b := range start {
		if b == '"' {
			isQuoted = !isQuoted
		} else if b == '\n' && !isQuoted {
			break
		} else if !isQuoted {
			count[b]++
		}
	}
	best := delimiters[0]
	for _, d := range delimiters {
		if count[d] > count[best] {
			best = d
		}
	}
	return best
}

// knownNames counts the cells that are names of columns in the table of headers.
func knownNames(cells []string) (n int) {
	for _, c := range cells[:min(len(cells), maxCompared)] {
		if len(c) < 100 && allHeaders()[foldHeader(c)] {
			n++
		}
	}
	return n
}

// allHeaders are the names in the table of headers, folded.
var allHeaders = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, fields := range knownHeaders() {
		for field, names := range fields {
			all[foldHeader(field)] = true
			for _, name := range names {
				all[foldHeader(name)] = true
			}
		}
	}
	return all
})
