package cmd_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// mailPlace is a place whose campaigns send to a mail server.
type mailPlace struct {
	*acmePlace
	sink *apptest.MailServer
}

// newMailPlace returns a mailPlace that sends on every day and at every hour, as fast as it can.
func newMailPlace(t *testing.T, env ...string) *mailPlace {
	t.Helper()
	o := &mailPlace{sink: apptest.NewMailServer(t)}
	o.acmePlace = &acmePlace{place: newPlace(t, append([]string{
		"PROSPECTOR_RATE_LIMIT_PER_MINUTE=0", "PROSPECTOR_LOG_LEVEL=debug", "PROSPECTOR_MAIL_DAILY_CAP=0", "PROSPECTOR_MAIL_MIN_GAP=0s",
		"PROSPECTOR_MAIL_TRANSPORT=smtp", "PROSPECTOR_MAIL_SMTP_HOST=127.0.0.1", "PROSPECTOR_MAIL_SMTP_TLS=none",
		fmt.Sprint("PROSPECTOR_MAIL_SMTP_PORT=", o.sink.Addr.Port),
	}, env...)...)}
	o.org, o.key = o.place.org("Acme")
	return o
}

// twoMails is a template with two messages. The second is due as soon as the first is sent.
const twoMails = `"steps": [{"index": 0, "type": "auto_email", "subject": "Hello", "message": "One"}, {"index": 1, "type": "auto_email", "subject": "Hello again", "message": "Two"}],
	"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES"}]`

// campaign creates contacts and a campaign that is ready to start with them, and returns its path.
func (o *mailPlace) campaign(s *server, template string, contacts int) (path string) {
	s.t.Helper()
	s.do(http.StatusOK, o.key, "PATCH", "/v1/organization", `{"business_days": [1, 2, 3, 4, 5, 6, 7], "sending_window": {"from_hour": 0, "to_hour": 24}}`)
	ids := s.load(o.key, contacts, func(int) string { return `"first_name": "Ann"` })
	made := s.id(s.do(http.StatusCreated, o.key, "POST", "/v1/sequence-templates", `{"name": "Hello", `+template+`}`))
	audience := s.id(s.do(http.StatusCreated, o.key, "POST", "/v1/audiences", fmt.Sprintf(`{"name": "All", "contact_ids": %s}`, asJSON(ids))))
	return "/v1/campaigns/" + s.id(s.do(http.StatusCreated, o.key, "POST", "/v1/campaigns",
		fmt.Sprintf(`{"name": "C", "template_id": %q, "audience_ids": [%q]}`, made, audience)))
}

func (o *mailPlace) begin(s *server, campaign string) {
	s.t.Helper()
	s.do(http.StatusOK, o.key, "PATCH", campaign, `{"status": "active"}`)
}

// storedMessage is a message in the outbox, identified by its Message-ID.
type storedMessage struct {
	ID, To, Status, Error string
	Headers               map[string]string
}

// outbox returns all stored messages by Message-ID.
func (o *mailPlace) outbox(s *server) map[string]storedMessage {
	s.t.Helper()
	all := map[string]storedMessage{}
	for page := 1; ; page++ {
		var list struct{ Data []storedMessage }
		r := s.do(http.StatusOK, o.key, "POST", "/v1/outbox/list", fmt.Sprintf(`{"sort": "created_at", "page_size": 500, "page": %d}`, page))
		if err := json.Unmarshal(r.body, &list); err != nil {
			s.t.Fatalf("%v: %s", err, r.body)
		}
		for _, l := range list.Data {
			all[l.Headers["Message-ID"]] = l
		}
		if len(list.Data) < 500 {
			return all
		}
	}
}

// unknown returns how many messages are unknown.
func (o *mailPlace) unknown(s *server) int {
	s.t.Helper()
	var list struct {
		Pagination struct {
			Total int `json:"total_count"`
		}
	}
	r := s.do(http.StatusOK, o.key, "POST", "/v1/outbox/list", `{"filters": [{"field": "status", "condition": "is", "value": "unknown"}], "page_size": 1}`)
	if err := json.Unmarshal(r.body, &list); err != nil {
		s.t.Fatalf("%v: %s", err, r.body)
	}
	return list.Pagination.Total
}

// awaitEnded waits until every sequence of the campaign has ended.
func (o *mailPlace) awaitEnded(s *server, campaign string) {
	s.t.Helper()
	s.awaitMilestone(milestone{"the campaign is through", func() bool {
		var stats struct {
			Data struct{ Enrolled, Active, Completed int }
		}
		r := s.do(http.StatusOK, o.key, "GET", campaign+"/stats", "")
		if err := json.Unmarshal(r.body, &stats); err != nil {
			s.t.Fatalf("%v: %s", err, r.body)
		}
		return stats.Data.Enrolled > 0 && stats.Data.Completed == stats.Data.Enrolled && stats.Data.Active == 0
	}})
}

// checkOutbox checks that the sink and the outbox agree: no message arrived twice, every message
// that arrived is in the outbox, and every sent message arrived. More messages may arrive
// concurrently. It returns how many are sent and how many unknown.
func (o *mailPlace) checkOutbox(s *server) (sent, unknown int) {
	t := s.t
	t.Helper()
	before := len(o.sink.Mails())
	kept := o.outbox(s)
	arrived, perStep := map[string]bool{}, map[string]string{}
	for i, m := range o.sink.Mails() {
		id := m.Header.Get("Message-ID")
		what := strings.Join(m.To, ",") + " " + m.Header.Get("Subject")
		if arrived[id] || perStep[what] != "" {
			t.Errorf("%s arrived twice, as %s and %s", what, perStep[what], id)
		}
		arrived[id], perStep[what] = true, id
		if i >= before {
			continue // it may have been stored since
		}
		if l, known := kept[id]; !known || l.To != strings.Join(m.To, ",") || l.Status == "failed" {
			t.Errorf("%s to %s arrived, but the stored message is %+v", id, m.To, l)
		}
	}
	for id, l := range kept {
		switch l.Status {
		case "sent":
			sent++
			if !arrived[id] {
				t.Errorf("%s is sent but did not arrive", id)
			}
		case "unknown":
			unknown++
		case "failed":
			t.Errorf("%s to %s failed: %s", id, l.To, l.Error)
		}
	}
	return sent, unknown
}

// logHasNoAddresses checks that the log contains no address of a sender or recipient.
func (s *server) logHasNoAddresses() {
	s.t.Helper()
	if strings.Contains(s.stderr.String(), "@acme.example") {
		s.t.Error("the log contains an address")
	}
}
