package mail

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net/mail"
	"net/url"
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
	if err := checkEmail(m.From.Email); err != nil {
		return fmt.Errorf("from: %w", err)
	}
	if err := checkEmail(m.To.Email); err != nil {
		return fmt.Errorf("to: %w", err)
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

// checkEmail accepts one addr-spec and nothing around it, whose domain can be written in ASCII.
func checkEmail(email string) error {
	bad := errors.New("not an email address")
	if len(email) > emailMost || !utf8.ValidString(email) || strings.ContainsFunc(email, unbalances) {
		return bad
	}
	a, err := mail.ParseAddress(email)
	if err != nil || (&mail.Address{Address: a.Address}).String() != "<"+email+">" {
		return bad
	}
	if !isASCII(domainOf(asciiDomain(email))) {
		return bad
	}
	return nil
}

// isID tells whether a text can stand between the brackets of a Message-ID, and is not taken for anything else there.
func isID(id string) bool {
	id = asciiDomain(id)
	left, right, _ := strings.Cut(id, "@")
	return left != "" && right != "" && isToken(id) && !strings.Contains(right, "@") && !strings.ContainsAny(id, `"(),;\`) && !strings.Contains(id, "=?")
}

func isLink(link string) bool {
	u, err := url.Parse(link)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && isToken(link)
}

// isToken tells whether a text can stand in <> on a line: printable ASCII without a space or a bracket.
func isToken(s string) bool {
	return s != "" && len(s) <= tokenMost && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '<' || r == '>'
	})
}

// asciiDomain is the address with its domain as mail servers know it. An address whose domain cannot be written so stays as it is.
func asciiDomain(email string) string {
	if isASCII(email) {
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

// field is one header: its value as people read it, and how that is written where it cannot go out as it is.
type field struct {
	name, value string
	write       func(b []byte) []byte
}

// fields are the headers in the order in which they go out.
func (m *Message) fields() []field {
	subject := clean(m.Subject)
	fields := make([]field, 0, 12)
	fields = append(fields,
		field{"Date", m.Date.Format(time.RFC1123Z), nil},
		field{"From", m.From.String(), m.From.appendTo},
		field{"To", m.To.String(), m.To.appendTo},
		field{"Subject", subject, func(b []byte) []byte { return appendText(b, subject) }},
		field{"Message-ID", bracketed(m.ID), nil},
	)
	if n := len(m.References); n > 0 {
		fields = append(fields,
			field{"In-Reply-To", bracketed(m.References[n-1]), nil},
			field{"References", bracketed(m.References...), nil},
		)
	}
	if m.Unsubscribe != "" {
		fields = append(fields,
			field{"List-Unsubscribe", "<" + m.Unsubscribe + ">", nil},
			field{"List-Unsubscribe-Post", "List-Unsubscribe=One-Click", nil},
		)
	}
	return append(fields,
		field{"MIME-Version", "1.0", nil},
		field{"Content-Type", "text/plain; charset=utf-8", nil},
		field{"Content-Transfer-Encoding", "quoted-printable", nil},
	)
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
	for _, f := range fields {
		headers[f.name] = f.value
	}
	return headers
}

// appendTo writes a message that was checked as it goes out, but for the dots that SMTP adds. Quoted-printable carries every body:
// long lines, lone dots and what is not text.
func (m *Message) appendTo(b *bytes.Buffer) {
	b.Write(m.appendHeaders(b.AvailableBuffer()))
	body := quotedprintable.NewWriter(b)
	_, _ = io.WriteString(body, strings.ToValidUTF8(m.Body, "\uFFFD"))
	_ = body.Close() // a bytes.Buffer fails no write
}

func (m *Message) appendHeaders(b []byte) []byte {
	for _, f := range m.fields() {
		b = append(b, f.name...)
		b = append(b, ": "...)
		if f.write == nil {
			b = appendFolded(b, f.value)
		} else {
			b = f.write(b)
		}
		b = append(b, "\r\n"...)
	}
	return append(b, "\r\n"...)
}
