package filter

import (
	"encoding/json"
	"testing"

	"prospector/internal/address"
)

// TestMatchCanonical compares fields that have a canonical form. Every spelling is the same value for
// is, is_not and equals, and contains searches what is stored.
func TestMatchCanonical(t *testing.T) {
	for _, c := range []struct {
		field, stored string
		same, others  []string
	}{
		{"email", "Bill@Zürich.example", []string{"bill@zürich.example", " BILL@xn--zrich-kva.example", "bill@Zu\u0308rich。example。", "bill@zür\u00adich.example"},
			[]string{"bill@zurich.example", "bill@mail.zürich.example", "bill"}},
		{"website", "zürich.example", []string{"https://www.Zürich.example/about?x", "xn--zrich-kva.example", "zürich.example."},
			[]string{"shop.zürich.example", "zurich.example"}},
		{"website", "linkedin.com/company/Acme", []string{"https://www.linkedin.com/company/acme/", "LINKEDIN.com/company/Acme?trk=1"},
			[]string{"linkedin.com", "linkedin.com/company/acme2", "linkedin.com/company"}},
		{"website", "portal.example/acme", []string{"http://portal.example/acme"}, []string{"portal.example", "portal.example/other"}},
		{"linkedin_url", "https://www.linkedin.com/in/Bill", []string{"linkedin.com/in/bill/", "http://de.linkedin.com/in/BILL?x"}, []string{"linkedin.com/in/bil"}},
		{"country", "Norway", []string{"norway", " NORWAY "}, []string{"Nor", "Norway 2"}},
		{"name", "Norway", []string{"Norway"}, []string{"norway", "Norway "}}, // other texts are compared exactly
	} {
		t.Run(c.field+" "+c.stored, func(t *testing.T) {
			things := NewKind[thing]("things", "name")
			var err error
			if things.Hosts, err = address.NewHosts([]string{"portal.example"}); err != nil {
				t.Fatal(err)
			}
			row := rowOf(t, `{"id": "0190b2f0-0000-7000-8000-000000000001", "`+c.field+`": "`+c.stored+`"}`)
			matches := func(condition Condition, value string) bool {
				t.Helper()
				plan, err := compileOf(things, NoCustomFields, ruleBody(c.field, condition, value))
				if err != nil {
					t.Fatal(err)
				}
				return plan.Match(row)
			}
			for want, values := range map[bool][]string{true: append(c.same, c.stored), false: c.others} {
				for _, v := range values {
					if matches(Is, v) != want || matches(Equals, v) != want || matches(IsNot, v) == want {
						t.Errorf("%q is the same: %t, want %t", v, !want, want)
					}
				}
			}
			if !matches(Contains, c.stored[1:4]) {
				t.Error("a part of the stored text is not found")
			}
			if plan, err := compileOf(things, NoCustomFields, ruleBody(c.field, Is, json.RawMessage(`["x", `+string(quoted(c.same[0]))+`]`))); err != nil || !plan.Match(row) {
				t.Errorf("a list with %q does not match (%v)", c.same[0], err)
			}
		})
	}
}

func quoted(s string) []byte {
	b, _ := json.Marshal(s)
	return b
}
