package rows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// This file does not use encoding/csv, because that reads an unclosed quote to the end of the file,
// stops there, and removes carriage returns from cells.

// position is the position of the reader within a cell.
type position int

const (
	before position = iota // at its start
	plain
	quoted
	behind // after its closing quote
)

var (
	errOpen  = errors.New("unclosed quote")
	errQuote = errors.New("unexpected text after a closing quote; write a quote inside quotes twice")
	errWide  = fmt.Errorf("more than %d cells", maxCells)
)

// maxCells is how many cells a row may have: as many as spreadsheets can save.
const maxCells = 16_384

// maxExtraCells is the number of excess cells after which a row with an open quote is abandoned.
// Without this bound, every line of a file could cause a read to its end.
const maxExtraCells = 100

// cells collects the cells of a row.
type cells struct {
	comma byte
	at    position
	text  []byte
	ends  []int // the ends of the cells, in text
	start int   // of the current cell, in text
}

// cellsFrom reads the row of a CSV file that starts with line. If the row is invalid, the next row
// starts on the following line.
func (t *Reader) cellsFrom(line []byte) Row {
	row := Row{Line: t.line - 1}
	first := line
	c := cells{comma: t.comma}
	var more []byte // the lines after the first
	err := c.add(line)
	for err == nil && c.at == quoted {
		if t.Columns != nil && len(c.ends) > len(t.Columns)+maxExtraCells {
			err = errOpen
			break
		}
		if line, err = t.readLine(); err == io.EOF || len(more)+len(line) > maxRow {
			err = errOpen
		}
		more = append(more, line...)
		if err == nil {
			err = c.add(line)
		}
	}
	if err != nil {
		if errors.Is(err, errLong) { // reported as a row of its own
			t.long, err = true, errOpen
			t.line--
		}
		t.back(more)
		row.Raw, row.Err = strings.ToValidUTF8(string(first[:min(len(first), maxRaw)]), "\ufffd"), err
		return row
	}
	if t.Columns == nil {
		row.Raw = string(first) + string(more)
	}
	row.Cells, row.size = c.split(), len(c.text)+len(c.ends)
	return row
}

// add appends a line. The row ends with it unless a quote is open.
func (c *cells) add(line []byte) error {
	end := len(line)
	for end > 0 && (line[end-1] == '\n' || line[end-1] == '\r') {
		end--
	}
	for i, b := range line {
		switch c.at {
		case quoted:
			if b == '"' {
				c.at = behind
			} else {
				c.text = append(c.text, b)
			}
			continue
		case behind:
			if b == '"' {
				c.at = quoted
				c.text = append(c.text, b)
				continue
			}
		}
		switch {
		case i >= end: // the line ending is not part of a cell
		case b == c.comma:
			if c.end(); len(c.ends) == maxCells {
				return errWide
			}
		case c.at == behind:
			if b != ' ' && b != '\t' {
				return errQuote
			}
		case b == '"' && len(bytes.TrimSpace(c.text[c.start:])) == 0: // programs may put spaces before a quote
			c.text = c.text[:c.start]
			c.at = quoted
		default:
			c.at = plain
			c.text = append(c.text, b)
		}
	}
	if c.at != quoted {
		c.end()
	}
	return nil
}

func (c *cells) end() {
	c.ends = append(c.ends, len(c.text))
	c.start, c.at = len(c.text), before
}

func (c *cells) split() []string {
	all, from := string(c.text), 0
	list := make([]string, len(c.ends))
	for i, end := range c.ends {
		list[i], from = all[from:end], end
	}
	return list
}
