package handlers_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// repeated returns a JSON list of n copies of an item.
func repeated(n int, item string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
}

// The limits of a filter hold wherever a request contains one: in lists, exports, views, audiences and
// Previews.
func TestFilterLimits(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.Limits.BodyBytes = 8 << 20 })
	org := app.Org("Acme")
	app.Catalog(nil, nil)
	audience := apptest.NewAudience(org)
	const rule = `{"field": "name", "condition": "is", "value": "x"}`
	values := func(n int) string {
		half := repeated(n/2, `"x"`)
		return `[{"field": "name", "condition": "is", "value": ` + half + `},
			{"filters": [{"field": "name", "condition": "is_not", "value": ` + half + `}]}]`
	}
	words := func(n int) string { return strings.Repeat("word ", n) }
	for _, c := range []struct{ what, filters, search, message string }{
		{"1,000 rules", repeated(1000, rule), "", ""},
		{"1,001 rules", repeated(1001, rule), "", "a filter must have at most 1000 rules"},
		{"10,000 values", values(10_000), "", ""},
		{"10,002 values", values(10_002), "", "the rules of a filter must have at most 10000 values together"},
		{"50 words", "[]", words(50), ""},
		{"51 words", "[]", words(51), "must have at most 50 words, not 51"},
	} {
		t.Run(c.what, func(t *testing.T) {
			check := func(client apptest.Client, path string, success int, body string) {
				t.Helper()
				res := client.In(t).Post(path, body)
				if c.message == "" {
					res.Is(success)
				} else {
					res.Fails(422, "invalid_filter", c.message)
				}
			}
			list := fmt.Sprintf(`{"filters": %s, "search": %q}`, c.filters, c.search)
			check(org.Read, "/v1/accounts/list", 200, list)
			check(org.Read, "/v1/accounts/export", 200, list)
			check(org.Read, "/v1/companies/list", 200, list)
			contacts := strings.ReplaceAll(list, `"name"`, `"title"`)
			check(org.Read, "/v1/contacts/list", 200, contacts)
			check(org.Write, "/v1/audiences/"+audience+"/contacts/add", 200, contacts)
			rules := `"filtering_rules": ` + c.filters
			if c.search != "" {
				rules = fmt.Sprintf(`"searching_rule": {"value": %q}`, c.search)
			}
			check(org.Write, "/v1/account-views", 201, fmt.Sprintf(`{"name": %q, %s}`, c.what, rules))
			for _, part := range []string{`"company_filters": {%s}`, `"company_filters": {}, "search_input": {%s}`} {
				preview := fmt.Sprintf(`{"request_id": %q, `+part+`}`, uuid.New(), rules)
				check(org.Read, "/v1/tam/preview/estimate", 200, preview)
				check(org.Write, "/v1/tam/preview", 202, preview)
			}
		})
	}
}

func TestBodyValues(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.Limits.BodyBytes = 8 << 20 })
	org := app.Org("Acme")
	// The body itself and its members are values too.
	body := func(key string, n int) string { return `{"` + key + `": ` + repeated(n-2, "0") + `}` }
	for _, c := range []struct {
		path, body string
		most       int
	}{
		{"/v1/contacts", "tags", 50_000},
		{"/v1/contacts/list", "filters", 50_000},
		{"/v1/tam/preview", "tag_ids", 50_000},
		{"/v1/contacts/batch", "records", 500_000},
	} {
		t.Run(c.path, func(t *testing.T) {
			write := org.Write.In(t)
			write.Post(c.path, body(c.body, c.most)).Is(422)
			message := fmt.Sprintf("must have at most %d JSON values", c.most)
			write.Post(c.path, body(c.body, c.most+1)).Fails(413, "body_too_large", message)
			// The values are counted before the body is parsed.
			write.Post(c.path, body(c.body, c.most+1)+"}").Fails(413, "body_too_large", message)
		})
	}
}

// sending is a request whose body the test writes. A write returns once the handler has read it.
type sending struct {
	*io.PipeWriter
	t      *testing.T
	answer chan int // the status
}

// sendSlowly begins to create a contact with a body of the length.
func sendSlowly(t *testing.T, app *apptest.App, org *apptest.Org, length int64) *sending {
	body, w := io.Pipe()
	s := &sending{w, t, make(chan int, 1)}
	req := httptest.NewRequest("POST", "/v1/contacts", body)
	req.ContentLength = length
	req.Header = http.Header{"Authorization": {"Bearer " + org.Write.Key}, "Content-Type": {"application/json"}}
	go func() {
		res := httptest.NewRecorder()
		app.API.ServeHTTP(res, req)
		s.answer <- res.Code
	}()
	return s
}

func (s *sending) write(text string) {
	if _, err := io.WriteString(s, text); err != nil {
		s.t.Error(err)
	}
}

// Large bodies of an organization wait until they fit into its share of the budget. Small bodies and those
// of other organizations do not.
func TestParseBudget(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.Limits.ParseBytes = 1 << 20 })
	org, other := app.Org("Acme"), app.Org("Umbrella")
	large := `{"email": "a@x.example", "notes": "` + strings.Repeat("n", 70_000) + `"}`
	padded := large + strings.Repeat(" ", 1<<18-len(large))

	first := sendSlowly(t, app, org, int64(len(padded)))
	first.write(padded[:70_000]) // more than 64 KiB, so that it has its part of the budget
	second := sendSlowly(t, app, org, int64(len(large)))
	second.write(large[:64<<10])
	var released atomic.Bool
	waited := make(chan bool, 1)
	go func() {
		second.write(large[64<<10:])
		waited <- released.Load()
		second.Close()
	}()
	org.Write.Post("/v1/contacts", `{"email": "small@x.example"}`).Is(201)
	other.Write.Post("/v1/contacts", large).Is(201)
	released.Store(true)
	first.write(padded[70_000:])
	first.Close()
	if got := apptest.Receive(t, first.answer, "the first response"); got != 201 {
		t.Error("status of the first body:", got)
	}
	if !apptest.Receive(t, waited, "the second body") {
		t.Error("the second body was read while the first used the whole share")
	}
	if got := apptest.Receive(t, second.answer, "the second response"); got != 201 {
		t.Error("status of the second body:", got)
	}

	// A body that breaks off gives back its part.
	broken := sendSlowly(t, app, org, int64(len(padded)))
	broken.write(padded[:70_000])
	broken.CloseWithError(io.ErrUnexpectedEOF)
	if got := apptest.Receive(t, broken.answer, "the response to an incomplete body"); got != 400 {
		t.Error("status of an incomplete body:", got)
	}
	org.Write.Post("/v1/contacts", padded).Is(201)
}
