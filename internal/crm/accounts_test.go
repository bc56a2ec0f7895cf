package crm_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"prospector/internal/apptest"
)

func TestAccount(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Write.Post("/v1/accounts", `{"name": "Initech"}`).Is(201, apptest.RecordAnswer("accounts", `{"name": "Initech", "website": null, "industry": null,
		"employee_count": null, "annual_revenue": null, "founded_year": null, "source": "api", "owner_id": null, "other_external_ids": [], "external_id": null, "tags": []}`))
	id := org.Write.Post("/v1/accounts", fmt.Sprintf(`{"name": "Globex", "employee_count": 0, "annual_revenue": -12.5, "founded_year": 1989.0, "owner_id": %q}`, org.User)).
		Is(201).ID()
	got := org.Read.Get("/v1/accounts/" + id).Is(200)
	if got.Int("data.employee_count") != 0 || got.Value("data.annual_revenue") != -12.5 || got.Int("data.founded_year") != 1989 || got.Text("data.owner_id") != org.User.String() {
		t.Error(string(got.Body))
	}
	for body, message := range map[string]string{
		`{"name": null}`:                             "name: required",
		`{"name": ""}`:                               "name: required",
		`{"employee_count": -1}`:                     "employee_count: must be at least 0",
		`{"employee_count": 1.5}`:                    "employee_count: 1.5 is not an integer",
		`{"employee_count": "5"}`:                    "employee_count: \"5\" is not an integer",
		`{"founded_year": 1e400}`:                    "founded_year: must be between",
		`{"annual_revenue": 9007199254740993}`:       "annual_revenue: must be between -2^53 and 2^53",
		`{"annual_revenue": true}`:                   "annual_revenue: must be a number",
		`{"owner_id": "` + id + `"}`:                 "owner_id: does not exist",
		`{"website": "http://"}`:                     "website: \"http://\" is not a website or domain",
		`{"website": "not a domain"}`:                "website: \"not a domain\" is not a website or domain",
		`{"website": "info@acme.example"}`:           "website: \"info@acme.example\" is not a website or domain",
		`{"website": "mailto:info@acme.example"}`:    "website: \"mailto:info@acme.example\" is not a website or domain",
		`{"website": "localhost"}`:                   "website: \"localhost\" is not a website or domain",
		`{"website": "a..example"}`:                  "website: \"a..example\" is not a website or domain",
		`{"website": "javascript:alert(1).example"}`: "website: \"javascript:alert(1).example\" is not a website or domain",
	} {
		t.Run(message, func(t *testing.T) {
			org.Write.In(t).Patch("/v1/accounts/"+id, body).Fails(422, "validation_failed", message)
		})
	}
	org.Write.Post("/v1/accounts", nil).Fails(422, "validation_failed", "name: required")
	org.Write.Patch("/v1/accounts/"+id, `{"annual_revenue": 9007199254740992, "employee_count": 9007199254740992}`).Is(200)
}

func TestWebsites(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	for website, domain := range map[string]string{
		"acme.example":                           "acme.example",
		"HTTPS://WWW.Acme.example/about?x=1#top": "acme.example",
		"http://user:secret@acme.example:8080":   "acme.example",
		"//shop.acme.example/":                   "shop.acme.example",
		"www.acme.example.":                      "acme.example",
		"  Bücher.example ":                      "bücher.example",
		"wwwacme.example":                        "wwwacme.example",
		"https://acme.example/100%zz":            "acme.example",
		"www.com":                                "www.com",
		"acme.example?utm=1":                     "acme.example",
	} {
		t.Run(website, func(t *testing.T) {
			body := map[string]string{"name": "A", "website": website}
			if got := org.Write.In(t).Post("/v1/accounts", body).Is(201).Text("data.website"); got != domain {
				t.Errorf("sent %q, stored as %q, want %q", website, got, domain)
			}
		})
	}
}

// TestDeletingWhatIsReferredTo checks that deleting a record removes all references to it, and that
// this does not count as a change of the referring records.
func TestDeletingWhatIsReferredTo(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := org.Write.Post("/v1/accounts", `{"name": "Initech"}`).Is(201).ID()
	keep := org.Write.Post("/v1/tags", `{"name": "Keep", "color": "green", "object_type": "contact"}`).Is(201).ID()
	drop := org.Write.Post("/v1/tags", `{"name": "Drop", "color": "red", "object_type": "contact"}`).Is(201).ID()
	var ids []string
	for i := range 3 {
		ids = append(ids, org.Write.Post("/v1/contacts", fmt.Sprintf(`{"email": "c%d@initech.example", "account_id": %q, "tags": [%q, %q]}`, i, account, drop, keep)).Is(201).ID())
	}
	app.Clock.Advance(time.Hour)
	etag := org.Read.Get("/v1/contacts/" + ids[0]).Is(200).Header.Get("ETag")
	org.Write.Delete("/v1/accounts/" + account).Is(204)
	org.Write.Delete("/v1/tags/" + drop).Is(204)
	for _, id := range ids {
		c := org.Read.Get("/v1/contacts/" + id).Is(200)
		if c.Value("data.account_id") != nil || !reflect.DeepEqual(c.Value("data.tags"), []any{keep}) || c.Text("data.updated_at") != "2026-03-02T09:00:00.000Z" {
			t.Error(string(c.Body))
		}
	}
	if etag == org.Read.Get("/v1/contacts/"+ids[0]).Header.Get("ETag") {
		t.Error("the clean-up did not create a new version")
	}
	for _, filter := range []string{
		fmt.Sprintf(`{"field": "account_id", "condition": "is", "value": %q}`, account),
		fmt.Sprintf(`{"field": "tags", "condition": "is", "value": %q}`, drop),
	} {
		t.Run(filter, func(t *testing.T) {
			if n := org.Read.In(t).Post("/v1/contacts/list", `{"filters": [`+filter+`]}`).Is(200).Int("pagination.total_count"); n != 0 {
				t.Errorf("%s finds %d", filter, n)
			}
		})
	}
	org.Write.Patch("/v1/contacts/"+ids[0], fmt.Sprintf(`{"account_id": %q}`, account)).Fails(422, "validation_failed", "account_id: does not exist")
}
