package mail

import (
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const (
	maxEmailLength = 254 // RFC 5321, 4.5.3.1.3
	maxTokenLength = 900 // of an id or a URL, which cannot be folded; a line has at most 998 characters
)

// Address is a mailbox and the name of its owner. The name may be empty or any text.
type Address struct {
	Name, Email string
}

// Message is a plain-text message.
type Message struct {
	// ID is the Message-ID without brackets: something unique, @, and the domain of From.
	ID       string
	Date     time.Time
	From, To Address
	Subject  string
	// Body may have lines of any length, with any line ends.
	Body string
	// References are the Message-IDs of the thread, oldest first. The last one is also In-Reply-To.
	References []string
	// Unsubscribe is the URL for one-click unsubscription (RFC 8058).
	Unsubscribe string
}

// Check returns why the message cannot be sent. Names, subject and body are never the reason,
// because they are cleaned.
func (m *Message) Check() error {
	if !isEmail(m.From.Email) {
		return fmt.Errorf("from: %q is not an email address", m.From.Email)
	}
	if !isEmail(m.To.Email) {
		return fmt.Errorf("to: %q is not an email address", m.To.Email)
	}
	if !isID(m.ID) {
		return errors.New("invalid Message-ID")
	}
	for _, id := range m.References {
		if !isID(id) {
			return errors.New("invalid Message-ID in References")
		}
	}
	if m.Unsubscribe != "" && !isLink(m.Unsubscribe) {
		return errors.New("invalid unsubscribe URL")
	}
	return nil
}

// isEmail reports whether a text is exactly one addr-spec whose domain can be written in ASCII.
func isEmail(email string) bool {
	if len(email) > maxEmailLength || !utf8.ValidString(email) || strings.ContainsFunc(email, isLineBreak) {
		return false
	}
	a, err := mail.ParseAddress(email)
	if err != nil || (&mail.Address{Address: a.Address}).String() != "<"+email+">" {
		return false
	}
	return isASCII(domainOf(asciiDomain(email)))
}

// isID reports whether a text is valid between the brackets of a Message-ID, and has no other
// meaning there.
func isID(id string) bool {
	id = asciiDomain(id)
	left, right, _ := strings.Cut(id, "@")
	return left != "" && right != "" && isToken(id) && !strings.Contains(right, "@") &&
		!strings.ContainsAny(id, `"(),;\`) && !strings.Contains(id, "=?")
}

func isLink(link string) bool {
	rest, isSecure := strings.CutPrefix(link, "https://")
	if !isSecure {
		rest = strings.TrimPrefix(link, "http://")
	}
	return len(rest) < len(link) && isToken(rest) && rest[0] != '/' && len(link) <= maxTokenLength
}

// isToken reports whether a text is printable ASCII without spaces and brackets, so that it can
// appear between < and >.
func isToken(s string) bool {
	return s != "" && len(s) <= maxTokenLength && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '<' || r == '>'
	})
}

// asciiDomain returns an address with its domain in ASCII. An address whose domain cannot be
// converted is returned unchanged.
func asciiDomain(email string) string {
	if isASCII(email) || len(email) > maxTokenLength { // the conversion takes quadratic time
		return email
	}
	at := strings.LastIndexByte(email, '@') + 1
	if domain, err := idna.Lookup.ToASCII(email[at:]); err == nil && domain != "" {
		return email[:at] + domain
	}
	return email
}

func domainOf(email string) string {
	return email[strings.LastIndexByte(email, '@')+1:]
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isLineBreak reports whether some reader takes a character for the end of a line or of a text.
func isLineBreak(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
}

// field is one header: a literal value, an address or a text.
type field struct {
	name, value string
	address     *Address
	isText      bool
}

// fields returns the headers in order. Those of a thread and of the unsubscribe URL are empty if
// the message has none.
func (m *Message) fields() [12]field {
	reply, post, link := m.References[max(len(m.References)-1, 0):], "", ""
	if m.Unsubscribe != "" {
		link, post = "<"+m.Unsubscribe+">", "List-Unsubscribe=One-Click"
	}
	return [...]field{
		{name: "Date", value: m.Date.Format(time.RFC1123Z)},
		{name: "From", address: &m.From},
		{name: "To", address: &m.To},
		{name: "Subject", value: clean(m.Subject), isText: true},
		{name: "Message-ID", value: bracketed(m.ID)},
		{name: "In-Reply-To", value: bracketed(reply...)},
		{name: "References", value: bracketed(m.References...)},
		{name: "List-Unsubscribe", value: link},
		{name: "List-Unsubscribe-Post", value: post},
		{name: "MIME-Version", value: "1.0"},
		{name: "Content-Type", value: "text/plain; charset=utf-8"},
		{name: "Content-Transfer-Encoding", value: "quoted-printable"},
	}
}

// isPresent reports whether the message has the header. It always has a subject, even an empty one.
func (f *field) isPresent() bool {
	return f.value != "" || f.address != nil || f.isText
}

// bracketed returns ids as a header value.
func bracketed(ids ...string) string {
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('<')
		b.WriteString(asciiDomain(id))
		b.WriteByte('>')
	}
	return b.String()
}

// Headers returns the headers by name for display: each on one line, names and subject decoded.
func (m *Message) Headers() map[string]string {
	fields := m.fields()
	headers := make(map[string]string, len(fields))
	for i := range fields {
		switch f := &fields[i]; {
		case f.address != nil:
			headers[f.name] = f.address.String()
		case f.isPresent():
			headers[f.name] = f.value
		}
	}
	return headers
}

// appendTo appends the wire format of a checked message. No line starts with a dot.
func (m *Message) appendTo(b []byte) []byte {
	fields := m.fields()
	for i := range fields {
		if f := &fields[i]; f.isPresent() {
			b = f.appendTo(b)
		}
	}
	b = append(b, "\r\n"...)
	return appendBody(b, strings.ToValidUTF8(m.Body, "\uFFFD"))
}

func (f *field) appendTo(b []byte) []byte {
	b = append(b, f.name...)
	b = append(b, ": "...)
	switch {
	case f.address != nil:
		b = f.address.appendTo(b)
	case f.isText:
		b = appendText(b, f.value)
	default:
		b = appendFolded(b, f.value)
	}
	return append(b, "\r\n"...)
}
