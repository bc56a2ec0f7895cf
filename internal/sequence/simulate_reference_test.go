package sequence_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// TestSimulateReference compares simulations of random templates, in random organizations near
// clock changes and ends of months, with a computation in plain Go that checks every quarter of an
// hour, and with the invariants of plans. PROSPECTOR_SOAK is the number of organizations, 5 by
// default. PROSPECTOR_SEED is the first seed.
func TestSimulateReference(t *testing.T) {
	worlds, first := 5, 1
	for name, n := range map[string]*int{"PROSPECTOR_SOAK": &worlds, "PROSPECTOR_SEED": &first} {
		if v := os.Getenv(name); v != "" {
			var err error
			if *n, err = strconv.Atoi(v); err != nil {
				t.Fatalf("%s must be an integer: %v", name, err)
			}
		}
	}
	rounds := 50
	if apptest.RaceDetector {
		rounds = 12
	}
	for seed := first; seed < first+worlds; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			simRandom{apptest.Random{Rand: rand.New(rand.NewPCG(uint64(seed), 9))}}.run(t, rounds)
		})
	}
}

// simRandom generates templates and organizations.
type simRandom struct{ apptest.Random }

// simAround are instants near special times. All clock changes are on a quarter of an hour.
var simAround = map[string][]string{
	"UTC":                 {"2026-04-30T12:00:00Z", "2026-12-31T12:00:00Z", "2028-02-28T03:00:00Z"},
	"Europe/Berlin":       {"2026-03-28T20:00:00Z", "2026-10-24T20:00:00Z"},
	"America/New_York":    {"2026-03-08T00:00:00Z", "2026-10-31T20:00:00Z"},
	"America/Santiago":    {"2026-04-04T20:00:00Z", "2026-09-05T20:00:00Z"}, // at midnight
	"America/Havana":      {"2026-03-07T20:00:00Z", "2026-10-31T20:00:00Z"}, // at midnight, and back to it
	"Australia/Lord_Howe": {"2026-04-04T06:00:00Z", "2026-10-03T08:00:00Z"}, // by half an hour
	"Antarctica/Troll":    {"2026-03-28T20:00:00Z", "2026-10-24T20:00:00Z"}, // by two hours
	"Asia/Kathmandu":      {"2027-01-31T10:00:00Z", "2027-02-26T10:00:00Z"},
}

type simMoment struct {
	zone string
	at   time.Time
}

// moments returns instants in ascending order, because clocks do not go back.
func (r simRandom) moments(n int) (all []simMoment) {
	zones := slices.Sorted(maps.Keys(simAround))
	for range n {
		zone := zones[r.IntN(len(zones))]
		near := simAround[zone][r.IntN(len(simAround[zone]))]
		at, err := time.Parse(time.RFC3339, near)
		if err != nil {
			panic(err)
		}
		all = append(all, simMoment{zone, at.Add(time.Duration(r.IntN(96)-48)*15*time.Minute + time.Duration(r.IntN(3)*1234)*time.Millisecond)})
	}
	slices.SortFunc(all, func(a, b simMoment) int { return cmp.Or(a.at.Compare(b.at), strings.Compare(a.zone, b.zone)) })
	return all
}

func (r simRandom) org(m simMoment) simOrg {
	o := simOrg{Zone: m.zone, Days: simAllDays, Holidays: []string{}, Window: simWindow{0, 24}}
	if !r.Chance(3) {
		o.Days = nil
		for _, d := range r.Perm(7)[:1+r.IntN(7)] {
			o.Days = append(o.Days, d+1)
		}
	}
	for r.Chance(2) {
		o.Holidays = append(o.Holidays, m.at.AddDate(0, 0, r.IntN(12)-2).Format(time.DateOnly))
	}
	if from, to := r.IntN(24), 1+r.IntN(24); from != to && !r.Chance(4) {
		o.Window = simWindow{from, to}
	}
	return o
}

func (r simRandom) delay() (int, string) {
	switch r.IntN(6) {
	case 0:
		return r.IntN(200), "minutes"
	case 1:
		return r.IntN(50), "hours"
	case 2:
		return r.IntN(5), "days"
	case 3:
		return r.IntN(8), "business_days"
	}
	return 0, ""
}

func (r simRandom) template() (steps []simStep, links []simLink) {
	others := []string{"manual_email", "auto_linkedin_connection", "auto_linkedin_message", "call", "task", "gift"}
	n := 1 + r.IntN(7)
	for _, index := range r.Perm(12)[:n] {
		s := simStep{Type: "auto_email", Index: index, Day: r.IntN(6), Hour: r.IntN(24), Message: fmt.Sprint("Step ", index)}
		if r.Chance(2) {
			s.Type = others[r.IntN(len(others))]
		}
		if r.Chance(3) {
			s.Subject = fmt.Sprint("Subject ", index)
		}
		steps = append(steps, s)
	}
	for to := range steps {
		for from := range steps[:to] {
			if r.Chance(3) {
				l := simLink{From: steps[from].Index, To: steps[to].Index, Type: []string{scheduled, completes}[r.IntN(2)], All: r.Chance(4)}
				l.Pre, l.PreUnit = r.delay()
				l.Post, l.PostUnit = r.delay()
				links = append(links, l)
			}
		}
	}
	r.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	return steps, links
}

// simRaw makes a request that is not validated against the API document, which takes longer than
// the request.
func simRaw(t testing.TB, c apptest.Client, method, path string, body any, status int) []byte {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(method, c.URL(path), bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		t.Fatalf("%s %s %s\nreturned %d: %s, %v", method, path, raw, res.StatusCode, answer, err)
	}
	return answer
}

func simMade(t testing.TB, c apptest.Client, path string, body any) string {
	t.Helper()
	var made struct{ Data struct{ ID string } }
	if err := json.Unmarshal(simRaw(t, c, "POST", path, body, 201), &made); err != nil {
		t.Fatal(err)
	}
	return made.Data.ID
}

// run simulates random campaigns, each later than the previous one.
func (r simRandom) run(t *testing.T, rounds int) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Admin.Post("/v1/suppressions", `{"domain": "gone.example"}`).Is(201)
	ids := simContacts(org, `{"email": "a@x.example"}`, `{"email": "b@x.example"}`, `{"email": "c@x.example"}`, `{"email": "d@x.example"}`, `{"email": "e@x.example"}`,
		`{"first_name": "Bo", "last_name": "Lee"}`, `{"email": "b@gone.example"}`, `{"email": "a@gone.example", "do_not_contact": true}`)
	kinds := map[string]simKind{ids[5]: simNoEmail, ids[6]: simSuppressed, ids[7]: simOptedOut}
	audience := simAudience(org, ids...)
	for _, m := range r.moments(rounds) {
		simAdvance(t, app, m.at)
		ref := &simRef{simOrg: r.org(m), now: app.Clock.Now()}
		ref.steps, ref.links = r.template()
		slices.SortFunc(ref.links, func(a, b simLink) int { return a.From - b.From })
		if r.Chance(2) {
			ref.cap, ref.gap = r.IntN(5), []time.Duration{0, 30 * time.Second, 7 * time.Minute, 3 * time.Hour}[r.IntN(4)]
		}
		emails := 0
		for i := range ref.steps {
			if ref.steps[i].Type != "auto_email" {
				continue
			}
			if emails++; emails > 1 {
				emails, ref.steps[i].Type = 1, "task"
			}
		}
		app.Sequences.Options.DailyCap, app.Sequences.Options.MinGap = ref.cap, ref.gap
		simRaw(t, org.Admin, "PATCH", "/v1/organization", ref.simOrg, 200)
		var err error
		if ref.zone, err = time.LoadLocation(m.zone); err != nil {
			t.Fatal(err)
		}
		campaign := map[string]any{"name": "C", "audience_ids": []string{audience}, "status": []string{"draft", "active", "paused"}[r.IntN(3)], "prioritized": r.Chance(2)}
		if r.Chance(3) {
			last := ref.date(ref.now).AddDate(0, 0, r.IntN(6))
			ref.end = ref.at(last.AddDate(0, 0, 1), 0)
			campaign["end_date"] = last.Format(time.DateOnly)
		}
		campaign["template_id"] = simMade(t, org.Write, "/v1/sequence-templates", map[string]any{"name": "T", "steps": ref.steps, "transitions": append([]simLink{}, ref.links...)})
		path := "/v1/campaigns/" + simMade(t, org.Write, "/v1/campaigns", campaign) + "/simulate"
		who := ids
		if !r.Chance(4) {
			who = nil
			for _, i := range r.Perm(len(ids))[:1+r.IntN(len(ids))] {
				who = append(who, ids[i])
			}
		}
		body := map[string]any{"contact_ids": who}
		answer := simRaw(t, org.Read, "POST", path, body, 200)
		if again := simRaw(t, org.Read, "POST", path, body, 200); !bytes.Equal(answer, again) {
			t.Fatalf("the same input results in different plans:\n%s\n%s", answer, again)
		}
		if r.Chance(20) {
			org.Read.Post(path, body).Is(200)
		}
		var got struct{ Data []simPlan }
		if err := json.Unmarshal(answer, &got); err != nil {
			t.Fatal(err)
		}
		for _, id := range who {
			c := &simContact{id: id, kind: kinds[id]}
			if c.kind == simNoEmail && emails == len(ref.steps) {
				c.kind = simUnreachable
			}
			ref.contacts = append(ref.contacts, c)
		}
		ref.plan()
		ref.agrees(t, got.Data)
		ref.holds(t, got.Data)
		if t.Failed() {
			t.Fatalf("now %s, cap %d, gap %s, end %s, %s", ref.now, ref.cap, ref.gap, ref.end, apptest.AsJSON(map[string]any{"org": ref.simOrg, "steps": ref.steps, "links": ref.links, "who": who}))
		}
	}
}
