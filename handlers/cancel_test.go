package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/service"
	"prospector/internal/shape"
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
	audience := apptest.NewAudience(org)
	const query = `{"filters": [{"field": "email", "condition": "contains", "value": "x"}]}`
	for path, body := range map[string]string{
		"/v1/contacts/list":                                                 query,
		"/v1/contacts/export":                                               query,
		"/v1/companies/list":                                                `{}`,
		"/v1/audiences/" + audience + "/contacts/add":                       query,
		"/v1/audiences/" + audience + "/contacts/list":                      `{}`,
		"/v1/campaigns/" + apptest.NewCampaign(org, "active") + "/simulate": `{"contact_ids": ["` + contact + `"]}`,
		"/v1/tam/preview/estimate":                                          `{"request_id": "` + uuid.NewString() + `", "company_filters": {}}`,
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

// pollCounter is a context that counts how often work looks whether its caller has gone, and ends at the given
// one.
type pollCounter struct {
	context.Context
	polls atomic.Int64
	endAt int64 // 0: never
	end   func()
}

func (c *pollCounter) Done() <-chan struct{} {
	if c.polls.Add(1) == c.endAt {
		c.end()
	}
	return c.Context.Done()
}

// TestWorkEndsSoon checks that work whose caller leaves in the middle ends when it looks the next time. Between
// two looks there is little work: a record, a term, or the plans of 256 contacts.
func TestWorkEndsSoon(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	var contacts []string
	for i := range 500 {
		contacts = append(contacts, fmt.Sprintf(`{"email": "a%d@x.example", "notes": "lorem ipsum"}`, i))
	}
	org.Write.Post("/v1/contacts/batch", `{"records": [`+strings.Join(contacts, ",")+`]}`).Is(200)
	var rules []string
	for i := range 100 {
		rules = append(rules, fmt.Sprintf(`{"field": "notes", "condition": "not_contains", "value": "m i%d"}`, i))
	}
	var companies []catalog.Company
	for i := range 40 {
		companies = append(companies, catalog.Company{ID: fmt.Sprint("c", i), Name: "Globex", Website: shape.Text(fmt.Sprintf("g%d.example", i))})
	}
	app.Catalog(companies, nil)
	ids := org.Read.Post("/v1/contacts/list", `{"page_size": 500}`).Is(200).Column("id")
	campaign := apptest.NewCampaign(org, "active")
	filters := `{"filters": [` + strings.Join(rules, ",") + `]}`
	for path, body := range map[string]string{
		"/v1/contacts/list":                       filters,
		"/v1/contacts/export":                     filters,
		"/v1/campaigns/" + campaign + "/simulate": `{"contact_ids": ["` + strings.Join(ids, `", "`) + `"]}`,
		"/v1/tam/preview/estimate":                `{"request_id": "` + uuid.NewString() + `", "company_filters": {}}`,
	} {
		t.Run(path, func(t *testing.T) {
			run := func(endAt int64) (polls int64, res *httptest.ResponseRecorder) {
				inner, cancel := context.WithCancel(t.Context())
				defer cancel()
				ctx := &pollCounter{Context: inner, endAt: endAt, end: cancel}
				req := httptest.NewRequestWithContext(ctx, "POST", path, strings.NewReader(body))
				req.Header = http.Header{"Authorization": {"Bearer " + org.Write.Key}, "Content-Type": {"application/json"}}
				res = httptest.NewRecorder()
				app.API.ServeHTTP(res, req)
				return ctx.polls.Load(), res
			}
			all, res := run(0)
			const more = 3 // looks by those who wait for the work, such as the handler
			if res.Code != 200 || all < 2+2*more {
				t.Fatalf("%d after %d looks: %.200s", res.Code, all, res.Body)
			}
			for _, endAt := range []int64{2, all / 2} {
				polls, res := run(endAt)
				if polls > endAt+more || res.Code == 200 && path != "/v1/contacts/export" { // an export has begun its response
					t.Errorf("ended at look %d of %d, it looked %d times and answered %d", endAt, all, polls, res.Code)
				}
			}
		})
	}
}
