package rows

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"golang.org/x/text/transform"
)

// window is how much of a file its encoding is decided by.
const window = 1 << 16

// decoder converts a file to UTF-8. UTF-16 is decided at the beginning. A file of ASCII characters is
// UTF-8 until the first other byte, which decides together with what follows it. Windows-1252 and
// ISO-8859-1 differ in a few characters that only the former has, so the latter is assumed until one
// of them appears.
type decoder struct {
	in     *bufio.Reader
	name   string
	text   io.Reader // nil until the encoding is decided
	unsure bool      // another encoding is almost as probable
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
func newDecoder(r io.Reader, encoding string) *decoder {
	d := &decoder{in: bufio.NewReaderSize(r, window), name: utf8Text}
	start, _ := d.in.Peek(1024)
	hasMark := bytes.HasPrefix(start, []byte{0xef, 0xbb, 0xbf})
	switch {
	case encoding != "":
	case hasMark:
		encoding = utf8Text
	case bytes.HasPrefix(start, []byte{0xff, 0xfe}) || isUTF16(start, 1):
		encoding = utf16LE
	case bytes.HasPrefix(start, []byte{0xfe, 0xff}) || isUTF16(start, 0):
		encoding = utf16BE
	}
	if hasMark && encoding == utf8Text {
		_, _ = d.in.Discard(3)
	}
	if encoding != "" {
		d.use(encoding, d.in)
	}
	return d
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
	if d.text != nil {
		return d.text.Read(p)
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
	if end > 0 {
		return d.in.Read(p[:end])
	}
	d.detect()
	return d.text.Read(p)
}

// detect decides the encoding by a text that begins with a byte that is not ASCII.
func (d *decoder) detect() {
	ahead, _ := d.in.Peek(window)
	if isUTF8(ahead) {
		d.use(utf8Text, d.in)
		return
	}
	var name string
	if name, d.unsure = guessCharset(ahead); name == windows1252 {
		d.use(latin1, io.TeeReader(d.in, latinWatch{d}))
	} else {
		d.use(name, d.in)
	}
}

// latinWatch is written what was read of a file that seems to be ISO-8859-1.
type latinWatch struct{ *decoder }

func (w latinWatch) Write(read []byte) (int, error) {
	if slices.ContainsFunc(read, func(b byte) bool { return b >= 0x80 && b < 0xa0 }) {
		w.name = windows1252
	}
	return len(read), nil
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
func (d *decoder) use(name string, in io.Reader) {
	d.name, d.text = name, in
	if decoding, is := encodingNamed(name); is { // it is not UTF-8
		d.text = transform.NewReader(in, decoding.NewDecoder())
	}
}
