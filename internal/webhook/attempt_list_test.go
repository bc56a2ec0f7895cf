package webhook_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// TestWebhookAttemptList filters, sorts, counts and exports the attempts of all subscriptions of an organization.
func TestWebhookAttemptList(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	rec := apptest.NewReceiver(t)
	contacts, tags := rec.Subscribe(org, "contact.created"), rec.Subscribe(org, "tag.*")
	apptest.Makers["contacts"](org)
	app.Deliver()
	app.Clock.Advance(time.Minute)
	between := apptest.Stamp(app)
	rec.Answers(503)
	apptest.Makers["contacts"](org)
	apptest.Makers["tags"](org)
	app.Deliver()
	const path = "/v1/webhook-deliveries"
	list := func(body string, want ...string) {
		t.Helper()
		got := []string{}
		for _, rec := range org.Read.Post(path+"/list", body).Is(200).Value("data").([]any) {
			a := rec.(map[string]any)
			of := map[any]string{contacts: "contacts", tags: "tags"}[a["subscription_id"]]
			got = append(got, fmt.Sprintf("%s %v %v %v", of, a["trigger_key"], a["status"], a["response_code"]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s lists %q, want %q", body, got, want)
		}
	}
	filters := func(rules ...string) string {
		return `{"sort": "trigger_key,created_at", "filters": [` + strings.Join(rules, ",") + `]}`
	}
	const good, bad, tag = "contacts contact.created succeeded 200", "contacts contact.created failed 503", "tags tag.created failed 503"
	list(filters(), good, bad, tag)
	list(filters(apptest.IsRule("subscription_id", contacts)), good, bad)
	list(filters(apptest.IsRule("status", "failed"), apptest.IsRule("trigger_key", "tag.created")), tag)
	list(filters(`{"field": "response_code", "condition": "less_than", "value": 300}`), good)
	list(filters(`{"field": "created_at", "condition": "at_least", "value": "`+between+`"}`), bad, tag)
	list(filters(`{"field": "error", "condition": "contains", "value": "STATUS 503"}`), bad, tag)
	list(`{"search": "http_503", "sort": "-trigger_key"}`, tag, bad)
	list(`{"sort": "created_at", "page_size": 1}`, good)
	event := org.Read.Get(apptest.SubscriptionsPath + "/" + tags + "/deliveries").Is(200).Text("data.0.source_event_id")
	list(filters(apptest.IsRule("source_event_id", event)), tag)

	org.Read.Post(path+"/facets", `{"field": "status"}`).Has(200, `{"data": {"total_count": 3, "distinct_count": 2, "values": [
		{"value": "failed", "name": null, "count": 2}, {"value": "succeeded", "name": null, "count": 1}]}}`)
	csv := strings.Split(string(org.Read.Post(path+"/export", `{"sort": "trigger_key,created_at", "format": "csv"}`).Is(200).Body), "\n")
	if len(csv) != 5 || csv[0] != "id,subscription_id,source_event_id,trigger_key,attempt,status,duration_ms,created_at,response_code,error" ||
		!strings.HasSuffix(csv[3], ",503,http_503: the endpoint answered with status 503") {
		t.Errorf("the export is %q", csv)
	}
	other.Read.Post(path+"/list", `{}`).Has(200, `{"data": [], "pagination": {"total_count": 0}}`)

	org.Admin.Delete(apptest.SubscriptionsPath + "/" + tags).Is(204)
	app.Restart()
	list(filters(apptest.IsRule("subscription_id", tags)), tag)
}
