package tam_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/research"
	"prospector/internal/service"
	"prospector/internal/shape"
)

// working runs the background jobs concurrently with the test. wait waits until no job is due.
func working(t *testing.T, app *apptest.App) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		app.Worker.Once(t.Context())
	}()
	t.Cleanup(func() { <-done }) // the context of the test has ended by then
	return func() {
		t.Helper()
		apptest.Receive(t, done, "the end of the jobs")
	}
}

// firms returns the companies c1, c2 and so on, in this order.
func firms(n int) (list []catalog.Company) {
	for i := range n {
		f := apptest.Firm(fmt.Sprint("c", i+1))
		f.Name = fmt.Sprintf("Firm %04d", i)
		list = append(list, f)
	}
	return list
}

// researchOf summarizes the research of a Preview.
func researchOf(o *apptest.Org, id string) string {
	res := o.Read.Get(apptest.PreviewsPath + "/" + id).Is(200)
	at := func(path string) any { return res.Value("data.research." + path) }
	return fmt.Sprintf("%v %v %v, %v+%v+%v, %v to %v", res.Text("data.status"), at("status"), at("reason"), at("passed"), at("not_matched"), at("failed"), at("started_at"), at("finished_at"))
}

// TestPreviewResearchStatus reads a Preview during its research.
func TestPreviewResearchStatus(t *testing.T) {
	for _, costly := range []bool{false, true} {
		app := apptest.New(t)
		org := app.Org("Acme")
		app.Catalog(append(firms(4), catalog.Company{ID: "x", Name: "X", Website: "c1.example"}), nil)
		signal := apptest.NewField(org, "accounts", "fit", "boolean", `, "label": "A fit", "ai": {"question": "Does it fit?"}`)
		research, became := inTurn(costly, "failed timeout", "true", "false", "true")
		research.held()
		app.TAM.Researcher = research
		id := apptest.AskedPreview(org, qualified(signal, `{"value": true}`, ``))
		wants := func(want string) {
			t.Helper()
			if got := researchOf(org, id); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		wants("PREPARING not_started <nil>, <nil>+<nil>+<nil>, <nil> to <nil>")
		app.Clock.Advance(time.Second)
		wait := working(t, app)
		research.next(t)
		const began = ", <nil>+<nil>+<nil>, 2026-03-02T09:00:01.000Z to <nil>"
		wants("PREPARING dispatched <nil>" + began)
		// Until then, the cost is the estimate.
		const cost = `{"unit_product": "ai_signal", "charged": false, "companies": %d, "units": %d, "unit_rate": 2.5, "estimated_ai_signal_credits": 10, "actual_ai_signal_credits": %s,
			"rate_basis": "list", "charged_operation_id": null}`
		costs := func(companies, units int, actual string) {
			t.Helper()
			if diff := apptest.Diff(fmt.Sprintf(cost, companies, units, actual), apptest.AsJSON(org.Read.Get(apptest.PreviewsPath+"/"+id).Value("data.research.cost"))); diff != "" {
				t.Error(diff)
			}
		}
		costs(4, 4, "null")
		statusOf(t, org, id)
		app.Clock.Advance(time.Second)
		research.gate <- struct{}{} // for failures, which are not answers
		research.next(t)
		wants("PREPARING dispatched <nil>" + began)
		research.gate <- struct{}{}
		research.next(t)
		wants("PREPARING running <nil>" + began)
		app.Clock.Advance(time.Second)
		research.gate <- struct{}{}
		research.next(t)
		wants("PREPARING running <nil>" + began)
		progress := org.Read.Get(apptest.PreviewsPath + "/" + id).Value("data.progress").(float64)
		if got := statusOf(t, org, id); got != "PREPARING" || progress >= 1 || costly && progress == 0 {
			t.Error(got, progress)
		}
		close(research.gate)
		wait()
		wants("READY completed <nil>, 2+1+1, 2026-03-02T09:00:01.000Z to 2026-03-02T09:00:03.000Z")
		costs(4, 3, "7.5")
		apptest.SameTexts(t, "the members", addUp(t, org, id), became["c1"], became["c2"], became["c3"], became["c4"], "x duplicate")
		hasNoAnswers(t, org)
	}
}

// TestPreviewResearchFailed has answers for some companies, or for none.
func TestPreviewResearchFailed(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	app.Catalog(firms(3), nil)
	signal := apptest.NewField(org, "accounts", "fit", "number", `, "ai": {"question": "How well?"}`)
	const nobody, now = `, "company_filters": {"searching_rule": {"value": "nobody"}}`, "2026-03-02T09:00:00.000Z"
	const unreachable, timeout = "failed provider_unreachable", "failed timeout"
	for i, c := range []struct {
		script map[string]string // nil means no researcher
		more   string
		want   string
		cost   string // companies, units, estimated, actual
	}{
		{map[string]string{"c1": "1", "c2": unreachable, "c3": unreachable}, ``, "completed <nil>, 1+0+2, " + now + " to " + now + " true <nil>", "1 1 7.5 2.5"},
		{map[string]string{"c1": unreachable, "c2": timeout, "c3": unreachable}, ``, "completed timeout, 0+0+3, " + now + " to " + now + " true <nil>", "1 0 7.5 0"},
		{map[string]string{"c1": timeout, "c2": timeout, "c3": "failed other"}, ``, "completed timeout, 0+0+3, " + now + " to " + now + " true <nil>", "3 0 7.5 0"},
		{map[string]string{"c1": "unanswered unknown", "c2": "null", "c3": "unanswered unknown"}, ``, "completed <nil>, 0+0+3, " + now + " to " + now + " true <nil>", "3 0 7.5 0"},
		{map[string]string{"c1": "2", "c2": "3", "c3": "4"}, ``, "completed <nil>, 0+3+0, " + now + " to " + now + " true <nil>", "3 3 7.5 7.5"},
		{map[string]string{"c1": unreachable, "c2": unreachable, "c3": unreachable}, ``, "failed provider_unreachable, 0+0+3, <any> to " + now + " false provider_unreachable", "0 0 7.5 0"},
		{nil, ``, "failed provider_not_configured, 0+0+3, <nil> to " + now + " false provider_not_configured", "0 0 7.5 0"},
		{nil, nobody, "failed provider_not_configured, 0+0+0, <nil> to " + now + " false provider_not_configured", "0 0 0 0"},
		{map[string]string{}, nobody, "completed <nil>, 0+0+0, <nil> to " + now + " true <nil>", "0 0 0 0"},
	} {
		for _, costly := range []bool{false, true} {
			app.TAM.Researcher = nil
			if c.script != nil {
				app.TAM.Researcher = newScripted(costly, c.script)
			}
			id := apptest.ReadyPreview(org, qualified(signal, `{"value": 1}`, c.more))
			res := org.Read.Get(apptest.PreviewsPath + "/" + id).Is(200)
			got := fmt.Sprint(researchOf(org, id), " ", res.Value("data.result.qualifier.available"), " ", res.Value("data.result.qualifier.reason"))
			before, after, _ := strings.Cut("READY "+c.want, "<any>")
			if !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after) {
				t.Errorf("%d: %s, want %s", i, got, c.want)
			}
			at := func(key string) any { return res.Value("data.research.cost." + key) }
			if got := fmt.Sprint(at("companies"), at("units"), at("estimated_ai_signal_credits"), at("actual_ai_signal_credits")); got != c.cost {
				t.Errorf("%d: cost = %s, want %s", i, got, c.cost)
			}
			addUp(t, org, id)
		}
	}
	// An estimate does not use the researcher, and neither does a Preview without a Qualifier.
	research := newScripted(true, nil)
	app.TAM.Researcher = nil
	body, before := apptest.PreviewBody(qualified(signal, `{"value": 1}`, ``)), org.Dump()
	estimate := apptest.DataOf(org.Read.Post(apptest.PreviewsPath+"/estimate", body).Is(200))
	app.TAM.Researcher = research
	if got := apptest.DataOf(org.Read.Post(apptest.PreviewsPath+"/estimate", body).Is(200)); string(got) != string(estimate) || org.Dump() != before {
		t.Errorf("estimate = %s, was %s before", got, estimate)
	}
	plain := apptest.ReadyPreview(org, `{}`)
	apptest.SameTexts(t, "without a Qualifier", addUp(t, org, plain), "c1", "c2", "c3")
	if got := researchOf(org, plain); got != "READY skipped <nil>, <nil>+<nil>+<nil>, <nil> to <nil>" || org.Read.Get(apptest.PreviewsPath+"/"+plain).Value("data.result.qualifier") != nil {
		t.Error(got)
	}
	if asked := research.taken(); len(asked) > 0 {
		t.Errorf("unexpected questions about %v", asked)
	}
}

// TestPreviewQualification checks what is shown with an answer, whatever the researcher returns.
func TestPreviewQualification(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	app.Catalog(firms(8), []catalog.Person{apptest.Worker("p1", "c2", "CEO")})
	signal := apptest.NewField(org, "accounts", "fit", "boolean", `, "ai": {"question": "Does it fit?"}`)
	yes := answerOf("true")
	long := "x" + strings.Repeat("é", 2000)
	script := map[string]research.Qualification{
		"c1": {Answer: yes}, "c2": {Answer: yes, Evidence: shape.Text(long), Confidence: shape.NumberOf(1)}, "c3": {Answer: yes, Confidence: shape.NumberOf(1.5)},
		"c4": {Answer: yes, Confidence: shape.NumberOf(-1)}, "c5": {Answer: yes, Confidence: shape.NumberOf(math.NaN())}, "c6": {Answer: yes, Evidence: "cut \xc3"},
		"c7": {Answer: yes, Status: "failed", Reason: "timeout", Evidence: "none", Confidence: shape.NumberOf(1), Source: "script"}, "c8": {Answer: yes, Evidence: "\"a\"\n\u2028<b>", Source: "s"},
	}
	for _, costly := range []bool{false, true} {
		app.TAM.Researcher = &scripted{costly: costly, says: func(_ research.Question, c *catalog.Company) research.Qualification { return script[c.ID] }}
		id := apptest.ReadyPreview(org, qualified(signal, `{"value": true}`, ``))
		if got := statusOf(t, org, id); got != "READY" {
			t.Fatalf("unexpected status %s: %s", got, app.Log)
		}
		addUp(t, org, id)
		for _, m := range previewRows(t, org, id, "", 100) {
			evidence, _ := m.Qualification["evidence"].(string)
			want := map[string]string{
				"c1": `{"answer": true, "confidence": null, "evidence": null, "source": null}`, "c2": `{"answer": true, "confidence": 1, "evidence": "<any>", "source": null}`,
				"c6": `{"answer": true, "confidence": null, "evidence": "<any>", "source": null}`, "c7": `{"status": "failed", "reason": "timeout"}`,
				"c8": `{"answer": true, "confidence": null, "evidence": "\"a\"\n\u2028<b>", "source": "s"}`,
			}[m.CompanyID]
			if want == "" {
				want = `{"answer": true, "confidence": null, "evidence": null, "source": null}`
			}
			if diff := apptest.Diff(want, apptest.AsJSON(m.Qualification)); diff != "" {
				t.Errorf("%s: %s", m.SourceID, diff)
			}
			if m.CompanyID == "c2" && (!strings.HasPrefix(long, evidence) || len(evidence) < 500 || len(evidence) > 1000 || !utf8.ValidString(evidence)) {
				t.Errorf("%s: %d bytes of evidence: %.20q", m.SourceID, len(evidence), evidence)
			}
		}
	}
}

// TestPreviewResearchChanged changes the field after a Preview was requested. The Preview uses the
// field as it was at the time of the request.
func TestPreviewResearchChanged(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	app.Catalog(firms(3), nil)
	signal := apptest.NewField(org, "accounts", "tier", "enum", `, "label": "Tier", "allowed_values": ["Gold", "Silver"], "ai": {"question": "Which tier?"}`)
	var questions []string
	app.TAM.Researcher = &scripted{says: func(q research.Question, c *catalog.Company) research.Qualification {
		questions = append(questions, fmt.Sprint(q.Text, q.Type, q.Allowed))
		return said(map[string]string{"c1": `"Gold"`, "c2": `"Bronze"`, "c3": `"Silver"`}[c.ID])
	}}
	id := apptest.AskedPreview(org, qualified(signal, `{"value": "Gold"}`, ``))
	org.Admin.Patch("/v1/fields/"+signal, `{"label": "Rank", "allowed_values": ["Silver", "Bronze"], "ai": {"question": "Which rank?"}}`).Is(200)
	app.Work()
	apptest.SameTexts(t, "the questions", questions, "Which tier?enum[Gold Silver]", "Which tier?enum[Gold Silver]", "Which tier?enum[Gold Silver]")
	apptest.SameTexts(t, "the members", addUp(t, org, id), "c1", "c2 QUALIFIER_FAILED", "c3 QUALIFIER_NOT_MATCHED")
	res := org.Read.Get(apptest.PreviewsPath + "/" + id).Is(200)
	for _, path := range []string{"research.field_name", "research.question", "result.qualifier.signal.name", "result.qualifier.signal.question"} {
		if got := res.Text("data." + path); got != "Tier" && got != "Which tier?" {
			t.Errorf("%s is %s", path, got)
		}
	}
}

// TestPreviewResearchAtOnce checks that the research of all organizations together never asks about
// more companies at the same time than research.concurrency allows.
func TestPreviewResearchAtOnce(t *testing.T) {
	const atOnce, companies = 3, 20
	app := apptest.New(t, func(c *service.Config) { c.Research.Concurrency = atOnce })
	app.Catalog(firms(companies), nil)
	research := (&scripted{costly: true, says: func(research.Question, *catalog.Company) research.Qualification { return said("true") }}).held()
	app.TAM.Researcher = research
	previews := map[*apptest.Org]string{}
	for _, name := range []string{"Acme", "Umbrella"} {
		org := app.Org(name)
		previews[org] = apptest.AskedPreview(org, qualified(apptest.NewField(org, "accounts", "fit", "boolean", `, "ai": {"question": "Does it fit?"}`), `{"value": true}`, ``))
	}
	third := app.Org("Initech")
	ready := apptest.NewTarget(t, nil)
	third.Admin.Post(apptest.SubscriptionsPath, map[string]any{"url": ready.URL, "triggers": []string{"tam_preview.ready"}}).Is(201)
	ctx, cancel := context.WithCancel(t.Context())
	var sending sync.WaitGroup
	sending.Go(func() { app.Webhooks.Sender.Run(ctx) })
	t.Cleanup(func() { cancel(); sending.Wait() })
	plain := apptest.AskedPreview(third, `{}`)
	wait := working(t, app)
	for range atOnce {
		research.next(t)
	}
	ready.Await(t, 1) // a Preview without research does not wait for the others
	if status := statusOf(t, third, plain); status != "READY" {
		t.Errorf("the Preview without research is %s", status)
	}
	for range 2*companies - atOnce {
		research.gate <- struct{}{}
		research.next(t)
	}
	close(research.gate)
	wait()
	if research.most != atOnce || len(research.taken()) != 2*companies {
		t.Errorf("%d concurrent questions, want %d", research.most, atOnce)
	}
	for org, id := range previews {
		if len(previewRows(t, org, id, "&is_qualified=true", 50)) != companies {
			t.Error("a company has no answer")
		}
		addUp(t, org, id)
		hasNoAnswers(t, org)
	}
}
