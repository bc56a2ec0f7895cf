package sequence_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
)

// people creates contacts with these addresses.
func (m *mailer) people(addresses ...string) (ids []string) {
	m.t.Helper()
	for chunk := range slices.Chunk(addresses, 500) {
		records := make([]map[string]string, len(chunk))
		for i, address := range chunk {
			name, _, _ := strings.Cut(address, "@")
			records[i] = map[string]string{"email": address, "first_name": name}
		}
		for _, made := range m.Write.Post("/v1/contacts/batch", map[string]any{"records": records}).Is(200).Value("data.results").([]any) {
			ids = append(ids, made.(map[string]any)["id"].(string))
		}
	}
	return ids
}

// oneByOne makes a sender send one message a minute, in the order in which the contacts were created.
func oneByOne(cfg *service.Config) { cfg.Mail.MinGap = time.Minute }

// minutes runs everything that is due in each of the next n minutes.
func (m *mailer) minutes(n int) {
	m.t.Helper()
	for range n {
		m.after(time.Minute)
	}
}

// byAddress returns a field of all messages or suppressions by another field.
func (m *mailer) byAddress(path, address, field string) map[string]string {
	m.t.Helper()
	all := map[string]string{}
	for page := 1; ; page++ {
		res := m.Read.Post(path+"/list", fmt.Sprintf(`{"sort": "created_at", "page_size": 500, "page": %d}`, page)).Is(200)
		values := res.Column(field)
		for i, of := range res.Column(address) {
			all[of] = values[i]
		}
		if len(values) < 500 {
			return all
		}
	}
}

// statuses requires how many messages have each status.
func (m *mailer) statuses(want map[string]int) {
	m.t.Helper()
	got := map[string]int{}
	for _, status := range m.byAddress("/v1/outbox", "id", "status") {
		got[status]++
	}
	if apptest.AsJSON(got) != apptest.AsJSON(want) {
		m.t.Errorf("messages by status: %v, want %v", got, want)
	}
}

// refusalRow is an answer of a mail server at a stage.
type refusalRow struct {
	stage, code, reply string
	isLater            bool // the server accepted another recipient before
	domains            []string
	owner, campaign    string
}

const soonAfter = " after an accepted recipient"

// refusalRows returns a row for every enhanced status code of class 5 (RFC 3463 and its registry) and
// for the usual answers without one, at every stage.
func refusalRows() (rows []refusalRow) {
	for _, stage := range []string{"MAIL", "RCPT", "DATA", apptest.MailContent} {
		for subject, last := range []int{0, 10, 4, 5, 7, 6, 10, 28} {
			for detail := range last + 1 {
				code := fmt.Sprintf("5.%d.%d", subject, detail)
				rows = append(rows, refusalRow{stage: stage, code: code, reply: "550 " + code + " no"})
			}
		}
		for _, code := range []string{"550", "551", "552", "553", "554"} {
			rows = append(rows, refusalRow{stage: stage, code: "bare " + code, reply: code + " no"},
				refusalRow{stage: stage, code: "bare " + code + soonAfter, reply: code + " no", isLater: true})
		}
	}
	return rows
}

// TestRefusals checks what every refusal of a mail server does to the message, the recipient, the
// sender and the campaign, and that docs/outreach.md says so.
func TestRefusals(t *testing.T) {
	if apptest.RaceDetector {
		t.Skip("sends one message after the other, which takes minutes under the race detector")
	}
	m := newMailer(t, oneByOne)
	rows := refusalRows()
	var refusedSenders sync.Map
	byDomain := map[string]*refusalRow{}
	var addresses []string
	for i := range rows {
		r := &rows[i]
		for k := range 5 {
			domain := fmt.Sprintf("r%d-%d.example", i, k%3)
			r.domains, byDomain[domain] = append(r.domains, domain), r
			addresses = append(addresses, fmt.Sprintf("c%d@%s", k, domain))
		}
	}
	m.server.RejectSender = func(from string) string {
		reply, _ := refusedSenders.Load(from)
		text, _ := reply.(string)
		return text
	}
	m.server.Reply(func(stage, to string) string {
		_, domain, _ := strings.Cut(to, "@")
		if r := byDomain[domain]; r != nil && r.stage == stage {
			return r.reply
		}
		return ""
	})
	ids := m.people(addresses...)
	template := m.Write.Post("/v1/sequence-templates", `{"name": "Hello", `+apptest.OneMail+`}`).Is(201).ID()
	start := func(name, owner string, contacts ...string) (path string) {
		return "/v1/campaigns/" + m.Write.Post("/v1/campaigns", map[string]any{
			"name": name, "template_id": template, "audience_ids": []string{apptest.IDIn(apptest.AudienceOf(m.Org, name, contacts...))}, "owner_id": owner, "status": "active",
		}).Is(201).ID()
	}
	for i := range rows {
		rows[i].owner = m.Admin.Post("/v1/users", fmt.Sprintf(`{"email": "u%d@acme.example"}`, i)).Is(201).ID()
		if rows[i].isLater {
			start(fmt.Sprint("Accepted ", i), rows[i].owner, m.people(fmt.Sprintf("a%d@other.example", i))...)
		}
	}
	m.run()
	m.app.Clock.Advance(time.Minute)
	for i := range rows {
		if rows[i].stage == "MAIL" {
			refusedSenders.Store(fmt.Sprintf("u%d@acme.example", i), rows[i].reply)
		}
		rows[i].campaign = start(fmt.Sprint("Refused ", i), rows[i].owner, ids[5*i:5*i+5]...)
	}
	m.run()
	first, texts := m.byAddress("/v1/outbox", "to", "status"), m.byAddress("/v1/outbox", "to", "error")
	m.minutes(4)
	last, suppressed := m.byAddress("/v1/outbox", "to", "status"), m.byAddress("/v1/suppressions", "email", "reason")
	var got refusalTable
	for i := range rows {
		r := &rows[i]
		to, fifth := addresses[5*i], addresses[5*i+4]
		if text := texts[to]; !strings.Contains(text, r.reply) {
			t.Errorf("%s at %s: the message says %q", r.reply, r.stage, text)
		}
		recipient, campaign := "stays", "goes on"
		if reason := suppressed[to]; reason != "" {
			recipient = "suppressed: `" + reason + "`"
		}
		if held, is := m.Read.Get(r.campaign).Is(200).Value("data.held").(map[string]any); is {
			campaign = fmt.Sprintf("held: `%s`, the five are `%s`", held["reason"], last[fifth])
			if last[to] != last[fifth] {
				t.Errorf("%s at %s: the first message is %s, the fifth %s", r.reply, r.stage, last[to], last[fifth])
			}
		}
		got.add(r, fmt.Sprintf("`%s` | %s | %s", first[to], recipient, campaign))
	}
	text, err := os.ReadFile("../../docs/outreach.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := got.String(); !strings.Contains(string(text), want) {
		t.Errorf("docs/outreach.md does not have the table\n%s", want)
	}
}

// refusalTable groups the answers that have the same results.
type refusalTable struct {
	effects []string // in the order in which they were added
	rows    map[string][]refusalRow
}

func (r *refusalTable) add(row *refusalRow, effect string) {
	if r.rows == nil {
		r.rows = map[string][]refusalRow{}
	}
	if r.rows[effect] == nil {
		r.effects = append(r.effects, effect)
	}
	r.rows[effect] = append(r.rows[effect], *row)
}

// String returns the table in Markdown.
func (r *refusalTable) String() string {
	var b strings.Builder
	b.WriteString("| answer | at | the message | the recipient | the campaign after five |\n|---|---|---|---|---|\n")
	for _, effect := range r.effects {
		stages := map[string][]string{} // by code
		var codes []string
		for _, row := range r.rows[effect] {
			if stages[row.code] == nil {
				codes = append(codes, row.code)
			}
			stages[row.code] = append(stages[row.code], strings.Replace(row.stage, apptest.MailContent, "after the content", 1))
		}
		byStages := map[string][]string{}
		var order []string
		for _, code := range codes {
			at := strings.Join(stages[code], ", ")
			if byStages[at] == nil {
				order = append(order, at)
			}
			byStages[at] = append(byStages[at], code)
		}
		for _, at := range order {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.Join(ranges(byStages[at]), ", "), at, effect)
		}
	}
	return b.String()
}

// ranges joins consecutive codes with the same subject. What applies with and without an accepted
// recipient is named once.
func ranges(codes []string) (joined []string) {
	codes = slices.DeleteFunc(codes, func(code string) bool {
		base, isLater := strings.CutSuffix(code, soonAfter)
		return isLater && slices.Contains(codes, base)
	})
	number := func(code string) (subject string, detail int) {
		if at := strings.LastIndexByte(code, '.'); at > 0 {
			_, _ = fmt.Sscan(code[at+1:], &detail)
			return code[:at], detail
		}
		return code, -1
	}
	for i := 0; i < len(codes); {
		end := i
		for end+1 < len(codes) {
			subject, detail := number(codes[end])
			if next, following := number(codes[end+1]); next != subject || following != detail+1 {
				break
			}
			end++
		}
		if end > i {
			joined = append(joined, codes[i]+"–"+codes[end])
		} else {
			joined = append(joined, codes[i])
		}
		i = end + 1
	}
	return joined
}

// TestSenderRefused checks when refusals in a row pause a sender: the letters are the domains of
// refused recipients, + is an accepted and x an unknown one.
func TestSenderRefused(t *testing.T) {
	const answer = "550 5.7.1 not from you"
	for _, c := range []struct {
		name, row string
		held      bool
		failed    int
	}{
		{"five over three domains", "a b c a b", true, 0},
		{"four", "a b c d", false, 4},
		{"five over two domains", "a b a b a", false, 5},
		{"the sixth brings the third domain", "a b a b a c", true, 1},
		{"four after an accepted one", "a b + c a b c", false, 6},
		{"five after an accepted one", "a b + c a b c a", true, 2},
		{"a bounce between", "a b x c a b", false, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMailer(t, oneByOne)
			hooks := apptest.NewReceiver(t)
			hooks.Subscribe(m.Org, "campaign.held", "campaign.released")
			row := strings.Fields(c.row)
			var addresses []string
			accepted := 0
			for i, domain := range row {
				addresses = append(addresses, fmt.Sprintf("p%d@%s.example", i, strings.NewReplacer("+", "fine", "x", "gone").Replace(domain)))
				if domain == "+" {
					accepted++
				}
			}
			last := "last@z.example"
			m.server.Reply(func(stage, to string) string {
				switch {
				case stage != "RCPT" || strings.HasSuffix(to, "@fine.example") || strings.HasPrefix(to, "eve@") || to == last:
					return ""
				case strings.HasSuffix(to, "@gone.example"):
					return "550 5.1.1 unknown"
				}
				return answer
			})
			user := m.Admin.Post("/v1/users", `{"email": "zoe@acme.example"}`).Is(201).ID()
			campaign := m.sends(apptest.OneMail, "", m.people(append(addresses, last)...)...)
			idle := m.sends(`"steps": [{"index": 0, "day": 3, "hour": 9, "type": "auto_email", "subject": "Later", "message": "Hi"}]`, "", apptest.ContactsOf(m.Org, "bob")...)
			m.run()
			m.minutes(len(row) - 1)
			tried := m.server.Reached("RCPT", last)
			others := m.sends(apptest.OneMail, fmt.Sprintf(`, "owner_id": %q`, user), apptest.ContactsOf(m.Org, "eve")...)
			m.minutes(2)
			m.is("eve", 0, "sent", "") // another sender is not affected
			m.held(others, "active", "", "")
			if !c.held {
				m.held(campaign, "active", "", "")
				m.held(idle, "active", "", "")
				m.statuses(map[string]int{"failed": c.failed, "sent": accepted + 2})
				return
			}
			m.held(campaign, "active", "sender_refused", answer)
			m.held(idle, "active", "sender_refused", answer)
			if n := m.server.Reached("RCPT", last); tried+n > 0 {
				t.Error("another message was tried")
			}
			want := map[string]int{"queued": 5, "sent": accepted + 1}
			if c.failed > 0 {
				want["failed"] = c.failed
			}
			m.statuses(want)
			m.counted(campaign)
			m.app.Restart()
			m.after(24 * time.Hour)
			m.statuses(want)
			if got := m.suppressed(); len(got) > 0 {
				t.Errorf("suppressed: %q", got)
			}
			m.app.Deliver()
			hooks.Wants("refusals", map[string]string{"campaign": apptest.IDIn(campaign), "idle": apptest.IDIn(idle)}, "/0 campaign.held campaign", "/0 campaign.held idle")

			m.server.Reply(nil)
			m.lacks(campaign, `{}`, "overdue")
			m.releases(campaign, `{"overdue": "send"}`, [3]int{6, 0, 0})
			m.run()
			m.minutes(7)
			want["sent"] += 6
			delete(want, "queued")
			m.statuses(want)
			m.held(idle, "active", "sender_refused", "") // each is released by itself
			m.counted(campaign)
			m.checkConsistency()
		})
	}
}

// TestRelayRefusesSender checks that a relay that refuses everything from a sender suppresses nobody,
// and that everything goes out, once, after the relay was mended.
func TestRelayRefusesSender(t *testing.T) {
	const n = 100
	answers := []string{"550 5.1.8 sender address rejected", "553 5.1.7 bad sender", "550 not you", "551 go away", "553 no", "554 5.7.1 denied"}
	for _, answer := range apptest.SomeRaced(1, answers) {
		for _, stage := range []string{"MAIL", "RCPT", "DATA", apptest.MailContent} {
			t.Run(answer+" at "+stage, func(t *testing.T) {
				m := newMailer(t)
				refuses := sync.Map{}
				refuses.Store(stage, answer)
				m.server.RejectSender = func(string) string {
					text, _ := refuses.Load("MAIL")
					reply, _ := text.(string)
					return reply
				}
				m.server.Reply(func(at, _ string) string {
					if text, is := refuses.Load(at); is && at != "MAIL" {
						return text.(string)
					}
					return ""
				})
				var addresses []string
				for i := range n {
					addresses = append(addresses, fmt.Sprintf("p%d@d%d.example", i, i%10))
				}
				campaign := m.sends(apptest.OneMail, "", m.people(addresses...)...)
				m.run()
				m.after(24 * time.Hour)
				m.held(campaign, "active", "sender_refused", answer)
				if got := m.suppressed(); len(got) > 0 {
					t.Errorf("%d are suppressed: %q", len(got), got[0])
				}
				if stats := m.Read.Get(campaign + "/stats").Is(200); stats.Int("data.messages_failed") > 0 || stats.Int("data.active") != n {
					t.Errorf("the relay ended sequences: %s", stats.Body)
				}
				refuses.Delete(stage)
				m.releases(campaign, `{"overdue": "send"}`, [3]int{n, 0, 0})
				m.run()
				m.minutes(1) // messages that were in flight when the campaign was held wait a second for a free connection
				m.statuses(map[string]int{"sent": n})
				if got := len(m.server.Mails()); got != n {
					t.Errorf("%d messages arrived, want %d", got, n)
				}
				m.checkConsistency()
			})
		}
	}
}

// TestBareRefusal checks that an answer about a recipient without an enhanced code suppresses the
// recipient only if the server has accepted another one from the sender within the last hour.
func TestBareRefusal(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		accepts      string // the recipient that the server accepts before
		bySender     bool   // from the same sender
		before       time.Duration
		bounced      bool
	}{
		{"at once", "550 no", "eve", true, 0, true},
		{"551", "551 no", "eve", true, 0, true},
		{"553", "553 no", "eve", true, 0, true},
		{"552", "552 no", "eve", true, 0, false},
		{"554", "554 no", "eve", true, 0, false},
		{"within the hour", "550 no", "eve", true, time.Hour, true},
		{"after the hour", "550 no", "eve", true, time.Hour + time.Millisecond, false},
		{"nobody accepted", "550 no", "", true, 0, false},
		{"another sender", "550 no", "eve", false, 0, false},
		{"the same recipient", "550 no", "bob", true, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMailer(t, func(cfg *service.Config) { cfg.Mail.RecipientGap = 0 })
			bob, owner := apptest.ContactsOf(m.Org, "bob"), ""
			if !c.bySender {
				owner = fmt.Sprintf(`, "owner_id": %q`, m.Admin.Post("/v1/users", `{"email": "zoe@acme.example"}`).Is(201).ID())
			}
			switch c.accepts {
			case "eve":
				m.sends(apptest.OneMail, owner, apptest.ContactsOf(m.Org, "eve")...)
			case "bob":
				m.sends(apptest.OneMail, owner, bob...)
			}
			m.run()
			m.server.Reply(apptest.Answering("RCPT", c.answer))
			m.after(c.before)
			campaign := m.sends(twoMails, "", bob...)
			m.run()
			var want []string
			goes := "active failed waiting"
			if c.bounced {
				want, goes = []string{"bob@initech.example bounce"}, "stopped:suppressed failed skipped"
			}
			if got := m.suppressed(); !slices.Equal(got, want) {
				t.Errorf("suppressed: %q, want %q", got, want)
			}
			m.wantSequence(campaign, bob[0], goes)
		})
	}
}
