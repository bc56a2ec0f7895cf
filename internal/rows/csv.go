package rows

import (
	"bytes"
	"errors"
	"io"
)

// The standard library's reader is not used here: it reads an open quote to the end of the file, gives up the rest, and takes
// carriage returns out of cells.

// place is where in a cell the reader is.
type place int

const (
	before place = iota // nothing of it was read yet
	plain
	quoted
	behind // its closing quote was read
)

var (
	errOpen  = errors.New("unclosed quote")
	errQuote = errors.New("unexpected text after a closing quote; write a quote inside quotes twice")
)

// cellsMore is how many cells too many a row may have before it is given up while a quote is open. Without a bound each line of a
// file could be read to the end of it.
const cellsMore = 100

// cells collects the cells of a row.
type cells struct {
	comma byte
	place place
	text  []byte
	ends  []int // of the cells, in text
	start int   // of the cell that is being read
}

// cellsFrom reads the row of a CSV file that begins with the line that was just read. When it cannot be read, the next row is what
// begins on the line behind.
func (t *Reader) cellsFrom(line []byte) Row {
	row := Row{Line: t.line - 1}
	c := cells{comma: t.comma}
	var more []byte // the lines behind the first
	err := c.add(line)
	for err == nil && c.place == quoted {
		if t.Columns != nil && len(c.ends) > len(t.Columns)+cellsMore {
			err = errOpen
			break
		}
		if line, err = t.readLine(); err == io.EOF || len(more)+len(line) > rowMost {
			err = errOpen
		}
		more = append(more, line...)
		if err == nil {
			err = c.add(line)
		}
	}
	if err != nil {
		if errors.Is(err, errLong) { // it is told of when its turn comes
			t.long, err = true, errOpen
			t.line--
		}
		t.back(more)
		row.Err = err
		return row
	}
	row.Cells, row.size = c.split(), len(c.text)
	row.Err = validText(row.Cells)
	return row
}

// add reads a line, which ends the row unless a quote is open.
func (c *cells) add(line []byte) error {
	end := len(line)
	for end > 0 && (line[end-1] == '\n' || line[end-1] == '\r') {
		end--
	}
	for i, b := range line {
		switch c.place {
		case quoted:
			if b == '"' {
				c.place = behind
			} else {
				c.text = append(c.text, b)
			}
			continue
		case behind:
			if b == '"' {
				c.place = quoted
				c.text = append(c.text, b)
				continue
			}
		}
		switch {
		case i >= end: // its end is no part of a cell
		case b == c.comma:
			c.end()
		case c.place == behind:
			if b != ' ' && b != '\t' {
				return errQuote
			}
		case b == '"' && len(bytes.TrimSpace(c.text[c.start:])) == 0: // some put a space before it
			c.text = c.text[:c.start]
			c.place = quoted
		default:
			c.place = plain
			c.text = append(c.text, b)
		}
	}
	if c.place != quoted {
		c.end()
	}
	return nil
}

func (c *cells) end() {
	c.ends = append(c.ends, len(c.text))
	c.start, c.place = len(c.text), before
}

func (c *cells) split() []string {
	all, from := string(c.text), 0
	list := make([]string, len(c.ends))
	for i, end := range c.ends {
		list[i], from = all[from:end], end
	}
	return list
}
