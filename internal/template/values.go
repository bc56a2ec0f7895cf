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

// Values are the values of the tokens. An empty value counts as missing.
type Values struct {
	message, subject [tokenCount]formatted // a subject is a single line
}

// Recipient has the values of the recipient.* tokens.
type Recipient struct{ FirstName, LastName, Company, Email string }

// Sender has the values of the sender.* tokens.
type Sender struct{ FirstName, LastName, Company, Title, Email string }

// SetRecipient sets the values of all recipient.* tokens.
func (v *Values) SetRecipient(r Recipient) {
	v.set(recipientFirstName, r.FirstName)
	v.set(recipientLastName, r.LastName)
	v.set(recipientCompany, r.Company)
	v.set(recipientEmail, r.Email)
}

// SetSender sets the values of all sender.* tokens.
func (v *Values) SetSender(s Sender) {
	v.set(senderFirstName, s.FirstName)
	v.set(senderLastName, s.LastName)
	v.set(senderCompany, s.Company)
	v.set(senderTitle, s.Title)
	v.set(senderEmail, s.Email)
}

func (v *Values) set(t token, s string) {
	v.message[t] = format(s)
	v.subject[t] = v.message[t]
	if line := singleLine(s); line != s {
		v.subject[t] = format(line)
	}
}

// singleLine replaces line breaks, so a value cannot end the subject line.
func singleLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
}
