package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// listedSequences is the size of the lists that BenchmarkForecast measures.
const listedSequences = 500

// BenchmarkForecast measures lists of sequences, whose next_due_at comes from the plan of the sender, compared with the
// same lists while the campaign is paused, which need no plan.
func BenchmarkForecast(b *testing.B) {
	for _, n := range []int{listedSequences, waiting} {
		c := newCampaignBench(b, n, 1, "")
		c.s.Sequences.Options.DailyCap, c.s.Sequences.Options.MinGap = 200, 2*time.Minute
		first := stopwatch(func() { c.listSequences() })
		fmt.Printf("\na list of %d of %d waiting sequences; the first one makes the plan and takes %s:\n", listedSequences, n, first.Round(time.Millisecond))
		var kept, remade comparison
		for round := range 5 {
			var withPlan, afterChange time.Duration
			for i := range 5 {
				c.postpone(2 + 5*round + i)
				afterChange += stopwatch(func() { c.listSequences() })
				withPlan += stopwatch(func() { c.listSequences() })
			}
			c.setStatus("paused")
			c.listSequences()
			var without time.Duration
			for range 5 {
				without += stopwatch(func() { c.listSequences() })
			}
			c.setStatus("active")
			c.listSequences()
			kept.note(withPlan, without)
			remade.note(afterChange, without)
		}
		kept.print("a list whose plan is known", 2)
		remade.print("a list after a sequence has changed", 2)
	}
}

func stopwatch(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}

func (c *campaignBench) listSequences() []byte {
	c.b.Helper()
	answer, err := send(c.client, c.org, http.MethodPost, c.url+"/v1/sequences/list", fmt.Sprintf(`{"page_size": %d}`, listedSequences))
	if err != nil {
		c.b.Fatal(err)
	}
	return answer
}

func (c *campaignBench) setStatus(status string) {
	c.b.Helper()
	if _, err := send(c.client, c.org, http.MethodPatch, c.url+"/v1/campaigns/"+c.campaign.String(), fmt.Sprintf(`{"status": %q}`, status)); err != nil {
		c.b.Fatal(err)
	}
}

// postpone changes the first listed sequence.
func (c *campaignBench) postpone(days int) {
	c.b.Helper()
	var page struct{ Data []struct{ ID string } }
	err := json.Unmarshal(c.listSequences(), &page)
	if err == nil {
		until := time.Now().Add(time.Duration(c.clock.Load())).AddDate(0, 0, days).UTC().Format(time.RFC3339)
		_, err = send(c.client, c.org, http.MethodPost, c.url+"/v1/sequences/"+page.Data[0].ID+"/postpone", fmt.Sprintf(`{"until": %q}`, until))
	}
	if err != nil {
		c.b.Fatal(err)
	}
}
