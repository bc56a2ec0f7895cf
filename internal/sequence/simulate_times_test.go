package sequence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// simSays requires the simulated steps of a contact: for each the action, the time ("never" if
// there is none) and, after a bar, the reason.
func simSays(t testing.TB, plan simPlan, want ...string) {
	t.Helper()
	if len(plan.Steps) != len(want) {
		t.Fatalf("got %d steps, want %d: %+v", len(plan.Steps), len(want), plan.Steps)
	}
	for i, s := range plan.Steps {
		w, reason, told := strings.Cut(want[i], " | ")
		action, at, _ := strings.Cut(w, " ")
		due := "never"
		if s.Due != nil {
			due = s.Due.Format(time.RFC3339Nano)
		}
		if at != "never" {
			parsed, err := time.Parse(time.RFC3339Nano, at)
			if err != nil {
				t.Fatal(err)
			}
			at = parsed.UTC().Format(time.RFC3339Nano)
		}
		if s.Action != action || due != at || told && s.Reason != reason || s.Reason == "" {
			t.Errorf("step %d: %s %s | %s\nwant %s %s | %s", s.Index, s.Action, due, s.Reason, action, at, reason)
		}
	}
}

// simOrg contains the business days and the sending window of an organization.
type simOrg struct {
	Zone     string    `json:"time_zone"`
	Days     []int     `json:"business_days"`
	Holidays []string  `json:"holidays"`
	Window   simWindow `json:"sending_window"`
}

type simWindow struct {
	From int `json:"from_hour"`
	To   int `json:"to_hour"`
}

var (
	simWeek    = []int{1, 2, 3, 4, 5}
	simAllDays = []int{1, 2, 3, 4, 5, 6, 7}
	simUTC     = simOrg{"UTC", simWeek, []string{}, simWindow{0, 24}}
)

// simAfter returns a transition whose delays are written as "2 days" or, before and after the
// check, "2 days, 1 hours".
func simAfter(from, to int, kind, delays string) simLink {
	l := simLink{From: from, To: to, Type: kind}
	pre, post, _ := strings.Cut(delays, ", ")
	for _, d := range []struct {
		text string
		n    *int
		unit *string
	}{{pre, &l.Pre, &l.PreUnit}, {post, &l.Post, &l.PostUnit}} {
		if d.text != "" {
			if _, err := fmt.Sscan(d.text, d.n, d.unit); err != nil {
				panic(err)
			}
		}
	}
	return l
}

func simAll(l simLink) simLink {
	l.All = true
	return l
}

// simAdvance moves the clock forward to an instant.
func simAdvance(t testing.TB, app *apptest.App, to time.Time) {
	t.Helper()
	by := to.Sub(app.Clock.Now())
	if by < 0 {
		t.Fatalf("the clock would go back to %s", to)
	}
	app.Clock.Advance(by)
}

// simTime is a template with the due times of its steps, computed by hand.
type simTime struct {
	name  string
	now   string
	org   simOrg
	steps []simStep
	links []simLink
	want  []string
}

const simMoved = "; moved to the next sending window"

// simTimes are in chronological order. Unless stated otherwise, the time zone is UTC, and emails
// are sent on weekdays at any hour.
var simTimes = []simTime{
	{"with the start", "2026-03-02T09:00:00Z", simUTC, // a Monday
		[]simStep{simCall(0, 0, 10), simCall(1, 0, 9), simCall(2, 0, 8), simMail(3, 5, 10), simCall(4, 5, 10), simCall(5, 365, 0), simMail(6, 1, 0)}, nil,
		[]string{"task 2026-03-02T10:00:00Z | day 0 of the sequence at 10:00", "task 2026-03-02T09:00:00Z | day 0 of the sequence at 09:00",
			"task 2026-03-02T09:00:00Z | day 0 of the sequence at 08:00; that time has passed, due at once", "send 2026-03-09T00:00:00Z | day 5 of the sequence at 10:00" + simMoved,
			"task 2026-03-07T10:00:00Z | day 5 of the sequence at 10:00", "task 2027-03-02T00:00:00Z", "send 2026-03-03T00:00:00Z | day 1 of the sequence at 00:00"}},
	{"each unit", "2026-03-02T09:17:30.25Z", simUTC,
		[]simStep{simMail(0, 0, 9), simCall(1, 7, 1), simCall(2, 7, 1), simCall(3, 7, 8), simCall(4, 7, 7), simCall(5, 7, 23), simCall(6, 7, 3)},
		[]simLink{simAfter(0, 1, scheduled, "90 minutes"), simAfter(0, 2, completes, "36 hours, 30 minutes"), simAfter(0, 3, scheduled, "2 days"), simAfter(0, 4, completes, ", 1 days"),
			simAfter(0, 5, scheduled, ""), simAfter(0, 6, completes, "5 business_days")},
		[]string{"send 2026-03-02T09:17:30.25Z | day 0 of the sequence at 09:00; that time has passed, due at once", "task 2026-03-02T10:47:30.25Z | 90 minutes after step 0 was due",
			"task 2026-03-03T21:47:30.25Z | 36 hours and 30 minutes after step 0 was completed", "task 2026-03-04T08:00:00Z | 2 days after step 0 was due",
			"task 2026-03-03T07:00:00Z | 1 day after step 0 was completed", "task 2026-03-02T09:17:30.25Z | when step 0 was due", "task 2026-03-09T03:00:00Z | 5 business days after step 0 was completed"}},
	{"one delay after the other", "2026-03-02T09:30:00Z", simUTC,
		[]simStep{simCall(0, 0, 10), simCall(1, 0, 14), simCall(2, 0, 8), simCall(3, 0, 6), simCall(4, 0, 9), simCall(5, 0, 9)},
		[]simLink{simAfter(0, 1, scheduled, "1 days, 5 hours"), simAfter(0, 2, scheduled, "20 hours, 1 days"), simAfter(0, 3, completes, "1 days, 1 business_days"),
			simAfter(0, 4, completes, "0 days"), simAfter(0, 5, completes, "30 hours, 0 business_days")},
		[]string{"task 2026-03-02T10:00:00Z", "task 2026-03-03T19:00:00Z | 1 day and 5 hours after step 0 was due", "task 2026-03-04T08:00:00Z | 20 hours and 1 day after step 0 was due",
			"task 2026-03-04T06:00:00Z | 1 day and 1 business day after step 0 was completed (assumed at its due time)",
			"task 2026-03-02T10:00:00Z | 0 days after step 0 was completed (assumed at its due time); that time has passed, due at once", "task 2026-03-03T16:00:00Z"}},
	{"all of them, or one", "2026-03-02T09:30:00Z", simUTC,
		[]simStep{simCall(0, 0, 10), simCall(1, 0, 12), simCall(2, 0, 0), simCall(3, 0, 0), simCall(4, 0, 9), simMail(5, 0, 0)},
		[]simLink{simAfter(0, 2, completes, "5 hours"), simAll(simAfter(1, 2, completes, "1 hours")), simAfter(1, 3, completes, "1 hours"), simAfter(0, 3, completes, "1 hours"),
			simAfter(0, 4, completes, ""), simAfter(1, 4, scheduled, "1 days"), simAll(simAfter(2, 5, completes, "1 minutes")), simAll(simAfter(3, 5, scheduled, "2 business_days"))},
		[]string{"task 2026-03-02T10:00:00Z", "task 2026-03-02T12:00:00Z",
			"task 2026-03-02T15:00:00Z | 5 hours after step 0 was completed (assumed at its due time); the last of the 2 transitions it waits for",
			"task 2026-03-02T11:00:00Z | 1 hour after step 0 was completed (assumed at its due time)",
			"task 2026-03-03T09:00:00Z | 1 day after step 1 was due", // fires first, when the due time of step 1 is computed
			"send 2026-03-04T00:00:00Z | 2 business days after step 3 was due; the last of the 2 transitions it waits for"}},
	{"the day is the organization's", "2026-03-02T20:00:00Z", simOrg{"Asia/Tokyo", simWeek, nil, simWindow{0, 24}}, // it is 05:00 on Tuesday there
		[]simStep{simCall(0, 0, 6), simCall(1, 0, 4), simMail(2, 4, 0), simMail(3, 3, 23)}, nil,
		[]string{"task 2026-03-03T06:00:00+09:00", "task 2026-03-03T05:00:00+09:00", "send 2026-03-09T00:00:00+09:00", "send 2026-03-06T23:00:00+09:00"}},
	{"business days", "2026-03-05T12:00:00Z", simUTC, // a Thursday
		[]simStep{simCall(0, 0, 13), simCall(1, 0, 9), simCall(2, 0, 9), simCall(3, 0, 9), simCall(4, 2, 9), simCall(5, 0, 9)},
		[]simLink{simAfter(0, 1, scheduled, "1 business_days"), simAfter(0, 2, scheduled, "2 business_days"), simAfter(0, 3, scheduled, "5 business_days"), simAfter(4, 5, completes, "1 business_days")},
		[]string{"task 2026-03-05T13:00:00Z", "task 2026-03-06T09:00:00Z", "task 2026-03-09T09:00:00Z", "task 2026-03-12T09:00:00Z", "task 2026-03-07T09:00:00Z", "task 2026-03-09T09:00:00Z"}},
	{"holidays", "2026-03-05T12:00:00Z", simOrg{"UTC", simWeek, []string{"2026-03-09", "2026-03-06", "2026-03-08"}, simWindow{0, 24}},
		[]simStep{simCall(0, 0, 13), simCall(1, 0, 9), simCall(2, 0, 9), simMail(3, 1, 9), simCall(4, 1, 9), simMail(5, 0, 9)},
		[]simLink{simAfter(0, 1, scheduled, "1 business_days"), simAfter(0, 2, scheduled, "5 business_days"), simAfter(0, 5, scheduled, "4 days")},
		[]string{"task 2026-03-05T13:00:00Z", "task 2026-03-10T09:00:00Z", "task 2026-03-16T09:00:00Z", "send 2026-03-10T00:00:00Z | day 1 of the sequence at 09:00" + simMoved,
			"task 2026-03-06T09:00:00Z", "send 2026-03-13T09:00:00Z | 4 days after step 0 was due; 3 days after the email of step 3"}},
	{"other business days", "2026-03-05T12:00:00Z", simOrg{"UTC", []int{7, 4}, nil, simWindow{8, 9}}, // Thursdays and Sundays
		[]simStep{simMail(0, 0, 13), simCall(1, 0, 9), simCall(2, 0, 9)}, []simLink{simAfter(0, 1, scheduled, "3 business_days"), simAfter(0, 2, scheduled, "100 business_days")},
		[]string{"send 2026-03-08T08:00:00Z | day 0 of the sequence at 13:00" + simMoved, "task 2026-03-19T09:00:00Z", "task 2027-02-21T09:00:00Z"}},
	{"a window", "2026-03-06T16:00:00Z", simOrg{"UTC", simWeek, nil, simWindow{9, 17}}, // a Friday
		[]simStep{simMail(0, 0, 16), simMail(1, 0, 17), simMail(2, 3, 8), simMail(3, 3, 9), simMail(4, 3, 16), simCall(5, 1, 3), simMail(6, 0, 0), simMail(7, 0, 0)},
		[]simLink{simAfter(0, 6, scheduled, "59 minutes"), simAfter(1, 7, scheduled, "1 hours")},
		[]string{"send 2026-03-06T16:00:00Z | day 0 of the sequence at 16:00", "send 2026-03-09T09:00:00Z | day 0 of the sequence at 17:00" + simMoved,
			"send 2026-03-12T09:00:00Z | day 3 of the sequence at 08:00; 3 days after the email of step 1" + simMoved, "send 2026-03-12T10:00:00Z | day 3 of the sequence at 09:00; 1h after the email of step 2",
			"send 2026-03-13T09:00:00Z | day 3 of the sequence at 16:00; 8h after the email of step 2" + simMoved,
			"task 2026-03-07T03:00:00Z", "send 2026-03-06T16:59:00Z", "send 2026-03-12T11:00:00Z | 1 hour after step 1 was due; 2h after the email of step 2"}},
	{"a window over midnight", "2026-03-06T20:00:00Z", simOrg{"UTC", simWeek, nil, simWindow{22, 6}},
		[]simStep{simMail(0, 0, 21), simMail(1, 0, 23), simMail(2, 1, 2), simMail(3, 3, 5), simMail(4, 3, 6), simMail(5, 3, 22), simMail(6, 5, 0)}, nil,
		[]string{"send 2026-03-06T22:00:00Z | day 0 of the sequence at 21:00" + simMoved, "send 2026-03-09T00:00:00Z | day 0 of the sequence at 23:00; 2h after the email of step 0" + simMoved,
			"send 2026-03-10T02:00:00Z | day 1 of the sequence at 02:00; 1 day after the email of step 1", "send 2026-03-12T05:00:00Z | day 3 of the sequence at 05:00; 3 days after the email of step 1",
			"send 2026-03-12T22:00:00Z | day 3 of the sequence at 06:00; 3 days after the email of step 1" + simMoved, "send 2026-03-13T22:00:00Z | day 3 of the sequence at 22:00; 16h after the email of step 4" + simMoved,
			"send 2026-03-16T00:00:00Z | day 5 of the sequence at 00:00; 5 days after the email of step 1" + simMoved}},
	{"New York, clocks go on", "2026-03-07T12:00:00-05:00", simOrg{"America/New_York", simAllDays, nil, simWindow{0, 24}},
		[]simStep{simMail(0, 1, 2), simCall(1, 1, 9), simCall(2, 0, 13), simCall(3, 0, 0), simCall(4, 0, 13), simCall(5, 1, 1), simCall(6, 0, 0)},
		[]simLink{simAfter(2, 3, scheduled, "24 hours"), simAfter(2, 4, scheduled, "1 days"), simAfter(5, 6, scheduled, "60 minutes")},
		[]string{"send 2026-03-08T03:00:00-04:00", "task 2026-03-08T09:00:00-04:00", "task 2026-03-07T13:00:00-05:00", "task 2026-03-08T14:00:00-04:00", "task 2026-03-08T13:00:00-04:00",
			"task 2026-03-08T01:00:00-05:00", "task 2026-03-08T03:00:00-04:00"}},
	{"Berlin, clocks go on within the window", "2026-03-27T15:00:00+01:00", simOrg{"Europe/Berlin", simAllDays, nil, simWindow{2, 4}},
		[]simStep{simMail(0, 2, 1), simMail(1, 2, 4), simMail(2, 1, 2), simMail(3, 0, 5)}, []simLink{simAfter(2, 3, completes, "24 hours")},
		[]string{"send 2026-03-29T03:00:00+02:00 | day 2 of the sequence at 01:00" + simMoved, "send 2026-03-30T03:00:00+02:00 | day 2 of the sequence at 04:00; 1h after the email of step 3",
			"send 2026-03-28T02:00:00+01:00", "send 2026-03-30T02:00:00+02:00 | 24 hours after step 2 was completed; 1h after the email of step 0" + simMoved}},
	{"the end of a month", "2026-04-30T08:00:00Z", simUTC,
		[]simStep{simCall(0, 1, 9), simCall(1, 0, 9), simCall(2, 0, 9), simCall(3, 0, 9), simMail(4, 31, 9)}, []simLink{simAfter(1, 2, scheduled, "31 days"), simAfter(1, 3, scheduled, "1 business_days")},
		[]string{"task 2026-05-01T09:00:00Z", "task 2026-04-30T09:00:00Z", "task 2026-05-31T09:00:00Z", "task 2026-05-01T09:00:00Z", "send 2026-06-01T00:00:00Z"}},
	{"Santiago, a day that has no midnight", "2026-09-05T12:00:00-04:00", simOrg{"America/Santiago", simAllDays, nil, simWindow{0, 24}},
		[]simStep{simCall(0, 1, 0), simMail(1, 1, 0), simMail(2, 1, 1)}, nil, []string{"task 2026-09-06T01:00:00-03:00", "send 2026-09-06T01:00:00-03:00 | day 1 of the sequence at 00:00", "send 2026-09-06T01:00:00-03:00"}},
	{"Berlin, clocks go back", "2026-10-24T10:00:00+02:00", simOrg{"Europe/Berlin", simAllDays, nil, simWindow{0, 24}},
		[]simStep{simCall(0, 1, 2), simMail(1, 1, 3), simCall(2, 0, 12), simCall(3, 0, 12), simCall(4, 0, 12)}, []simLink{simAfter(2, 3, completes, "1 days"), simAfter(2, 4, completes, "24 hours")},
		[]string{"task 2026-10-25T02:00:00+02:00", "send 2026-10-25T03:00:00+01:00", "task 2026-10-24T12:00:00+02:00", "task 2026-10-25T12:00:00+01:00", "task 2026-10-25T11:00:00+01:00"}},
	{"New York, the hour of the window comes twice", "2026-10-31T12:00:00-04:00", simOrg{"America/New_York", simAllDays, nil, simWindow{1, 2}},
		[]simStep{simMail(0, 1, 1), simCall(1, 1, 2), simMail(2, 0, 0), simMail(3, 0, 0)}, []simLink{simAfter(0, 2, scheduled, "90 minutes"), simAfter(0, 3, scheduled, "130 minutes")},
		[]string{"send 2026-11-01T01:00:00-04:00", "task 2026-11-01T02:00:00-05:00", "send 2026-11-01T01:30:00-05:00 | 90 minutes after step 0 was due",
			"send 2026-11-02T01:00:00-05:00 | 130 minutes after step 0 was due" + simMoved}},
	{"the end of a year", "2026-12-31T23:30:00Z", simOrg{"UTC", simWeek, []string{"2027-01-01"}, simWindow{0, 24}}, // a Thursday
		[]simStep{simMail(0, 0, 23), simMail(1, 0, 0), simCall(2, 0, 9), simCall(3, 0, 9)},
		[]simLink{simAfter(0, 1, scheduled, "45 minutes"), simAfter(0, 2, scheduled, "1 business_days"), simAfter(0, 3, scheduled, "1 days")},
		[]string{"send 2026-12-31T23:30:00Z", "send 2027-01-04T00:00:00Z | 45 minutes after step 0 was due" + simMoved, "task 2027-01-04T09:00:00Z", "task 2027-01-01T09:00:00Z"}},
	{"a leap day", "2028-02-28T10:00:00Z", simUTC, // a Monday
		[]simStep{simMail(0, 1, 9), simCall(1, 2, 9), simCall(2, 0, 11), simCall(3, 0, 9), simCall(4, 0, 9), simCall(5, 365, 0)}, []simLink{simAfter(2, 3, scheduled, "2 days"), simAfter(2, 4, scheduled, "1 business_days")},
		[]string{"send 2028-02-29T09:00:00Z", "task 2028-03-01T09:00:00Z", "task 2028-02-28T11:00:00Z", "task 2028-03-01T09:00:00Z", "task 2028-02-29T09:00:00Z", "task 2029-02-27T00:00:00Z"}},
}

func TestSimulateTimes(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	audience := simAudience(org, simContacts(org, `{"email": "a@x.example"}`)...)
	for _, c := range simTimes {
		now, err := time.Parse(time.RFC3339Nano, c.now)
		if err != nil {
			t.Fatal(err)
		}
		simAdvance(t, app, now)
		org.Admin.Patch("/v1/organization", c.org).Is(200)
		t.Run(c.name, func(t *testing.T) {
			simSays(t, simulated(t, org, simCampaign(org, audience, nil, c.steps, c.links...), nil)[0], c.want...)
		})
	}
}

// TestSimulateSender checks the daily cap and the minimum gap of a sender. Messages beyond them are
// sent on the next business day, not before the hour of their step. Delays from the due time of a message do not wait for it, delays from
// its end do.
func TestSimulateSender(t *testing.T) {
	const gap, closed, ended = "; 30m after the sender's previous message", "; the sending window closed before it could be sent", "; the campaign ends before then"
	for _, c := range []struct {
		name string
		cap  int
		gap  time.Duration
		now  string
		org  simOrg
		hour int // of the first step, an email
		end  any
		want [][]string // of each contact
	}{
		{"no limits", 0, 0, "2026-03-02T09:00:00Z", simUTC, 10, nil, [][]string{
			{"send 2026-03-02T10:00:00Z | day 0 of the sequence at 10:00", "task 2026-03-02T11:00:00Z", "task 2026-03-02T11:00:00Z"},
			{"send 2026-03-02T10:00:00Z | day 0 of the sequence at 10:00", "task 2026-03-02T11:00:00Z", "task 2026-03-02T11:00:00Z"}}},
		{"cap and gap", 2, 30 * time.Minute, "2026-03-02T09:00:00Z", simUTC, 10, nil, [][]string{
			{"send 2026-03-02T10:00:00Z | day 0 of the sequence at 10:00", "task 2026-03-02T11:00:00Z", "task 2026-03-02T11:00:00Z"},
			{"send 2026-03-02T10:30:00Z | day 0 of the sequence at 10:00" + gap, "task 2026-03-02T11:00:00Z", "task 2026-03-02T11:30:00Z"},
			{"send 2026-03-03T10:00:00Z | day 0 of the sequence at 10:00; the sender's daily cap of 2 was reached", "task 2026-03-02T11:00:00Z", "task 2026-03-03T11:00:00Z"},
			{"send 2026-03-03T10:30:00Z | day 0 of the sequence at 10:00; the sender's daily cap of 2 was reached" + gap, "task 2026-03-02T11:00:00Z", "task 2026-03-03T11:30:00Z"},
			{"send 2026-03-04T10:00:00Z | day 0 of the sequence at 10:00; the sender's daily cap of 2 was reached", "task 2026-03-02T11:00:00Z", "task 2026-03-04T11:00:00Z"}}},
		{"a cap over the weekend", 1, 0, "2026-03-06T09:00:00Z", simOrg{"UTC", simWeek, []string{"2026-03-10"}, simWindow{9, 17}}, 8, nil, [][]string{
			{"send 2026-03-06T09:00:00Z | day 0 of the sequence at 08:00; that time has passed, due at once", "task 2026-03-06T10:00:00Z", "task 2026-03-06T10:00:00Z"},
			{"send 2026-03-09T09:00:00Z | day 0 of the sequence at 08:00; that time has passed, due at once; the sender's daily cap of 1 was reached", "task 2026-03-06T10:00:00Z", "task 2026-03-09T10:00:00Z"},
			{"send 2026-03-11T09:00:00Z", "task 2026-03-06T10:00:00Z", "task 2026-03-11T10:00:00Z"}}},
		{"a gap over the end of the window", 0, 30 * time.Minute, "2026-03-02T09:00:00Z", simOrg{"UTC", simWeek, nil, simWindow{10, 11}}, 10, nil, [][]string{
			{"send 2026-03-02T10:00:00Z", "task 2026-03-02T11:00:00Z", "task 2026-03-02T11:00:00Z"},
			{"send 2026-03-02T10:30:00Z", "task 2026-03-02T11:00:00Z", "task 2026-03-02T11:30:00Z"},
			{"send 2026-03-03T10:00:00Z | day 0 of the sequence at 10:00" + gap + simMoved, "task 2026-03-02T11:00:00Z", "task 2026-03-03T11:00:00Z"},
			{"send 2026-03-03T10:30:00Z | day 0 of the sequence at 10:00" + closed + gap, "task 2026-03-02T11:00:00Z", "task 2026-03-03T11:30:00Z"},
			{"send 2026-03-04T10:00:00Z | day 0 of the sequence at 10:00" + closed + gap + simMoved, "task 2026-03-02T11:00:00Z", "task 2026-03-04T11:00:00Z"}}},
		{"a cap and the end of the window", 3, 30 * time.Minute, "2026-03-02T09:00:00Z", simOrg{"UTC", simWeek, nil, simWindow{10, 12}}, 11, nil, [][]string{
			{"send 2026-03-02T11:00:00Z", "task 2026-03-02T12:00:00Z", "task 2026-03-02T12:00:00Z"},
			{"send 2026-03-02T11:30:00Z", "task 2026-03-02T12:00:00Z", "task 2026-03-02T12:30:00Z"},
			{"send 2026-03-03T10:00:00Z | day 0 of the sequence at 11:00" + gap + simMoved, "task 2026-03-02T12:00:00Z", "task 2026-03-03T11:00:00Z"},
			{"send 2026-03-03T10:30:00Z | day 0 of the sequence at 11:00" + closed + gap, "task 2026-03-02T12:00:00Z", "task 2026-03-03T11:30:00Z"},
			{"send 2026-03-03T11:00:00Z | day 0 of the sequence at 11:00" + closed + gap, "task 2026-03-02T12:00:00Z", "task 2026-03-03T12:00:00Z"},
			{"send 2026-03-04T11:00:00Z | day 0 of the sequence at 11:00; the sender's daily cap of 3 was reached" + closed, "task 2026-03-02T12:00:00Z", "task 2026-03-04T12:00:00Z"},
			{"send 2026-03-04T11:30:00Z | day 0 of the sequence at 11:00; the sender's daily cap of 3 was reached" + closed + gap, "task 2026-03-02T12:00:00Z", "task 2026-03-04T12:30:00Z"}}},
		{"the day is the organization's", 1, 0, "2026-03-02T22:00:00-05:00", simOrg{"America/New_York", simWeek, nil, simWindow{0, 24}}, 23, nil, [][]string{
			{"send 2026-03-02T23:00:00-05:00", "task 2026-03-03T00:00:00-05:00", "task 2026-03-03T00:00:00-05:00"},
			{"send 2026-03-03T23:00:00-05:00", "task 2026-03-03T00:00:00-05:00", "task 2026-03-04T00:00:00-05:00"},
			{"send 2026-03-04T23:00:00-05:00", "task 2026-03-03T00:00:00-05:00", "task 2026-03-05T00:00:00-05:00"}}},
		{"the end comes first", 1, 0, "2026-03-02T09:00:00Z", simUTC, 10, "2026-03-02", [][]string{
			{"send 2026-03-02T10:00:00Z", "task 2026-03-02T11:00:00Z", "task 2026-03-02T11:00:00Z"},
			{"skip 2026-03-02T10:00:00Z | day 0 of the sequence at 10:00; the sender's daily cap of 1 was reached" + ended, "task 2026-03-02T11:00:00Z",
				"skip never | waits for step 0, which does not end before the campaign does"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			app := apptest.New(t, func(cfg *service.Config) { cfg.Mail.DailyCap, cfg.Mail.MinGap = c.cap, c.gap })
			org := app.Org("Acme")
			now, err := time.Parse(time.RFC3339Nano, c.now)
			if err != nil {
				t.Fatal(err)
			}
			simAdvance(t, app, now)
			org.Admin.Patch("/v1/organization", c.org).Is(200)
			var people []string
			for i := range c.want {
				people = append(people, fmt.Sprintf(`{"email": "c%d@x.example"}`, i))
			}
			for _, prioritized := range []bool{false, true} { // there is no other campaign with a lower priority
				campaign := simCampaign(org, simAudience(org, simContacts(org, people...)...), map[string]any{"end_date": c.end, "prioritized": prioritized},
					[]simStep{simMail(0, 0, c.hour), simCall(1, 0, 0), simCall(2, 0, 0)}, simAfter(0, 1, scheduled, "1 hours"), simAfter(0, 2, completes, "1 hours"))
				for i, p := range simulated(t, org, campaign, nil) {
					simSays(t, p, c.want[i]...)
				}
			}
		})
	}
}
