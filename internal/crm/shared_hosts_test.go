package crm_test

import (
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// TestSharedHosts checks that a website on a shared host is kept with its path and never identifies an
// account, and that identity.shared_hosts extends the list.
func TestSharedHosts(t *testing.T) {
	app := apptest.New(t, func(cfg *service.Config) { cfg.Identity.SharedHosts = []string{"portal.example", "bazaar.*"} })
	org := app.Org("Acme")
	for website, stored := range map[string]string{
		"https://www.linkedin.com/company/Acme/?trk=1": "linkedin.com/company/Acme",
		"sites.google.com/view/acme":                   "sites.google.com/view/acme",
		"https://apps.apple.com/us/app/acme#top":       "apps.apple.com/us/app/acme",
		"amazon.co.uk/acme":                            "amazon.co.uk/acme",
		"HTTP://Portal.example/acme":                   "portal.example/acme",
		"de.bazaar.co.uk/acme":                         "de.bazaar.co.uk/acme",
		"google.com/acme":                              "google.com",
		"acme.github.io/about":                         "acme.github.io",
	} {
		t.Run(website, func(t *testing.T) {
			c := org.Write.In(t)
			record := map[string]any{"match_on": "website", "records": []any{map[string]any{"name": "A", "website": website}}}
			first := apptest.ResultIDs(c.Post("/v1/accounts/batch", record).Is(200))[0]
			again := apptest.ResultIDs(c.Post("/v1/accounts/batch", record).Is(200))[0]
			if shared := strings.Contains(stored, "/"); shared == (first == again) {
				t.Errorf("the website identifies an account: %t", !shared)
			}
			if got := c.Get("/v1/accounts/" + first).Is(200).Text("data.website"); got != stored {
				t.Errorf("stored as %q", got)
			}
			filter := map[string]any{"filters": []any{map[string]any{"field": "website", "condition": "is", "value": website}}}
			if got := c.Post("/v1/accounts/list", filter).Is(200).Column("id"); !slices.Contains(got, first) {
				t.Errorf("a filter finds %q", got)
			}
		})
	}
}

// TestUnsendableAddresses checks that an address to which nothing can be sent is refused wherever it is
// written.
func TestUnsendableAddresses(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Write.Post("/v1/contacts", `{"email": "ann@acme.example"}`).Is(201).ID()
	user := org.Admin.Post("/v1/users", `{"email": "eve@acme.example"}`).Is(201).ID()
	for _, email := range []string{"bi\u0085ll@acme.example", "bill@acme\u2028.example", "bill@-acme.example", "bill@ac!me.example", "bill@xn--a.example", "bill@acme。。example",
		"bill@" + strings.Repeat("a", 64) + ".example"} {
		t.Run(email, func(t *testing.T) {
			body := map[string]any{"email": email}
			admin := org.Admin.In(t)
			admin.Post("/v1/contacts", body).Fails(422, "validation_failed", "email: ")
			admin.Patch("/v1/contacts/"+id, body).Fails(422, "validation_failed", "email: ")
			admin.Post("/v1/suppressions", body).Fails(422, "validation_failed", "email: ")
			admin.Patch("/v1/users/"+user, body).Fails(422, "validation_failed", "email: ")
			res := admin.Post("/v1/contacts/batch", map[string]any{"records": []any{body}}).Is(200)
			if res.Int("data.failed") != 1 || !strings.Contains(string(res.Body), "is not an email address") {
				t.Errorf("a batch answers %s", res.Body)
			}
		})
	}
}

// TestCanonicalFilters checks filters over HTTP, and that responses show what was written.
func TestCanonicalFilters(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := org.Write.Post("/v1/contacts", `{"email": "Ann@Zürich.example", "linkedin_url": "https://www.linkedin.com/in/Ann/"}`).Is(201).ID()
	account := org.Write.Post("/v1/accounts", `{"name": "Acme", "website": "zürich.example", "country": "Norway"}`).Is(201).ID()
	for _, c := range []struct{ entity, field, value, id string }{
		{"contacts", "email", "ann@xn--zrich-kva.example", id},
		{"contacts", "linkedin_url", "de.linkedin.com/in/ann", id},
		{"accounts", "website", "https://XN--zrich-kva.example/about", account},
		{"accounts", "country", " NORWAY", account},
	} {
		t.Run(c.field, func(t *testing.T) {
			for condition, want := range map[string]int{"is": 1, "equals": 1, "is_not": 0} {
				body := map[string]any{"filters": []any{map[string]any{"field": c.field, "condition": condition, "value": c.value}}}
				if res := org.Read.In(t).Post("/v1/"+c.entity+"/list", body).Is(200); res.Int("pagination.total_count") != want {
					t.Errorf("%s finds %s", condition, res.Body)
				}
			}
		})
	}
	if got := org.Read.Get("/v1/contacts/" + id).Is(200).Text("data.email"); got != "Ann@Zürich.example" {
		t.Errorf("the address is shown as %q", got)
	}
}
