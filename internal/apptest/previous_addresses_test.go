package apptest

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prospector/cmd"
	"prospector/internal/catalog"
	"prospector/internal/rows"
)

// TestAddressesOfPreviousBuild opens a store in which addresses and websites had a key per spelling.
// What was suppressed under one spelling is suppressed under all of them.
func TestAddressesOfPreviousBuild(t *testing.T) {
	dir, keys := unpackFixture(t, "format-3")
	p := openPreviousBuild(t, dir, keys)
	p.agrees(t, p.acme)
	p.checked(t, "at first")

	template := p.acme.Post("/v1/sequence-templates", `{"name": "T", "steps": [{"index": 0, "type": "auto_email", "subject": "S", "message": "M"}]}`).Is(201).ID()
	user := p.acme.Post("/v1/users", `{"email": "eve@acme.example"}`).Is(201).ID()
	audience := p.acme.Post("/v1/audiences", `{"name": "A"}`).Is(201).ID()
	campaign := "/v1/campaigns/" + p.acme.Post("/v1/campaigns", map[string]any{
		"name": "C", "template_id": template, "owner_id": user, "audience_ids": []string{audience}, "status": "active",
	}).Is(201).ID()
	suppressed := func(t *testing.T, email string) bool {
		t.Helper()
		c := p.acme.In(t)
		id := c.Post("/v1/contacts", map[string]string{"email": email}).Is(201).ID()
		res := c.Post(campaign+"/enroll", map[string]any{"audience_name": email + id, "contact_ids": []string{id}}).Is(200)
		return res.Int("data.success_count") == 0
	}
	for email, want := range map[string]bool{
		"bill@zürich.example": true, "Bill@XN--zrich-kva.example": true, "bill@Zu\u0308rich。example": true, "other@zürich.example": false,
		"x@bücher.example": true, "x@xn--bcher-kva.example": true, "x@mail.B\u00dcCHER．example": true, "x@bucher.example": false,
		"x@münchen.example": true, "x@xn--mnchen-3ya.example": true, "x@a.Mu\u0308nchen.example": true,
		"opted@zürich.example": true, "OPTED@xn--zrich-kva.example": true, "opted@z\u00adürich.example": true,
	} {
		t.Run(email, func(t *testing.T) {
			if got := suppressed(t, email); got != want {
				t.Errorf("suppressed: %t, want %t", got, want)
			}
		})
	}

	// Both suppressions of one address are kept, the oldest answers, and each has to be deleted.
	list := p.acme.records("/v1/suppressions/list", `{"field": "email", "condition": "is", "value": "bill@zürich.example"}`)
	first := p.acme.Post("/v1/suppressions", `{"email": "bill@ZÜRICH.example"}`).Is(200)
	if len(list) != 2 || first.Text("data.reason") != "first" {
		t.Errorf("%v; the first is %s", list, first.Body)
	}
	for i, id := range slices.Sorted(maps.Keys(list)) {
		p.acme.Delete("/v1/suppressions/" + id).Is(204)
		if got := suppressed(t, "bill@zürich.example"); got != (i == 0) {
			t.Errorf("after %d were deleted, the address is suppressed: %t", i+1, got)
		}
	}

	p.agreeOnIdentity(t)
	p.checked(t, "at the end")
}

// agreeOnIdentity checks that records are found by other spellings, and that those on a shared host are
// not found at all.
func (p *previousBuild) agreeOnIdentity(t *testing.T) {
	t.Helper()
	created := func(entity, field, value string) bool {
		body := map[string]any{"match_on": field, "records": []any{map[string]any{"name": "X", field: value}}}
		if entity == "contacts" {
			body["records"] = []any{map[string]any{"first_name": "X", field: value}}
		}
		return p.acme.Post("/v1/"+entity+"/batch", body).Is(200).Value("data.results.0.created").(bool)
	}
	for _, c := range []struct {
		entity, field, value string
		want                 bool
	}{
		{"contacts", "email", "KNOWN@xn--zrich-kva.example", false},
		{"contacts", "email", "unknown@zürich.example", true},
		{"accounts", "website", "https://shop.xn--zrich-kva.example", false},
		{"accounts", "website", "linkedin.com/company/alpha", true},
		{"accounts", "website", "linkedin.com", true},
	} {
		if got := created(c.entity, c.field, c.value); got != c.want {
			t.Errorf("%s with %s created a record: %t, want %t", c.entity, c.value, got, c.want)
		}
	}
	table, err := rows.Open(strings.NewReader(
		"website,name\nxn--zrich-kva.example,Same\nhttps://awaited.example,Awaited\nfacebook.com/delta,Delta\nlinkedin.com/company/alpha,New\n"), rows.Options{})
	if err == nil {
		_, _, err = p.Service.Catalog.ImportCompanies(t.Context(), p.Store, table, catalog.ImportOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for id, c := range p.acme.records("/v1/companies/list", "") {
		names[id] = c["name"].(string)
	}
	if got := slices.Sorted(maps.Values(names)); !slices.Equal(got, []string{"Alpha", "Awaited", "Beta", "Delta", "New", "Same"}) {
		t.Errorf("the companies are %q", got)
	}
	employers := map[string]string{}
	for id, person := range p.acme.records("/v1/people/list", "") {
		company, _ := person["company_id"].(string)
		employers[id] = names[company]
	}
	if want := map[string]string{"p1": "Awaited", "p2": ""}; !maps.Equal(employers, want) {
		t.Errorf("people work for %q, want %q", employers, want)
	}
}

// TestSharedHostsSettingChanges checks that keys follow the setting identity.shared_hosts.
func TestSharedHostsSettingChanges(t *testing.T) {
	p := New(t)
	org := p.Org("Acme")
	matches := func() bool {
		return !org.Write.Post("/v1/accounts/batch", `{"match_on": "website", "records": [{"name": "A", "website": "portal.example/a"}]}`).
			Is(200).Value("data.results.0.created").(bool)
	}
	if matches() || !matches() {
		t.Error("the website does not identify an account")
	}
	p.Config.Identity.SharedHosts = []string{"portal.example"}
	p.Restart()
	for range 2 { // the second one must not match the account of the first
		if matches() {
			t.Error("the website identifies an account although its host is shared now")
		}
	}
	p.Config.Identity.SharedHosts = nil
	p.Restart()
	if !matches() {
		t.Error("the website identifies no account although its host is no longer shared")
	}
}

// TestImportOptsOut imports contacts from a file. An opt-out suppresses the address, and an address to
// which nothing can be sent is reported.
func TestImportOptsOut(t *testing.T) {
	p := New(t)
	org := p.Org("Acme")
	file := filepath.Join(t.TempDir(), "contacts.csv")
	if err := os.WriteFile(file, []byte("email,do_not_contact\nzoe@zürich.example,true\nbill@-acme.example,false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Stop()
	var out, problems bytes.Buffer
	cmd.Execute([]string{"import", "contacts", file, "--org", "Acme", "--data-dir", p.Config.DataDir}, &out, &problems)
	p.Start()
	if said := out.String() + problems.String(); !strings.Contains(said, `line 3: email: "bill@-acme.example" is not an email address`) {
		t.Errorf("the import reports %s", said)
	}
	got := org.Read.Post("/v1/suppressions/list", `{"filters": [{"field": "email", "condition": "is", "value": "ZOE@xn--zrich-kva.example"}]}`).Is(200)
	if reasons := got.Column("reason"); !slices.Equal(reasons, []string{"opted_out"}) {
		t.Errorf("the address is suppressed for %q", reasons)
	}
}
