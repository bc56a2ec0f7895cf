package cmd_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestKill9Clock kills and stops an idle server whose sequence clock runs fast. The clock continues
// from where it was at any speed, and a server at normal speed logs how far the clock is ahead.
func TestKill9Clock(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	_, key := p.org("Acme")
	const day = 24 * 60 * 60 // how far the clock gets ahead at first, at speed 86400
	var probe string
	var last time.Time
	serve := func(speed string) *server {
		p.env = []string{"PROSPECTOR_SEQUENCES_SPEED=" + speed}
		s := p.serve()
		if probe == "" {
			probe = clockProbe(s, key)
		}
		return s
	}
	look := func(s *server, what string) {
		t.Helper()
		var answer struct {
			Data []struct {
				Steps []struct {
					Due time.Time `json:"due_at"`
				}
			}
		}
		if err := json.Unmarshal(s.do(http.StatusOK, key, "POST", probe+"/simulate", "").body, &answer); err != nil {
			t.Fatal(err)
		}
		now := answer.Data[0].Steps[0].Due
		if now.Before(last) {
			t.Errorf("%s the clock shows %v, before it showed %v", what, now, last)
		}
		last = now
	}
	for _, speed := range []string{"86400", "3600", "10"} {
		s := serve(speed)
		look(s, "after a stop")
		for late := time.Now().Add(waitTimeout); s.metric("prospector_sequences_clock_ahead_seconds", "") < day && time.Now().Before(late); {
		}
		look(s, "later")
		s.kill()
		s = serve(speed)
		look(s, "after a kill")
		s.kill()
		s = serve("7")
		look(s, "after a kill, at another speed,")
		s.stop()
		s.hasNoErrors()
	}
	s := serve("1")
	look(s, "at the wall's speed")
	ahead := s.await(s.stderr, regexp.MustCompile(`level=WARN msg="the sequence clock is ahead of the wall clock.*" ahead=(\S+)\n`))[1]
	if d, err := time.ParseDuration(ahead); err != nil || d < day*time.Second || d > time.Until(last)+waitTimeout {
		t.Errorf("the log says that the clock is %s ahead: %v", ahead, err)
	}
	s.stop()
	fresh := newPlace(t).serve()
	fresh.stop()
	if strings.Contains(fresh.stderr.String(), "the sequence clock") {
		t.Error("a server warns although its clock is not ahead")
	}
}

// clockProbe creates a draft campaign whose only step is due immediately. The due time shows the
// sequence clock.
func clockProbe(s *server, key string) string {
	create := func(path, body string) string { return s.id(s.do(http.StatusCreated, key, "POST", path, body)) }
	contact := create("/v1/contacts", `{"email": "bill@initech.example"}`)
	audience := create("/v1/audiences", fmt.Sprintf(`{"name": "A", "contact_ids": [%q]}`, contact))
	template := create("/v1/sequence-templates", `{"name": "T", "steps": [{"type": "call", "index": 0, "day": 0, "hour": 0}]}`)
	return "/v1/campaigns/" + create("/v1/campaigns", fmt.Sprintf(`{"name": "C", "template_id": %q, "audience_ids": [%q]}`, template, audience))
}
