package sequence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// TestOtherAddresses checks how other addresses and numbers of a contact are stored.
func TestOtherAddresses(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Write.Post("/v1/contacts", `{"email": "ada@x.example", "phone_number": "+49 30 1234567", "other_emails": ["Ada@Y.example", "ada@x.example", "ada@y.example", "info@x.example"],
		"other_phones": ["+49 30 7654321", "+49301234567"]}`).Is(201).ID()
	org.Read.Get("/v1/contacts/"+id).Has(200, `{"data": {"other_emails": ["Ada@Y.example", "info@x.example"], "other_phones": ["+49 30 7654321"]}}`)
	org.Read.Post("/v1/contacts/list", `{"filters": [{"field": "other_emails", "condition": "is", "value": "Ada@Y.example"}]}`).Has(200, `{"pagination": {"total_count": 1}}`)
	org.Write.Patch("/v1/contacts/"+id, `{"other_emails": ["nobody"]}`).Fails(422, "validation_failed", `other_emails[0]: "nobody" is not an email address`)
	many := make([]string, 11)
	for i := range many {
		many[i] = fmt.Sprintf("a%d@x.example", i)
	}
	org.Write.Patch("/v1/contacts/"+id, map[string]any{"other_emails": many}).Fails(422, "validation_failed", "other_emails")
	org.Write.Patch("/v1/contacts/"+id, map[string]any{"other_emails": many[:10]}).Is(200)
	// The address that is written to is no other one.
	org.Write.Patch("/v1/contacts/"+id, `{"email": "a3@x.example"}`).Is(200)
	if others := fmt.Sprint(org.Read.Get("/v1/contacts/" + id).Value("data.other_emails")); strings.Contains(others, "a3@") || len(strings.Fields(others)) != 9 {
		t.Errorf("%s", others)
	}
}

// TestOptOutOfAnyAddress checks that who has opted out with one address is not written to at another one.
func TestOptOutOfAnyAddress(t *testing.T) {
	for _, c := range []struct {
		other, suppression string
		covered            bool
	}{
		{"ann@home.example", `{"email": "Ann@Home.example", "reason": "opted_out"}`, true},
		{"ann@home.example", `{"email": "ann@home.example", "reason": "unsubscribed"}`, true},
		{"ann@home.example", `{"email": "ann@home.example", "reason": "manual"}`, true},
		{"ann@home.example", `{"email": "ann@home.example"}`, true},
		{"ann@home.example", `{"email": "ann@home.example", "reason": "bounce"}`, false},
		{"ann@home.example", `{"domain": "home.example"}`, false},
		{"info@home.example", `{"email": "info@home.example", "reason": "manual"}`, false},
	} {
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprint(c.suppression, before), func(t *testing.T) {
				m := newMailer(t)
				ids := apptest.ContactsOf(m.Org, "ann")
				m.Write.Patch("/v1/contacts/"+ids[0], map[string]any{"other_emails": []string{c.other}}).Is(200)
				want := 2
				if before {
					m.Admin.Post("/v1/suppressions", c.suppression).Is(201)
				}
				m.sends(twoMails, "", ids...)
				m.run()
				if !before {
					m.Admin.Post("/v1/suppressions", c.suppression).Is(201)
				}
				m.after(48 * time.Hour)
				if c.covered {
					want = map[bool]int{true: 0, false: 1}[before]
				}
				if n := m.received("ann"); n != want {
					t.Errorf("%d messages were sent, want %d", n, want)
				}
				if !before || !c.covered {
					return
				}
				// It can be written to again when the suppression is gone.
				id := m.Read.Post("/v1/suppressions/list", nil).Is(200).Text("data.0.id")
				m.Admin.Delete("/v1/suppressions/" + id)
				m.after(48 * time.Hour)
				if n := m.received("ann"); n == 0 {
					t.Error("the contact is not written to after the suppression is gone")
				}
			})
		}
	}
}

// TestAddedAddress checks that a sequence stops when the contact gets an address with which the person has opted out.
func TestAddedAddress(t *testing.T) {
	m := newMailer(t)
	ids := apptest.ContactsOf(m.Org, "ann")
	m.Admin.Post("/v1/suppressions", `{"email": "ann@home.example", "reason": "unsubscribed"}`).Is(201)
	m.sends(twoMails, "", ids...)
	m.run()
	m.Write.Patch("/v1/contacts/"+ids[0], `{"other_emails": ["ann@home.example"]}`).Is(200)
	m.after(48 * time.Hour)
	if n := m.received("ann"); n != 1 {
		t.Errorf("%d messages were sent, want 1", n)
	}
}

// TestOptOutSuppressesAll checks that opting out suppresses all addresses of a person, also one that is added later, and that
// opting in again lifts it for all.
func TestOptOutSuppressesAll(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	suppressed := func() string {
		list := org.Read.Post("/v1/suppressions/list", nil).Is(200).Column("email")
		slices.Sort(list)
		return strings.Join(list, " ")
	}
	id := org.Write.Post("/v1/contacts", `{"email": "ada@x.example", "other_emails": ["ada@y.example", "info@x.example"]}`).Is(201).ID()
	org.Write.Patch("/v1/contacts/"+id, `{"do_not_contact": true}`).Is(200)
	if got := suppressed(); got != "ada@x.example ada@y.example" {
		t.Errorf("suppressed are %s", got)
	}
	org.Write.Patch("/v1/contacts/"+id, `{"other_emails": ["ada@y.example", "ada@z.example"]}`).Is(200)
	if got := suppressed(); got != "ada@x.example ada@y.example ada@z.example" {
		t.Errorf("suppressed are %s", got)
	}
	// Somebody else who has opted out keeps the address suppressed.
	org.Write.Post("/v1/contacts", `{"email": "ada@z.example", "first_name": "Zoe", "do_not_contact": true}`).Is(201)
	org.Write.Patch("/v1/contacts/"+id, `{"do_not_contact": false}`).Is(200)
	if got := suppressed(); got != "ada@z.example" {
		t.Errorf("suppressed are %s", got)
	}
}

// TestMergedAddresses checks that a merge keeps all addresses and numbers, and that its undo gives them back.
func TestMergedAddresses(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Admin.Post("/v1/fields", `{"entity": "contacts", "key": "likes", "label": "Likes", "data_type": "multi_select", "allowed_values": ["a", "b", "c"]}`).Is(201)
	into := org.Write.Post("/v1/contacts", `{"email": "ada@x.example", "phone_number": "+49 30 1111111", "other_emails": ["ada@y.example"], "custom_field_likes": ["a", "b"]}`).Is(201).ID()
	from := org.Write.Post("/v1/contacts", `{"email": "ada@z.example", "phone_number": "+49 30 2222222", "other_emails": ["ADA@x.example"], "custom_field_likes": ["b", "c"]}`).Is(201).ID()
	org.Write.Post("/v1/contacts/"+into+"/merge", `{"ids": ["`+from+`"]}`).Has(200, `{"data": {
		"email": "ada@x.example", "other_emails": ["ada@y.example", "ada@z.example"], "phone_number": "+49 30 1111111", "other_phones": ["+49 30 2222222"], "custom_field_likes": ["a", "b", "c"]}}`)
}
