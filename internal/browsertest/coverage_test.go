package browsertest

import (
	"encoding/json"
	"flag"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// called are the requests to the API that the console has made in any test.
var called = struct {
	sync.Mutex
	requests map[string]bool // by method and path
}{requests: map[string]bool{}}

// absent are the operations that the console deliberately does not use. docs/console.md lists them.
var absent = []string{
	"POST /v1/account-views", "POST /v1/account-views/list", "GET /v1/account-views/{id}",
	"PATCH /v1/account-views/{id}", "DELETE /v1/account-views/{id}", "GET /v1/indexes",
	"GET /v1/tags/{id}", "PATCH /v1/tags/{id}", "GET /v1/views/{id}",
	"PATCH /v1/views/{id}", "PATCH /v1/fields/{id}", "PATCH /v1/preview/contacts/{contact_id}",
	"POST /v1/accounts/batch", "POST /v1/contacts/batch", "POST /v1/meetings/batch",
	"POST /v1/opportunities/batch", "POST /v1/tasks/batch", "POST /v1/campaigns/{id}/audiences/remove",
	"POST /v1/campaigns/{id}/enroll", "POST /v1/campaigns/{id}/sequences/{sequence_id}/stop", "POST /v1/mail/test",
	"POST /v1/operations/list", "POST /v1/sequence-templates/{id}/render", "POST /v1/sequences/export",
	"POST /v1/tam/imports/list", "GET /v1/webhooks/triggers",
}

// untried are operations that the console uses, but in no test.
var untried = []string{
	"DELETE /v1/accounts/{id}", "DELETE /v1/audiences/{id}", "DELETE /v1/campaigns/{id}",
	"DELETE /v1/fields/{id}", "DELETE /v1/meetings/{id}", "DELETE /v1/opportunities/{id}",
	"DELETE /v1/sequence-templates/{id}", "DELETE /v1/sessions/{id}", "DELETE /v1/suppressions/{id}",
	"DELETE /v1/tags/{id}", "DELETE /v1/tam/preview/{preview_id}", "DELETE /v1/tasks/{id}",
	"DELETE /v1/views/{id}", "DELETE /v1/webhooks/subscriptions/{subscription_id}", "PATCH /v1/me",
	"PATCH /v1/meetings/{id}", "PATCH /v1/opportunities/{id}", "PATCH /v1/sequence-templates/{id}",
	"PATCH /v1/users/{id}", "PATCH /v1/webhooks/subscriptions/{subscription_id}", "POST /v1/accounts/bulk",
	"POST /v1/accounts/export", "POST /v1/accounts/trash/list", "POST /v1/accounts/{id}/merge",
	"POST /v1/accounts/{id}/restore", "POST /v1/api-keys/{id}/deactivate", "POST /v1/api-keys",
	"POST /v1/audiences/{id}/contacts/remove", "POST /v1/campaigns/{id}/release", "POST /v1/campaigns/{id}/retry",
	"POST /v1/campaigns", "POST /v1/contacts/export", "POST /v1/contacts/{id}/replied",
	"POST /v1/imports/{id}/cancel", "POST /v1/meetings/bulk", "POST /v1/meetings/export",
	"POST /v1/meetings/facets", "POST /v1/meetings/trash/list", "POST /v1/meetings/{id}/restore",
	"POST /v1/meetings", "POST /v1/operations/{id}/cancel", "POST /v1/opportunities/bulk",
	"POST /v1/opportunities/export", "POST /v1/opportunities/facets", "POST /v1/opportunities/trash/list",
	"POST /v1/opportunities/{id}/restore", "POST /v1/opportunities", "POST /v1/outbox/export",
	"POST /v1/sequence-templates/test", "POST /v1/sequence-templates", "POST /v1/suppressions",
	"POST /v1/tags", "POST /v1/tam/preview/{preview_id}/exclude", "POST /v1/tasks/bulk",
	"POST /v1/tasks/export", "POST /v1/tasks/facets", "POST /v1/tasks/trash/list",
	"POST /v1/tasks/{id}/restore", "POST /v1/tasks", "POST /v1/users/{id}/activate",
	"POST /v1/users/{id}/deactivate", "POST /v1/users/{id}/invite", "POST /v1/users",
	"POST /v1/webhooks/subscriptions/{subscription_id}/deliveries/{attempt_id}/redeliver", "POST /v1/webhooks/subscriptions/{subscription_id}/rotate-secret", "POST /v1/webhooks/subscriptions/{subscription_id}/test",
	"POST /v1/webhooks/subscriptions",
}

// uncovered returns the operations of the API that the console has called in no test although neither list has them, and
// those that it has called although they are absent. It knows nothing unless all tests have run.
func uncovered() (problems []string, err error) {
	isComplete := true
	flag.Visit(func(f *flag.Flag) { isComplete = isComplete && f.Name != "test.run" && f.Name != "test.skip" })
	if !isComplete {
		return nil, nil
	}
	res, err := http.Get(shared.url + "/openapi.json")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.NewDecoder(res.Body).Decode(&doc); err != nil {
		return nil, err
	}
	parameter := regexp.MustCompile(`\\\{\w+\\\}`)
	called.Lock()
	defer called.Unlock()
	for path, methods := range doc.Paths {
		pattern := regexp.MustCompile("^" + parameter.ReplaceAllString(regexp.QuoteMeta(path), `[^/]+`) + "$")
		for method := range methods {
			operation := strings.ToUpper(method) + " " + path
			isCalled := false
			for request := range called.requests {
				verb, at, _ := strings.Cut(request, " ")
				_, isAnother := doc.Paths[at] // such as …/list, which is no id
				isCalled = isCalled || verb == strings.ToUpper(method) && pattern.MatchString(at) && (at == path || !isAnother)
			}
			switch isAbsent := slices.Contains(absent, operation); {
			case !strings.HasPrefix(path, "/v1/"):
			case isCalled && isAbsent:
				problems = append(problems, operation+" is called, but listed as absent")
			case !isCalled && !isAbsent && !slices.Contains(untried, operation):
				problems = append(problems, operation+" is not called, and in no list")
			}
		}
	}
	slices.Sort(problems)
	return problems, nil
}
