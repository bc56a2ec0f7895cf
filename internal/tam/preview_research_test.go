package tam_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/research"
	"prospector/internal/shape"
)

// scripted is a researcher whose answers a test chooses.
type scripted struct {
	says   func(q research.Question, c *catalog.Company) research.Qualification
	costly bool
	gate   chan struct{} // an answer waits for one value, unless it is nil
	began  chan string   // receives the company of each question, when there is a gate
	stalls bool          // the first company never gets an answer

	mu        sync.Mutex
	asked     []string
	now, most int // how many companies are researched concurrently
}

// newScripted returns a researcher that answers by the id of the company: with JSON, or with a
// status and its reason such as "failed timeout".
func newScripted(costly bool, script map[string]string) *scripted {
	return &scripted{costly: costly, says: func(_ research.Question, c *catalog.Company) research.Qualification { return said(script[c.ID]) }}
}

// inTurn returns a researcher that returns the answers in turn, whatever the company, and records
// them by company. It must not be asked concurrently.
func inTurn(costly bool, answers ...string) (*scripted, map[string]string) {
	became, turn := map[string]string{}, 0
	return &scripted{costly: costly, says: func(_ research.Question, c *catalog.Company) research.Qualification {
		found := said(answers[turn])
		became[c.ID] = c.ID + map[string]string{"false": " QUALIFIER_NOT_MATCHED", "true": ""}[answers[turn]]
		if found.Status != "" {
			became[c.ID] += " QUALIFIER_FAILED"
		}
		turn++
		return found
	}}, became
}

// said parses an answer of a script.
func said(text string) research.Qualification {
	for _, status := range []string{"failed", "unanswered"} {
		if reason, is := strings.CutPrefix(text, status+" "); is {
			return research.Qualification{Status: shape.Text(status), Reason: shape.Text(reason)}
		}
	}
	return research.Qualification{Answer: answerOf(text), Confidence: shape.NumberOf(0.75), Evidence: "it says so", Source: "script"}
}

func answerOf(text string) shape.Value {
	v, err := shape.ParseObject([]byte(`{"v": ` + text + `}`))
	if err != nil {
		panic(err)
	}
	return v.Get("v")
}

// held makes answers wait for the gate.
func (s *scripted) held() *scripted {
	s.gate, s.began = make(chan struct{}), make(chan string, 10_000)
	return s
}

func (s *scripted) Costly() bool { return s.costly }

func (s *scripted) Research(ctx context.Context, q research.Question, c *catalog.Company) (research.Qualification, error) {
	if err := ctx.Err(); err != nil { // nothing is sent any more
		return research.Qualification{}, err
	}
	s.mu.Lock()
	stalls := s.stalls && len(s.asked) == 0
	s.asked = append(s.asked, c.ID)
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.now--
		s.mu.Unlock()
	}()
	if gate := s.gate; gate != nil {
		s.began <- c.ID
		if stalls {
			gate = nil
		}
		select {
		case <-gate:
		case <-ctx.Done():
			return research.Qualification{}, ctx.Err()
		}
	}
	return s.says(q, c), nil
}

// taken returns the companies that were researched since the last call, ordered by id.
func (s *scripted) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := apptest.Sorted(s.asked)
	s.asked = nil
	return asked
}

// next waits until the next company is researched.
func (s *scripted) next(t *testing.T) string {
	t.Helper()
	return apptest.Receive(t, s.began, "a question")
}

// qualified returns the fields of a request with a Qualifier.
func qualified(signal, rule, more string) string {
	return fmt.Sprintf(`{"qualifier_signal_id": %q, "qualifier_rule": %s%s}`, signal, rule, more)
}

// TestPreviewResearch checks the sixth step: which companies are researched, and what happens to
// them and their people.
func TestPreviewResearch(t *testing.T) {
	for _, costly := range []bool{false, true} {
		app := apptest.New(t)
		org := app.Org("Acme")
		var companies []catalog.Company
		for i := 1; i <= 9; i++ {
			companies = append(companies, apptest.Firm(fmt.Sprint("c", i)))
		}
		companies[6].Website = companies[0].Website
		shared := func(id, company, email string) catalog.Person {
			p := apptest.Worker(id, company, "CEO")
			p.Email = shape.Text(email)
			return p
		}
		app.Catalog(companies, []catalog.Person{
			apptest.Worker("p1", "c1", "CEO"), shared("p2", "c1", "p1@mail.example"), shared("p3", "c1", "x@bad.example"),
			apptest.Worker("q1", "c2", "CEO"), shared("q2", "c2", "y@bad.example"), shared("q3", "c2", "p1@mail.example"),
			apptest.Worker("r1", "c3", "CEO"), shared("r2", "c3", "z@bad.example"), apptest.Worker("s1", "c4", "CEO"), shared("s2", "c4", "s1@mail.example"),
			apptest.Worker("t1", "c5", "CEO"), apptest.Worker("t2", "c5", "CEO"), apptest.Worker("v1", "c6", "CEO"), apptest.Worker("w1", "c7", "CEO"), apptest.Worker("u1", "c9", "CEO"),
		})
		org.Write.Post("/v1/accounts", `{"name": "Five", "website": "c5.example"}`).Is(201)
		org.Write.Post("/v1/contacts", `{"email": "t1@mail.example"}`).Is(201)
		for _, domain := range []string{"bad.example", "c6.example"} {
			org.Admin.Post("/v1/suppressions", `{"domain": "`+domain+`"}`).Is(201)
		}
		signal := apptest.NewField(org, "accounts", "fit", "boolean", `, "label": "A fit", "ai": {"question": "Does it fit?"}`)
		script := map[string]string{"c1": "true", "c2": "false", "c3": "failed timeout", "c4": "unanswered not_in_catalogue", "c5": "true", "c9": "failed provider_unreachable"}
		research := newScripted(costly, script)
		app.TAM.Researcher = research
		id := apptest.ReadyPreview(org, qualified(signal, `{"value": true}`, `, "exclude_companies_without_titles": true`))
		apptest.SameTexts(t, "asked about", research.taken(), "c1", "c2", "c3", "c4", "c5", "c9")
		apptest.SameTexts(t, "the members", addUp(t, org, id), "c1", "c1/p1", "c1/p2 duplicate", "c1/p3 SUPPRESSED",
			"c2 QUALIFIER_NOT_MATCHED", "c2/q1 QUALIFIER_NOT_MATCHED", "c2/q2 SUPPRESSED", "c2/q3 duplicate",
			"c3 QUALIFIER_FAILED", "c3/r1 QUALIFIER_FAILED", "c3/r2 SUPPRESSED", "c4 QUALIFIER_FAILED", "c4/s1 QUALIFIER_FAILED", "c4/s2 duplicate",
			"c5+", "c5/t1+", "c5/t2", "c6 SUPPRESSED", "c7 duplicate", "c8 NO_MATCHING_TITLES", "c9 QUALIFIER_FAILED", "c9/u1 QUALIFIER_FAILED")
		byID := map[string]previewRow{}
		for _, m := range previewRows(t, org, id, "", 100) {
			byID[m.SourceID] = m
			company := byID[m.CompanyID]
			if !reflect.DeepEqual(m.Qualified, company.Qualified) || !reflect.DeepEqual(m.Qualification, company.Qualification) {
				t.Errorf("%s does not follow %s: %+v", m.SourceID, m.CompanyID, m)
			}
		}
		for company, want := range map[string]string{
			"c1": `[true, {"answer": true, "confidence": 0.75, "evidence": "it says so", "source": "script"}]`,
			"c2": `[false, {"answer": false, "confidence": 0.75, "evidence": "it says so", "source": "script"}]`,
			"c3": `[null, {"status": "failed", "reason": "timeout"}]`, "c4": `[null, {"status": "unanswered", "reason": "not_in_catalogue"}]`,
			"c9": `[null, {"status": "failed", "reason": "provider_unreachable"}]`, "c6": `[null, null]`, "c7": `[null, null]`, "c8": `[null, null]`,
		} {
			if diff := apptest.Diff(want, apptest.AsJSON([]any{byID[company].Qualified, byID[company].Qualification})); diff != "" {
				t.Errorf("%s: %s", company, diff)
			}
		}
		for query, want := range map[string]string{
			"is_qualified=true": "c1 p1 p2 p3 c5 t1 t2", "is_qualified=false": "c2 q1 q2 q3", "is_qualified=true&selected=true": "c1 p1 c5 t1 t2",
			"is_qualified=true&kind=company": "c1 c5", "is_qualified=false&kind=person": "q1 q2 q3", "is_qualified=true&existing=true": "c5 t1", "is_qualified=false&selected=true": "",
		} {
			var got []string
			for _, m := range previewRows(t, org, id, "&"+query, 3) {
				got = append(got, m.SourceID)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s returned %v", query, got)
			}
		}
		const block = `{"status": "completed", "reason": null, "field_id": "<id>", "field_name": "A fit", "question": "Does it fit?", "passed": 2, "not_matched": 1, "failed": 3,
			"started_at": "2026-03-02T09:00:00.000Z", "finished_at": "2026-03-02T09:00:00.000Z", "cost": {"unit_product": "ai_signal", "charged": false, "companies": 5, "units": 3,
			"unit_rate": 2.5, "estimated_ai_signal_credits": 20, "actual_ai_signal_credits": 7.5, "rate_basis": "list", "charged_operation_id": null}}`
		qualifier := `{"available": true, "reason": null, "signal": {"id": "` + signal + `", "name": "A fit", "question": "Does it fit?", "data_type": "boolean",
			"rule": {"operator": "equals", "value": true}}}`
		sameResearch := func(res *apptest.Response) {
			t.Helper()
			if diff := apptest.Diff(`[`+block+`, `+qualifier+`]`, apptest.AsJSON([]any{res.Value("data.research"), res.Value("data.result.qualifier")})); diff != "" {
				t.Error(diff)
			}
		}
		sameResearch(org.Read.Get(apptest.PreviewsPath + "/" + id))
		removed := org.Write.Post(apptest.PreviewsPath+"/"+id+"/exclude", `{"company_ids": ["c1", "c2", "c3", "c4"], "person_ids": ["q1", "r1", "t2"], "company_websites": ["c2.example"]}`).Is(200)
		if got := exclusion(t, removed); got != "1 2 | c2,c3,c4,q1,r1,c2.example |  |  | " {
			t.Error(got)
		}
		sameResearch(removed)
		after := addUp(t, org, id)
		for _, want := range []string{"c1 EXCLUDED_BY_USER", "c1/p1 EXCLUDED_BY_USER", "c1/p3 SUPPRESSED", "c2 QUALIFIER_NOT_MATCHED", "c3/r1 QUALIFIER_FAILED", "c5/t2 EXCLUDED_BY_USER", "c5/t1+"} {
			if !slices.Contains(after, want) {
				t.Errorf("%q is missing from %q", want, after)
			}
		}
		if got := previewRows(t, org, id, "&is_qualified=true&selected=false&kind=company", 5); len(got) != 1 || got[0].SourceID != "c1" {
			t.Errorf("removed qualified companies = %v, want c1", got)
		}
		// Existing Accounts are not researched if they are excluded, and neither are companies that
		// do not match.
		apptest.ReadyPreview(org, qualified(signal, `{"value": true}`, `, "search_input": {"exclude_companies_in_tam": true, "max_candidates": 6}`))
		apptest.SameTexts(t, "asked about without Accounts", research.taken(), "c1", "c2", "c3", "c4")
		hasNoAnswers(t, org)
	}
}

// hasNoAnswers requires that no answer is stored any more.
func hasNoAnswers(t *testing.T, o *apptest.Org) {
	t.Helper()
	if n := keptAnswers(o); n != 0 {
		t.Errorf("unexpected number of stored answers: %d", n)
	}
}

// keptAnswers counts the answers that are stored for preparations that may start over.
func keptAnswers(o *apptest.Org) (n int) {
	isAnswers := false
	for line := range strings.Lines(o.Dump()) {
		if !strings.HasPrefix(line, "  ") {
			isAnswers = strings.HasPrefix(line, "previews.answers.rec ")
		} else if isAnswers {
			n++
		}
	}
	return n
}

// TestPreviewVerdicts checks answers of every form against rules of every type. In the verdicts, +
// means passed, - not matched, ! an invalid answer, ? unanswered, and x invalid or unanswered.
func TestPreviewVerdicts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	long := strings.Repeat("é", 10_000)
	cases := []struct {
		dataType, more string
		answers        []string
		rules          map[string]string
	}{
		{"boolean", ``, []string{`true`, `false`, `"true"`, `1`, `null`, `[true]`, `{}`, `""`}, map[string]string{
			`{"value": true}`: `+-!!?!!x`, `{"value": false}`: `-+!!?!!x`}},
		{"number", ``, []string{`1`, `1.0`, `10e-1`, `1.5`, `-0`, `"1"`, `true`, `1e999`, `-1e999`, `9007199254740993`, `null`, `[1]`, `{}`, `"NaN"`, `""`}, map[string]string{
			`{"value": 1}`: `+++--!!!!!?!!!x`, `{"value": 1.0, "operator": "equals"}`: `+++--!!!!!?!!!x`, `{"value": 0}`: `----+!!!!!?!!!x`}},
		{"text", ``, []string{`"Go"`, `"go"`, `"We like GO, daily"`, `" "`, `""`, `null`, `7`, `false`, `["Go"]`, `{"answer": "Go"}`, `"a\u0000b"`, `"` + long + `"`, `"` + long + `x"`}, map[string]string{
			`{"value": "Go"}`: `+---??!!!!!-!`, `{"value": "gO", "operator": "contains"}`: `+++-??!!!!!-!`, `{"value": "É", "operator": "contains"}`: `----??!!!!!+!`,
			`{"value": "go, D", "operator": "contains"}`: `--+-??!!!!!-!`}},
		{"enum", `, "allowed_values": ["Gold", "gold", "Silver"]`, []string{`"Gold"`, `"gold"`, `"GOLD"`, `"Silver"`, `" Gold"`, `"Bronze"`, `""`, `null`, `["Gold"]`, `1`}, map[string]string{
			`{"value": "Gold"}`: `+-!-!!??!!`, `{"value": "gold"}`: `-+!-!!??!!`}},
		{"multi_select", `, "allowed_values": ["Go", "Rust", "C"]`, []string{`["Go"]`, `["Rust"]`, `["Go", "Rust"]`, `["Rust", "Go"]`, `[]`, `null`, `["go"]`, `["Go", "Go"]`, `"Go"`, `["Go", ""]`,
			`["Go", 1]`, `["Go", "Perl"]`, `[["Go"]]`, `{"Go": true}`, `""`}, map[string]string{
			`{"value": "Go"}`: `+---??!+!!!!!!x`, `{"value": "GO", "operator": "contains"}`: `+-++??!+!!!!!!x`, `{"value": "C", "operator": "contains"}`: `----??!-!!!!!!x`}},
		{"date", ``, []string{`"2026-03-01"`, `"2026-03-02"`, `"2026-3-1"`, `"2026-03-01T00:00:00Z"`, `"2026-02-30"`, `"March"`, `""`, `null`, `20260301`, `["2026-03-01"]`}, map[string]string{
			`{"value": "2026-03-01"}`: `+-!!!!??!!`, `{"value": "2026-03-02"}`: `-+!!!!??!!`}},
	}
	var companies []catalog.Company
	for i := range 15 {
		companies = append(companies, apptest.Firm(fmt.Sprintf("c%02d", i)))
	}
	app.Catalog(companies, nil)
	for i, c := range cases {
		signal := apptest.NewField(org, "accounts", c.dataType, c.dataType, c.more+`, "ai": {"question": "Which?"}`)
		script := map[string]string{}
		for at, answer := range c.answers {
			script[companies[at].ID] = answer
		}
		app.TAM.Researcher = newScripted(i%2 == 0, script)
		most := fmt.Sprintf(`, "search_input": {"max_candidates": %d}`, len(c.answers))
		ids := map[string]string{}
		for rule := range c.rules {
			ids[rule] = apptest.AskedPreview(org, qualified(signal, rule, most))
		}
		app.Work()
		for rule, verdicts := range c.rules {
			id := ids[rule]
			addUp(t, org, id)
			count := map[rune]int{}
			for at, m := range previewRows(t, org, id, "", 100) {
				want := rune(verdicts[at])
				if got := verdictOf(t, m, c.answers[at]); got != want && (want != 'x' || got != '!' && got != '?') {
					t.Errorf("%s, rule %s, answer %.60s: %c, want %c: %v", c.dataType, rule, c.answers[at], got, want, m.Qualification)
				}
				count[want]++
			}
			res := org.Read.Get(apptest.PreviewsPath + "/" + id).Is(200)
			if status := res.Text("data.research.status"); status != "completed" {
				t.Errorf("%s, rule %s: the status is %s", c.dataType, rule, status)
			}
			for field, want := range map[string]int{
				"passed": count['+'], "not_matched": count['-'], "failed": count['!'] + count['?'] + count['x'], "cost.units": count['+'] + count['-'],
			} {
				if got := res.Int("data.research." + field); got != want {
					t.Errorf("%s, rule %s: %s is %d, want %d", c.dataType, rule, field, got, want)
				}
			}
		}
	}
}

// verdictOf returns the verdict on a company. All of its fields must agree.
func verdictOf(t *testing.T, m previewRow, answer string) rune {
	t.Helper()
	if m.Qualified == nil {
		if m.Preparation+m.Exclusion != "QUALIFIER_FAILED" || m.Selected || m.Importable || len(m.Qualification) != 2 {
			t.Errorf("%s: %+v", answer, m)
		}
		switch m.Qualification["status"] {
		case "failed":
			if m.Qualification["reason"] == "invalid_answer" {
				return '!'
			}
		case "unanswered":
			if reason, isText := m.Qualification["reason"].(string); isText && reason != "" {
				return '?'
			}
		}
		return ' '
	}
	var want any
	if err := json.Unmarshal([]byte(answer), &want); err != nil {
		t.Fatal(err)
	}
	got := m.Qualification["answer"]
	if list, isList := got.([]any); isList && want != nil { // each value once, or as often as it was given
		want = slices.CompactFunc(slices.Clone(want.([]any)), func(a, b any) bool { return a == b })
		got = slices.CompactFunc(slices.Clone(list), func(a, b any) bool { return a == b })
	}
	if !reflect.DeepEqual(got, want) || m.Qualification["confidence"] != 0.75 || m.Qualification["evidence"] != "it says so" || m.Qualification["source"] != "script" || len(m.Qualification) != 4 {
		t.Errorf("%s: %v", answer, m.Qualification)
	}
	switch excluded := m.Preparation + m.Exclusion; {
	case excluded == "" && m.Selected && m.Importable && *m.Qualified:
		return '+'
	case excluded == "QUALIFIER_NOT_MATCHED" && !m.Selected && !m.Importable && !*m.Qualified:
		return '-'
	}
	return ' '
}
