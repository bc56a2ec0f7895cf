package apptest

import (
	"slices"
	"strings"
	"testing"
)

// TestSuppressionsOfPreviousBuild opens a store in which *@globex.example was suppressed as if it were an address.
// Now it suppresses the domain, and stops the sequence of whoever is there.
func TestSuppressionsOfPreviousBuild(t *testing.T) {
	dir, keys := unpackFixture(t, "format-7")
	p := openPreviousBuild(t, dir, keys)
	shown := func() (rows []string) {
		for _, s := range p.acme.records("/v1/suppressions/list", "") {
			text := func(key string) string { value, _ := s[key].(string); return value }
			rows = append(rows, strings.Join([]string{text("email"), text("domain"), text("reason")}, "|"))
		}
		return slices.Sorted(slices.Values(rows))
	}
	want := []string{
		"*@co.uk||", "*@umbrella.example||opted_out", "a*@initech.example||", "bill@initech.example||",
		"|globex.example|asked us to", "|zürich.example|",
	}
	if got := shown(); !slices.Equal(got, want) {
		t.Errorf("the suppressions are %q, want %q", got, want)
	}
	p.Work()
	for name, status := range map[string]string{"hank": "stopped", "peter": "active"} {
		list := p.acme.Post("/v1/campaigns/"+keys["campaign"]+"/sequences/list", `{"filters": [{"field": "contact_id", "condition": "is", "value": "`+keys[name]+`"}]}`)
		if got := list.Is(200).Column("status"); !slices.Equal(got, []string{status}) {
			t.Errorf("the sequences of %s are %q, want %s", name, got, status)
		}
	}
	p.checked(t, "after the upgrade")
	p.Restart()
	if got := shown(); !slices.Equal(got, want) {
		t.Errorf("after another start the suppressions are %q, want %q", got, want)
	}
}
