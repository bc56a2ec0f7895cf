package cmd_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
)

const previewPath = "/v1/tam/preview"

// previewKills is an installation with a generated catalog, and the undisturbed result of each of a
// few requests.
type previewKills struct {
	p      *place
	org    uuid.UUID
	key    string
	random *rand.Rand
	want   []*previewContent
	took   time.Duration // the time to prepare one Preview of each request
	asked  []*requestedPreview
}

// previewContent is the content of a Preview without its ids and times.
type previewContent struct {
	Status            string
	FailureReason     any `json:"failure_reason"`
	Result            any
	Totals            any
	ContactsByAccount any `json:"contacts_by_account"`
	Research          map[string]any
	Progress          any
	Members           []map[string]any
}

// requestedPreview is a Preview that was requested, and how it must end.
type requestedPreview struct {
	id      string
	request int
	ends    string // READY, CANCELLED or gone
}

// marketRequests returns requests with several thousand members each, without their request_id.
func (m *previewKills) marketRequests(s *server) []string {
	signal := s.id(s.do(http.StatusCreated, m.key, "POST", "/v1/fields", `{"entity": "accounts", "key": "ai", "data_type": "text", "ai": {"question": "What is its name?", "field": "name"}}`))
	return []string{
		`"company_filters": {}`,
		`"company_filters": {}, "exclude_companies_without_titles": true, "contact_filters": {"exclude_keywords": ["manager"]},
			"search_input": {"sorting_rules": ["-employee_count"], "grouping_rule": {"field": "industry"}, "exclude_companies_in_tam": true}`,
		`"company_filters": {"filtering_rules": {"filters": [{"field": "employee_count", "condition": "greater_than", "value": 5}]}},
			"qualifier_signal_id": "` + signal + `", "qualifier_rule": {"operator": "contains", "value": "a"}`,
	}
}

// TestKill9Preview kills the server at random times while it prepares Previews, some of which are
// canceled or deleted concurrently. All others finish with the same content as undisturbed ones,
// and nothing is left of the canceled and deleted ones. PROSPECTOR_SOAK is the number of kills.
func TestKill9Preview(t *testing.T) {
	t.Parallel()
	rounds, companies := soakRounds(t, 2), 1100
	if apptest.RaceDetector {
		companies = 500
	}
	p := newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	org, key := p.org("Acme")
	p.withoutRaceDetector().run("catalog", "generate", "--companies", fmt.Sprint(companies), "--people-per-company", "3").done().ok()
	m := &previewKills{p: p, org: uuid.MustParse(org), key: key, random: rand.New(rand.NewPCG(soakSeed, 12))}
	s := p.serve()
	m.makeKnown(s)
	requests := m.marketRequests(s)
	began := time.Now()
	for i := range requests {
		m.ask(s, i, requests[i])
	}
	m.awaitAll(s)
	m.took = time.Since(began)
	for _, a := range m.asked {
		said := s.wholePreview(key, a.id)
		if n := len(said.Members); n < companies*5/2 || said.Status != "READY" {
			t.Fatalf("the Preview of request %d is %s, with %d members", a.request, said.Status, n)
		}
		m.want = append(m.want, said)
	}

	cut := 0
	for round := range rounds {
		for i := range requests {
			m.ask(s, i, requests[i])
			if m.random.IntN(3) == 0 { // from any round
				m.end(s, m.asked[m.random.IntN(len(m.asked))])
			}
		}
		delay := time.Duration(m.random.Int64N(int64(m.took / 2)))
		time.AfterFunc(delay, func() { _ = s.process.Kill() })
		s.ends(-1)
		p.passesCheck()
		half := m.preparing()
		t.Logf("round %d: killed after %v, %d Previews are being prepared", round, delay, half)
		cut += half
		s = p.serve()
		if round%3 == 2 { // otherwise Previews of several rounds accumulate
			m.awaitAll(s)
			m.matchUndisturbed(s)
		}
	}
	if cut == 0 {
		t.Error("no kill happened while a Preview was prepared")
	}
	m.awaitAll(s)
	m.matchUndisturbed(s)
	s.stop()
	s.hasNoErrors()
	m.checkNothingLeft()
	p.passesCheck()
}

// makeKnown makes some companies and people of the catalog known, as Accounts and Contacts or as
// suppressed.
func (m *previewKills) makeKnown(s *server) {
	m.p.t.Helper()
	column := func(entity, field string) (values []string) {
		var list struct{ Data []map[string]any }
		r := s.do(http.StatusOK, m.key, "POST", "/v1/"+entity+"/list", `{"page_size": 200}`)
		if err := json.Unmarshal(r.body, &list); err != nil {
			m.p.t.Fatal(err)
		}
		for _, record := range list.Data {
			if v, ok := record[field].(string); ok {
				values = append(values, v)
			}
		}
		return values
	}
	var accounts, contacts []string
	for i, domain := range column("companies", "website") {
		if i%20 == 0 {
			s.do(http.StatusCreated, m.key, "POST", "/v1/suppressions", fmt.Sprintf(`{"domain": %q}`, domain))
		} else {
			accounts = append(accounts, fmt.Sprintf(`{"name": "Known", "website": %q}`, domain))
		}
	}
	for _, email := range column("people", "email") {
		contacts = append(contacts, fmt.Sprintf(`{"email": %q}`, email))
	}
	s.do(http.StatusOK, m.key, "POST", "/v1/accounts/batch", `{"records": [`+strings.Join(accounts, ", ")+`]}`)
	s.batch(m.key, contacts)
}

// ask requests a Preview.
func (m *previewKills) ask(s *server, number int, request string) {
	m.p.t.Helper()
	var item struct {
		Data struct {
			PreviewID string `json:"preview_id"`
		}
	}
	r := s.do(http.StatusAccepted, m.key, "POST", previewPath, fmt.Sprintf(`{"request_id": %q, %s}`, uuid.New(), request))
	if err := json.Unmarshal(r.body, &item); err != nil {
		m.p.t.Fatal(err)
	}
	m.asked = append(m.asked, &requestedPreview{item.Data.PreviewID, number, "READY"})
}

// end cancels a Preview, or deletes it.
func (m *previewKills) end(s *server, a *requestedPreview) {
	m.p.t.Helper()
	if a.ends != "gone" && m.random.IntN(2) == 0 {
		s.do(http.StatusNoContent, m.key, "DELETE", previewPath+"/"+a.id, "")
		a.ends = "gone"
		return
	}
	r, err := send(client, "POST", s.url+previewPath+"/"+a.id+"/cancel", "", "Authorization", "Bearer "+m.key)
	switch {
	case err != nil:
		m.p.t.Fatal(err)
	case r.status == http.StatusOK && a.ends != "gone":
		a.ends = "CANCELLED"
	case r.status == http.StatusNotFound && a.ends == "gone":
	case r.status != http.StatusConflict || a.ends != "READY":
		m.p.t.Errorf("canceling Preview %s, which must be %s: %d %s", a.id, a.ends, r.status, r.body)
	}
}

// readPreview reads a page of a Preview.
func (s *server) readPreview(key, id string, page int) (said previewContent) {
	s.t.Helper()
	r := s.do(http.StatusOK, key, "GET", fmt.Sprintf("%s/%s?current_page=%d&page_size=500", previewPath, id, page), "")
	if err := json.Unmarshal(r.body, &struct{ Data *previewContent }{&said}); err != nil {
		s.t.Fatal(err)
	}
	return said
}

// wholePreview reads all pages of a Preview.
func (s *server) wholePreview(key, id string) *previewContent {
	s.t.Helper()
	said := s.readPreview(key, id, 1)
	for page, more := 2, len(said.Members) > 0; more; page++ {
		next := s.readPreview(key, id, page).Members
		said.Members = append(said.Members, next...)
		more = len(next) > 0
	}
	for _, m := range said.Members {
		delete(m, "member_id")
	}
	delete(said.Research, "started_at")
	delete(said.Research, "finished_at")
	return &said
}

// awaitAll waits until every Preview has ended.
func (m *previewKills) awaitAll(s *server) {
	m.p.t.Helper()
	most := waitTimeout
	if soaking() {
		most = 20 * waitTimeout
	}
	for late := time.Now().Add(most); ; {
		preparing := s.total(m.key, "tam/previews", `{"filters": [{"field": "status", "condition": "is", "value": "PREPARING"}], "page_size": 1}`)
		if preparing == 0 {
			return
		}
		if time.Now().After(late) {
			m.p.t.Fatalf("%d Previews do not finish:\n%s", preparing, s.stderr)
		}
	}
}

// matchUndisturbed compares the Previews with undisturbed ones, and deletes most of them.
func (m *previewKills) matchUndisturbed(s *server) {
	t := m.p.t
	t.Helper()
	asked := m.asked
	m.asked = nil
	for _, a := range asked {
		switch a.ends {
		case "gone":
			s.do(http.StatusNotFound, m.key, "GET", previewPath+"/"+a.id, "")
			continue
		case "CANCELLED":
			if said := s.wholePreview(m.key, a.id); said.Status != "CANCELLED" || said.Result != nil || len(said.Members) > 0 {
				t.Errorf("the canceled Preview %s is %s, with %d members", a.id, said.Status, len(said.Members))
			}
			continue
		}
		got, want := s.wholePreview(m.key, a.id), m.want[a.request]
		for i := range want.Members {
			if i >= len(got.Members) || !reflect.DeepEqual(got.Members[i], want.Members[i]) {
				t.Fatalf("request %d, Preview %s has %d members, want %d; the first that differs is number %d", a.request, a.id, len(got.Members), len(want.Members), i)
			}
		}
		if !reflect.DeepEqual(got, want) {
			got.Members, want.Members = nil, nil
			t.Fatalf("request %d, Preview %s is\n%s\nwant\n%s", a.request, a.id, asJSON(got), asJSON(want))
		}
		if m.random.IntN(3) > 0 {
			s.do(http.StatusNoContent, m.key, "DELETE", previewPath+"/"+a.id, "")
		} else {
			m.asked = append(m.asked, a)
		}
	}
}

// preparing returns how many Previews are being prepared, while no server runs.
func (m *previewKills) preparing() int {
	m.p.t.Helper()
	_, s, end := m.p.open(0)
	defer end()
	return s.total(m.key, "tam/previews", `{"filters": [{"field": "status", "condition": "is", "value": "PREPARING"}], "page_size": 1}`)
}

// checkNothingLeft checks that, once the jobs are done, the store has members only of READY
// Previews, and no jobs except those for retention.
func (m *previewKills) checkNothingLeft() {
	t := m.p.t
	t.Helper()
	service, _, end := m.p.open(0)
	defer end()
	service.Worker.Once(t.Context())
	dump, err := service.Store.Dump(m.org)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, a := range m.asked {
		if a.ends == "READY" {
			want = append(want, strings.ReplaceAll(a.id, "-", ""))
		}
	}
	isParts := false
	for line := range strings.Lines(dump) {
		if !strings.HasPrefix(line, "  ") {
			isParts = strings.HasPrefix(line, "previews.") && strings.Contains(line, ".part ")
		} else if owner := line[2:34]; isParts && !slices.Contains(got, owner) {
			got = append(got, owner)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("the store has members of\n%v, want\n%v", got, want)
	}
	jobs, _, err := service.Store.Due(time.Now().Add(48*time.Hour), 10_000, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range jobs {
		if !strings.HasSuffix(job.Kind, ".expire") {
			t.Errorf("job %s is left: %s", job.Kind, job.Payload)
		}
	}
}
