package sequence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// spellingsOf returns n spellings of zürich.example, some of them below a subdomain.
func spellingsOf(n int, subdomains bool) (domains []string) {
	labels := []string{"zürich", "ZÜRICH", "Zu\u0308rich", "ZU\u0308RICH", "xn--zrich-kva", "XN--ZRICH-KVA", "Xn--zrich-kVa", "z\u00adürich",
		"ｚürich", "ＺÜＲＩＣＨ", "zür\u200bich", "z\u2060ürich", "ｚｕ\u0308ｒｉｃｈ"}
	tops := []string{"example", "EXAMPLE", "Example", "ｅｘａｍｐｌｅ", "ex\u00adample"}
	dots := []string{".", "。", "．", "｡"}
	ends := []string{"", "。", "．", "｡"}
	subs := []string{""}
	if subdomains {
		subs = []string{"", "mail.", "MAIL。eu．", "ｍａｉｌ."}
	}
	all := len(labels) * len(tops) * len(dots) * len(ends) * len(subs)
	for i := range n {
		k := i * 7919 % all // a prime, so that all combinations come before one repeats
		take := func(from []string) string {
			s := from[k%len(from)]
			k /= len(from)
			return s
		}
		label, sub, end, dot, top := take(labels), take(subs), take(ends), take(dots), take(tops)
		domains = append(domains, sub+label+dot+top+end)
	}
	return domains
}

// spelled creates a contact for each spelling of an address.
func spelled(o *apptest.Org, emails []string) (ids []string) {
	var records []any
	for i, email := range emails {
		records = append(records, map[string]any{"email": email, "first_name": fmt.Sprint(i)})
	}
	res := o.Write.Post("/v1/contacts/batch", map[string]any{"records": records}).Is(200)
	return apptest.ResultIDs(res)
}

const manySpellings = 260

// TestSuppressedSpellings suppresses a domain and an address. No contact is enrolled in any spelling,
// and every spelling is the same suppression.
func TestSuppressedSpellings(t *testing.T) {
	for _, c := range []struct {
		name, field, value string
		emails             func(i int, domain string) string
		subdomains         bool
	}{
		{"domain", "domain", "zürich.example", func(i int, domain string) string { return fmt.Sprintf("p%d@%s", i, domain) }, true},
		{"encoded domain", "domain", "xn--zrich-kva.example", func(i int, domain string) string { return fmt.Sprintf("p%d@%s", i, domain) }, true},
		{"address", "email", "Bill@zürich.example", func(i int, domain string) string { return []string{"bill@", "BILL@", "Bill@"}[i%3] + domain }, false},
		{"local part", "email", "jos\u00e9@xn--zrich-kva.example", func(i int, domain string) string {
			return []string{"jose\u0301@", "JOS\u00c9@", "JOSE\u0301@"}[i%3] + domain
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			org := apptest.New(t).Org("Acme")
			first := org.Admin.Post("/v1/suppressions", map[string]any{c.field: c.value}).Is(201)
			if got := first.Text("data." + c.field); got != c.value {
				t.Errorf("it is shown as %q", got)
			}
			var emails []string
			for i, domain := range spellingsOf(manySpellings, c.subdomains) {
				emails = append(emails, c.emails(i, domain))
			}
			near := []string{"p1@notzürich.example", "p1@zurich.example", "p1@zürich.example.com", "jose@zürich.net"}
			campaign := apptest.CampaignFor(org, "active", apptest.AudienceOf(org, "Near", spelled(org, near[:1])...))
			if got, want := enrolled(t, org.Write.Post(campaign+"/enroll", enrolling("Spellings", spelled(org, emails)...))),
				fmt.Sprintf("0 contact_suppressed %d", len(emails)); got != want {
				t.Errorf("enrolling returned %q, want %q", got, want)
			}
			if got := enrolled(t, org.Write.Post(campaign+"/enroll", enrolling("Others", spelled(org, near[1:])...))); got != "3" {
				t.Errorf("enrolling other addresses returned %q", got)
			}
			for i, domain := range spellingsOf(40, false) {
				again := org.Admin.Post("/v1/suppressions", map[string]any{c.field: strings.TrimPrefix(c.emails(i, domain), fmt.Sprintf("p%d@", i))}).Is(200)
				if again.ID() != first.ID() {
					t.Errorf("%q is another suppression", domain)
				}
			}
		})
	}
}

// TestSendingToSpellings suppresses a domain after its addresses were enrolled in hundreds of
// spellings, and before more are. Nothing arrives at any of them.
func TestSendingToSpellings(t *testing.T) {
	m := newMailer(t)
	var emails []string
	for i, domain := range spellingsOf(manySpellings, true) {
		emails = append(emails, fmt.Sprintf("p%d@%s", i, domain))
	}
	ids := spelled(m.Org, emails)
	m.server.Reply(apptest.Answering("RCPT", "450 4.2.1 busy"))
	m.sends(apptest.OneMail, "", append(ids[:manySpellings/2:manySpellings/2], apptest.ContactsOf(m.Org, "ann")...)...)
	m.run()
	if len(m.outbox()) < manySpellings/2 {
		t.Fatalf("%d messages wait", len(m.outbox()))
	}
	m.Admin.Post("/v1/suppressions", `{"domain": "Zürich.Example"}`).Is(201)
	m.server.Reply(nil)
	m.sends(apptest.OneMail, "", append(ids[manySpellings/2:], apptest.ContactsOf(m.Org, "bob")...)...)
	for range 3 {
		m.after(24 * time.Hour)
	}
	m.arrived("ann Hello ann", "bob Hello bob")
}
