package sequence_test

import (
	"fmt"
	"maps"
	"mime"
	netmail "net/mail"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/shape"
)

// TestMailThread checks that replies are in the thread of the first message as the server receives
// them, and that every message has its own id.
func TestMailThread(t *testing.T) {
	m := newMailer(t)
	m.sends(`"steps": [{"index": 0, "type": "auto_email", "subject": "Hello", "message": "One"}, {"index": 1, "type": "auto_email", "message": "Two"},
		{"index": 2, "type": "auto_email", "message": "Three"}, {"index": 3, "type": "auto_email", "subject": "Another", "message": "Four"}],
		"transitions": [{"from_step_index": 0, "to_step_index": 1, "transition_type": "PREVIOUS_STEP_COMPLETES", "post_check_delay": 1, "post_check_time_unit": "hours"},
			{"from_step_index": 1, "to_step_index": 2, "transition_type": "PREVIOUS_STEP_COMPLETES", "post_check_delay": 1, "post_check_time_unit": "hours"},
			{"from_step_index": 2, "to_step_index": 3, "transition_type": "PREVIOUS_STEP_COMPLETES", "post_check_delay": 1, "post_check_time_unit": "hours"}]`, "", apptest.ContactsOf(m.Org, "bob", "eve")...)
	m.run()
	for range 3 {
		m.after(time.Hour)
	}
	thread := map[string][]string{}
	ids := map[string]bool{}
	for _, mail := range m.server.Mails() {
		h, to := mail.Header, mail.To[0]
		id := h.Get("Message-ID")
		if ids[id] || !strings.HasPrefix(id, "<") || !strings.HasSuffix(id, "@acme.example>") {
			t.Errorf("the id %s is invalid or belongs to another record", id)
		}
		ids[id] = true
		var reply, references string
		if subject := h.Get("Subject"); strings.HasPrefix(subject, "Re: ") {
			if subject != "Re: Hello" {
				t.Errorf("the subject is %q", subject)
			}
			reply, references = thread[to][len(thread[to])-1], strings.Join(thread[to], " ")
		}
		if h.Get("In-Reply-To") != reply || h.Get("References") != references {
			t.Errorf("In-Reply-To = %q, References = %q, want %q and %q", h.Get("In-Reply-To"), h.Get("References"), reply, references)
		}
		thread[to] = append(thread[to], id)
	}
	if len(ids) != 8 {
		t.Errorf("%d messages arrived", len(ids))
	}
	for i, p := range m.outbox() {
		got := m.server.Mails()[slices.IndexFunc(m.server.Mails(), func(mail apptest.Mail) bool { return mail.Header.Get("Message-ID") == p.Headers["Message-ID"] })]
		for name, value := range p.Headers {
			if name == "List-Unsubscribe" {
				value = "<" + m.app.URL + m.UnsubscribePath(p.ID) + ">"
			}
			if strings.Join(strings.Fields(got.Header.Get(name)), " ") != value {
				t.Errorf("message %d: recorded %s: %q, but received %q", i, name, value, got.Header.Get(name))
			}
		}
	}
	m.checkConsistency()
}

// TestMailUnsubscribe checks that one POST to the link in a delivered message unsubscribes the
// recipient, and that nothing follows.
func TestMailUnsubscribe(t *testing.T) {
	m := newMailer(t)
	bob := apptest.ContactsOf(m.Org, "bob")[0]
	campaign := m.sends(twoMails, "", bob)
	m.run()
	h := m.server.Mails()[0].Header
	link := strings.Trim(h.Get("List-Unsubscribe"), "<>")
	path, under := strings.CutPrefix(link, m.app.URL)
	if post := h.Get("List-Unsubscribe-Post"); !under || post != "List-Unsubscribe=One-Click" {
		t.Fatalf("the link is %s, %s", link, post)
	}
	anyone := m.app.Anonymous()
	anyone.Get(path).Is(200) // shows only one page
	m.wantSequence(campaign, bob, "active sent waiting")
	anyone.Do("POST", path, "List-Unsubscribe=One-Click", "Content-Type", "application/x-www-form-urlencoded").Is(200)
	m.wantSequence(campaign, bob, "stopped:opted_out sent skipped")
	m.after(24 * time.Hour)
	m.arrived("bob Hello bob")
	if got := m.suppressed(); !slices.Equal(got, []string{"bob@initech.example unsubscribed"}) {
		t.Errorf("suppressions = %q", got)
	}
}

// foreign contains field values that try to inject a header, a recipient or a message.
var foreign = []string{
	"x\r\nBcc: evil@evil.example\r\nX-Evil: 1", "x\nX-Evil: 1", "x\rX-Evil: 1", "x\u2028X-Evil: 1", "x\u0085X-Evil: 1", "x\r\n\r\nX-Evil: body",
	"x\r\n.\r\nMAIL FROM:<evil@evil.example>\r\nRCPT TO:<evil@evil.example>", "\"x\" <evil@evil.example>, ", "x>, evil@evil.example, <y", "=?utf-8?Q?=0D=0AX-Evil:_1?=",
}

// TestMailForeign checks that a message has the expected headers, one recipient and one sender,
// whatever values its fields have.
func TestMailForeign(t *testing.T) {
	m := newMailer(t)
	headers := []string{"Content-Transfer-Encoding", "Content-Type", "Date", "From", "List-Unsubscribe", "List-Unsubscribe-Post", "Message-Id", "Mime-Version", "Subject", "To"}
	taken := 0
	for i, text := range foreign {
		account := m.Write.Post("/v1/accounts", map[string]any{"name": "Initech", "website": fmt.Sprintf("a%d.example", i)}).Is(201).ID()
		id := m.Write.Post("/v1/contacts", map[string]any{"email": fmt.Sprintf("c%d@initech.example", i), "account_id": account}).Is(201).ID()
		name := shape.Text(text)
		apptest.StoreRecord(t, m.app, m.Org, m.app.CRM.Accounts, account, func(a *crm.Account) { a.Name = text })
		apptest.StoreRecord(t, m.app, m.Org, m.app.CRM.Contacts, id, func(c *crm.Contact) { c.FirstName, c.LastName = name, name })
		apptest.StoreRecord(t, m.app, m.Org, m.app.Identity.Users, m.User.String(), func(u *identity.User) { u.FirstName, u.LastName, u.Title = name, name, name })
		m.tries("PATCH", "/v1/organization", map[string]any{"name": text})
		tokens := " {{recipient.first_name}} {{recipient.last_name}} {{recipient.company}} {{sender.first_name}} {{sender.last_name}} {{sender.company}} {{sender.title}}"
		step := map[string]any{"index": 0, "type": "auto_email", "subject": text + tokens, "message": text + tokens}
		template := m.tries("POST", "/v1/sequence-templates", map[string]any{"name": fmt.Sprint("T", i), "steps": []any{step}})
		if template == "" { // only the tokens
			step["subject"] = "Hello" + tokens
			template = m.tries("POST", "/v1/sequence-templates", map[string]any{"name": fmt.Sprint("T", i), "steps": []any{step}})
		}
		if template == "" {
			t.Fatalf("no template contains %q", text)
		}
		audience := apptest.IDIn(apptest.AudienceOf(m.Org, fmt.Sprint("A", i), id))
		m.Write.Post("/v1/campaigns", map[string]any{"name": fmt.Sprint("C", i), "template_id": template, "audience_ids": []string{audience}, "status": "active", "missing_values": "send"}).Is(201)
		m.run()
		mails := m.server.Mails()
		if len(mails) != i+1 {
			t.Fatalf("got %d messages with %q", len(mails)-i, text)
		}
		mail := mails[i]
		if got := slices.Sorted(maps.Keys(mail.Header)); !slices.Equal(got, headers) {
			t.Errorf("%q results in the headers %q\n%s", text, got, mail.Raw)
		}
		for name, values := range mail.Header {
			if len(values) != 1 || strings.ContainsFunc(values[0], func(r rune) bool { return r < ' ' }) {
				t.Errorf("%q results in %s %q", text, name, values)
			}
		}
		one(t, mail.Header, "To", fmt.Sprintf("c%d@initech.example", i))
		one(t, mail.Header, "From", "ada@acme.example")
		if len(mail.To) != 1 || mail.To[0] != fmt.Sprintf("c%d@initech.example", i) || mail.From != "ada@acme.example" {
			t.Errorf("%q changed the addresses: from %s to %q", text, mail.From, mail.To)
		}
		if subject, err := new(mime.WordDecoder).DecodeHeader(mail.Header.Get("Subject")); err != nil || strings.ContainsAny(subject, "\r\n\u2028\u0085") {
			t.Errorf("%q results in the subject %q (error %v)", text, subject, err)
		}
		taken++
	}
	if n := m.server.Reached("RCPT", "evil@evil.example"); taken != len(foreign) || n > 0 {
		t.Errorf("checked %d messages; the injected recipient was addressed %d times", taken, n)
	}
}

// tries makes a request that may be refused because of its content, and returns the id of the
// created record.
func (m *mailer) tries(method, path string, body any) (id string) {
	m.t.Helper()
	r := m.Admin.Do(method, path, body)
	switch {
	case r.Status/100 == 2:
		return r.ID()
	case r.Status != 422:
		r.Is(200)
	}
	return ""
}

// one requires that a header has exactly one address.
func one(t *testing.T, h netmail.Header, name, want string) {
	t.Helper()
	if list, err := h.AddressList(textproto.CanonicalMIMEHeaderKey(name)); err != nil || len(list) != 1 || list[0].Address != want {
		t.Errorf("%s is %q (%v), want %s", name, h.Get(name), err, want)
	}
}
