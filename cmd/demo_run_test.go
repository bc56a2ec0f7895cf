package cmd_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"testing"
)

// TestDemoRuns has the demo run at a week a second: its campaign goes through all its steps, a webhook tells of it, the outbox has every
// message once; and again at another speed.
func TestDemoRuns(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	over := regexp.MustCompile(`message\.sent +\S+@\S+\.example: "Shall I close your file\?"[^!]*sequence\.completed +contact`)
	campaign := regexp.MustCompile(`/v1/campaigns/([0-9a-f-]{36})/sequences/list`)
	sent := 0
	for _, speed := range []string{"604800", "86400"} {
		d := p.start("demo", "--addr", "127.0.0.1:0", "--companies", "10", "--speed", speed)
		m := d.await(d.stdout, demoAddress)
		d.url = m[1]
		if sent == 0 { // the second time all is over
			d.await(d.stdout, over)
		}
		var page struct {
			Data []struct {
				SequenceID string `json:"sequence_id"`
				StepIndex  int    `json:"step_index"`
				Status     string
			}
		}
		decode := func(path string, into any) {
			if err := json.Unmarshal(d.do(http.StatusOK, m[2], "POST", path, `{"page_size": 500}`).body, into); err != nil {
				t.Fatal(err)
			}
		}
		decode("/v1/outbox/list", &page)
		seen := map[any]bool{}
		for _, message := range page.Data {
			if seen[message] || message.Status != "sent" {
				t.Errorf("%+v", message)
			}
			seen[message] = true
		}
		if len(seen) < sent || len(seen) == 0 {
			t.Errorf("there are %d messages, and were %d", len(seen), sent)
		}
		sent = len(seen)
		var sequences struct{ Data []struct{ Status string } }
		decode("/v1/campaigns/"+campaign.FindStringSubmatch(d.stdout.String())[1]+"/sequences/list", &sequences)
		if len(sequences.Data) == 0 {
			t.Error("there are no sequences")
		}
		d.stop()
	}
}
