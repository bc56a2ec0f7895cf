package sequence_test

import (
	"testing"

	"prospector/internal/apptest"
)

// TestSuppressedDomains checks that *@acme.example, @acme.example and *.acme.example stand for the domain with its
// subdomains, in either field.
func TestSuppressedDomains(t *testing.T) {
	m := newMailer(t)
	org := m.Org
	const path = "/v1/suppressions"
	campaign := m.sends(apptest.OneMail, "", apptest.ContactsOf(org, "ann")...)
	isRefused := func(t *testing.T, email string) bool {
		t.Helper()
		id := org.Write.In(t).Post("/v1/contacts", map[string]string{"email": email}).Is(201).ID()
		body := map[string]any{"audience_name": id, "contact_ids": []string{id}}
		return org.Write.In(t).Post(campaign+"/enroll", body).Is(200).Int("data.success_count") == 0
	}
	for text, domain := range map[string]string{
		"*@one.example": "one.example", "@two.example": "two.example", "*.three.example": "three.example",
		" *@Four.Example ": "four.example", "*@zürich.example": "zürich.example", "@mail.five.co.uk": "mail.five.co.uk",
	} {
		for _, field := range []string{"email", "domain"} {
			t.Run(field+" "+text, func(t *testing.T) {
				c := org.Admin.In(t)
				first := c.Post(path, map[string]string{field: text, "reason": "asked"}).Has(201, `{"data": {"email": null, "domain": "`+domain+`", "reason": "asked"}}`)
				if again := c.Post(path, map[string]string{"domain": domain}).Is(200); again.ID() != first.ID() {
					t.Errorf("the domain is suppressed twice: %s", again.Body)
				}
				for email, want := range map[string]bool{"a@" + domain: true, "b@sub." + domain: true, "c@x" + domain: false} {
					if got := isRefused(t, email); got != want {
						t.Errorf("%s is refused: %t, want %t", email, got, want)
					}
				}
				c.Delete(path + "/" + first.ID()).Is(204)
			})
		}
	}
	for _, row := range []struct{ text, says string }{
		{"*@co.uk", `"co.uk" is a public suffix`}, {"@co.uk", `"co.uk" is a public suffix`}, {"*.co.uk", `"co.uk" is a public suffix`},
		{"*@github.io", `"github.io" is a public suffix`}, {"*@com", "is not a website or domain"}, {"*", "has a *"}, {"*@*", "has a *"},
		{"a*@one.example", "has a *"}, {"*a@one.example", "has a *"}, {"*@*.one.example", "has a *"}, {"one.*", "has a *"},
		{"*.*.example", "has a *"}, {"*one.example", "has a *"}, {"**@one.example", "has a *"}, {"@", "is not a website or domain"},
		{"@one.example/x", "is not a website or domain"}, {"*@b@one.example", "is not a website or domain"},
	} {
		for _, field := range []string{"email", "domain"} {
			t.Run(field+" "+row.text, func(t *testing.T) {
				org.Admin.In(t).Post(path, map[string]string{field: row.text}).Fails(422, "validation_failed", row.says)
			})
		}
	}
	org.Admin.Post(path, `{"domain": "co.uk"}`).Fails(422, "validation_failed", `domain: "co.uk" is a public suffix`)
	org.Admin.Post(path, `{"email": "*@one.example", "domain": "two.example"}`).Fails(422, "validation_failed", "domain: not allowed together with email")

	// An opt-out concerns one address, whatever it looks like.
	org.Write.Post("/v1/contacts", `{"email": "*@six.example", "do_not_contact": true}`).Is(201)
	if isRefused(t, "a@six.example") {
		t.Error("the opt-out of one contact suppresses a domain")
	}
	if n := org.Read.Post(path+"/list", nil).Is(200).Int("pagination.total_count"); n != 1 {
		t.Errorf("%d suppressions are left, want that of the opt-out", n)
	}
}
