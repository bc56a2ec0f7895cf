package address

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/publicsuffix"
)

func TestSharedHostsList(t *testing.T) {
	if n := len(sharedHosts); n < 60 {
		t.Errorf("the list has %d hosts", n)
	}
	for host := range sharedHosts {
		name, wild := strings.CutSuffix(host, anySuffix)
		if domain, err := Domain(name); err != nil || domain != name || wild == strings.Contains(name, ".") {
			t.Errorf("%s is not in canonical form", host)
		}
		if suffix, _ := publicsuffix.PublicSuffix(host); suffix == host {
			t.Errorf("%s is a public suffix, whose subdomains identify companies", host)
		}
	}
}

func TestWebsites(t *testing.T) {
	hosts, err := NewHosts([]string{"Intranet.example", "market.*"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ website, stored, canonical, key string }{
		{"acme.example", "acme.example", "acme.example", "acme.example"},
		{" HTTPS://user@WWW.Acme.Example:8080/About?x=1#y", "acme.example", "acme.example/about", "acme.example"},
		{"shop.acme.example", "shop.acme.example", "shop.acme.example", "acme.example"},
		{"//acme.example.", "acme.example", "acme.example", "acme.example"},
		{"www.acme.co.uk", "acme.co.uk", "acme.co.uk", "acme.co.uk"},
		{"eu.shop.acme.co.uk", "eu.shop.acme.co.uk", "eu.shop.acme.co.uk", "acme.co.uk"},
		{"zürich.example", "zürich.example", "xn--zrich-kva.example", "xn--zrich-kva.example"},
		{"XN--Zrich-KVA.example", "xn--zrich-kva.example", "xn--zrich-kva.example", "xn--zrich-kva.example"},
		{"ｗｗｗ．acme。example", "ｗｗｗ．acme。example", "acme.example", "acme.example"},
		{"acme.github.io", "acme.github.io", "acme.github.io", "acme.github.io"},
		{"github.io", "github.io", "github.io", ""},
		{"co.uk", "co.uk", "co.uk", ""},
		{"192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.1"},
		{"https://de.linkedin.com/company/Acme/", "de.linkedin.com/company/Acme", "de.linkedin.com/company/acme", ""},
		{"linkedin.com", "linkedin.com", "linkedin.com", ""},
		{"medium.com/@acme", "medium.com/@acme", "medium.com/@acme", ""},
		{"sites.google.com/view/acme", "sites.google.com/view/acme", "sites.google.com/view/acme", ""},
		{"google.com/about", "google.com", "google.com/about", "google.com"},
		{"www.amazon.co.uk/acme", "amazon.co.uk/acme", "amazon.co.uk/acme", ""},
		{"amazon.example", "amazon.example", "amazon.example", ""},
		{"myamazon.com", "myamazon.com", "myamazon.com", "myamazon.com"},
		{"a.intranet.example/x", "a.intranet.example/x", "a.intranet.example/x", ""},
		{"market.co.uk/x", "market.co.uk/x", "market.co.uk/x", ""},
	} {
		t.Run(c.website, func(t *testing.T) {
			if got := hosts.Website(c.website); got != c.stored {
				t.Errorf("stored as %q, not %q", got, c.stored)
			}
			if got := Website(c.website); got != c.canonical {
				t.Errorf("canonical form %q, not %q", got, c.canonical)
			}
			if got := hosts.Key(c.website); got != c.key {
				t.Errorf("key %q, not %q", got, c.key)
			}
		})
	}
	for _, text := range []string{"", "acme", "bill@acme.example", "http://", "*.acme.example", "a..example", "-a.example", "acme example"} {
		if _, _, err := SplitWebsite(text); err == nil || hosts.Key(text) != "" || hosts.Website(text) != text {
			t.Errorf("%q is taken for a website", text)
		}
	}
	if (*Hosts)(nil).Key("a.intranet.example") != "intranet.example" || (*Hosts)(nil).Key("x.com/acme") != "" {
		t.Error("a nil list is not the embedded list")
	}
}

func TestNewHosts(t *testing.T) {
	for _, entry := range []string{"", "com", "http://x.example", "a..b", "*", "a.b.*", "x.example/path"} {
		if _, err := NewHosts([]string{entry}); err == nil {
			t.Errorf("%q is accepted", entry)
		}
	}
	versions := []string{(*Hosts)(nil).Version()}
	for _, more := range [][]string{{}, {"a.example"}, {"a.example", "b.example"}} {
		h, err := NewHosts(more)
		if err != nil || slices.Contains(versions, h.Version()) {
			t.Errorf("%v has the version of another list (%v)", more, err)
		}
		versions = append(versions, h.Version())
	}
}
