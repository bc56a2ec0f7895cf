package mail

import (
	"errors"
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const (
	emailMost = 254 // RFC 5321, 4.5.3.1.3
	tokenMost = 900 // of an id or a URL, which cannot be folded: a line has 998 at most
)

// Address is a mailbox and whose it is. The name may be empty and may be any text.
type Address struct {
	Name, Email string
}

// Message is a plain-text message.
type Message struct {
	// ID is the Message-ID, without brackets: something unique, @, and the domain of From.
	ID       string
	Date     time.Time
	From, To Address
	Subject  string
	// Body may have lines of any length and end.
	Body string
	// References are the Message-IDs of the thread that this is a reply in, oldest first. The last is also In-Reply-To.
	References []string
	// Unsubscribe is the URL that takes the recipient off the list with one click (RFC 8058).
	Unsubscribe string
}

// Check tells what keeps the message from being sent at all. Names, subject and body never do: they are cleaned.
func (m *Message) Check() error {
	if !isEmail(m.From.Email) {
		return errors.New("from: not an email address")
	}
	if !isEmail(m.To.Email) {
		return errors.New("to: not an email address")
	}
	if !isID(m.ID) {
		return errors.New("the message id is none")
	}
	for _, id := range m.References {
		if !isID(id) {
			return errors.New("an id in the references is none")
		}
	}
	if m.Unsubscribe != "" && !isLink(m.Unsubscribe) {
		return errors.New("the unsubscribe link is no URL")
	}
	return nil
}

// isEmail tells whether a text is one addr-spec with nothing around it, whose domain can be written in ASCII.
func isEmail(email string) bool {
	if len(email) > emailMost || !utf8.ValidString(email) || strings.ContainsFunc(email, unbalances) {
		return false
	}
	a, err := mail.ParseAddress(email)
	if err != nil || (&mail.Address{Address: a.Address}).String() != "<"+email+">" {
		return false
	}
	return isASCII(domainOf(asciiDomain(email)))
}

// isID tells whether a text can stand between the brackets of a Message-ID, and is not taken for anything else there.
func isID(id string) bool {
	id = asciiDomain(id)
	left, right, _ := strings.Cut(id, "@")
	return left != "" && right != "" && isToken(id) && !strings.Contains(right, "@") && !strings.ContainsAny(id, `"(),;\`) && !strings.Contains(id, "=?")
}

func isLink(link string) bool {
	rest, isSecure := strings.CutPrefix(link, "https://")
	if !isSecure {
		rest = strings.TrimPrefix(link, "http://")
	}
	return len(rest) < len(link) && isToken(rest) && rest[0] != '/' && len(link) <= tokenMost
}

// isToken tells whether a text can stand in <> on a line: printable ASCII without a space or a bracket.
func isToken(s string) bool {
	return s != "" && len(s) <= tokenMost && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '<' || r == '>'
	})
}

// asciiDomain is the address with its domain as mail servers know it. An address whose domain cannot be written so stays as it is.
func asciiDomain(email string) string {
	if isASCII(email) || len(email) > tokenMost { // the conversion takes the square of the length
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

// unbalances are the characters that some reader takes for the end of a line or of a text.
func unbalances(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
}

// field is one header: a value that goes out as it is, an address, or a text.
type field struct {
	name, value string
	address     *Address
	isText      bool
}

// fields are the headers in the order in which they go out. Those of a thread and of the link are empty where there is none.
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

// isThere tells whether the message has the header. It has a subject even if that is empty.
func (f *field) isThere() bool {
	return f.value != "" || f.address != nil || f.isText
}

// bracketed is ids as a header has them.
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

// Headers are the headers of the message by name, for people to read: each on one line, the names and the subject as they were
// meant and not as they are encoded.
func (m *Message) Headers() map[string]string {
	fields := m.fields()
	headers := make(map[string]string, len(fields))
	for i := range fields {
		switch f := &fields[i]; {
		case f.address != nil:
			headers[f.name] = f.address.String()
		case f.isThere():
			headers[f.name] = f.value
		}
	}
	return headers
}

// appendTo writes a message that was checked as it goes out. NoTLS of its lines begins with a dot.
func (m *Message) appendTo(b []byte) []byte {
	fields := m.fields()
	for i := range fields {
		if f := &fields[i]; f.isThere() {
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
