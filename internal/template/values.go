package template

import "strings"

// Values are the values of the tokens of one template, in the order of Compiled.Tokens. An empty
// value counts as missing.
type Values struct {
	message, subject []string // a subject is a single line
}

// NewValues returns values that are all missing.
func (c *Compiled) NewValues() *Values {
	return &Values{message: make([]string, len(c.Tokens)), subject: make([]string, len(c.Tokens))}
}

// lineBreaks become spaces in a subject, so that a value cannot end its line.
var lineBreaks = strings.NewReplacer("\r", " ", "\n", " ")

// Set sets the value of the token at a position.
func (v *Values) Set(position int, s string) {
	v.message[position], v.subject[position] = s, lineBreaks.Replace(s)
}
