package rows

import (
	"encoding/xml"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// sheetReader reads the rows of a sheet.
type sheetReader struct {
	book  *workbook
	xml   *xmlReader
	line  int
	width int // how many columns the sheet says that it has
}

// next returns the next row that has a value, or io.EOF.
func (s *sheetReader) next() (Row, error) {
	for {
		token, err := s.xml.next()
		if err != nil {
			return Row{}, truncated(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "dimension":
				_, last, _ := strings.Cut(attribute(e, "ref"), ":")
				s.width = columnNumber(last) + 1
			case "row":
				row, err := s.row(e)
				if err != nil || !row.isBlank() || row.Err != nil {
					return row, err
				}
			}
		case xml.EndElement:
			if e.Name.Local == "sheetData" || e.Name.Local == "worksheet" {
				return Row{}, io.EOF
			}
		}
	}
}

// row reads the cells of a row.
func (s *sheetReader) row(e xml.StartElement) (Row, error) {
	s.line++
	if n, err := strconv.Atoi(attribute(e, "r")); err == nil && n >= s.line {
		s.line = n
	}
	row := Row{Line: s.line}
	for {
		token, err := s.xml.next()
		if err != nil {
			return row, truncated(err)
		}
		switch e := token.(type) {
		case xml.EndElement:
			if e.Name.Local == "row" {
				return row, nil
			}
		case xml.StartElement:
			if e.Name.Local != "c" {
				continue
			}
			inside, err := s.xml.textIn("c")
			if err != nil {
				return row, err
			}
			text, err := s.value(attribute(e, "t"), attribute(e, "s"), string(inside))
			if err != nil {
				return row, err
			}
			at := len(row.Cells)
			if n := columnNumber(attribute(e, "r")); n >= 0 {
				at = n
			}
			s.put(&row, at, text)
		}
	}
}

// truncated is the error at the end of a part that must go on.
func truncated(err error) error {
	if err == io.EOF {
		return damaged(&xml.SyntaxError{Msg: "unexpected EOF"})
	}
	return err
}

// put sets a cell. Cells without a value do not make a row wider.
func (s *sheetReader) put(row *Row, at int, text string) {
	if text == "" || row.Err != nil {
		return
	}
	switch {
	case at >= maxCells:
		row.Err = errWide
	case row.size+len(text) > maxRow:
		row.Err = errLong
	}
	if row.Err != nil {
		return
	}
	row.size += len(text)
	for len(row.Cells) <= at {
		row.Cells = append(row.Cells, "")
		row.size += 16
	}
	row.Cells[at] = text
}

// columnNumber returns the number of the column in a reference such as AB12, from 0, or -1.
func columnNumber(ref string) int {
	n := 0
	for i := range len(ref) {
		c := ref[i] | 0x20
		if c < 'a' || c > 'z' {
			break
		}
		if n = 26*n + int(c-'a') + 1; n > maxCells {
			break
		}
	}
	return n - 1
}

// value returns what a cell shows: a text as it is, a number in full, a date in the form 2006-01-02. The result of a
// formula is the one that was stored with it.
func (s *sheetReader) value(kind, format, text string) (string, error) {
	switch kind {
	case "s":
		i, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return "", nil
		}
		return s.book.strings.get(i)
	case "str", "inlineStr":
		return unescapeXML(text), nil
	case "b":
		if isTrue(strings.TrimSpace(text)) {
			return "true", nil
		}
		return "false", nil
	case "d":
		return strings.Replace(strings.TrimSpace(text), "T", " ", 1), nil
	case "e":
		return text, nil // #N/A, which means no value
	}
	f := cellFormat{}
	if i, err := strconv.Atoi(format); err == nil && i >= 0 && i < len(s.book.formats) {
		f = s.book.formats[i]
	}
	return f.show(strings.TrimSpace(text), s.book.is1904), nil
}

// unescapeXML replaces what stands for characters that XML cannot have, such as _x000D_.
func unescapeXML(text string) string {
	if !strings.Contains(text, "_x") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '_' && i+7 <= len(text) && text[i+1] == 'x' && text[i+6] == '_' {
			if n, err := strconv.ParseUint(text[i+2:i+6], 16, 16); err == nil && utf8.ValidRune(rune(n)) {
				b.WriteRune(rune(n))
				i += 6
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// openSheet starts to read the sheet of a spreadsheet, and finds its header.
func (t *Reader) openSheet() error {
	sheet, err := t.book.openSheet()
	if err != nil {
		return err
	}
	var ahead []Row
	for len(ahead) <= maxTitles && err == nil {
		var row Row
		if row, err = sheet.next(); err == nil {
			ahead = append(ahead, row)
		}
	}
	if err != nil && err != io.EOF {
		return err
	}
	if len(ahead) == 0 {
		return errEmpty
	}
	at := headerAmong(ahead)
	header := ahead[at]
	if err := header.checkHeader(); err != nil {
		return err
	}
	width := max(len(header.Cells), min(sheet.width, len(header.Cells)+maxExtraCells))
	if isData(header.Cells) {
		t.Columns = numbered(width)
	} else {
		at++
		t.Columns = cleanNames(header.Cells)
		t.Columns = append(t.Columns, make([]string, width-len(header.Cells))...)
	}
	ahead, line := ahead[at:], header.Line
	t.next = func() (row Row, err error) {
		if len(ahead) > 0 {
			row, ahead = ahead[0], ahead[1:]
		} else if row, err = sheet.next(); err != nil {
			return row, err
		}
		isApart := row.Line > line+1
		line = row.Line
		if len(row.Cells) > 1 || isApart { // a footer has a blank row above it
			row.fit(width)
		}
		row.pad(width)
		return row, nil
	}
	return nil
}

// headerAmong returns which of the first rows of a sheet is the header: the first with names of the table of headers, or
// else the first that is no title of a wider table.
func headerAmong(first []Row) int {
	wide, widest := 0, 0
	for i, row := range first[:min(len(first), maxTitles)] {
		if knownNames(row.Cells) > 1 {
			return i
		}
		n := 0
		for _, c := range row.Cells {
			if strings.TrimSpace(c) != "" {
				n++
			}
		}
		if n > widest && widest < 2 {
			wide, widest = i, n
		}
	}
	if widest < 3 {
		return 0
	}
	return wide
}
