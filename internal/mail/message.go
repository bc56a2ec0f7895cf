package mail

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"prospector/internal/address"
)

// maxTokenLength is of an id or a URL, which cannot be folded. A line has at most 998 characters.
const maxTokenLength = 900

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
	if !address.IsEmail(m.From.Email) {
		return fmt.Errorf("from: %q is not an email address", m.From.Email)
	}
	if !address.IsEmail(m.To.Email) {
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

// isID reports whether a text is valid between the brackets of a Message-ID, and has no other
// meaning there.
func isID(id string) bool {
	id = address.WithASCIIDomain(id)
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
	values := make([]string, len(ids))
	for i, id := range ids {
		values[i] = "<" + address.WithASCIIDomain(id) + ">"
	}
	return strings.Join(values, " ")
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
