package outreach_test

import (
	"fmt"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// TestCloneCampaign makes copies of campaigns.
func TestCloneCampaign(t *testing.T) {
	app := apptest.New(t)
	org := newRunner(app, "Acme")
	bob := apptest.Makers["users"](org.Org)
	path := org.newCampaign(fmt.Sprintf(`"status": "active", "owner_id": %q, "prioritized": true, "missing_values": "skip", "admit": "automatic", "end_date": "2026-12-31"`, bob))
	res := org.Write.Post(path+"/clone", fmt.Sprintf(`{"name": "Autumn", "audience_ids": [%q, %q]}`, org.south, org.west)).Is(201)
	want := fmt.Sprintf(`{"data": {"id": "<id>", "created_at": "<time>", "updated_at": "<time>", "name": "Autumn", "status": "draft", "prioritized": true, "end_date": "2026-12-31",
		"template_id": %q, "template_name": "Warm welcome", "audiences": [{"id": %q, "name": "South"}, {"id": %q, "name": "West"}], "owner_id": %q, "missing_values": "skip", "admit": "automatic", "newcomers": 0, "transport": null, "held": null},
		"meta": {"timestamp": "<time>"}}`, org.template, org.south, org.west, bob)
	org.Read.Get("/v1/campaigns/"+res.ID()).Is(200, want)
	org.Read.Get(path).Is(200).Text("data.name")

	// A last day that has passed is not copied. Everything is checked as in a new campaign.
	org.Write.Patch(path, `{"end_date": "2026-03-01"}`).Is(200)
	app.Work()
	if got := org.Write.Post(path+"/clone", fmt.Sprintf(`{"name": "Later", "audience_ids": [%q]}`, org.south)).Is(201).Value("data.end_date"); got != nil {
		t.Errorf("the copy ends on %v", got)
	}
	for body, message := range map[string]string{
		`{}`: "name: required",
		fmt.Sprintf(`{"name": "x", "audience_ids": [%q, "0190b2f0-0000-7000-8000-000000000000"]}`, org.south): "audience_ids[1]: does not exist",
		fmt.Sprintf(`{"name": "x", "audience_ids": [%q], "status": "active"}`, org.south):                     "status: unknown field",
		fmt.Sprintf(`{"name": "%s", "audience_ids": [%q]}`, strings.Repeat("x", 256), org.south):              "name: must be at most 255 characters",
	} {
		org.Write.Post(path+"/clone", body).Fails(422, "validation_failed", message)
	}
	org.Admin.Post("/v1/users/"+bob+"/deactivate", nil).Is(200)
	org.Write.Post(path+"/clone", fmt.Sprintf(`{"name": "x", "audience_ids": [%q]}`, org.south)).Fails(422, "validation_failed", "owner_id: the user is deactivated")
}
