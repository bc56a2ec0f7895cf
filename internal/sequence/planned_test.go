package sequence_test

import (
	"fmt"
	"slices"
	"testing"
)

// TestPlannedSends checks how many emails and Tasks are due on each day, and that only campaigns that run count.
func TestPlannedSends(t *testing.T) {
	p := newEngineFixture(t)
	planned := func(query string) (days []string) {
		res := p.Read.Get("/v1/outbox/planned" + query).Is(200)
		for i := range res.Value("data").([]any) {
			at := fmt.Sprint("data.", i, ".")
			days = append(days, fmt.Sprintf("%s %d+%d", res.Text(at + "date")[5:], res.Int(at+"sends"), res.Int(at+"tasks")))
		}
		return days
	}
	is := func(query string, want ...string) {
		t.Helper()
		if got := planned(query); !slices.Equal(got, want) {
			t.Errorf("the plan is %q, want %q", got, want)
		}
	}
	is("", "03-02 0+0", "03-03 0+0", "03-04 0+0", "03-05 0+0", "03-06 0+0", "03-07 0+0", "03-08 0+0")

	first := p.campaign(p.contacts(3), map[string]any{"name": "Spring"}, []simStep{simMail(0, 0, 10), simCall(1, 1, 9), simMail(2, 3, 9)})
	p.campaign(p.contacts(2), map[string]any{"name": "Summer"}, []simStep{simMail(0, 1, 9)})
	is("?days=2", "03-02 3+0", "03-03 2+3")
	is("?days=1", "03-02 3+0")
	p.to("03-02 12:00")
	is("?days=2", "03-02 0+0", "03-03 2+3")
	p.Write.Patch(first, `{"status": "paused"}`).Is(200)
	is("?days=2", "03-02 0+0", "03-03 2+0")
	p.Write.Patch(first, `{"status": "active"}`).Is(200)
	p.app.Work()
	is("?days=2", "03-02 0+0", "03-03 2+3")

	// What is overdue counts as today: nothing runs while the service stands still.
	p.app.Clock.Advance(48 * 3600e9)
	is("?days=1", "03-04 2+3")

	for _, query := range []string{"?days=0", "?days=32", "?days=x"} {
		p.Read.Get("/v1/outbox/planned"+query).Fails(422, "validation_failed", "days")
	}
}
