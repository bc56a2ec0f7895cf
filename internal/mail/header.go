package mail

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"

	"prospector/internal/address"
)

const (
	maxLineLength  = 76  // of a folded line
	maxWordLength  = 200 // of an unencoded word on a line of its own
	maxPlainLength = 60  // of an unencoded name
	// An encoded word has at most 75 characters (RFC 2047, section 2) including these delimiters.
	maxEncodedLength = 75
	openQ, openB     = "=?utf-8?Q?", "=?utf-8?B?"
	closeWord        = "?="
)

// clean returns a text from a user as one line: line breaks and control characters become spaces.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if address.IsLineBreak(r) {
			return ' '
		}
		return r // U+FFFD for invalid UTF-8
	}, s)
	return strings.TrimSpace(s)
}

// String returns the address as people read it, with the domain in ASCII.
func (a Address) String() string {
	email := address.WithASCIIDomain(a.Email)
	name := clean(a.Name)
	if name == "" {
		return email
	}
	return phrase(name) + " <" + email + ">"
}

func (a Address) appendTo(b []byte) []byte {
	email := address.WithASCIIDomain(a.Email)
	name := clean(a.Name)
	if name == "" {
		return append(b, email...)
	}
	if plain := phrase(name); len(plain) <= maxPlainLength && isPlain(name) {
		b = append(b, plain...)
	} else {
		b = appendEncoded(b, name)
	}
	if column(b)+len(" <>")+len(email) > maxLineLength {
		b = append(b, "\r\n"...)
	}
	b = append(b, " <"...)
	b = append(b, email...)
	return append(b, '>')
}

// phrase returns a display name, quoted unless it consists of words of letters, digits and a few
// symbols.
func phrase(name string) string {
	if !strings.ContainsFunc(name, needsQuotes) && !strings.Contains(name, "  ") {
		return name
	}
	return `"` + quoting.Replace(name) + `"`
}

var quoting = strings.NewReplacer(`"`, `\"`, `\`, `\\`)

func needsQuotes(r rune) bool {
	return r < utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" !#$%&'*+-/=?^_`{|}~", r)
}

// isPlain reports whether a clean text needs no encoding. A text that looks like an encoded word
// does, because readers would decode it.
func isPlain(s string) bool {
	return address.IsASCII(s) && !strings.Contains(s, "=?")
}

// appendText appends a clean text as an unstructured header value.
func appendText(b []byte, s string) []byte {
	if isPlain(s) && canFold(s) {
		return appendFolded(b, s)
	}
	return appendEncoded(b, s)
}

// canFold reports whether a text can be folded at its spaces without loss. Readers replace a fold
// by one space.
func canFold(s string) bool {
	if strings.Contains(s, "  ") {
		return false
	}
	for word := range strings.SplitSeq(s, " ") {
		if len(word) > maxWordLength {
			return false
		}
	}
	return true
}

// appendFolded appends a text, folded before a space where the line would be too long.
func appendFolded(b []byte, s string) []byte {
	for room := maxLineLength - column(b); len(s) > room; room = maxLineLength {
		end := strings.LastIndexByte(s[1:max(room, 1)], ' ') + 1
		if end == 0 {
			if end = strings.IndexByte(s[1:], ' ') + 1; end == 0 {
				break
			}
		}
		b = append(b, s[:end]...)
		b = append(b, "\r\n"...)
		s = s[end:]
	}
	return append(b, s...)
}

// appendEncoded appends a text as encoded words (RFC 2047), each on a line of its own. No word ends
// within a character. mime.WordEncoder does not fold, leaves ASCII as it is, also what looks like an encoded word, and does not
// escape what has a meaning in a name.
func appendEncoded(b []byte, s string) []byte {
	escape, opening := appendQ, openQ
	if sizeQ(s) > base64.StdEncoding.EncodedLen(len(s)) {
		escape, opening = appendB, openB
	}
	room := maxEncodedLength - column(b)
	for {
		n := fitEncoded(s, room-len(opening)-len(closeWord), opening == openB)
		b = append(b, opening...)
		b = escape(b, s[:n])
		b = append(b, closeWord...)
		if s = s[n:]; s == "" {
			return b
		}
		b = append(b, "\r\n "...)
		room = maxEncodedLength
	}
}

// column returns the length of the last line.
func column(b []byte) int {
	return len(b) - bytes.LastIndexByte(b, '\n') - 1
}

// fitEncoded returns how many bytes of a text fit into an encoded word of a given length: whole
// characters, at least one.
func fitEncoded(s string, room int, inBase64 bool) int {
	n, used := 0, 0
	for i, r := range s {
		end := i + utf8.RuneLen(r)
		if inBase64 {
			used = base64.StdEncoding.EncodedLen(end)
		} else {
			used += sizeQ(s[i:end])
		}
		if used > room && n > 0 {
			return n
		}
		n = end
	}
	return n
}

// sizeQ returns the length of a text in Q encoding.
func sizeQ(s string) int {
	n := len(s)
	for i := range len(s) {
		if !isPlainQ(s[i]) {
			n += 2
		}
	}
	return n
}

// isPlainQ reports whether a byte needs no escape in an encoded word, also within a phrase (RFC
// 2047, section 5).
func isPlainQ(c byte) bool {
	return c == ' ' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("!*+-/", c) >= 0
}

func appendQ(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ':
			b = append(b, '_')
		case isPlainQ(c):
			b = append(b, c)
		default:
			b = appendEscape(b, c)
		}
	}
	return b
}

func appendB(b []byte, s string) []byte {
	return base64.StdEncoding.AppendEncode(b, []byte(s))
}
