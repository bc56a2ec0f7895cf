package crm_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

func TestSuppressions(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	const path = "/v1/suppressions"
	email := org.Admin.Post(path, `{"email": "Bill.L@Initech.example", "reason": "Asked us to"}`).Is(201, `{"data": {"id": "<id>",
		"created_at": "2026-03-02T09:00:00.000Z", "updated_at": "2026-03-02T09:00:00.000Z", "email": "Bill.L@Initech.example", "domain": null,
		"reason": "Asked us to"}, "meta": {"timestamp": "<time>"}}`)
	domain := org.Admin.Post(path, `{"domain": "https://www.Globex.example/about?x=1"}`).Is(201, `{"data": {"id": "<id>",
		"created_at": "<time>", "updated_at": "<time>", "email": null, "domain": "globex.example", "reason": null}, "meta": {"timestamp": "<time>"}}`)
	if email.Header.Get("ETag") == "" {
		t.Error("no ETag")
	}

	// An existing suppression in any case or form is returned unchanged.
	app.Clock.Advance(time.Minute)
	before := org.Dump()
	for body, first := range map[string]*apptest.Response{
		`{"email": "bill.l@INITECH.example"}`:                            email,
		`{"email": "Bill.L@Initech.example", "reason": "Another"}`:       email,
		`{"email": "BILL.L@initech.example", "domain": ""}`:              email,
		`{"domain": "GLOBEX.example"}`:                                   domain,
		`{"domain": "http://globex.example:8080/", "reason": "Again"}`:   domain,
		`{"domain": "www.globex.example.", "email": null}`:               domain,
		`{"domain": "//globex.example", "email": "", "reason": "Third"}`: domain,
	} {
		t.Run(body, func(t *testing.T) {
			again := org.Admin.In(t).Post(path, body).Is(200)
			if diff := apptest.Diff(string(apptest.DataOf(first)), string(apptest.DataOf(again))); diff != "" || again.Header.Get("ETag") != first.Header.Get("ETag") {
				t.Errorf("%s: %s", body, diff)
			}
		})
	}
	if org.Dump() != before {
		t.Error("the repeated request changed something")
	}
	// The domain of an address is a different suppression, and each organization has its own list.
	org.Admin.Post(path, `{"domain": "initech.example"}`).Is(201)
	org.Admin.Post(path, `{"email": "hank@globex.example"}`).Is(201)
	other.Admin.Post(path, `{"email": "bill.l@initech.example"}`).Is(201)

	for body, message := range map[string]string{
		``:                                    "email: required, unless domain is set",
		`{}`:                                  "email: required, unless domain is set",
		`{"reason": "x"}`:                     "email: required, unless domain is set",
		`{"email": "", "domain": null}`:       "email: required, unless domain is set",
		`{"email": "bill"}`:                   "email: \"bill\" is not an email address",
		`{"email": "Bill <b@x.example>"}`:     "email: \"Bill <b@x.example>\" is not an email address",
		`{"email": 1}`:                        "email: must be a string",
		`{"domain": "example"}`:               "domain: \"example\" is not a website or domain",
		`{"domain": "b@x.example"}`:           "domain: \"b@x.example\" is not a website or domain",
		`{"domain": ["x.example"]}`:           "domain: must be a string",
		`{"domain": "a.example", "email": 1}`: "email: must be a string",
		`{"email": "a@b.example", "domain": "b.example"}`:                           "domain: not allowed together with email",
		`{"email": "a@b.example", "reason": "` + strings.Repeat("r", 10_001) + `"}`: "reason: must be at most 10000 characters",
		`{"email": "a@b.example", "note": "x"}`:                                     "note: unknown field",
		`{"email": "a@b.example", "id": null}`:                                      "id: read-only field",
	} {
		t.Run(message, func(t *testing.T) {
			org.Admin.In(t).Post(path, body).Fails(422, "validation_failed", message)
		})
	}
	if n := org.Read.Post(path+"/list", nil).Is(200).Int("pagination.total_count"); n != 4 {
		t.Error(n)
	}
}

func TestSuppressionList(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	const path = "/v1/suppressions"
	var ids []string
	for _, body := range []string{`{"email": "bill@initech.example", "reason": "bounce"}`, `{"domain": "globex.example"}`, `{"email": "ann@globex.example", "reason": "asked us to"}`} {
		ids = append(ids, org.Admin.Post(path, body).Is(201).ID())
		app.Clock.Advance(24 * time.Hour)
	}
	for body, want := range map[string]string{
		`{}`:                         "<nil> ann@globex.example bill@initech.example",
		`{"sort": "email"}`:          "ann@globex.example bill@initech.example <nil>",
		`{"sort": "-domain,-email"}`: "<nil> bill@initech.example ann@globex.example",
		`{"search": "globex"}`:       "<nil> ann@globex.example",
		`{"search": "us ask"}`:       "ann@globex.example",
		`{"page_size": 1, "page": 2, "sort": "created_at"}`:                                                                                                         "<nil>",
		`{"filters": [{"field": "domain", "condition": "is", "value": "globex.example"}]}`:                                                                          "<nil>",
		`{"filters": [{"field": "email", "condition": "contains", "value": "GLOBEX"}]}`:                                                                             "ann@globex.example",
		`{"filters": [{"field": "reason", "condition": "is_empty"}]}`:                                                                                               "<nil>",
		`{"filters": [{"field": "created_at", "condition": "is", "value": "2026-03-04"}]}`:                                                                          "ann@globex.example",
		`{"filters": {"operator": "or", "filters": [{"field": "reason", "condition": "is", "value": "bounce"}, {"field": "domain", "condition": "is_not_empty"}]}}`: "<nil> bill@initech.example",
	} {
		t.Run(body, func(t *testing.T) {
			got := org.Read.In(t).Post(path+"/list", body).Is(200).Column("email")
			if !strings.Contains(body, "sort") {
				got = apptest.Sorted(got)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("the list contains %q, want %s", got, want)
			}
		})
	}

	// Only admin keys may create or delete suppressions.
	for _, c := range []apptest.Client{org.Read, org.Write} {
		c.Post(path, `{"email": "a@b.example"}`).Fails(403, "forbidden", "admin")
		c.Delete(path+"/"+ids[0]).Fails(403, "forbidden", "admin")
	}
	org.Admin.Get(path+"/"+ids[0]).Fails(405, "method_not_allowed", "")
	etag := org.Admin.Post(path, `{"email": "bill@initech.example"}`).Is(200).Header.Get("ETag")
	org.Admin.Do("DELETE", path+"/"+ids[0], nil, "If-Match", `"9999"`).Fails(412, "precondition_failed", "")
	org.Admin.Do("DELETE", path+"/"+ids[0], nil, "If-Match", etag).Is(204)
	org.Admin.Delete(path+"/"+ids[0]).Fails(404, "not_found", "Resource not found")
	if got := apptest.Sorted(org.Read.Post(path+"/list", nil).Is(200).Column("email")); !slices.Equal(got, []string{"<nil>", "ann@globex.example"}) {
		t.Errorf("the list contains %q", got)
	}
	// A deleted suppression can be created again.
	if again := org.Admin.Post(path, `{"email": "BILL@initech.example"}`).Is(201); again.ID() == ids[0] || again.Value("data.reason") != nil {
		t.Error(string(again.Body))
	}
}

// TestImportedDomains imports suppressions of domains in the spellings that lists of other programs have.
func TestImportedDomains(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	file := "email,domain,reason\n*@one.example,,x\n@two.example,,x\n,*.three.example,x\n,@four.example,x\n*@ONE.example,,again\n" +
		"*@co.uk,,x\na*@five.example,,x\n,github.io,x\nbill@six.example,,x\n"
	for _, dry := range []bool{true, false} {
		options := `{"entity": "suppressions", "dry_run": ` + strconv.FormatBool(dry) + `}`
		id := org.Admin.Post("/v1/imports", apptest.NewForm(file, options)).Is(202).ID()
		app.Work()
		got := org.Admin.Get("/v1/imports/" + id).Is(200)
		if got.Int("data.added") != 5 || got.Int("data.unchanged") != 1 || got.Int("data.skipped") != 3 {
			t.Errorf("dry run %t: %s", dry, got.Body)
		}
	}
	list := org.Read.Post("/v1/suppressions/list", nil).Is(200)
	if got := apptest.Sorted(list.Column("domain")); !slices.Equal(got, []string{"<nil>", "four.example", "one.example", "three.example", "two.example"}) {
		t.Errorf("the domains are %q", got)
	}
}
