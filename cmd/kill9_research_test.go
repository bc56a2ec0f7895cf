package cmd_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/service"
	"prospector/store"
)

// soakRounds returns how often a server is killed, or something else is repeated: PROSPECTOR_SOAK times, or
// usually a few times.
func soakRounds(t *testing.T, usually int) int {
	t.Helper()
	rounds, err := strconv.Atoi(cmp.Or(os.Getenv("PROSPECTOR_SOAK"), strconv.Itoa(usually)))
	if err != nil {
		t.Fatalf("PROSPECTOR_SOAK must be a number of rounds: %v", err)
	}
	return rounds
}

// model is a chat completions endpoint that keeps running while servers are killed. Each server,
// numbered from 1, uses an address of its own, so that a request sent before a kill is never
// attributed to the next server.
type model struct {
	t     *testing.T
	web   *httptest.Server
	mu    sync.Mutex
	asked map[string]map[string][]int // the servers that asked, by question and company
	left  int                         // the questions still awaited
	last  chan struct{}               // closed by the last awaited question
}

// modelAnswer returns the model's answer about a company. The answer is nil if the model has none,
// and sense is false if the response is unusable.
func modelAnswer(company string) (answer any, sense bool) {
	n, _ := strconv.Atoi(strings.TrimPrefix(company, "Company "))
	return []any{true, true, true, true, true, false, false, nil, nil, true}[n%10], n%10 != 8
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Messages []struct{ Content string } }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
		return // the server was killed while sending
	}
	lines := strings.Split(body.Messages[len(body.Messages)-1].Content, "\n")
	var company struct{ Name string }
	question, server := "", 0
	_, err := fmt.Sscanf(r.URL.Path, "/%d/chat/completions", &server)
	if err = errors.Join(err, json.Unmarshal([]byte(strings.TrimPrefix(lines[0], "Question: ")), &question), json.Unmarshal([]byte(lines[len(lines)-1]), &company)); err != nil {
		m.t.Errorf("%v: asked %q", err, lines)
	}
	m.note(server, question, company.Name)
	<-time.After(max(0, rand.N(8*time.Millisecond)-4*time.Millisecond)) // half of them without delay
	answer, sense := modelAnswer(company.Name)
	if yes, is := answer.(bool); is && strings.Contains(lines[1], "allowed values") {
		answer = map[bool]string{true: "yes", false: "no"}[yes]
	}
	content := asJSON(map[string]any{"evidence": "seen at " + company.Name, "answer": answer, "confidence": 0.75})
	if !sense {
		content = "That depends."
	}
	fmt.Fprint(w, asJSON(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": content}}}}))
}

func (m *model) note(server int, question, company string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asked[question] == nil {
		m.asked[question] = map[string][]int{}
	}
	m.asked[question][company] = append(m.asked[question][company], server)
	if m.left--; m.left == 0 {
		close(m.last)
	}
}

// question returns a channel that is closed by the n-th question from now on.
func (m *model) question(n int) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left, m.last = n, make(chan struct{})
	return m.last
}

// about returns the servers that asked a question, by company.
func (m *model) about(question string) map[string][]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.asked[question])
}

// researchPreview is a Preview whose companies are researched. No other Preview asks the same
// question.
type researchPreview struct {
	*requestedPreview
	field, question string
	started         any            // started_at, once it is known
	kept            map[string]int // by company: the server after whose end its answer was in the store or no longer needed
}

// researchOrg is an organization whose Previews are researched.
type researchOrg struct {
	previewKills
	field, rest string // parts of its fields and its requests
	previews    []*researchPreview
	seen        int    // how many of the Previews have finished
	want        string // the content of an undisturbed Preview
}

// researchKills is an installation whose servers are killed while they ask a model.
type researchKills struct {
	p      *place
	model  *model
	orgs   []*researchOrg
	server int // the number of the current server
	cut    int // how many Previews were being prepared at a kill
}

const askedAtOnce = 8

func (k *researchKills) serve() *server {
	k.p.t.Helper()
	k.server++
	k.p.env = append(k.p.env, fmt.Sprintf("PROSPECTOR_RESEARCH_BASE_URL=%s/%d", k.model.web.URL, k.server))
	return k.p.serve()
}

// ask requests a Preview with a question of its own.
func (k *researchKills) ask(s *server, o *researchOrg) {
	k.p.t.Helper()
	r := &researchPreview{question: fmt.Sprintf("Is it, asked for %s?", uuid.New()), kept: map[string]int{}}
	r.field = s.id(s.do(http.StatusCreated, o.key, "POST", "/v1/fields",
		fmt.Sprintf(`{"entity": "accounts", "key": "q%d", "label": "Q", %s, "ai": {"question": %q}}`, len(o.previews), o.field, r.question)))
	o.ask(s, 0, fmt.Sprintf(`"company_filters": {}, "qualifier_signal_id": %q, %s`, r.field, o.rest))
	r.requestedPreview = o.asked[len(o.asked)-1]
	o.previews = append(o.previews, r)
}

// summary returns the content of a Preview without its question.
func (r *researchPreview) summary(s *server, o *researchOrg) string {
	s.t.Helper()
	return strings.NewReplacer(r.field, "<field>", r.question, "<question>").Replace(asJSON(s.wholePreview(o.key, r.id)))
}

// TestKill9Research kills the server at random times while it asks a model about the companies of
// Previews, some of which are canceled or deleted concurrently. All others finish with the same
// content as undisturbed ones. No question is repeated once its answer is stored, so each kill
// repeats at most as many questions as may be in flight.
func TestKill9Research(t *testing.T) {
	t.Parallel()
	companies := 320
	if apptest.RaceDetector {
		companies = 80
	}
	k := newResearchKills(t, companies)
	random := rand.New(rand.NewPCG(soakSeed, 13))
	s := k.serve()
	began := time.Now()
	for _, o := range k.orgs {
		o.random = random
		s.do(http.StatusCreated, o.key, "POST", "/v1/suppressions", `{"domain": "c3.example"}`)
		s.do(http.StatusCreated, o.key, "POST", "/v1/accounts", `{"name": "Known", "website": "c4.example"}`)
		k.ask(s, o)
	}
	for _, o := range k.orgs {
		o.awaitAll(s)
		o.want = o.previews[0].summary(s, o)
		k.matchesModel(s, o)
	}
	took, rounds := time.Since(began), soakRounds(t, 2)
	for round := range rounds {
		for _, o := range k.orgs {
			k.ask(s, o)
		}
		var sooner <-chan time.Time
		if round%4 == 3 {
			sooner = time.After(time.Duration(random.Int64N(int64(took))))
		}
		select {
		case <-k.model.question(1 + random.IntN(companies*5/4)):
		case <-sooner:
		case <-time.After(waitTimeout):
			t.Fatalf("the model receives no questions:\n%s", s.stderr)
		}
		if o := k.orgs[random.IntN(len(k.orgs))]; random.IntN(3) == 0 {
			o.end(s, o.asked[len(o.asked)-1])
		}
		time.AfterFunc(time.Duration(random.Int64N(int64(5*time.Millisecond))), func() { _ = s.process.Kill() })
		s.ends(-1)
		k.p.passesCheck()
		k.inspect(s, round)
		s = k.serve()
		if round%3 == 2 { // otherwise Previews of several rounds accumulate
			k.matchUndisturbed(s)
		}
	}
	k.matchUndisturbed(s)
	s.stop()
	k.checkFinished(rounds)
	if left := k.inspect(s, rounds); left > 0 {
		t.Errorf("%d answers are left in the store", left)
	}
	k.p.passesCheck()
}

func newResearchKills(t *testing.T, companies int) *researchKills {
	k := &researchKills{model: &model{t: t, asked: map[string]map[string][]int{}}}
	k.model.web = httptest.NewServer(k.model)
	t.Cleanup(k.model.web.Close)
	k.p = newPlace(t, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0", "PROSPECTOR_RESEARCH_PROVIDER=openai", "PROSPECTOR_RESEARCH_MODEL=fake",
		fmt.Sprint("PROSPECTOR_RESEARCH_CONCURRENCY=", askedAtOnce), "PROSPECTOR_RESEARCH_BASE_URL="+k.model.web.URL)
	var firms, people strings.Builder
	fmt.Fprintln(&firms, "id,name,website")
	fmt.Fprintln(&people, "id,first_name,email,title,company_id")
	for i := range companies {
		fmt.Fprintf(&firms, "c%d,Company %d,c%d.example\n", i, i, i-i%17/16) // some share the website of the previous company
		if i%3 > 0 {
			fmt.Fprintf(&people, "p%d,Ada %d,p%d@x.example,VP %d,c%d\n", i, i, i, i, i)
		}
	}
	k.p.write("firms.csv", firms.String())
	k.p.write("people.csv", people.String())
	k.p.run("catalog", "import", "--companies", "firms.csv", "--people", "people.csv").withoutProgress().ok()
	for _, o := range []*researchOrg{
		{field: `"data_type": "boolean"`, rest: `"qualifier_rule": {"value": true}`},
		{field: `"data_type": "enum", "allowed_values": ["yes", "no"]`, rest: `"qualifier_rule": {"value": "yes"}, "exclude_companies_without_titles": true,
			"search_input": {"exclude_companies_in_tam": true}`},
	} {
		org, key := k.p.org(fmt.Sprint("Org ", len(k.orgs)))
		o.previewKills = previewKills{p: k.p, org: uuid.MustParse(org), key: key}
		k.orgs = append(k.orgs, o)
	}
	return k
}

// matchesModel compares the first Preview of an organization with the questions and answers of the
// model.
func (k *researchKills) matchesModel(s *server, o *researchOrg) {
	k.p.t.Helper()
	counts, asked := map[any]int{}, k.model.about(o.previews[0].question)
	for company := range asked {
		answer, _ := modelAnswer(company)
		counts[answer]++
	}
	said := s.wholePreview(o.key, o.previews[0].id)
	cost := said.Research["cost"].(map[string]any)
	got := fmt.Sprint(said.Status, said.Research["passed"], said.Research["not_matched"], said.Research["failed"], cost["companies"], cost["units"])
	if want := fmt.Sprint("READY", counts[true], counts[false], counts[nil], len(asked), counts[true]+counts[false]); got != want || len(asked) < 40 {
		k.p.t.Fatalf("the Preview has %s, want %s", got, want)
	}
}

// matchUndisturbed waits until all Previews have finished, and compares them with undisturbed ones.
func (k *researchKills) matchUndisturbed(s *server) {
	k.p.t.Helper()
	for _, o := range k.orgs {
		o.awaitAll(s)
		for _, r := range o.previews[o.seen:] {
			switch r.ends {
			case "gone":
				s.do(http.StatusNotFound, o.key, "GET", previewPath+"/"+r.id, "")
			case "CANCELLED":
				if said := s.readPreview(o.key, r.id, 1); said.Status != "CANCELLED" || len(said.Members) > 0 {
					k.p.t.Errorf("the canceled Preview %s is %s, with %d members", r.id, said.Status, len(said.Members))
				}
			default:
				if got := r.summary(s, o); got != o.want {
					k.p.t.Errorf("Preview %s is\n%.3000s\nwant\n%.3000s", r.id, got, o.want)
				}
			}
			s.do(http.StatusNoContent, o.key, "DELETE", "/v1/fields/"+r.field, "") // the number of fields is limited
		}
		o.seen = len(o.previews)
	}
}

// answers returns the answers that an organization stores until a preparation is finished.
func (o *researchOrg) answers(service *service.Service) map[uuid.UUID]string {
	o.p.t.Helper()
	answers := map[uuid.UUID]string{}
	err := service.Store.View(o.org, func(tx *store.Tx) error {
		return tx.Records("previews.answers", uuid.Nil, func(id uuid.UUID, _ uint64, public []byte) (bool, error) {
			answers[id] = string(public)
			return true, nil
		})
	})
	if err != nil {
		o.p.t.Fatal(err)
	}
	return answers
}

// inspect reads the store after a server has ended: which answers it has, and how many questions
// were lost.
func (k *researchKills) inspect(ended *server, round int) (held int) {
	t := k.p.t
	t.Helper()
	if strings.Contains(ended.stderr.String(), "level=ERROR") {
		t.Errorf("the log of server %d contains an error", k.server)
	}
	service, s, end := k.p.open(0)
	defer end()
	lost, preparing := 0, 0
	for _, o := range k.orgs {
		answers := o.answers(service)
		held += len(answers)
		for _, r := range o.previews {
			hasEnded := !k.isPreparing(s, o, r)
			if !hasEnded {
				preparing++
			}
			lost += k.inspectAnswers(r, hasEnded, answers)
		}
		if len(answers) > 0 {
			t.Errorf("the store has %d answers about companies that the model was not asked about", len(answers))
		}
	}
	t.Logf("round %d: %d Previews are being prepared, %d answers are stored, %d questions were lost", round, preparing, held, lost)
	if k.cut += preparing; lost > askedAtOnce {
		t.Errorf("%d questions were lost, but at most %d are in flight", lost, askedAtOnce)
	}
	return held
}

// isPreparing reports whether a Preview is being prepared. If so, it checks that its research
// progress agrees with the questions.
func (k *researchKills) isPreparing(s *server, o *researchOrg, r *researchPreview) bool {
	k.p.t.Helper()
	if r.ends != "READY" {
		return false
	}
	said := s.readPreview(o.key, r.id, 1)
	started, begun := said.Research["started_at"], said.Research["status"] != "not_started"
	if r.started != nil && started != r.started || begun != (started != nil) || !begun && len(k.model.about(r.question)) > 0 {
		k.p.t.Errorf("the research of Preview %s, started at %v, is %s", r.id, r.started, asJSON(said.Research))
	}
	r.started = started
	return said.Status == "PREPARING"
}

// inspectAnswers removes the answers about the companies of a Preview from those in the store, and
// counts the questions of the last server whose answers are missing. It checks that no question was
// repeated once its answer was stored.
func (k *researchKills) inspectAnswers(r *researchPreview, hasEnded bool, answers map[uuid.UUID]string) (lost int) {
	t := k.p.t
	t.Helper()
	for company, servers := range k.model.about(r.question) {
		at, kept := r.kept[company]
		if kept && slices.Max(servers) > at || len(slices.Compact(slices.Clone(servers))) < len(servers) {
			t.Errorf("Preview %s: servers %v asked about %s, but the answer was stored after server %d (%v)", r.id, servers, company, at, kept)
		}
		id := uuid.NewSHA1(uuid.MustParse(r.id), []byte("c"+strings.TrimPrefix(company, "Company ")))
		found, held := answers[id]
		delete(answers, id)
		if kept && !held && !hasEnded {
			t.Errorf("Preview %s: the answer about %s is missing", r.id, company)
		}
		answer, sense := modelAnswer(company)
		is := map[any]string{true: `"seen at ` + company + `"`, false: `"seen at ` + company + `"`, nil: `"unanswered"`}[answer]
		if held && (!sense || !strings.Contains(found, is)) {
			t.Errorf("the stored answer about %s is %s", company, found)
		}
		switch {
		case kept:
		case held || hasEnded:
			r.kept[company] = k.server
		case sense && slices.Contains(servers, k.server):
			lost++
		}
	}
	return lost
}

// checkFinished checks that nothing is left of the preparations, and counts all questions.
func (k *researchKills) checkFinished(rounds int) {
	t := k.p.t
	asked, again := 0, map[bool]int{}
	for _, o := range k.orgs {
		o.checkNothingLeft()
		for _, r := range o.previews {
			for company, servers := range k.model.about(r.question) {
				_, sense := modelAnswer(company)
				asked += len(servers)
				again[sense] += len(servers) - 1
			}
		}
	}
	t.Logf("%d kills, %d questions, %d of them repeated, and %d repeated because the first answer was unusable", rounds, asked, again[true], again[false])
	if most := rounds * askedAtOnce; again[true] > most || k.cut == 0 {
		t.Errorf("%d questions were repeated, want at most %d after %d interrupted Previews", again[true], most, k.cut)
	}
}
