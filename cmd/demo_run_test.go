package cmd_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestDemoCampaign runs the demo at a week per second. Its campaign sends all emails, a webhook
// reports them, the guide follows, and the outbox contains every message once. A second run at
// another speed reports that the campaign is over.
func TestDemoCampaign(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	campaign := regexp.MustCompile(`/v1/campaigns/([0-9a-f-]{36})/sequences/list`)
	line := regexp.MustCompile(`(?m)^  \d\d:\d\d  [A-Z]\S+ [A-Z]\S+, [A-Z]\S+ [A-Z]\S+ +received "(.+)"$`)
	sent := 0
	for _, speed := range []string{"604800", "86400"} {
		d := p.start("demo", "--addr", "127.0.0.1:0", "--companies", "10", "--speed", speed)
		m := d.await(d.stdout, demoGuide)
		d.url = m[1]
		shown := strings.TrimSuffix(d.stdout.String(), m[0])

		var page struct {
			Data []struct {
				SequenceID string `json:"sequence_id"`
				StepIndex  int    `json:"step_index"`
				Subject    string
				Status     string
			}
		}
		decode := func(path string, into any) {
			if err := json.Unmarshal(d.do(http.StatusOK, m[2], "POST", path, `{"page_size": 500}`).body, into); err != nil {
				t.Fatal(err)
			}
		}
		decode("/v1/outbox/list", &page)
		seen, subjects := map[any]bool{}, map[string]int{}
		for _, message := range page.Data {
			if seen[message] || message.Status != "captured" {
				t.Errorf("%+v", message)
			}
			seen[message] = true
			subjects[message.Subject]++
		}
		if sent == 0 {
			for _, printed := range line.FindAllStringSubmatch(shown, -1) {
				subjects[printed[1]]--
			}
			for subject, n := range subjects {
				if n != 0 {
					t.Errorf("%d more emails are in the outbox than were printed with subject %q:\n%s", n, subject, shown)
				}
			}
			over := regexp.MustCompile(`The campaign is over: \d+ emails to \d+ contacts, 1 of whom replied\.`)
			if !over.MatchString(shown) || strings.Count(shown, "replied, so no further email follows") != 1 {
				t.Errorf("the campaign prints\n%s", shown)
			}
		} else if len(seen) != sent || !strings.Contains(shown, "ran in an earlier demo") {
			t.Errorf("got %d messages, want %d as before. The second run prints\n%s", len(seen), sent, shown)
		}
		if sent = len(seen); sent == 0 {
			t.Error("no messages exist")
		}
		var sequences struct{ Data []struct{ Status string } }
		decode("/v1/campaigns/"+campaign.FindStringSubmatch(m[0])[1]+"/sequences/list", &sequences)
		if len(sequences.Data) == 0 {
			t.Error("no sequences exist")
		}
		d.stop()
	}
}
