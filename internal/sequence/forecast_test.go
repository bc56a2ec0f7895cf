package sequence_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// forecasts returns when the next step of each sequence is planned, as "2026-03-02T09:00:00Z c0@x.example", and what
// is planned for each of the next days.
func (p *engineFixture) forecasts() (next []string, days map[string]int) {
	p.t.Helper()
	for _, s := range apptest.WholeList[sequence](p.t, p.Org, "/v1/sequences") {
		if s.Next != nil {
			next = append(next, s.Next.Format(time.RFC3339)+" "+*s.Email)
		}
	}
	days = map[string]int{}
	for _, day := range p.Read.Get("/v1/outbox/planned?days=31").Is(200).Value("data").([]any) {
		day := day.(map[string]any)
		if n := int(day["sends"].(float64)); n > 0 {
			days[day["date"].(string)] = n
		}
	}
	return apptest.Sorted(next), days
}

// A forecast knows the cap: 12 people at 5 a day take three business days, and nobody is due when all are.
func TestForecastUnderCap(t *testing.T) {
	p := newEngineFixture(t, limits(5, 30*time.Minute))
	p.Admin.Patch("/v1/organization", simOrg{"UTC", simWeek, []string{"2026-03-03"}, simWindow{9, 18}}).Is(200)
	campaign := p.campaign(p.contacts(12), nil, []simStep{simMail(0, 0, 10)})
	next, days := p.forecasts()
	want := map[string]int{"2026-03-02": 5, "2026-03-04": 5, "2026-03-05": 2} // the 3rd is a holiday
	if !maps.Equal(days, want) {
		t.Errorf("planned %v, want %v", days, want)
	}
	if next[0] != "2026-03-02T10:00:00Z c0@x.example" || next[1] != "2026-03-02T10:30:00Z c1@x.example" || next[11] != "2026-03-05T10:30:00Z c11@x.example" {
		t.Errorf("the forecast is %v", next)
	}
	stats := p.Read.Get(campaign + "/stats").Is(200)
	if first, last := stats.Text("data.next_due_at"), stats.Text("data.last_due_at"); first != "2026-03-02T10:00:00.000Z" || last != "2026-03-05T10:30:00.000Z" {
		t.Errorf("the campaign goes on from %s to %s", first, last)
	}
	// A contact's timeline shows the same time as the list.
	of := p.sequences(campaign)[11]
	if at := p.Read.Get("/v1/contacts/" + of.Contact + "/timeline").Is(200).Text("data.0.at"); at != of.Next.Format("2006-01-02T15:04:05.000Z") {
		t.Errorf("the timeline says %s, the list %s", at, of.Next)
	}

	// A change is known at once: whoever is postponed makes room for those behind.
	first := p.sequences(campaign)[0]
	p.Write.Post("/v1/sequences/"+first.ID+"/postpone", `{"until": "2026-03-09T10:00:00Z"}`).Is(200)
	next, _ = p.forecasts()
	if next[0] != "2026-03-02T10:00:00Z c1@x.example" || next[11] != "2026-03-09T10:00:00Z c0@x.example" {
		t.Errorf("after one was postponed, the forecast is %v", next)
	}
	// So is a pause: nothing is planned. Filters use the time at which a step is due.
	p.Write.Patch(campaign, `{"status": "paused"}`).Is(200)
	if next, days = p.forecasts(); len(next) > 0 || len(days) > 0 {
		t.Errorf("while the campaign is paused, the forecast is %v, %v", next, days)
	}
	if stats := p.Read.Get(campaign + "/stats").Is(200); stats.Value("data.next_due_at") != nil || stats.Value("data.last_due_at") != nil {
		t.Errorf("the statistics of a paused campaign are %s", stats.Body)
	}
	due := `{"field": "next_due_at", "condition": "is_before", "value": "2026-03-03"}`
	if n := len(apptest.WholeList[sequence](p.t, p.Org, "/v1/sequences", due)); n != 11 {
		t.Errorf("%d sequences are due on the first day, want 11", n)
	}
}

// Nothing is planned while the campaign is held, and its release plans it again around a holiday.
func TestForecastWhileHeld(t *testing.T) {
	p := newEngineFixture(t, limits(5, 0))
	p.Admin.Patch("/v1/organization", simOrg{"UTC", simWeek, []string{"2026-03-03"}, simWindow{9, 18}}).Is(200)
	const planned = "2026-03-04T09:00:00Z" // as soon as the window opens after the holiday
	bea := p.Admin.Post("/v1/users", `{"email": "bea@acme.example"}`).Is(201).ID()
	campaign := p.campaign(p.contacts(2), map[string]any{"owner_id": bea}, []simStep{simMail(0, 1, 10)})
	is := func(what string, want map[string]int, first string) {
		t.Helper()
		next, days := p.forecasts()
		if !maps.Equal(days, want) || len(next) > 0 != (first != "") || first != "" && next[0] != first+" c0@x.example" {
			t.Errorf("%s: planned %v, %v", what, next, days)
		}
		if at := p.Read.Get(campaign + "/stats").Is(200).Value("data.next_due_at"); (at != nil) != (first != "") {
			t.Errorf("%s: the campaign goes on at %v", what, at)
		}
	}
	is("at first", map[string]int{"2026-03-04": 2}, planned)
	p.Admin.Post("/v1/users/"+bea+"/deactivate", nil).Is(200)
	is("while it is held", map[string]int{}, "")
	p.Admin.Post("/v1/users/"+bea+"/activate", nil).Is(200)
	is("while it is held still", map[string]int{}, "")
	p.Write.Post(campaign+"/release", `{}`).Is(200)
	p.app.Work()
	is("after its release", map[string]int{"2026-03-04": 2}, planned)
}

// What follows from an email is planned with it. What follows from a Task is not, because nobody knows when the Task
// is completed.
func TestForecastOfTasks(t *testing.T) {
	p := newEngineFixture(t)
	p.campaign(p.contacts(2), nil, []simStep{simMail(0, 0, 10), simCall(1, 0, 0), simMail(2, 0, 0)},
		simAfter(0, 1, completes, "1 days"), simAfter(1, 2, completes, "1 days"))
	if _, days := p.forecasts(); !maps.Equal(days, map[string]int{"2026-03-02": 2}) {
		t.Errorf("planned %v", days)
	}
	if n := p.Read.Get("/v1/outbox/planned").Is(200).Int("data.1.tasks"); n != 2 {
		t.Errorf("%d Tasks are planned for the next day, want 2", n)
	}
	p.to("03-03 12:00")
	if n := p.Read.Get("/v1/outbox/planned").Is(200).Int("data.0.tasks"); n != 0 {
		t.Errorf("%d steps are to become Tasks, although they are Tasks already", n)
	}
	p.Write.Patch("/v1/tasks/"+p.tasks()[0].ID, `{"status": "completed"}`).Is(200)
	p.app.Work()
	if _, days := p.forecasts(); !maps.Equal(days, map[string]int{"2026-03-04": 1}) {
		t.Errorf("after a Task was completed, planned %v", days)
	}
}

// TestForecastComesTrue draws campaigns of two senders and compares what is foretold with what happens.
func TestForecastComesTrue(t *testing.T) {
	for seed := range uint64(apptest.Unraced(6, 2)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := simRandom{apptest.Random{Rand: rand.New(rand.NewPCG(seed, 33))}}
			p := newEngineFixture(t, limits(2+r.IntN(6), []time.Duration{0, 7 * time.Minute, time.Hour}[r.IntN(3)]))
			window := simWindow{7 + r.IntN(3), 11 + r.IntN(8)}
			p.Admin.Patch("/v1/organization", simOrg{"Europe/Berlin", simWeek, []string{"2026-03-05"}, window}).Is(200)
			bea := p.Admin.Post("/v1/users", `{"email": "bea@acme.example"}`).Is(201).ID()
			contacts := p.contacts(40)
			for i := range 4 {
				more := map[string]any{"name": fmt.Sprint("Campaign ", i), "prioritized": r.Chance(3)}
				if r.Chance(2) {
					more["owner_id"] = bea
				}
				if r.Chance(4) {
					more["end_date"] = "2026-03-09"
				}
				steps := []simStep{simMail(0, r.IntN(3), 8+r.IntN(6)), simMail(1, 2+r.IntN(4), 8+r.IntN(6))}
				p.campaign(contacts[10*i:10*i+10], more, steps)
			}
			p.to("03-03 0" + fmt.Sprint(r.IntN(10)) + ":00")
			began, before := p.app.Clock.Now(), len(p.outbox())
			next, days := p.forecasts()
			p.runTo(began.AddDate(0, 0, 70))
			happened, first := map[string]int{}, map[string]string{}
			for _, m := range p.outbox()[before:] {
				if day := m.Created.In(berlin(t)).Format(time.DateOnly); day < began.AddDate(0, 0, 31).Format(time.DateOnly) {
					happened[day]++
				}
				if at := m.Created.Format(time.RFC3339); first[m.To] == "" || at < first[m.To] {
					first[m.To] = at
				}
			}
			var sent []string
			for to, at := range first {
				sent = append(sent, at+" "+to)
			}
			if !slices.Equal(next, apptest.Sorted(sent)) {
				t.Errorf("foretold\n%q\nhappened\n%q", next, apptest.Sorted(sent))
			}
			if !maps.Equal(days, happened) {
				t.Errorf("foretold by day %v, happened %v", days, happened)
			}
		})
	}
}

func berlin(t *testing.T) *time.Location {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// The plan of many people is kept for ten seconds while the campaign goes on. A change of somebody shows at once for
// them, and a setting for all.
func TestForecastIsKept(t *testing.T) {
	p := newEngineFixture(t, limits(400, 0))
	ids := p.contacts(1001)
	campaign := p.campaign(ids, nil, []simStep{simMail(0, 0, 10)})
	last := func(i int) string {
		t.Helper()
		s := p.sequence(campaign, ids[i])
		if s.Next == nil {
			return ""
		}
		return minute(*s.Next)
	}
	is := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: planned for %q, want %q", what, got, want)
		}
	}
	is("the last", last(1000), "03-04 10:00")
	is("the 401st", last(400), "03-03 10:00")
	until := func(i int, at string) {
		p.Write.Post("/v1/sequences/"+p.sequence(campaign, ids[i]).ID+"/postpone", `{"until": "`+at+`"}`).Is(200)
	}
	until(0, "2026-03-20T10:00:00Z")
	is("one who was postponed", last(0), "03-20 10:00")
	is("one behind, before the plan is made again", last(400), "03-03 10:00")
	p.app.Clock.Advance(10 * time.Second)
	is("one behind, after that", last(400), "03-02 10:00")

	// Who begins now is planned.
	late := p.contact("late@x.example")
	p.Write.Post("/v1/audiences/"+simCampaignAudience(p, campaign)+"/contacts/add", map[string]any{"contact_ids": []string{late}}).Is(200)
	p.app.Work()
	if s := p.sequence(campaign, late); s.Next == nil || minute(*s.Next) != "03-04 10:00" {
		t.Errorf("who begins last is planned for %v", s.Next)
	}
	p.Admin.Patch("/v1/organization", map[string]any{"holidays": []string{"2026-03-04"}}).Is(200)
	is("the last, after a holiday was added", last(1000), "03-05 10:00")
	p.Write.Patch(campaign, `{"status": "paused"}`).Is(200)
	is("the last, while the campaign is paused", last(1000), "")
}

func simCampaignAudience(p *engineFixture, campaign string) string {
	return p.Read.Get(campaign).Is(200).Text("data.audiences.0.id")
}

// Whoever gives up waiting for a forecast ends its computation.
func TestForecastIsCanceled(t *testing.T) {
	p := newEngineFixture(t)
	p.campaign(p.contacts(3), nil, []simStep{simMail(0, 0, 10)})
	records := [][]byte{apptest.DataOf(p.Read.Post("/v1/sequences/list", `{"page_size": 1}`).Is(200))}
	records[0] = records[0][1 : len(records[0])-1] // the only one of the list
	p.contact("another@x.example")
	p.Admin.Patch("/v1/organization", map[string]any{"holidays": []string{"2026-03-04"}}).Is(200)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.app.Sequences.Explain(ctx, p.ID, records); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled request returned %v", err)
	}
	if shown, err := p.app.Sequences.Explain(t.Context(), p.ID, records); err != nil || len(shown) != 1 {
		t.Errorf("the next request returned %s, %v", shown, err)
	}
}
