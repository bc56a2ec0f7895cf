package sequence_test

import (
	"slices"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// suppressionsOf returns the reasons for which an address is suppressed.
func suppressionsOf(o *apptest.Org, email string) []string {
	return o.Read.Post("/v1/suppressions/list", map[string]any{"filters": []any{map[string]any{"field": "email", "condition": "is", "value": email}}}).Is(200).Column("reason")
}

// TestOptOutCoversAddress checks when an opt-out suppresses an address, and when it releases it.
func TestOptOutCoversAddress(t *testing.T) {
	contact := func(o *apptest.Org, body string) string {
		return "/v1/contacts/" + o.Write.Post("/v1/contacts", body).Is(201).ID()
	}
	optOut := func(o *apptest.Org, path string) { o.Write.Patch(path, `{"do_not_contact": true}`).Is(200) }
	optIn := func(o *apptest.Org, path string) { o.Write.Patch(path, `{"do_not_contact": false}`).Is(200) }
	const one, same = `{"email": "ann@zürich.example"}`, `{"email": "ANN@xn--zrich-kva.example"}`
	for _, c := range []struct {
		name string
		do   func(o *apptest.Org)
		want []string // the reasons at the end
	}{
		{"turns true", func(o *apptest.Org) { optOut(o, contact(o, one)) }, []string{"opted_out"}},
		{"created with true", func(o *apptest.Org) { contact(o, `{"email": "ann@zürich.example", "do_not_contact": true}`) }, []string{"opted_out"}},
		{"batch", func(o *apptest.Org) {
			contact(o, one)
			o.Write.Post("/v1/contacts/batch", `{"match_on": "email", "records": [{"email": "ann@ZÜRICH.example", "do_not_contact": true}]}`).Is(200)
		}, []string{"opted_out"}},
		{"already true", func(o *apptest.Org) {
			path := contact(o, `{"email": "ann@zürich.example", "do_not_contact": true}`)
			id := o.Read.Post("/v1/suppressions/list", `{}`).Is(200).Text("data.0.id")
			o.Admin.Delete("/v1/suppressions/" + id).Is(204)
			o.Write.Patch(path, `{"do_not_contact": true, "title": "CEO"}`).Is(200)
		}, nil},
		{"turns false", func(o *apptest.Org) {
			path := contact(o, one)
			optOut(o, path)
			optIn(o, path)
		}, nil},
		{"another one has opted out", func(o *apptest.Org) {
			first, second := contact(o, one), contact(o, same)
			optOut(o, first)
			optOut(o, second)
			optIn(o, first)
		}, []string{"opted_out"}},
		{"all opt in", func(o *apptest.Org) {
			first, second := contact(o, one), contact(o, same)
			optOut(o, first)
			optOut(o, second)
			optIn(o, first)
			optIn(o, second)
		}, nil},
		{"another reason stays", func(o *apptest.Org) {
			path := contact(o, one)
			o.Admin.Post("/v1/suppressions", `{"email": "Ann@zürich.example", "reason": "bounce"}`).Is(201)
			optOut(o, path)
			optIn(o, path)
		}, []string{"bounce"}},
		{"another reason takes over", func(o *apptest.Org) {
			path := contact(o, one)
			optOut(o, path)
			if got := o.Admin.Post("/v1/suppressions", `{"email": "Ann@zürich.example", "reason": "manual"}`).Is(200).Text("data.reason"); got != "manual" {
				t.Errorf("the reason is %q", got)
			}
			optIn(o, path)
		}, []string{"manual"}},
		{"the address changes", func(o *apptest.Org) {
			path := contact(o, one)
			optOut(o, path)
			o.Write.Patch(path, `{"email": "ann@new.example"}`).Is(200)
			if got := suppressionsOf(o, "ann@new.example"); !slices.Equal(got, []string{"opted_out"}) {
				t.Errorf("the new address is suppressed for %q", got)
			}
			optIn(o, path)
			if got := suppressionsOf(o, "ann@new.example"); len(got) > 0 {
				t.Errorf("the new address is still suppressed for %q", got)
			}
		}, []string{"opted_out"}},
		{"the address changes with the opt-in", func(o *apptest.Org) {
			path := contact(o, one)
			optOut(o, path)
			o.Write.Patch(path, `{"email": "ann@new.example", "do_not_contact": false}`).Is(200)
		}, []string{"opted_out"}},
		{"the contact is deleted", func(o *apptest.Org) {
			path := contact(o, one)
			optOut(o, path)
			o.Write.Delete(path).Is(204)
		}, []string{"opted_out"}},
		{"without an address", func(o *apptest.Org) {
			contact(o, `{"linkedin_url": "x", "do_not_contact": true}`)
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			org := apptest.New(t).Org("Acme")
			c.do(org)
			if got := suppressionsOf(org, "ann@zürich.example"); !slices.Equal(got, c.want) {
				t.Errorf("the address is suppressed for %q, want %q", got, c.want)
			}
			wanted := "1"
			if len(c.want) > 0 {
				wanted = "0 contact_suppressed 1"
			}
			other := spelled(org, []string{"Ann@Zu\u0308rich。example"})
			if got := enrolled(t, org.Write.Post(apptest.CampaignFor(org, "active", apptest.AudienceOf(org, "A"))+"/enroll", enrolling("B", other...))); got != wanted {
				t.Errorf("enrolling another contact with the address returned %q, want %q", got, wanted)
			}
		})
	}
}

// TestOptOutStopsAll opts out one of two contacts that share an address while both wait for a message.
func TestOptOutStopsAll(t *testing.T) {
	m := newMailer(t)
	ids := append(spelled(m.Org, []string{"ann@zürich.example", "ANN@xn--zrich-kva.example"}), apptest.ContactsOf(m.Org, "bob")...)
	m.server.Reply(apptest.Answering("RCPT", "450 4.2.1 busy"))
	campaign := m.sends(apptest.OneMail, "", ids...)
	m.run()
	m.Write.Patch("/v1/contacts/"+ids[0], `{"do_not_contact": true}`).Is(200)
	m.server.Reply(nil)
	for range 3 {
		m.after(24 * time.Hour)
	}
	m.arrived("bob Hello bob")
	m.wantSequence(campaign, ids[0], "stopped:opted_out skipped")
	m.wantSequence(campaign, ids[1], "stopped:duplicate_address")
}
