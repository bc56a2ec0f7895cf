package mail

import "strings"

// bodyMost is how long a line of a body gets before the = that breaks it.
const bodyMost = 75

// appendBody writes a text as quoted-printable (RFC 2045, 6.7), ended by a line end. It carries every text over every server: long
// lines are broken, and what is not printable is escaped. So is a dot that begins a line, which SMTP would have to double.
func appendBody(b []byte, body string) []byte {
	column := 0
	for body != "" {
		if n := lineEnd(body); n > 0 {
			b, body, column = append(b, "\r\n"...), body[n:], 0
			continue
		}
		if n := plainRun(body, bodyMost-column); n > 0 && (body[0] != '.' || column > 0) {
			b, body, column = append(b, body[:n]...), body[n:], column+n
			continue
		}
		if column+3 > bodyMost {
			b, column = append(b, "=\r\n"...), 0
			continue // for what begins the line may be plain, or a dot
		}
		b, body, column = appendEscape(b, body[0]), body[1:], column+3
	}
	if column > 0 {
		b = append(b, "\r\n"...)
	}
	return b
}

// lineEnd is how long the line end is that a text begins with, if it does.
func lineEnd(s string) int {
	switch {
	case strings.HasPrefix(s, "\r\n"):
		return 2
	case s[0] == '\r' || s[0] == '\n':
		return 1
	}
	return 0
}

// plainRun is how many bytes at the start of a text, up to a most, go out as they are. A blank at the end of a line does not: servers
// may strip it.
func plainRun(s string, most int) int {
	n := 0
	for n < most && n < len(s) && (' ' < s[n] && s[n] <= '~' && s[n] != '=' || isInnerBlank(s[n:])) {
		n++
	}
	return n
}

func isInnerBlank(s string) bool {
	return (s[0] == ' ' || s[0] == '\t') && len(s) > 1 && s[1] != '\r' && s[1] != '\n'
}

// appendEscape writes a byte as = and its number, in bodies and in encoded words.
func appendEscape(b []byte, c byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(b, '=', digits[c>>4], digits[c&15])
}
