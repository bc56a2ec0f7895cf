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

	"prospector/internal/service"
	"prospector/store"
)

// soakRounds is how often a server is killed: PROSPECTOR_SOAK times, or a few.
func soakRounds(t *testing.T) int {
	t.Helper()
	rounds, err := strconv.Atoi(cmp.Or(os.Getenv("PROSPECTOR_SOAK"), map[bool]string{false: "4", true: "2"}[raceDetector]))
	if err != nil {
		t.Fatalf("PROSPECTOR_SOAK is a number of rounds: %v", err)
	}
	return rounds
}

// model is an endpoint of chat completions. It goes on while the servers are killed that ask it. Each of them, numbered from 1, asks
// at an address of its own, so that what one sent before it was killed is never taken for a question of the next.
type model struct {
	t     *testing.T
	web   *httptest.Server
	mu    sync.Mutex
	asked map[string]map[string][]int // the servers that asked, by question and company
	left  int                         // the questions that are still waited for
	last  chan struct{}               // closed by the last of them
}

// knows is what the model answers about a company; what is no answer has a nil one, and of some nothing makes sense.
func knows(company string) (answer any, sense bool) {
	n, _ := strconv.Atoi(strings.TrimPrefix(company, "Company "))
	return []any{true, true, true, true, true, false, false, nil, nil, true}[n%10], n%10 != 8
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Messages []struct{ Content string } }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
		return // of a server that was killed while it sent
	}
	lines := strings.Split(body.Messages[len(body.Messages)-1].Content, "\n")
	var company struct{ Name string }
	question, server := "", 0
	_, err := fmt.Sscanf(r.URL.Path, "/%d/chat/completions", &server)
	if err = errors.Join(err, json.Unmarshal([]byte(strings.TrimPrefix(lines[0], "Question: ")), &question), json.Unmarshal([]byte(lines[len(lines)-1]), &company)); err != nil {
		m.t.Errorf("%v: asked %q", err, lines)
	}
	m.note(server, question, company.Name)
	<-time.After(max(0, rand.N(8*time.Millisecond)-4*time.Millisecond)) // half of them at once
	answer, sense := knows(company.Name)
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

// question is closed by the n-th question from now on.
func (m *model) question(n int) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left, m.last = n, make(chan struct{})
	return m.last
}

// about gives the servers that asked a question, by company.
func (m *model) about(question string) map[string][]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.asked[question])
}

// researched is a Preview whose companies are asked about. No other asks the same question.
type researched struct {
	*askedPreview
	field, question string
	started         any            // started_at, once it was seen
	kept            map[string]int // by company: the server after whose end its answer was in the store, or not needed any more
}

// researchOrg is an organization whose Previews are researched.
type researchOrg struct {
	previewKills
	field, rest string // of its fields and its requests
	previews    []*researched
	seen        int    // so many of them have ended
	want        string // what one says that nothing disturbed
}

// researchKills is an installation whose servers are killed while they ask a model.
type researchKills struct {
	p      *place
	model  *model
	orgs   []*researchOrg
	server int // its number
	cut    int // Previews that were being prepared when one was killed
}

const askedAtOnce = 8

func (k *researchKills) serve() *server {
	k.p.t.Helper()
	k.server++
	k.p.env = append(k.p.env, fmt.Sprintf("PROSPECTOR_RESEARCH_BASE_URL=%s/%d", k.model.web.URL, k.server))
	return k.p.serve()
}

// ask asks for a Preview with a question of its own.
func (k *researchKills) ask(s *server, o *researchOrg) {
	k.p.t.Helper()
	r := &researched{question: fmt.Sprintf("Is it, asked for %s?", uuid.New()), kept: map[string]int{}}
	r.field = s.id(s.do(http.StatusCreated, o.key, "POST", "/v1/fields",
		fmt.Sprintf(`{"entity": "accounts", "key": "q%d", "label": "Q", %s, "ai": {"question": %q}}`, len(o.previews), o.field, r.question)))
	o.ask(s, 0, fmt.Sprintf(`"company_filters": {}, "qualifier_signal_id": %q, %s`, r.field, o.rest))
	r.askedPreview = o.asked[len(o.asked)-1]
	o.previews = append(o.previews, r)
}

// said is what a Preview says, but for its question.
func (r *researched) said(s *server, o *researchOrg) string {
	s.t.Helper()
	return strings.NewReplacer(r.field, "<field>", r.question, "<question>").Replace(asJSON(s.saidByPreview(o.key, r.id)))
}

// TestKill9Research kills the server at random moments while it asks a model about the companies of Previews, some of which are
// cancelled or deleted meanwhile. All end and say the same as those that were not disturbed, and no company is asked about again whose
// answer was in: at most as many are asked about twice as may be asked about at the same time.
func TestKill9Research(t *testing.T) {
	t.Parallel()
	companies := 320
	if raceDetector {
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
		o.want = o.previews[0].said(s, o)
		k.isTrue(s, o)
	}
	took, rounds := time.Since(began), soakRounds(t)
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
			t.Fatalf("nobody is asked:\n%s", s.stderr)
		}
		if o := k.orgs[random.IntN(len(k.orgs))]; random.IntN(3) == 0 {
			o.end(s, o.asked[len(o.asked)-1])
		}
		time.AfterFunc(time.Duration(random.Int64N(int64(5*time.Millisecond))), func() { _ = s.process.Kill() })
		s.ends(-1)
		k.p.passesCheck()
		k.look(s, round)
		s = k.serve()
		if round%3 == 2 { // else those of several rounds come together
			k.sayTheSame(s)
		}
	}
	k.sayTheSame(s)
	s.stop()
	k.isOver(rounds)
	if left := k.look(s, rounds); left > 0 {
		t.Errorf("there are %d answers left", left)
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
		fmt.Fprintf(&firms, "c%d,Company %d,c%d.example\n", i, i, i-i%17/16) // some have the website of the one before
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

// isTrue holds the first Preview of an organization against what the model was asked and knows.
func (k *researchKills) isTrue(s *server, o *researchOrg) {
	k.p.t.Helper()
	counts, asked := map[any]int{}, k.model.about(o.previews[0].question)
	for company := range asked {
		answer, _ := knows(company)
		counts[answer]++
	}
	said := s.saidByPreview(o.key, o.previews[0].id)
	cost := said.Research["cost"].(map[string]any)
	got := fmt.Sprint(said.Status, said.Research["passed"], said.Research["not_matched"], said.Research["failed"], cost["companies"], cost["units"])
	if want := fmt.Sprint("READY", counts[true], counts[false], counts[nil], len(asked), counts[true]+counts[false]); got != want || len(asked) < 40 {
		k.p.t.Fatalf("it says %s, want %s", got, want)
	}
}

// sayTheSame waits until all Previews have ended, and holds them against those that were not disturbed.
func (k *researchKills) sayTheSame(s *server) {
	k.p.t.Helper()
	for _, o := range k.orgs {
		o.awaitAll(s)
		for _, r := range o.previews[o.seen:] {
			switch r.ends {
			case "gone":
				s.do(http.StatusNotFound, o.key, "GET", previewPath+"/"+r.id, "")
			case "CANCELLED":
				if said := s.readPreview(o.key, r.id, 1); said.Status != "CANCELLED" || len(said.Members) > 0 {
					k.p.t.Errorf("Preview %s was cancelled and is %s, with %d members", r.id, said.Status, len(said.Members))
				}
			default:
				if got := r.said(s, o); got != o.want {
					k.p.t.Errorf("Preview %s says\n%.3000s\nnot\n%.3000s", r.id, got, o.want)
				}
			}
			s.do(http.StatusNoContent, o.key, "DELETE", "/v1/fields/"+r.field, "") // there may be only so many
		}
		o.seen = len(o.previews)
	}
}

// answers are those that an organization keeps until a preparation is over.
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

// look looks at the store after the end of a server: which answers are in it, and how many questions were in vain.
func (k *researchKills) look(ended *server, round int) (held int) {
	t := k.p.t
	t.Helper()
	if strings.Contains(ended.stderr.String(), "level=ERROR") {
		t.Errorf("there is an error in the log of server %d", k.server)
	}
	service, s, end := k.p.open(0)
	defer end()
	lost, preparing := 0, 0
	for _, o := range k.orgs {
		answers := o.answers(service)
		held += len(answers)
		for _, r := range o.previews {
			isOver := !k.isPreparing(s, o, r)
			if !isOver {
				preparing++
			}
			lost += k.lookAt(r, isOver, answers)
		}
		if len(answers) > 0 {
			t.Errorf("there are %d answers about companies that nobody was asked about", len(answers))
		}
	}
	t.Logf("round %d: %d Previews are being prepared, %d answers are kept, %d questions were in vain", round, preparing, held, lost)
	if k.cut += preparing; lost > askedAtOnce {
		t.Errorf("%d questions were in vain, and %d are asked at the same time", lost, askedAtOnce)
	}
	return held
}

// isPreparing tells whether a Preview is on its way. While it is, its research is as far as the questions show.
func (k *researchKills) isPreparing(s *server, o *researchOrg, r *researched) bool {
	k.p.t.Helper()
	if r.ends != "READY" {
		return false
	}
	said := s.readPreview(o.key, r.id, 1)
	started, begun := said.Research["started_at"], said.Research["status"] != "not_started"
	if r.started != nil && started != r.started || begun != (started != nil) || !begun && len(k.model.about(r.question)) > 0 {
		k.p.t.Errorf("the research of Preview %s, which began at %v, is %s", r.id, r.started, asJSON(said.Research))
	}
	r.started = started
	return said.Status == "PREPARING"
}

// lookAt takes the answers about the companies of a Preview out of those that the store has, and counts the questions of the last
// server whose answers it does not have. An answer that was there before was not asked for again.
func (k *researchKills) lookAt(r *researched, isOver bool, answers map[uuid.UUID]string) (lost int) {
	t := k.p.t
	t.Helper()
	for company, servers := range k.model.about(r.question) {
		at, kept := r.kept[company]
		if kept && slices.Max(servers) > at || len(slices.Compact(slices.Clone(servers))) < len(servers) {
			t.Errorf("Preview %s: servers %v asked about %s, and there was an answer after server %d (%v)", r.id, servers, company, at, kept)
		}
		id := uuid.NewSHA1(uuid.MustParse(r.id), []byte("c"+strings.TrimPrefix(company, "Company ")))
		found, held := answers[id]
		delete(answers, id)
		if kept && !held && !isOver {
			t.Errorf("Preview %s: the answer about %s is gone", r.id, company)
		}
		answer, sense := knows(company)
		is := map[any]string{true: `"seen at ` + company + `"`, false: `"seen at ` + company + `"`, nil: `"unanswered"`}[answer]
		if held && (!sense || !strings.Contains(found, is)) {
			t.Errorf("what is kept about %s is %s", company, found)
		}
		switch {
		case kept:
		case held || isOver:
			r.kept[company] = k.server
		case sense && slices.Contains(servers, k.server):
			lost++
		}
	}
	return lost
}

// isOver wants nothing to be left of the preparations, and counts all questions.
func (k *researchKills) isOver(rounds int) {
	t := k.p.t
	asked, again := 0, map[bool]int{}
	for _, o := range k.orgs {
		o.leavesNothing()
		for _, r := range o.previews {
			for company, servers := range k.model.about(r.question) {
				_, sense := knows(company)
				asked += len(servers)
				again[sense] += len(servers) - 1
			}
		}
	}
	t.Logf("%d kills, %d questions, %d of them again, and %d again because the first answer made no sense", rounds, asked, again[true], again[false])
	if most := rounds * askedAtOnce; again[true] > most || k.cut == 0 {
		t.Errorf("%d questions were asked again, and %d may have been, when %d Previews were cut off", again[true], most, k.cut)
	}
}
