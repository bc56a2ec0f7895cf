package mail

import "strings"

// maxBodyLine is the maximum length of a line before the = of a soft line break.
const maxBodyLine = 75

// appendBody appends a text as quoted-printable (RFC 2045, section 6.7), terminated by a line end.
// Every server can transport the result: long lines are broken, and non-printable characters are
// escaped. A dot at the start of a line is escaped too, so that SMTP need not double it, which mime/quotedprintable
// does not do.
func appendBody(b []byte, body string) []byte {
	column := 0
	for body != "" {
		if n := lineEnd(body); n > 0 {
			b, body, column = append(b, "\r\n"...), body[n:], 0
			continue
		}
		if n := plainRun(body, maxBodyLine-column); n > 0 && (body[0] != '.' || column > 0) {
			b, body, column = append(b, body[:n]...), body[n:], column+n
			continue
		}
		if column+3 > maxBodyLine {
			b, column = append(b, "=\r\n"...), 0
			continue // the next character now starts a line
		}
		b, body, column = appendEscape(b, body[0]), body[1:], column+3
	}
	if column > 0 {
		b = append(b, "\r\n"...)
	}
	return b
}

// lineEnd returns the length of the line end at the start of a text, or 0.
func lineEnd(s string) int {
	switch {
	case strings.HasPrefix(s, "\r\n"):
		return 2
	case s[0] == '\r' || s[0] == '\n':
		return 1
	}
	return 0
}

// plainRun returns how many bytes at the start of a text need no escape, up to limit. A blank at
// the end of a line needs one, because servers may remove it.
func plainRun(s string, limit int) int {
	n := 0
	for n < limit && n < len(s) && (' ' < s[n] && s[n] <= '~' && s[n] != '=' || isInnerBlank(s[n:])) {
		n++
	}
	return n
}

func isInnerBlank(s string) bool {
	return (s[0] == ' ' || s[0] == '\t') && len(s) > 1 && s[1] != '\r' && s[1] != '\n'
}

// appendEscape appends a byte as = and two hexadecimal digits, for bodies and encoded words.
func appendEscape(b []byte, c byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(b, '=', digits[c>>4], digits[c&15])
}
