package rows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// isArray reports whether a text starts with a JSON array of objects.
func isArray(start []byte) bool {
	inner, is := bytes.CutPrefix(bytes.TrimSpace(start), []byte("["))
	inner = bytes.TrimSpace(inner)
	return is && (len(inner) == 0 || inner[0] == '{' || inner[0] == ']')
}

// nextInArray reads the next object of a JSON array, however it is broken into lines.
func (t *Reader) nextInArray() (Row, error) {
	for {
		b, err := t.nextByte()
		if err != nil {
			return Row{}, incomplete(err)
		}
		switch b {
		case ' ', '\t', '\r', '\n', ',', '[':
		case ']':
			return Row{}, t.checkEnd()
		default:
			row := Row{Line: t.line}
			text, err := t.value(b)
			if err != nil && !errors.Is(err, errLong) {
				return Row{}, err
			}
			if row.Err = err; err == nil {
				row.Raw, row.size = string(text), len(text)
				row.Object, row.Err = parseObject(text)
			}
			if !t.isOther(&row) {
				return row, nil
			}
		}
	}
}

// value reads a value of an array up to its end.
func (t *Reader) value(first byte) (text []byte, err error) {
	depth, isQuoted, isEscaped, long := 0, false, false, false
	for b := first; ; {
		if len(text) >= maxRow {
			text, long = text[:0], true
		}
		text = append(text, b)
		switch {
		case isEscaped:
			isEscaped = false
		case isQuoted:
			isEscaped, isQuoted = b == '\\', b != '"'
		case b == '"':
			isQuoted = true
		case b == '{' || b == '[':
			depth++
		case b == '}' || b == ']':
			depth--
		}
		if depth == 0 && !isQuoted && !isEscaped { // of a value that is no object, the end is before a comma or bracket
			next, err := t.in.Peek(1)
			if b == '}' || err != nil || next[0] == ',' || next[0] == ']' {
				break
			}
		}
		if b, err = t.nextByte(); err != nil {
			return nil, incomplete(err)
		}
	}
	if long {
		return nil, errLong
	}
	return text, nil
}

// nextByte reads a byte and counts the lines.
func (t *Reader) nextByte() (byte, error) {
	b, err := t.in.ReadByte()
	if b == '\n' {
		t.line++
	}
	return b, err
}

// incomplete returns the error of an array that ends too early.
func incomplete(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("truncated: the JSON array has no end: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// checkEnd returns io.EOF if nothing follows the array.
func (t *Reader) checkEnd() error {
	for {
		b, err := t.nextByte()
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace([]byte{b})) > 0 {
			return fmt.Errorf("line %d: unexpected text after the end of the JSON array", t.line)
		}
	}
}
