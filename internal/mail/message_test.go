package mail

import (
	"bytes"
	"io"
	"maps"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"testing"
	"time"

	"prospector/internal/address"
)

// parsed is a message as read by net/mail.
type parsed struct {
	headers  mail.Header
	from, to []*mail.Address
	subject  string
	body     string
}

func parse(t *testing.T, data []byte) parsed {
	t.Helper()
	for l := range bytes.Lines(data) {
		if !bytes.HasSuffix(l, []byte("\r\n")) || len(l) > 998+2 || l[0] == '.' || bytes.ContainsAny(l[:len(l)-2], "\r\x00") {
			t.Fatalf("a line of %d bytes: %q", len(l), l)
		}
	}
	m, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	p := parsed{headers: m.Header}
	if p.from, err = m.Header.AddressList("From"); err != nil {
		t.Fatalf("%v in %q", err, m.Header.Get("From"))
	}
	if p.to, err = m.Header.AddressList("To"); err != nil {
		t.Fatalf("%v in %q", err, m.Header.Get("To"))
	}
	if p.subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	p.body = string(body)
	return p
}

// lines returns a body with the line ends of the wire format, including one at the end.
func lines(body string) string {
	body = strings.ToValidUTF8(body, "\uFFFD")
	body = strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n").Replace(body)
	if body != "" && !strings.HasSuffix(body, "\r\n") {
		body += "\r\n"
	}
	return body
}

// build encodes a message and checks that it parses back to the same fields and has no other
// headers.
func build(t *testing.T, m *Message) parsed {
	t.Helper()
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	p := parse(t, m.appendTo(nil))
	shown := m.Headers()
	for name, values := range p.headers {
		if len(values) != 1 {
			t.Errorf("%d headers named %s", len(values), name)
		}
	}
	known := map[string]bool{}
	for name := range shown {
		known[strings.ToLower(name)] = true
	}
	for name := range p.headers {
		if !known[strings.ToLower(name)] {
			t.Errorf("unexpected header %s", name)
		}
	}
	if len(p.headers) != len(shown) {
		t.Errorf("%d headers encoded, %d in Headers", len(p.headers), len(shown))
	}
	one := func(what string, got []*mail.Address, want Address) {
		if len(got) != 1 || got[0].Address != unquoted(address.WithASCIIDomain(want.Email)) || got[0].Name != clean(want.Name) {
			t.Errorf("%s %q, want %q", what, got, want)
		}
	}
	one("from", p.from, m.From)
	one("to", p.to, m.To)
	if p.subject != clean(m.Subject) || shown["Subject"] != p.subject {
		t.Errorf("subject %q, in Headers %q, want %q", p.subject, shown["Subject"], m.Subject)
	}
	if p.body != lines(m.Body) {
		t.Errorf("body %q, want %q", p.body, m.Body)
	}
	for _, name := range []string{"Date", "Message-ID", "In-Reply-To", "References", "List-Unsubscribe", "List-Unsubscribe-Post", "MIME-Version", "Content-Type", "Content-Transfer-Encoding"} {
		if p.headers.Get(name) != shown[name] {
			t.Errorf("%s is encoded as %q and is %q in Headers", name, p.headers.Get(name), shown[name])
		}
	}
	return p
}

// unquoted returns an address in the form of net/mail.
func unquoted(email string) string {
	a, err := mail.ParseAddress(email)
	if err != nil {
		return email
	}
	return a.Address
}

func TestHeaders(t *testing.T) {
	m := aMessage()
	m.Date = time.Date(2026, 3, 2, 9, 30, 0, 0, time.FixedZone("", 3600))
	m.References = []string{"1@acme.example", "2@acme.example"}
	m.Subject = "Re: Grüße"
	m.To = Address{"Müller, Jürgen", "j@bücher.example"}
	want := map[string]string{
		"Date":                      "Mon, 02 Mar 2026 09:30:00 +0100",
		"From":                      "Ada Lovelace <ada@acme.example>",
		"To":                        `"Müller, Jürgen" <j@xn--bcher-kva.example>`,
		"Subject":                   "Re: Grüße",
		"Message-ID":                "<0198c9a2-1@acme.example>",
		"In-Reply-To":               "<2@acme.example>",
		"References":                "<1@acme.example> <2@acme.example>",
		"List-Unsubscribe":          "<https://mail.acme.example/u/token>",
		"List-Unsubscribe-Post":     "List-Unsubscribe=One-Click",
		"MIME-Version":              "1.0",
		"Content-Type":              "text/plain; charset=utf-8",
		"Content-Transfer-Encoding": "quoted-printable",
	}
	if got := m.Headers(); !maps.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	build(t, m)
}

// The wire format, byte by byte.
func TestBytes(t *testing.T) {
	m := aMessage()
	m.Subject = "Grüße und ein Betreff, der so lang ist, dass er nicht in eine Zeile passt"
	m.To.Name = "Jürgen"
	m.From.Name = "Dr. Ada"
	m.Body = "Größe = 1\n.\n"
	m.Unsubscribe = ""
	want := strings.Join([]string{
		"Date: Mon, 02 Mar 2026 09:30:00 +0000",
		`From: "Dr. Ada" <ada@acme.example>`,
		"To: =?utf-8?Q?J=C3=BCrgen?= <bob@globex.example>",
		"Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe_und_ein_Betreff=2C_der_so_lang_ist=2C_?=",
		" =?utf-8?Q?dass_er_nicht_in_eine_Zeile_passt?=",
		"Message-ID: <0198c9a2-1@acme.example>",
		"MIME-Version: 1.0",
		"Content-Type: text/plain; charset=utf-8",
		"Content-Transfer-Encoding: quoted-printable",
		"",
		"Gr=C3=B6=C3=9Fe =3D 1",
		"=2E",
		"",
	}, "\r\n")
	if got := string(m.appendTo(nil)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// hostile are texts that try to inject a header or a recipient, and others that are just unusual.
var hostile = []string{
	"", " ", "x", "a: b", `"`, `\`, `\"`, `a" <eve@evil.example>, "b`, "a <eve@evil.example>", "eve@evil.example, bob",
	"x\r\nBcc: eve@evil.example", "x\nBcc: eve@evil.example", "x\rBcc: eve@evil.example", "x\r\n\r\nbody", "x\r\n .\r\n",
	"\x00", "a\x00b", "\x7f", "x\u0085Bcc: y", "x\u2028Bcc: y", "\xff\xfe", "a\x80b",
	"=?utf-8?Q?x=0D=0ABcc:_eve@evil.example?=", "=?utf-8?B?eA==?=", "a =?x", "?=", "=?utf-8?Q?x",
	"Jürgen Müller", "日本語の件名", "🎉🎉🎉", "e\u0301", "\u202egnp.exe", "a  b   c", "(comment)", "group: a@b.example;", "tab\there",
	strings.Repeat("x", 10000), strings.Repeat("x ", 5000), strings.Repeat("ü", 5000), strings.Repeat("日", 3400), strings.Repeat(`"`, 10000),
	strings.Repeat("word and ", 20), strings.Repeat("a  ", 60), strings.Repeat("x", 67), strings.Repeat("x", 68), strings.Repeat("y ", 34) + "z",
}

func TestHostileTexts(t *testing.T) {
	for _, text := range hostile {
		m := aMessage()
		m.From.Name, m.To.Name, m.Subject, m.Body = text, text, text, text
		build(t, m)
	}
}

// Invalid addresses, ids and URLs are refused.
func TestHostileTokens(t *testing.T) {
	for name, set := range map[string]func(*Message, string){
		"from":        func(m *Message, s string) { m.From.Email = s },
		"to":          func(m *Message, s string) { m.To.Email = s },
		"id":          func(m *Message, s string) { m.ID = s },
		"references":  func(m *Message, s string) { m.References = []string{"1@acme.example", s} },
		"unsubscribe": func(m *Message, s string) { m.Unsubscribe = s },
	} {
		for _, text := range append([]string{
			"a@b.example\r\nBcc: eve@evil.example", "a@b.example> SIZE=1", "https://a.example/\r\nBcc: x", "https://a.example/>, <mailto:x@y.example", "ftp://a.example/", "https:///x", "https://ä.example/ü",
			"a@b.example\n", "<a@b.example>", "Bob <a@b.example>", "a@b@c.example>", "@b.example", strings.Repeat("a", 300) + "@b.example " + strings.Repeat("a", 700),
			"a@b.example\x00", "a@\u2028b.example", "ü\x00@b.example", "a@xn--\u00fc\u200b.example>",
		}, hostile...) {
			if text == "" && name == "unsubscribe" {
				continue // a message without the URL
			}
			m := aMessage()
			set(m, text)
			if m.Check() == nil {
				t.Errorf("%s: %q is accepted", name, text)
			}
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, email := range []string{"a@b.example", "a.b+c@d.example", `"a b"@c.example`, `"a\"b"@c.example`, "o'neil@acme.example", "a@[192.0.2.1]", "jörg@bücher.example"} {
		m := aMessage()
		m.To.Email = email
		build(t, m)
	}
}

func TestBodies(t *testing.T) {
	for _, body := range []string{
		"", "x", "x\n", "\n", "a\r\nb", "a\rb", "a\nb\r\n", ".", "..", ".\r\n.\r\n", "a\r\n.\r\nRCPT TO:<eve@evil.example>\r\n", "trailing \nand\t\n", "=", "=3D", "=\n",
		strings.Repeat("x", 100000), strings.Repeat("ü", 50000), "\x00\x01", "From me\n", strings.Repeat(".\n", 1000),
	} {
		m := aMessage()
		m.Body = body
		build(t, m)
		s := (&server{}).start(t)
		send(t, s.client(nil), m, Sent, "")
		_, _, messages := s.seen()
		arrived := parse(t, []byte(strings.ReplaceAll(messages[0].data, "\n", "\r\n")))
		if arrived.body != lines(body) {
			t.Errorf("%.100q was decoded as %.100q", body, arrived.body)
		}
	}
}

// A reply refers to the message it answers and to the thread.
func TestThread(t *testing.T) {
	m := aMessage()
	for i := range 100 {
		m.References = append(m.References, strings.Repeat("9", 36)+string(rune('a'+i%26))+"@acme.example")
	}
	p := build(t, m)
	if got := p.headers.Get("References"); got != "<"+strings.Join(m.References, "> <")+">" {
		t.Errorf("References %q", got)
	}
	if got := p.headers.Get("In-Reply-To"); got != "<"+m.References[99]+">" {
		t.Errorf("In-Reply-To %q", got)
	}
	m.References = nil
	if headers := build(t, m).headers; headers.Get("In-Reply-To") != "" || headers.Get("References") != "" {
		t.Error("a first message has reply headers")
	}
}

func FuzzMessage(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, text, text, text, "bob@globex.example", "https://mail.acme.example/u/t", "1@acme.example")
	}
	f.Add("", "", "", "", `"a b"@c.example`, "", "")
	f.Add("", "", "", "", "jörg@bücher.example", "http://x/?y", "1@bücher.example")
	f.Fuzz(func(t *testing.T, from, to, subject, body, email, link, reference string) {
		m := aMessage()
		m.From.Name, m.To.Name, m.Subject, m.Body, m.To.Email, m.Unsubscribe = from, to, subject, body, email, link
		if reference != "" {
			m.References = []string{reference}
		}
		if m.Check() != nil {
			return
		}
		build(t, m)
	})
}

func BenchmarkHeaders(b *testing.B) {
	m := aMessage()
	m.To.Name, m.Subject, m.References = "Jürgen Müller", "Grüße aus Köln, und eine Frage dazu", []string{"1@acme.example"}
	b.ReportAllocs()
	for b.Loop() {
		m.Headers()
	}
}

func BenchmarkBuild(b *testing.B) {
	m := aMessage()
	m.Body = strings.Repeat("A line of a message that is about as long as one is.\n", 20)
	var made []byte
	b.ReportAllocs()
	for b.Loop() {
		made = m.appendTo(made[:0])
	}
}
