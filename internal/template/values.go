package template

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Form is how rendered text is written.
type Form int

const (
	PlainText Form = iota
	// JSONString escapes text for use inside a JSON string. Most of the text of many messages is
	// the same, so it is escaped once instead of per message.
	JSONString
	formCount
)

// formatted is a text in every form.
type formatted [formCount]string

func format(s string) formatted {
	if s == "" {
		return formatted{}
	}
	var buf [128]byte
	q := AppendQuoted(buf[:0], s)
	q = q[1 : len(q)-1]
	if len(q) == len(s) { // nothing needed escaping
		return formatted{PlainText: s, JSONString: s}
	}
	return formatted{PlainText: s, JSONString: string(q)}
}

// AppendQuoted appends s to b as a JSON string.
func AppendQuoted(b []byte, s string) []byte {
	b, err := jsontext.AppendQuote(b, s)
	if err != nil {
		panic(err) // unreachable: the decoder only accepts valid UTF-8
	}
	return b
}

// Values are the values of the tokens of one template, in the order of Compiled.Tokens. An empty
// value counts as missing.
type Values struct {
	message, subject []formatted // a subject is a single line
}

// NewValues returns values that are all missing.
func (c *Compiled) NewValues() *Values {
	all := make([]formatted, 2*len(c.Tokens))
	return &Values{message: all[:len(c.Tokens)], subject: all[len(c.Tokens):]}
}

// Set sets the value of the token at a position.
func (v *Values) Set(position int, s string) {
	v.message[position] = format(s)
	v.subject[position] = v.message[position]
	if line := singleLine(s); line != s {
		v.subject[position] = format(line)
	}
}

// singleLine replaces line breaks, so a value cannot end the subject line.
func singleLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
}
