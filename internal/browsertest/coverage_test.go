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
	"POST /v1/campaigns/{id}/enroll", "POST /v1/campaigns/{id}/sequences/{sequence_id}/stop",
	"POST /v1/sequence-templates/{id}/render", "POST /v1/sequences/export",
	"POST /v1/tam/imports/list", "GET /v1/webhooks/triggers",
	"GET /v1/account-views/{id}/uses",
}

// uncovered returns the operations of the API that the console has called in no test although they are not absent, and
// those that it has called although they are. It knows nothing unless all tests have run.
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
			case !isCalled && !isAbsent:
				problems = append(problems, operation+" is called in no test, and not listed as absent")
			}
		}
	}
	slices.Sort(problems)
	return problems, nil
}
