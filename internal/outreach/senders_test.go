package outreach_test

import (
	"fmt"
	"testing"

	"prospector/internal/apptest"
	"prospector/store"
)

// TestNewOrganizationWindow checks the sending window of an organization that the operator creates
// without naming one.
func TestNewOrganizationWindow(t *testing.T) {
	app := apptest.New(t)
	for body, want := range map[string][2]int{
		`{"name": "A"}`: {8, 18},
		`{"name": "B", "sending_window": {"from_hour": 0}}`:                {0, 18},
		`{"name": "C", "sending_window": {"to_hour": 24}}`:                 {8, 24},
		`{"name": "D", "sending_window": {"from_hour": 22, "to_hour": 6}}`: {22, 6},
	} {
		t.Run(body, func(t *testing.T) {
			doc, err := app.Identity.CreateOrganization(t.Context(), store.Actor{}, apptest.Body(t, apptest.JSONText(body)))
			if w := doc.Record.SendingWindow; err != nil || w.FromHour != want[0] || w.ToHour != want[1] {
				t.Errorf("%+v, %v; want %v", w, err, want)
			}
		})
	}
}

// TestSenderDomains checks that the addresses of users stay within the sender domains, and that a
// user outside cannot own a campaign.
func TestSenderDomains(t *testing.T) {
	app := apptest.New(t)
	org := newRunner(app, "Acme")
	outside := org.Admin.Post("/v1/users", `{"email": "eve@elsewhere.example"}`).Is(201).ID()
	draft := org.newCampaign(fmt.Sprintf(`"owner_id": %q`, outside))
	active := org.newCampaign(fmt.Sprintf(`"owner_id": %q, "status": "active"`, outside))
	apptest.SetSenderDomains(t, app, org.Org, "acme.example", "müller.example")

	if got := org.Read.Get("/v1/organization").Is(200).Value("data.sender_domains").([]any); len(got) != 2 || got[0] != "acme.example" {
		t.Errorf("the sender domains are %v", got)
	}
	for _, email := range []string{"bob@acme.example", "carl@ACME.example", "bob@mail.sales.acme.example", "bob@xn--mller-kva.example", "carl@MÜLLER.example", "bob@post.müller.example"} {
		org.Admin.Post("/v1/users", map[string]string{"email": email}).Is(201)
	}
	const message = "is outside the sender domains of the organization: acme.example"
	for _, email := range []string{"bob@notacme.example", "bob@acme.example.org", "bob@example", "acme.example@x.example"} {
		t.Run(email, func(t *testing.T) {
			org.Admin.In(t).Post("/v1/users", map[string]string{"email": email}).Fails(422, "validation_failed", fmt.Sprintf("email: %q ", email)+message)
			org.Admin.In(t).Patch("/v1/users/"+org.User.String(), map[string]string{"email": email}).Fails(422, "validation_failed", fmt.Sprintf("email: %q ", email)+message)
		})
	}

	// A user outside can still be changed otherwise, but not own a campaign.
	org.Admin.Patch("/v1/users/"+outside, `{"title": "CTO"}`).Is(200)
	refused := func(r *apptest.Response) {
		t.Helper()
		r.Fails(422, "validation_failed", `owner_id: "eve@elsewhere.example" `+message)
	}
	refused(org.Write.Post("/v1/campaigns", org.campaignBody(fmt.Sprintf(`"owner_id": %q`, outside))))
	refused(org.as(outside).Post("/v1/campaigns", org.campaignBody("")))
	refused(org.Write.Patch(org.newCampaign(""), fmt.Sprintf(`{"owner_id": %q}`, outside)))
	refused(org.Write.Patch(draft, `{"status": "active"}`))
	org.Write.Patch(draft, `{"name": "Autumn"}`).Is(200)
	org.Write.Patch(active, `{"status": "paused"}`).Is(200)
	org.Write.Patch(active, `{"status": "active"}`).Fails(409, "campaign_held", "sender_not_allowed")

	org.Admin.Patch("/v1/users/"+outside, `{"email": "eve@acme.example"}`).Is(200)
	org.Write.Patch(draft, `{"status": "active"}`).Is(200)
	org.Write.Post(active+"/release", `{}`).Is(200)
	org.Write.Patch(active, `{"status": "active"}`).Is(200)
}

// TestDeactivateUser checks that the keys of a deactivated user stop working at once, and that the
// user can own no campaign until activated again.
func TestDeactivateUser(t *testing.T) {
	app := apptest.New(t)
	org, other := newRunner(app, "Acme"), app.Org("Umbrella")
	bob := org.Admin.Post("/v1/users", `{"email": "bob@acme.example"}`).Is(201).ID()
	his := org.as(bob)
	draft := org.newCampaign(fmt.Sprintf(`"owner_id": %q`, bob))
	his.Get("/v1/me").Is(200)

	path := "/v1/users/" + bob
	org.Write.Post(path+"/deactivate", nil).Fails(403, "forbidden", "admin")
	org.Write.Post(path+"/activate", nil).Fails(403, "forbidden", "admin")
	other.Admin.Post(path+"/deactivate", nil).Fails(404, "not_found", "")
	other.Admin.Post(path+"/activate", nil).Fails(404, "not_found", "")
	org.Admin.Patch(path, `{"active": false}`).Fails(422, "validation_failed", "active: read-only field")

	if off := org.Admin.Post(path+"/deactivate", nil).Is(200); off.Value("data.active") != false {
		t.Error(string(off.Body))
	}
	org.Admin.Post(path+"/deactivate", nil).Is(200)
	his.Get("/v1/me").Is(401, `{"detail": "a valid API key is required"}`)
	org.Write.Get("/v1/me").Is(200)
	app.Restart()
	his.Get("/v1/me").Is(401)

	refused := func(r *apptest.Response) {
		t.Helper()
		r.Fails(422, "validation_failed", "owner_id: the user is deactivated")
	}
	refused(org.Write.Post("/v1/campaigns", org.campaignBody(fmt.Sprintf(`"owner_id": %q`, bob))))
	refused(org.Write.Patch(org.newCampaign(""), fmt.Sprintf(`{"owner_id": %q}`, bob)))
	refused(org.Write.Patch(draft, `{"status": "active"}`))
	org.Admin.Post("/v1/api-keys", fmt.Sprintf(`{"name": "new", "user_id": %q}`, bob)).Fails(422, "validation_failed", "user_id: the user is deactivated")

	if on := org.Admin.Post(path+"/activate", nil).Is(200); on.Value("data.active") != true {
		t.Error(string(on.Body))
	}
	his.Get("/v1/me").Is(200)
	org.Write.Patch(draft, `{"status": "active"}`).Is(200)
}
