package handlers_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/service"
)

// A list that takes longer than limits.list_time is refused. An export has no time limit.
func TestListTime(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.Limits.ListTime = time.Nanosecond })
	org := app.Org("Acme")
	org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201)
	app.Catalog([]catalog.Company{{ID: "c1", Name: "Globex"}}, nil)
	for _, path := range []string{"/v1/accounts/list", "/v1/companies/list"} {
		t.Run(path, func(t *testing.T) {
			org.Read.In(t).Post(path, `{"filters": [{"field": "name", "condition": "contains", "value": "o"}]}`).
				Fails(503, "timeout", "the list takes longer than 1ns")
		})
	}
	org.Read.Post("/v1/accounts/export", nil).Is(200)
}

// Work stops when the client has disconnected.
func TestClientHasGone(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	contact := org.Write.Post("/v1/contacts", `{"email": "a@x.example"}`).Is(201).ID()
	app.Catalog([]catalog.Company{{ID: "c1", Name: "Globex"}}, nil)
	audience := newAudience(org)
	const query = `{"filters": [{"field": "email", "condition": "contains", "value": "x"}]}`
	for path, body := range map[string]string{
		"/v1/contacts/list":                                         query,
		"/v1/contacts/export":                                       query,
		"/v1/companies/list":                                        `{}`,
		"/v1/audiences/" + audience + "/contacts/add":               query,
		"/v1/audiences/" + audience + "/contacts/list":              `{}`,
		"/v1/campaigns/" + newCampaign(org, "active") + "/simulate": `{"contact_ids": ["` + contact + `"]}`,
		"/v1/tam/preview/estimate":                                  `{"request_id": "` + uuid.NewString() + `", "company_filters": {}}`,
	} {
		t.Run(path, func(t *testing.T) {
			org.Write.In(t).Post(path, body).Is(200)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			req := httptest.NewRequestWithContext(ctx, "POST", path, strings.NewReader(body))
			req.Header = http.Header{"Authorization": {"Bearer " + org.Write.Key}, "Content-Type": {"application/json"}}
			res := httptest.NewRecorder()
			app.API.ServeHTTP(res, req)
			if res.Code != 503 || !strings.Contains(res.Body.String(), "the client disconnected") {
				t.Errorf("%d %s", res.Code, res.Body)
			}
		})
	}
	if log := app.Log.String(); strings.Contains(log, "level=ERROR") {
		t.Error(log)
	}
}
