package rows

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
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
	isOpen  bool // it is ISO-8859-1 or Windows-1252
	unsure  bool // another encoding is almost as probable
	raw     [4096]byte
	rest    []byte      // decoded, but not returned yet
	decode  [256][]byte // of an encoding with one byte for each character
	wide    io.Reader   // of any other
}

// oldOffice is how files of old Office programs begin, and all with a password.
const oldOffice = "\xd0\xcf\x11\xe0"

// encryptedPackage is the name of the part that has the content of a file with a password.
var encryptedPackage = []byte("E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00")

// otherFormats are how files begin that are not text.
var otherFormats = []struct{ magic, name string }{
	{oldOffice, "an Excel file of the old format (.xls); save it as .xlsx or CSV"},
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
	start, _ := in.Peek(window)
	if bytes.HasPrefix(start, []byte(oldOffice)) && bytes.Contains(start, encryptedPackage) {
		return errors.New("the file is a spreadsheet with a password; save it without one")
	}
	for _, f := range otherFormats {
		if bytes.HasPrefix(start, []byte(f.magic)) {
			return fmt.Errorf("the file is %s", f.name)
		}
	}
	return nil
}

// newDecoder returns a reader of the file in UTF-8, without a byte-order mark. encoding is what the file is read in, or
// empty if it is to be detected.
func newDecoder(r io.Reader, encoding string) (io.Reader, *decoder) {
	d := &decoder{in: bufio.NewReaderSize(r, window), name: cmp.Or(encoding, utf8Text), decided: encoding != ""}
	start, _ := d.in.Peek(1024)
	switch {
	case (encoding == "" || encoding == utf8Text) && bytes.HasPrefix(start, []byte{0xef, 0xbb, 0xbf}):
		_, _ = d.in.Discard(3)
		d.decided = true
	case encoding == utf16LE, encoding == "" && (bytes.HasPrefix(start, []byte{0xff, 0xfe}) || isUTF16(start, 1)):
		return d.utf16(utf16LE, unicode.LittleEndian), d
	case encoding == utf16BE, encoding == "" && (bytes.HasPrefix(start, []byte{0xfe, 0xff}) || isUTF16(start, 0)):
		return d.utf16(utf16BE, unicode.BigEndian), d
	case encoding != "" && encoding != utf8Text:
		d.use(encoding)
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
	switch {
	case len(d.rest) > 0:
		n := copy(p, d.rest)
		d.rest = d.rest[n:]
		return n, nil
	case d.wide != nil:
		return d.wide.Read(p)
	case d.decided && d.name == utf8Text:
		return d.in.Read(p)
	case d.decided:
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
			name, unsure := guessCharset(ahead)
			d.unsure = unsure
			if name == windows1252 {
				name, d.isOpen = latin1, true
			}
			d.use(name)
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

// use makes the decoder read an encoding.
func (d *decoder) use(name string) {
	d.name = name
	in, _ := encodingNamed(name)
	single, is := in.(*charmap.Charmap)
	if !is {
		d.wide = transform.NewReader(d.in, in.NewDecoder())
		return
	}
	for b := range d.decode {
		d.decode[b] = utf8.AppendRune(nil, single.DecodeByte(byte(b)))
	}
}

func (d *decoder) readSingleBytes(p []byte) (int, error) {
	n, err := d.in.Read(d.raw[:])
	out := d.rest[:0]
	for _, b := range d.raw[:n] {
		if b >= 0x80 && b < 0xa0 && d.isOpen {
			d.name = windows1252
		}
		out = append(out, d.decode[b]...)
	}
	n = copy(p, out)
	d.rest = out[n:]
	return n, err
}
