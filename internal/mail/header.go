package mail

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	lineMost  = 76  // of a line that is folded
	wordMost  = 200 // of a word that goes out as it is on a line of its own
	plainMost = 60  // of a name that goes out as it is
	// An encoded word is at most 75 long (RFC 2047, 2) and what it encodes stands between these.
	encodedMost  = 75
	openQ, openB = "=?utf-8?Q?", "=?utf-8?B?"
	closeWord    = "?="
)

// clean is a text that people filled in, as one line: what could end a line or a text is a space.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if unbalances(r) {
			return ' '
		}
		return r // which is U+FFFD for what is not UTF-8
	}, s)
	return strings.TrimSpace(s)
}

// String is the address as people read it, with the domain as mail servers know it.
func (a Address) String() string {
	email := asciiDomain(a.Email)
	name := clean(a.Name)
	if name == "" {
		return email
	}
	return phrase(name) + " <" + email + ">"
}

func (a Address) appendTo(b []byte) []byte {
	email := asciiDomain(a.Email)
	name := clean(a.Name)
	if name == "" {
		return append(b, email...)
	}
	if plain := phrase(name); len(plain) <= plainMost && isPlain(name) {
		b = append(b, plain...)
	} else {
		b = appendEncoded(b, name)
	}
	if column(b)+len(" <>")+len(email) > lineMost {
		b = append(b, "\r\n"...)
	}
	b = append(b, " <"...)
	b = append(b, email...)
	return append(b, '>')
}

// phrase is a name as it stands before an address: in quotes, unless it is words of letters, digits and a few signs.
func phrase(name string) string {
	if !strings.ContainsFunc(name, needsQuotes) && !strings.Contains(name, "  ") {
		return name
	}
	var b strings.Builder
	b.Grow(len(name) + 2)
	b.WriteByte('"')
	for i := range len(name) {
		if name[i] == '"' || name[i] == '\\' {
			b.WriteByte('\\')
		}
		b.WriteByte(name[i])
	}
	b.WriteByte('"')
	return b.String()
}

func needsQuotes(r rune) bool {
	return r < utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" !#$%&'*+-/=?^_`{|}~", r)
}

// isPlain tells whether a clean text may go out as it is. One that looks like an encoded word must not: it would be decoded.
func isPlain(s string) bool {
	return isASCII(s) && !strings.Contains(s, "=?")
}

// appendText writes a clean text that stands in no structure.
func appendText(b []byte, s string) []byte {
	if isPlain(s) && folds(s) {
		return appendFolded(b, s)
	}
	return appendEncoded(b, s)
}

// folds tells whether a text can be broken at its spaces and be put together again: readers make one space of a break.
func folds(s string) bool {
	if strings.Contains(s, "  ") {
		return false
	}
	for word := range strings.SplitSeq(s, " ") {
		if len(word) > wordMost {
			return false
		}
	}
	return true
}

// appendFolded writes a text, broken before a space where the line would be too long.
func appendFolded(b []byte, s string) []byte {
	for room := lineMost - column(b); len(s) > room; room = lineMost {
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

// appendEncoded writes a text as encoded words (RFC 2047), each on a line of its own and none ending inside a character.
func appendEncoded(b []byte, s string) []byte {
	escape, opening := appendQ, openQ
	if sizeQ(s) > base64.StdEncoding.EncodedLen(len(s)) {
		escape, opening = appendB, openB
	}
	room := encodedMost - column(b)
	for {
		n := fitting(s, room-len(opening)-len(closeWord), opening == openB)
		b = append(b, opening...)
		b = escape(b, s[:n])
		b = append(b, closeWord...)
		if s = s[n:]; s == "" {
			return b
		}
		b = append(b, "\r\n "...)
		room = encodedMost
	}
}

// column is how long the last line is.
func column(b []byte) int {
	return len(b) - bytes.LastIndexByte(b, '\n') - 1
}

// fitting is how many bytes of a text, as whole characters and at least one of them, fit into an encoded word of some length.
func fitting(s string, room int, inBase64 bool) int {
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

// sizeQ is how long a text is in an encoded word.
func sizeQ(s string) int {
	n := len(s)
	for i := range len(s) {
		if !isPlainQ(s[i]) {
			n += 2
		}
	}
	return n
}

// isPlainQ tells whether a byte needs no escape in an encoded word, also in one that stands in a phrase (RFC 2047, 5).
func isPlainQ(c byte) bool {
	return c == ' ' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("!*+-/", c) >= 0
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
