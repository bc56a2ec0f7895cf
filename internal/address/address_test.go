package address

import (
	"errors"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ email, want string }{
		{"bill@acme.example", "bill@acme.example"},
		{" Bill.L@ACME.Example\t", "bill.l@acme.example"},
		{"bill@zürich.example", "bill@xn--zrich-kva.example"},
		{"bill@ZU\u0308RICH.example", "bill@xn--zrich-kva.example"},
		{"bill@XN--ZRICH-KVA.example", "bill@xn--zrich-kva.example"},
		{"bill@ac\u00adme.example", "bill@acme.example"},
		{"bill@acme。example", "bill@acme.example"},
		{"bill@acme．ｅｘａｍｐｌｅ｡", "bill@acme.example"},
		{"bill@fußball.example", "bill@xn--fuball-cta.example"}, // non-transitional
		{"JOSE\u0301@acme.example", "josé@acme.example"},
		{`"a b"@Acme.example`, `"a b"@acme.example`},
		{"bill@[192.0.2.1]", "bill@[192.0.2.1]"},
		{"bill@a_b.example", "bill@a_b.example"},
		{"bill@localhost", "bill@localhost"},
		{"\u212Aim@acme.example", "kim@acme.example"},
	} {
		t.Run(c.email, func(t *testing.T) {
			got, err := canonical(c.email)
			if err != nil || got != c.want {
				t.Fatalf("%q, %v; want %q", got, err, c.want)
			}
			if again, err := canonical(got); err != nil || again != got {
				t.Errorf("the canonical form of %q is %q (%v)", got, again, err)
			}
			if Key(c.email) != c.want {
				t.Errorf("the key is %q", Key(c.email))
			}
		})
	}
}

func TestNotEmails(t *testing.T) {
	for _, text := range []string{
		"", "bill", "@acme.example", "bill@", "bill@acme..example", "bill@-acme.example", "bill@acme-.example", "bill@ac!me.example",
		"bill@xn--a.example", "bill@xn--acme-.example", "bill@\u0301a.example", "bi\u0085ll@acme.example", "bill@acme\u2028.example",
		"Bill <bill@acme.example>", "bill@acme。。example", "bill@a\u0628.example",
		"bill@" + strings.Repeat("a", 64) + ".example", strings.Repeat("a", 250) + "@a.example", "bi\xffll@acme.example",
	} {
		t.Run(text, func(t *testing.T) {
			if got, err := canonical(text); err == nil {
				t.Errorf("it is taken for %q", got)
			}
			if key := Key(text); key != Key(key) {
				t.Errorf("the key %q has another key", key)
			}
		})
	}
}

func TestWithASCIIDomain(t *testing.T) {
	for _, c := range []struct{ email, want string }{
		{"Bill@Acme.Example", "Bill@Acme.Example"},
		{"Bill@Zürich。example。", "Bill@xn--zrich-kva.example"},
		{"josé@acme.example", "josé@acme.example"},
		{"bill@ü..example", "bill@ü..example"},
	} {
		if got := WithASCIIDomain(c.email); got != c.want {
			t.Errorf("%q is sent as %q", c.email, got)
		}
	}
}

// canonical returns the key of a text that is an address, perhaps between spaces.
func canonical(email string) (string, error) {
	if email = strings.TrimSpace(email); !IsEmail(email) {
		return "", errors.New("not an email address")
	}
	return Key(email), nil
}

func FuzzKey(f *testing.F) {
	for _, s := range []string{"bill@acme.example", "bill@zürich。example", "BILL@xn--zrich-kva.example", "a@[1]", "İ@x", "ß@ß.example"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if key := Key(s); Key(key) != key {
			t.Errorf("the key of %q is %q, whose key is %q", s, key, Key(key))
		}
		if got, err := canonical(s); err == nil && (got != Key(s) || !IsEmail(got)) {
			t.Errorf("the canonical form of %q is %q", s, got)
		}
	})
}
