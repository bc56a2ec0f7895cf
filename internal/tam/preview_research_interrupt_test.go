package tam_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/catalog"
	"prospector/internal/research"
	"prospector/internal/service"
	"prospector/store"
)

// TestPreviewResearchStopped ends a Preview during its research. No further company is researched,
// and nothing of the Preview remains.
func TestPreviewResearchStopped(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.Research.Concurrency = 2 })
	app.Catalog(firms(30), []catalog.Person{apptest.Worker("p1", "c1", "CEO")})
	for _, c := range []struct {
		what     string
		stop     func(org *apptest.Org, preview, signal string)
		ends     string // empty if it was deleted
		answered int    // before it is stopped
	}{
		{"cancel at once", func(org *apptest.Org, preview, _ string) { org.Write.Post(preview+"/cancel", nil).Is(200) }, "CANCELLED", 0},
		{"cancel", func(org *apptest.Org, preview, _ string) { org.Write.Post(preview+"/cancel", nil).Is(200) }, "CANCELLED", 7},
		{"delete", func(org *apptest.Org, preview, _ string) { org.Write.Delete(preview).Is(204) }, "", 7},
		{"field", func(org *apptest.Org, _, signal string) { org.Admin.Delete("/v1/fields/" + signal).Is(204) }, "FAILED signal_deleted", 7},
	} {
		for _, answer := range []string{"true", "failed timeout"} { // one is stored, the other is not
			for _, costly := range []bool{true, false} {
				what := fmt.Sprintf("%s %s costly %v", c.what, answer, costly)
				org := app.Org(what)
				research := (&scripted{costly: costly, says: func(research.Question, *catalog.Company) research.Qualification { return said(answer) }}).held()
				app.TAM.Researcher = research
				signal := apptest.NewField(org, "accounts", "fit", "boolean", `, "ai": {"question": "Does it fit?"}`)
				id := apptest.AskedPreview(org, qualified(signal, `{"value": true}`, ``))
				wait := working(t, app)
				research.next(t)
				for range c.answered {
					research.gate <- struct{}{}
					research.next(t)
				}
				if n := keptAnswers(org); (n > 0) != (costly && answer == "true" && c.answered > 0) {
					t.Errorf("%s: %d answers are stored", what, n)
				}
				c.stop(org, apptest.PreviewsPath+"/"+id, signal)
				asked := research.count()
				close(research.gate)
				wait()
				app.Work()
				if now := research.count(); costly && now > asked+1 { // two are asked at the same time, and one may be on its way
					t.Errorf("%s: %d questions were asked after it, %d before", what, now-asked, asked)
				}
				if c.ends == "" {
					org.Read.Get(apptest.PreviewsPath + "/" + id).Is(404)
				} else if got := statusOf(t, org, id); got != c.ends {
					t.Errorf("%s: unexpected status %s", what, got)
				}
				hasNoAnswers(t, org)
				if strings.Contains(org.Dump(), "source_ordinal") {
					t.Errorf("%s: members are left", what)
				}
			}
		}
	}
	if got := app.Log.String(); strings.Contains(got, "level=ERROR") {
		t.Errorf("%s", got)
	}
}

// TestPreviewResearchStalled ends a Preview while the researcher does not answer. The service does
// not wait for it.
func TestPreviewResearchStalled(t *testing.T) {
	app := apptest.New(t, func(c *service.Config) { c.Research.Concurrency = 2 })
	org := app.Org("Acme")
	app.Catalog(firms(30), nil)
	signal := apptest.NewField(org, "accounts", "fit", "boolean", `, "ai": {"question": "Does it fit?"}`)
	for i := range 12 {
		answer := []string{"true", "failed timeout"}[i%2]
		research := (&scripted{costly: true, stalls: true, says: func(research.Question, *catalog.Company) research.Qualification { return said(answer) }}).held()
		app.TAM.Researcher = research
		id := apptest.AskedPreview(org, qualified(signal, `{"value": true}`, ``))
		wait := working(t, app)
		research.next(t)
		research.next(t)
		org.Write.Post(apptest.PreviewsPath+"/"+id+"/cancel", nil).Is(200)
		wait() // although neither question has an answer
		if asked := research.taken(); len(asked) != 2 {
			t.Errorf("unexpected questions about %v", asked)
		}
	}
	hasNoAnswers(t, org)
	if got := app.Log.String(); strings.Contains(got, "level=ERROR") {
		t.Errorf("%s", got)
	}
}

func (s *scripted) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// TestPreviewResearchCut repeatedly stops the service during research. Answered companies are not
// researched again, failed ones are, and the Preview ends like an uninterrupted one.
func TestPreviewResearchCut(t *testing.T) {
	const atOnce, companies = 4, 270 // the first 250 are researched first
	app := apptest.New(t, func(c *service.Config) { c.Research.Concurrency = atOnce })
	org := app.Org("Acme")
	var people []catalog.Person
	for i := range companies / 3 {
		people = append(people, apptest.Worker(fmt.Sprint("p", i), fmt.Sprint("c", 1+i), "CEO"))
	}
	app.Catalog(firms(companies), people)
	signal := apptest.NewField(org, "accounts", "fit", "boolean", `, "ai": {"question": "Does it fit?"}`)
	isFailed := func(id string) bool { return strings.HasSuffix(id, "7") || strings.HasSuffix(id, "13") }
	var left atomic.Int64 // the number of answers before the service stops
	var stop context.CancelFunc
	research := &scripted{costly: true, says: func(_ research.Question, c *catalog.Company) research.Qualification {
		if left.Add(-1) == 0 {
			stop()
		}
		switch {
		case isFailed(c.ID):
			return said("failed timeout")
		case strings.HasSuffix(c.ID, "5"):
			return said("unanswered unknown")
		}
		return said(fmt.Sprint(strings.HasSuffix(c.ID, "2") || strings.HasSuffix(c.ID, "4")))
	}}
	run := func(after int, cut func(ctx context.Context) context.Context) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stop = cancel
		left.Store(int64(after))
		app.Worker.Once(cut(ctx))
	}
	whole := func(ctx context.Context) context.Context { return ctx }
	ask := func() string {
		app.TAM.Researcher = research
		return apptest.AskedPreview(org, qualified(signal, `{"value": true}`, ``))
	}
	alone := ask()
	app.Work()
	want, members := addUp(t, org, alone), shownMembers(t, org, alone)
	if asked := research.taken(); len(asked) != companies || len(slices.Compact(asked)) != companies {
		t.Fatalf("got questions about %d companies", len(asked))
	}
	cuts := []int{1, 3, 90, 120}
	if apptest.RaceDetector {
		cuts = []int{3, 120}
	}
	for i, cut := range cuts {
		id := ask()
		answered := map[string]bool{} // companies whose answers are known to be stored
		for round := 0; round < 2; round++ {
			run(cut, whole)
			asked, kept := research.taken(), keptAnswers(org)
			for _, company := range asked {
				if answered[company] {
					t.Errorf("interruption %d: repeated question about %s", cut, company)
				}
			}
			if len(slices.Compact(slices.Clone(asked))) != len(asked) {
				t.Errorf("interruption %d: concurrent questions about the same company: %v", cut, asked)
			}
			if round == 0 { // all are stored except those in progress or failed
				fine := slices.DeleteFunc(slices.Clone(asked), isFailed)
				if kept > len(fine) || kept < len(fine)-atOnce {
					t.Errorf("interruption %d: %d answers are stored, want %d", cut, kept, len(fine))
				}
			}
			if statusOf(t, org, id) != "PREPARING" {
				t.Fatalf("interruption %d: unexpected status %s", cut, statusOf(t, org, id))
			}
			if err := app.Store.View(org.ID, func(tx *store.Tx) error {
				return store.VerifyPortions(tx, func(_ bool, format string, args ...any) { t.Errorf("cut %d: "+format, append([]any{cut}, args...)...) }, app.TAM.Portions()...)
			}); err != nil {
				t.Error(err)
			}
			if i%2 == 0 {
				app.Restart()
				app.TAM.Researcher = research
			}
			if keptOf(t, org, id, companies, answered); len(answered) != kept {
				t.Fatalf("%d answers are stored, and %d found", kept, len(answered))
			}
		}
		run(0, whole)
		for _, company := range research.taken() {
			if answered[company] {
				t.Errorf("interruption %d: repeated question about %s at the end", cut, company)
			}
		}
		if shownMembers(t, org, id) != members {
			t.Errorf("interruption %d: the members differ", cut)
		}
		hasNoAnswers(t, org)
		if got, want := apptest.AsJSON(org.Read.Get(apptest.PreviewsPath+"/"+id).Value("data.research")), apptest.AsJSON(org.Read.Get(apptest.PreviewsPath+"/"+alone).Value("data.research")); got != want {
			t.Errorf("interruption %d: research = %s, want %s", cut, got, want)
		}
	}
	// The same at some of the writes, including those of answers, of the status and of members.
	id := ask()
	for write := 1; statusOf(t, org, id) == "PREPARING"; write = write*2 + 1 {
		run(0, func(ctx context.Context) context.Context { return newCutAt(ctx, write, func() { stop() }) })
	}
	apptest.SameTexts(t, "cut at writes", addUp(t, org, id), want...)
	app.Work()
	hasNoAnswers(t, org)
	for company, n := range counted(research.taken()) {
		if n > 1+atOnce && !isFailed(company) {
			t.Errorf("questions about %s: got %d", company, n)
		}
	}
}

func counted(texts []string) map[string]int {
	n := map[string]int{}
	for _, text := range texts {
		n[text]++
	}
	return n
}

// keptOf records the companies whose answers are stored for a Preview. The key of an answer follows
// from the company: see question.go of tam.
func keptOf(t *testing.T, o *apptest.Org, preview string, companies int, into map[string]bool) {
	t.Helper()
	has := map[string]bool{}
	for line := range strings.Lines(o.Dump()) {
		at, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		has[at] = true
	}
	for i := range companies {
		company := fmt.Sprint("c", i+1)
		at := uuid.NewSHA1(uuid.MustParse(preview), []byte(company))
		if has[fmt.Sprintf("%x", at[:])] {
			into[company] = true
		}
	}
}

// shownMembers returns everything that is shown of the members except their ids.
func shownMembers(t *testing.T, o *apptest.Org, id string) string {
	t.Helper()
	rows := previewRows(t, o, id, "", 500)
	for i := range rows {
		rows[i].MemberID = ""
	}
	return apptest.AsJSON(rows)
}

// TestPreviewResearchAgain checks a company whose research fails before the preparation is
// interrupted, and succeeds afterwards.
func TestPreviewResearchAgain(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	app.Catalog(firms(3), nil)
	signal := apptest.NewField(org, "accounts", "fit", "boolean", `, "ai": {"question": "Does it fit?"}`)
	first, became := inTurn(true, "true", "failed timeout")
	app.TAM.Researcher = first.held()
	id := apptest.AskedPreview(org, qualified(signal, `{"value": true}`, ``))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		app.Worker.Once(ctx)
	}()
	answered, failed := first.next(t), ""
	first.gate <- struct{}{}
	failed = first.next(t)
	first.gate <- struct{}{}
	first.next(t) // no answer arrives in time
	stop()
	<-done
	apptest.SameTexts(t, "asked about first", first.taken(), "c1", "c2", "c3")
	if got := researchOf(org, id); !strings.HasPrefix(got, "PREPARING running ") {
		t.Error(got)
	}
	app.Restart()
	app.Clock.Advance(time.Hour)
	script := map[string]string{"c1": "unanswered unknown", "c2": "unanswered unknown", "c3": "unanswered unknown"}
	script[failed], script[answered] = "true", "false" // but that answer is stored
	second := newScripted(true, script).held()
	app.TAM.Researcher = second
	wait := working(t, app)
	second.next(t)
	if got := researchOf(org, id); !strings.HasPrefix(got, "PREPARING running <nil>, <nil>+<nil>+<nil>, 2026-03-02T09:00:00.000Z ") {
		t.Errorf("unexpected state of the research: %s", got)
	}
	close(second.gate)
	wait()
	if asked := second.taken(); len(asked) != 2 || slices.Contains(asked, answered) {
		t.Errorf("%v were researched again although %s had answers", asked, answered)
	}
	want := []string{"c1 QUALIFIER_FAILED", "c2 QUALIFIER_FAILED", "c3 QUALIFIER_FAILED"}
	became[failed] = failed
	for i, c := range []string{"c1", "c2", "c3"} {
		if became[c] != "" {
			want[i] = became[c]
		}
	}
	apptest.SameTexts(t, "the members", addUp(t, org, id), want...)
	if got := researchOf(org, id); got != "READY completed <nil>, 2+0+1, 2026-03-02T09:00:00.000Z to 2026-03-02T10:00:00.000Z" {
		t.Error(got)
	}
	// Answers stored for one Preview are not used by another.
	next := apptest.ReadyPreview(org, qualified(signal, `{"value": true}`, ``))
	if rows := addUp(t, org, next); !slices.Contains(rows, answered+" QUALIFIER_NOT_MATCHED") {
		t.Errorf("%q: an answer of the previous Preview was used", rows)
	}
	apptest.SameTexts(t, "asked about for the next", second.taken(), "c1", "c2", "c3")
}

// TestPreviewResearchPanics has a researcher that panics or returns an invalid error. It is tried
// three times.
func TestPreviewResearchPanics(t *testing.T) {
	for _, costly := range []bool{false, true} {
		app := apptest.New(t)
		org := app.Org("Acme")
		app.Catalog(firms(4), nil)
		signal := apptest.NewField(org, "accounts", "fit", "boolean", `, "ai": {"question": "Does it fit?"}`)
		most, panics := 0, 0
		research := &scripted{costly: costly, says: func(_ research.Question, c *catalog.Company) research.Qualification {
			if c.ID == "c2" && panics < most {
				panics++
				panic("a bug")
			}
			return said("true")
		}}
		app.TAM.Researcher = research
		hours := func() (statuses []string) {
			id := apptest.AskedPreview(org, qualified(signal, `{"value": true}`, ``))
			for range 5 {
				app.Work()
				statuses = append(statuses, statusOf(t, org, id))
				app.Clock.Advance(time.Hour)
			}
			return statuses
		}
		most = 100
		apptest.SameTexts(t, "each time", hours(), "PREPARING", "PREPARING", "PREPARING", "FAILED internal", "FAILED internal")
		if n := counted(research.taken()); n["c2"] != 3 || costly && max(n["c1"], n["c3"], n["c4"]) > 1 {
			t.Errorf("questions per company = %v", n)
		}
		hasNoAnswers(t, org)
		most, panics = 2, 0
		apptest.SameTexts(t, "twice", hours(), "PREPARING", "PREPARING", "READY", "READY", "READY")
		if n := counted(research.taken()); n["c2"] != 3 || costly && (n["c1"] != 1 || n["c3"] != 1 || n["c4"] != 1) {
			t.Errorf("questions per company = %v", n)
		}
		hasNoAnswers(t, org)
	}
}
