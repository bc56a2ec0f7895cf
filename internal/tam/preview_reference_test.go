package tam_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// TestPreviewReference compares Previews of random requests over random catalogs with a computation
// in plain Go: the members, the counts, pages and filters of members, estimates, and all of it
// after random exclusions. PROSPECTOR_SOAK is the number of catalogs, 3 by default. PROSPECTOR_SEED
// is the first seed.
func TestPreviewReference(t *testing.T) {
	for seed := range apptest.SoakSeeds(t, 3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(seed), 7))
			companies, people, requests := 20+r.IntN(60), 60+r.IntN(200), 24
			if seed%3 == 0 { // enough for an index
				companies, people, requests = apptest.ManyRecords, 3*apptest.ManyRecords, 4
			}
			if apptest.RaceDetector {
				requests /= 4
			}
			refRun(t, refWorldOf(r, companies, people), requests)
		})
	}
}

// refRun requests Previews of a world for two organizations.
func refRun(t *testing.T, w *refWorld, requests int) {
	app := apptest.New(t, func(c *service.Config) { c.Research.Concurrency = 8 })
	w.load(app)
	for i := range 2 {
		org := app.Org(fmt.Sprint("Org ", i))
		crm := w.crm(org)
		w.origins(t, app, org, crm)
		crm.signals = w.signals(org)
		research := w.researcher(crm.signals, i == 0 && len(w.companies) < apptest.ManyRecords, func(s string) { t.Error(s) })
		app.TAM.Researcher = research
		views, signals := slices.Sorted(maps.Keys(crm.views)), slices.Sorted(maps.Keys(crm.signals))
		var previews []*refPreview
		for range requests {
			var request map[string]any
			refRecode(w.request(views, signals, crm), &request)
			p := &refPreview{t: t, w: w, org: org, request: request, refSelection: refSelect(w.companies, w.people, crm, request)}
			if p.estimated(); research.count() > 0 {
				t.Error("an estimate asked research questions")
			}
			p.path = apptest.PreviewsPath + "/" + p.data(org.Write, "POST", apptest.PreviewsPath, request, 202)["preview_id"].(string)
			previews = append(previews, p)
		}
		app.Work()
		var researched []string
		for _, p := range previews {
			researched = append(researched, p.researched...)
		}
		if asked := research.taken(); !slices.Equal(asked, apptest.Sorted(researched)) {
			t.Errorf("got questions about %d companies, want %d: %v, %v", len(asked), len(researched), asked, apptest.Sorted(researched))
		}
		hasNoAnswers(t, org)
		for _, p := range previews {
			p.same()
			for range w.IntN(3) {
				p.prune()
				p.same()
			}
		}
		listed := map[string]map[string]any{}
		for _, v := range org.Read.Post("/v1/tam/previews/list", `{"page_size": 500}`).Is(200).Value("data").([]any) {
			listed[apptest.PreviewsPath+"/"+v.(map[string]any)["preview_id"].(string)] = v.(map[string]any)
		}
		for _, p := range previews {
			p.counted("as listed", listed[p.path])
		}
	}
}

// refPreview is a Preview with its expected content.
type refPreview struct {
	*refSelection
	t       *testing.T
	w       *refWorld
	org     *apptest.Org
	request map[string]any
	path    string
}

// is requires that two values are equal as JSON.
func (p *refPreview) is(what string, want, got any) {
	p.t.Helper()
	if diff := apptest.Diff(refJSON(want), refJSON(got)); diff != "" {
		p.t.Fatalf("%s: %s\nrequest %s", what, diff, refJSON(p.request))
	}
}

// data returns the data of a response. Only one in thirty responses is validated against the API
// document, because that takes longer than the request.
func (p *refPreview) data(c apptest.Client, method, path string, body any, status int) map[string]any {
	p.t.Helper()
	if p.w.chance(30) {
		return c.Do(method, path, body).Is(status).Value("data").(map[string]any)
	}
	req, err := http.NewRequest(method, c.URL(path), strings.NewReader(refJSON(body)))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct {
		Data  map[string]any
		Error any
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != status {
		p.t.Fatalf("%s %s %s\nreturned %d, want %d: %v %v", method, path, refJSON(body), res.StatusCode, status, answer.Error, err)
	}
	return answer.Data
}

// hasMembers requires these members, ignoring their ids.
func (p *refPreview) hasMembers(what string, want []map[string]any, got []any) {
	p.t.Helper()
	p.is(what, len(want), len(got))
	for i, w := range want {
		w["member_id"] = got[i].(map[string]any)["member_id"]
		if !reflect.DeepEqual(any(w), got[i]) {
			p.is(fmt.Sprintf("%s: member %d", what, i), w, got[i])
			p.t.Fatalf("%s: member %d is %v, want %v", what, i, got[i], w)
		}
	}
}

func refJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (p *refPreview) estimated() {
	p.t.Helper()
	units := 0
	if p.request["qualifier_signal_id"] != nil {
		units = p.candidates
	}
	estimate := p.data(p.org.Read, "POST", apptest.PreviewsPath+"/estimate", p.request, 200)
	if total := estimate["available_total"].(float64); total < float64(p.candidates) || estimate["truncated"] == true && total == float64(p.candidates) {
		p.t.Errorf("the estimate has %v companies of %v, truncated is %v", p.candidates, total, estimate["truncated"])
	}
	delete(estimate, "available_total")
	delete(estimate, "truncated")
	p.is("the estimate", map[string]any{"companies": p.candidates, "cost": map[string]any{
		"unit_product": "ai_signal", "rate_basis": "list", "charged": false, "charged_operation_id": nil, "companies": p.candidates, "units": units,
		"unit_rate": 2.5, "estimated_ai_signal_credits": 2.5 * float64(units), "actual_ai_signal_credits": nil,
	}}, estimate)
}

// counted compares the counts of a Preview with the reference, and with each other.
func (p *refPreview) counted(what string, data map[string]any) {
	p.t.Helper()
	if data["status"] != "READY" {
		p.t.Fatalf("%s: status = %v, failure_reason = %v\nrequest %s", what, data["status"], data["failure_reason"], refJSON(p.request))
	}
	result := data["result"].(map[string]any)
	p.is(what, p.counts(), map[string]any{"accounts": result["accounts"], "contacts": result["contacts"], "totals": data["totals"],
		"contacts_by_account": data["contacts_by_account"]})
	for kind, total := range map[string]string{"accounts": "companies", "contacts": "people"} {
		c := result[kind].(map[string]any)
		n := func(key string) int { return int(c[key].(float64)) }
		excluded := 0
		for _, v := range c["exclusions"].(map[string]any) {
			excluded += int(v.(float64))
		}
		totals := data["totals"].(map[string]any)[total].(map[string]any)
		if n("matched") != n("eligible")+n("duplicate_source_rows")+excluded || n("eligible") != n("new")+n("existing") ||
			int(totals["excluded"].(float64)) != excluded+n("duplicate_source_rows") {
			p.t.Fatalf("%s: the counts do not add up: %s", what, refJSON(data))
		}
	}
	p.hasResearch(what, data)
}

// same requires that the Preview equals the reference: the counts, all members in pages of some
// size, and some filters.
func (p *refPreview) same() {
	p.t.Helper()
	size := min(500, len(p.members)/20+1+p.w.IntN(100)) // not too many pages
	got := []any{}
	for page := 1; ; page++ {
		data := p.data(p.org.Read, "GET", fmt.Sprintf("%s?current_page=%d&page_size=%d", p.path, page, size), nil, 200)
		if page == 1 {
			p.counted("the counts", data)
		}
		p.is("the page", p.page(page, size, len(p.members)), data["pagination_meta"])
		got = append(got, data["members"].([]any)...)
		if page*size >= len(p.members) {
			break
		}
	}
	p.hasMembers("the members", p.answers(nil), got)
	known := map[string]bool{}
	for i, m := range got {
		id := m.(map[string]any)["member_id"].(string)
		if known[id] || p.members[i].memberID != "" && p.members[i].memberID != id {
			p.t.Fatalf("member %d has the id %s, which is not unique or has changed", i, id)
		}
		known[id], p.members[i].memberID = true, id
	}
	for range 3 {
		p.filtered()
	}
}

func (p *refPreview) page(page, size, total int) map[string]any {
	return map[string]any{"current_page": page, "page_size": size, "total_pages": (total + size - 1) / size, "total_count": total}
}

// filtered compares a page of filtered members.
func (p *refPreview) filtered() {
	p.t.Helper()
	query, values := map[string]string{}, url.Values{}
	for _, key := range []string{"kind", "selected", "existing", "is_qualified"} {
		value := p.w.pick([]string{"true", "false"})
		if key == "kind" {
			value = p.w.pick([]string{"company", "person"})
		}
		if p.w.chance(2) && (key != "is_qualified" || p.request["qualifier_signal_id"] != nil) || p.w.chance(10) {
			query[key] = value
			values.Set(key, value)
		}
	}
	want := p.answers(query)
	size := 1 + p.w.IntN(500)
	if p.w.chance(2) {
		size = 1 + p.w.IntN(20)
	}
	page := 1 + p.w.IntN(len(want)/size+2)
	values.Set("current_page", fmt.Sprint(page))
	values.Set("page_size", fmt.Sprint(size))
	what, data := "members?"+values.Encode(), p.data(p.org.Read, "GET", p.path+"/members?"+values.Encode(), nil, 200)
	p.hasMembers(what, want[min((page-1)*size, len(want)):min(page*size, len(want))], data["members"].([]any))
	p.is(what, map[string]any{"preview_id": "<id>", "members": "<any>", "pagination_meta": p.page(page, size, len(want))}, data)
}

// prune excludes some members by identifiers that are known, unknown, repeated or already excluded.
func (p *refPreview) prune() {
	p.t.Helper()
	w, most := p.w, 6
	if w.chance(3) {
		most = 60
	}
	lists := map[string][]string{}
	websites := map[string]string{}
	for range w.IntN(most) {
		m := &refMember{source: "nobody", memberID: uuid.NewString(), website: "nowhere.example"}
		if len(p.members) > 0 && !w.chance(8) {
			m = p.members[w.IntN(len(p.members))]
		}
		list, value := w.pick([]string{"company_ids", "person_ids"}), m.source
		switch {
		case w.chance(3):
			list, value = "member_ids", m.memberID
		case m.website != "" && w.chance(3):
			list, value = "company_websites", fmt.Sprintf(w.pick([]string{"%s", "HTTPS://WWW.%s/about", "www.%s"}), m.website)
			websites[value] = m.website
		case m.person && !w.chance(5):
			list = "person_ids"
		case !m.person && !w.chance(5):
			list = "company_ids"
		}
		lists[list] = append(lists[list], value)
		if w.chance(6) {
			lists[list] = append(lists[list], value)
		}
	}
	want := p.exclude(lists["company_ids"], lists["person_ids"], lists["member_ids"], websites)
	data := p.data(p.org.Write, "POST", p.path+"/exclude", lists, 200)
	what := "excluding " + refJSON(lists)
	p.counted(what, data)
	p.hasMembers(what, p.answers(nil)[:min(50, len(p.members))], data["members"].([]any))
	got := data["exclusion"].(map[string]any)
	for _, list := range got {
		if texts, isList := list.([]any); isList {
			slices.SortFunc(texts, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		}
	}
	sorted := func(set map[string]bool) []string { return append([]string{}, slices.Sorted(maps.Keys(set))...) }
	p.is(what, map[string]any{"excluded": map[string]any{"companies": want.companies, "contacts": want.people}, "already_excluded": sorted(want.already),
		"unknown_ids": sorted(want.unknownIDs), "unknown_websites": sorted(want.unknownWebsites), "companies_without_people": sorted(want.without)}, got)
}
