package rows

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// The encodings of files.
const (
	utf8Text    = "utf-8"
	utf16LE     = "utf-16le"
	utf16BE     = "utf-16be"
	windows1252 = "windows-1252"
	latin1      = "iso-8859-1"
)

// window is how much of a file its encoding is decided by.
const window = 1 << 16

// decoder converts a file to UTF-8. UTF-16 is decided at the beginning. A file of ASCII characters is
// UTF-8 until the first other byte, which decides together with what follows it. Windows-1252 and
// ISO-8859-1 differ in a few characters that only the former has, so the latter is assumed until one
// of them appears.
type decoder struct {
	in      *bufio.Reader
	name    string
	decided bool
	raw     [4096]byte
	rest    []byte // decoded, but not returned yet
	decode  [256][]byte
}

// otherFormats are how files begin that are not text.
var otherFormats = []struct{ magic, name string }{
	{"\xd0\xcf\x11\xe0", "a spreadsheet; save it as CSV"},
	{"PK\x05\x06", "an empty zip archive"},
	{"PK\x03\x04", "a zip archive in another archive; pack the table only once"},
	{"\x1f\x8b", "a gzip file in another one; pack the table only once"},
	{"%PDF-", "a PDF document; save the table as CSV"},
	{"\x89PNG", "a picture"},
	{"\xff\xfe\x00\x00", "text in UTF-32; save it in UTF-8"},
	{"\x00\x00\xfe\xff", "text in UTF-32; save it in UTF-8"},
}

// checkText refuses a file that is clearly not text.
func checkText(in *bufio.Reader) error {
	start, _ := in.Peek(8)
	for _, f := range otherFormats {
		if bytes.HasPrefix(start, []byte(f.magic)) {
			return fmt.Errorf("the file is %s", f.name)
		}
	}
	return nil
}

// newDecoder returns a reader of the file in UTF-8, without a byte-order mark.
func newDecoder(r io.Reader) (io.Reader, *decoder) {
	d := &decoder{in: bufio.NewReaderSize(r, window), name: utf8Text}
	start, _ := d.in.Peek(1024)
	switch {
	case bytes.HasPrefix(start, []byte{0xef, 0xbb, 0xbf}):
		_, _ = d.in.Discard(3)
		d.decided = true
	case bytes.HasPrefix(start, []byte{0xff, 0xfe}) || isUTF16(start, 1):
		return d.utf16(utf16LE, unicode.LittleEndian), d
	case bytes.HasPrefix(start, []byte{0xfe, 0xff}) || isUTF16(start, 0):
		return d.utf16(utf16BE, unicode.BigEndian), d
	}
	return d, d
}

func (d *decoder) utf16(name string, order unicode.Endianness) io.Reader {
	d.name = name
	return transform.NewReader(d.in, unicode.UTF16(order, unicode.UseBOM).NewDecoder())
}

// isUTF16 reports whether a text without a byte-order mark is UTF-16 with the high bytes at even (0) or
// odd (1) places: most of them are zero, and hardly any of the others.
func isUTF16(start []byte, high int) bool {
	var zeros [2]int
	for i, b := range start {
		if b == 0 {
			zeros[i%2]++
		}
	}
	return zeros[high] >= 2 && zeros[high] > len(start)/5 && zeros[1-high]*10 < zeros[high]
}

func (d *decoder) Read(p []byte) (int, error) {
	if d.name == utf8Text && d.decided {
		return d.in.Read(p)
	}
	if len(d.rest) > 0 {
		n := copy(p, d.rest)
		d.rest = d.rest[n:]
		return n, nil
	}
	if d.decided {
		return d.readSingleBytes(p)
	}
	some, err := d.in.Peek(1)
	if len(some) == 0 {
		return 0, err
	}
	some, _ = d.in.Peek(min(d.in.Buffered(), len(p)))
	end := 0
	for end < len(some) && some[end] < utf8.RuneSelf {
		end++
	}
	if end == 0 {
		ahead, _ := d.in.Peek(window)
		d.decided = true
		if !isUTF8(ahead) {
			d.name = latin1
			d.useSingleBytes()
		}
		return d.Read(p)
	}
	return d.in.Read(p[:end])
}

// isUTF8 reports whether a text is UTF-8, except for a few broken characters.
func isUTF8(text []byte) bool {
	good, bad := 0, 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && n == 1 && !utf8.FullRune(text[i:]): // cut off by the window
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		i += n
	}
	return bad == 0 || good > 4*bad
}

func (d *decoder) useSingleBytes() {
	for b := range d.decode {
		d.decode[b] = utf8.AppendRune(nil, charmap.Windows1252.DecodeByte(byte(b)))
	}
}

func (d *decoder) readSingleBytes(p []byte) (int, error) {
	n, err := d.in.Read(d.raw[:])
	out := d.rest[:0]
	for _, b := range d.raw[:n] {
		if b >= 0x80 && b < 0xa0 {
			d.name = windows1252
		}
		out = append(out, d.decode[b]...)
	}
	n = copy(p, out)
	d.rest = out[n:]
	return n, err
}
