package sequence_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// chainStep is an email of a chain: it follows the one before after some hours.
type chainStep struct {
	id, text, subject string
	hours             int
}

// chain returns the content of a template of emails, one after the other.
func chain(steps []chainStep) map[string]any {
	all, links := []map[string]any{}, []map[string]any{}
	for i, s := range steps {
		step := map[string]any{"index": i, "type": "auto_email", "subject": s.subject, "message": s.text}
		if s.id != "" {
			step["id"] = s.id
		}
		all = append(all, step)
		if i > 0 {
			links = append(links, map[string]any{
				"from_step_index": i - 1, "to_step_index": i, "transition_type": "PREVIOUS_STEP_COMPLETES", "post_check_delay": s.hours, "post_check_time_unit": "hours",
			})
		}
	}
	return map[string]any{"steps": all, "transitions": links}
}

// runsChain starts a campaign of a chain for contacts.
func (p *engineFixture) runsChain(name string, steps []chainStep, contacts ...string) (campaign, template string) {
	p.t.Helper()
	content := chain(steps)
	content["name"] = name
	id := p.Write.Post("/v1/sequence-templates", content).Is(201).ID()
	campaign = "/v1/campaigns/" + p.Write.Post("/v1/campaigns", map[string]any{
		"name": name, "template_id": id, "audience_ids": []string{simAudience(p.Org, contacts...)}, "status": "active",
	}).Is(201).ID()
	p.app.Work()
	return campaign, "/v1/sequence-templates/" + id
}

// corrects brings the sequences of a campaign to the newest text, and requires the counts of the dry run and of
// the operation: changed, sent_step_gone and order_changed.
func (p *engineFixture) corrects(campaign string, want [3]int) {
	p.t.Helper()
	for _, body := range []string{`{"dry_run": true}`, `{}`} {
		res := p.Write.Post(campaign+"/template", body).Is(202)
		p.app.Work()
		op := p.Read.Get("/v1/operations/" + res.ID()).Is(200)
		got := [3]int{op.Int("data.changed"), op.Int("data.kept.sent_step_gone"), op.Int("data.kept.order_changed")}
		if got != want || op.Text("data.status") != "completed" || op.Text("data.kind") != "template" {
			p.t.Errorf("%s: %v, want %v: %s", body, got, want, op.Body)
		}
	}
}

// texts returns the first lines of the messages of a contact in their order, with their hours since a time.
func (p *engineFixture) texts(contact string, since time.Time) (all []string) {
	p.t.Helper()
	for _, m := range p.outbox(apptest.IsRule("contact_id", contact)) {
		line, _, _ := strings.Cut(*m.Body, "\n")
		all = append(all, fmt.Sprintf("%s +%g", line, m.Created.Sub(since).Hours()))
	}
	return all
}

// TestCorrectTemplate edits a running template in every way, with and without ids, and brings a sequence that has sent
// two of four emails to it.
func TestCorrectTemplate(t *testing.T) {
	a, b, c, d := chainStep{"a", "A", "Hello", 0}, chainStep{"b", "B", "", 2}, chainStep{"c", "C", "", 2}, chainStep{"d", "D", "", 2}
	n := chainStep{"n", "N", "", 1}
	without := func(steps ...chainStep) []chainStep {
		for i := range steps {
			steps[i].id = ""
		}
		return steps
	}
	changed, gone, moved := [3]int{1, 0, 0}, [3]int{0, 1, 0}, [3]int{0, 0, 1}
	for _, x := range []struct {
		name  string
		steps []chainStep
		want  [3]int
		rest  []string
	}{
		{"new text", []chainStep{a, b, {"c", "C2", "", 2}, {"d", "D2", "", 2}}, changed, []string{"C2 +4", "D2 +6"}},
		{"new text without ids", without(a, b, chainStep{"", "C2", "", 2}, d), changed, []string{"C2 +4", "D +6"}},
		{"later", []chainStep{a, b, {"c", "C", "", 10}, d}, changed, []string{"C +12", "D +14"}},
		{"earlier", []chainStep{a, b, {"c", "C", "", 1}, d}, changed, []string{"C +3", "D +5"}},
		{"overdue", []chainStep{a, b, {"c", "C", "", 0}, d}, changed, []string{"C +3", "D +5"}},
		{"inserted ahead", []chainStep{a, b, n, c, d}, changed, []string{"N +3", "C +5", "D +7"}},
		{"inserted behind", []chainStep{a, n, b, c, d}, moved, []string{"C +4", "D +6"}},
		{"removed ahead", []chainStep{a, b, d}, changed, []string{"D +4"}},
		{"all ahead removed", []chainStep{a, b}, changed, nil},
		{"removed behind", []chainStep{a, c, d}, gone, []string{"C +4", "D +6"}},
		{"swapped ahead", []chainStep{a, b, d, c}, changed, []string{"D +4", "C +6"}},
		{"swapped behind", []chainStep{b, a, c, d}, moved, []string{"C +4", "D +6"}},
		{"moved before what was sent", []chainStep{a, c, b, d}, moved, []string{"C +4", "D +6"}},
		{"sent under another id", []chainStep{a, {"z", "B", "", 2}, c, d}, gone, []string{"C +4", "D +6"}},
		{"inserted behind without ids", without(a, n, b, c, d), moved, []string{"C +4", "D +6"}},
		{"removed behind without ids", without(a, c, d), gone, []string{"C +4", "D +6"}},
		{"inserted ahead without ids", without(a, b, n, c, d), changed, []string{"N +3", "C +5", "D +7"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := newEngineFixture(t)
			start := p.app.Clock.Now()
			ann := p.contact("ann@x.example")
			campaign, template := p.runsChain("Chain", []chainStep{a, b, c, d}, ann)
			p.to("03-02 12:00")
			p.Write.Patch(template, chain(x.steps)).Is(200)
			p.app.Work()
			p.corrects(campaign, x.want)
			p.corrects(campaign, [3]int{0, x.want[1], x.want[2]})
			p.to("03-04 09:00")
			if got, want := p.texts(ann, start), append([]string{"A +0", "B +2"}, x.rest...); !slices.Equal(got, want) {
				t.Errorf("received %q, want %q", got, want)
			}
			for i, m := range p.outbox() {
				refs := len(strings.Fields(m.Headers["References"]))
				if subject := *m.Subject; refs != i || (i > 0) != strings.HasPrefix(subject, "Re: Hello") {
					t.Errorf("message %d is %q with %d references", i, subject, refs)
				}
			}
			if s := p.sequence(campaign, ann); s.Status != "completed" {
				t.Errorf("the sequence is %s", s.Status)
			}
			p.verify()
		})
	}
}

// TestCorrectOpenTask checks that open Tasks stay, that a held email takes its step in the newest text, and that a
// sequence that is not running stays as it is.
func TestCorrectOpenTask(t *testing.T) {
	p := newEngineFixture(t)
	ann, eve := p.contact("ann@x.example"), p.contact("eve@x.example")
	content := func(call, mail, late string) string {
		return fmt.Sprintf(`{"name": "Calls", "steps": [{"id": "k", "index": 0, "type": "call", "title": %q, "hour": 9}, {"id": "m", "index": 1, "type": "auto_email", "subject": "S", "message": %q, "hour": 9},
			{"id": "l", "index": 2, "type": "call", "title": %q, "day": 3, "hour": 9}], "transitions": []}`, call, mail, late)
	}
	template := "/v1/sequence-templates/" + p.Write.Post("/v1/sequence-templates", content("Call", "Hi {{recipient.title}}", "Again")).Is(201).ID()
	campaign := "/v1/campaigns/" + p.Write.Post("/v1/campaigns", map[string]any{"name": "C", "template_id": apptest.IDIn(template), "audience_ids": []string{simAudience(p.Org, ann, eve)}, "status": "active"}).Is(201).ID()
	p.app.Work()
	p.Write.Post("/v1/contacts/"+eve+"/replied", `{}`).Is(200)
	p.to("03-02 12:00")
	dry := p.Write.Post(campaign+"/template", `{"dry_run": true}`).Is(202).ID()
	p.Write.Post("/v1/operations/"+dry+"/undo", nil).Fails(409, "not_undoable", "")
	p.Write.Patch(template, content("New call", "Hi {{recipient.title|there}}, {{recipient.linkedin_url}}", "Once more")).Is(200)
	p.app.Work()
	p.corrects(campaign, [3]int{1, 0, 0})
	done := p.Read.Post("/v1/operations/list", `{"filters": [{"field": "kind", "condition": "is", "value": "template"}, {"field": "dry_run", "condition": "is", "value": false}]}`).Is(200)
	if done.Int("pagination.total_count") != 1 || done.Value("data.0.undoable_until") != nil {
		t.Errorf("the operations are %s", done.Body)
	}
	p.Write.Post("/v1/operations/"+done.Text("data.0.id")+"/undo", nil).Fails(409, "not_undoable", "corrected again rather than undone")
	s := p.is(campaign, ann, "active", "0 task_open 03-02 09:00", "1 held 03-02 12:00 | no value for recipient.linkedin_url", "2 waiting 03-05 09:00")
	p.Write.Patch("/v1/tasks/"+*s.History[0].Task, `{"status": "completed"}`).Is(200)
	p.patchContact(ann, `{"linkedin_url": "https://www.linkedin.com/in/ann"}`)
	p.to("03-06 12:00")
	if got := p.outbox(); len(got) != 1 || !strings.HasPrefix(*got[0].Body, "Hi there, https://www.linkedin.com/in/ann") {
		t.Errorf("got %+v", got)
	}
	var titles []string
	for _, task := range p.tasks(apptest.IsRule("contact_id", ann)) {
		titles = append(titles, task.Title)
	}
	if text := strings.Join(titles, "|"); !strings.HasPrefix(text, "Call") || !strings.Contains(text, "|Once more") {
		t.Errorf("tasks are %q", titles)
	}
	p.verify()
}

// TestCorrectModel edits running chains at random and compares what everybody receives, and when, with a reference: the
// emails that were sent come first in the newest chain, or the sequence stays with the chain that it has. PROSPECTOR_SOAK
// multiplies the rounds.
func TestCorrectModel(t *testing.T) {
	for seed := range apptest.SoakRounds(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(seed), 33))
			p := newEngineFixture(t)
			next := 0
			fresh := func() chainStep {
				next++
				s := chainStep{fmt.Sprint("s", next), fmt.Sprint("text ", next), "", 1 + random.IntN(5)}
				if random.IntN(3) == 0 {
					s.subject = fmt.Sprint("Subject ", next)
				}
				return s
			}
			newest := []chainStep{fresh(), fresh(), fresh(), fresh()}
			newest[0].subject, newest[0].hours = "Begin", 0
			people := p.contacts(4)
			campaign, template := p.runsChain("Chain", newest, people[0])
			audience := "/v1/audiences/" + p.Read.Get(campaign).Is(200).Text("data.audiences.0.id")
			all := map[string]*chainModel{people[0]: {chain: newest, last: p.app.Clock.Now()}}
			for round := range 9 {
				now := p.app.Clock.Now().Add(time.Duration(1+random.IntN(3))*time.Hour - time.Minute*time.Duration(30*(round%2)))
				p.runTo(now)
				for _, m := range all {
					m.run(now)
				}
				if round < 3 {
					p.Write.Post(audience+"/contacts/add", apptest.ContactIDs(people[round+1])).Is(200)
					p.app.Work()
					all[people[round+1]] = &chainModel{chain: newest, last: now}
					all[people[round+1]].run(now)
				}
				newest = editChain(random, newest, fresh)
				p.Write.Patch(template, chain(newest)).Is(200)
				p.app.Work()
				if random.IntN(3) == 0 {
					continue // this text is corrected again before anybody gets it
				}
				var want [3]int
				for _, m := range all {
					switch m.correct(newest, now) {
					case "changed":
						want[0]++
					case "sent_step_gone":
						want[1]++
					case "order_changed":
						want[2]++
					}
				}
				p.corrects(campaign, want)
				for _, m := range all {
					m.run(now)
				}
			}
			end := p.app.Clock.Now().Add(20 * 24 * time.Hour)
			p.runTo(end)
			for contact, m := range all {
				m.run(end)
				p.receives(contact, m.sent)
			}
			p.verify()
		})
	}
}

// chainModel is the reference for the sequence of a contact.
type chainModel struct {
	chain     []chainStep
	done      int // how many were sent
	last      time.Time
	notBefore time.Time // of the next email, after a correction
	completed bool
	sent      []string
}

// run sends what is due.
func (m *chainModel) run(now time.Time) {
	for ; m.done < len(m.chain); m.done++ {
		s := m.chain[m.done]
		at := m.last
		if m.done > 0 {
			at = at.Add(time.Duration(s.hours) * time.Hour)
		}
		if at.Before(m.notBefore) {
			at = m.notBefore
		}
		if at.After(now) {
			return
		}
		m.sent, m.last = append(m.sent, s.text+" | "+s.subject+" | "+at.Format(time.RFC3339)), at
	}
	m.completed = true
}

func (m *chainModel) correct(newest []chainStep, now time.Time) string {
	if m.completed || slices.Equal(m.chain, newest) {
		return ""
	}
	outcome := ""
	for i, sent := range m.chain[:m.done] {
		at := slices.IndexFunc(newest, func(s chainStep) bool { return s.id == sent.id })
		if at < 0 {
			return "sent_step_gone"
		}
		if at != i {
			outcome = "order_changed"
		}
	}
	if outcome != "" {
		return outcome
	}
	m.chain, m.notBefore = newest, now
	return "changed"
}

// editChain returns a chain with a few random edits. Its first email always has a subject.
func editChain(random *rand.Rand, steps []chainStep, fresh func() chainStep) []chainStep {
	steps = slices.Clone(steps)
	for range 1 + random.IntN(2) {
		at := random.IntN(len(steps))
		switch random.IntN(5) {
		case 0:
			steps = slices.Insert(steps, random.IntN(len(steps)+1), fresh())
		case 1:
			if len(steps) > 2 {
				steps = slices.Delete(steps, at, at+1)
			}
		case 2:
			other := random.IntN(len(steps))
			steps[at], steps[other] = steps[other], steps[at]
		case 3:
			steps[at].hours = 1 + random.IntN(6)
		default:
			steps[at].text += "!"
		}
	}
	if steps[0].hours = 0; steps[0].subject == "" { // nothing comes before it
		steps[0].subject = "Begin " + steps[0].id
	}
	return steps
}

// receives requires the messages of a contact, their times and their threads.
func (p *engineFixture) receives(contact string, want []string) {
	p.t.Helper()
	var got []string
	subject, ids := "", []string{}
	for i, m := range p.outbox(apptest.IsRule("contact_id", contact)) {
		line, _, _ := strings.Cut(*m.Body, "\n")
		own := ""
		if i < len(want) {
			own = strings.Split(want[i], " | ")[1]
		}
		got = append(got, line+" | "+own+" | "+m.Created.UTC().Format(time.RFC3339))
		if own != "" {
			subject, ids = own, nil
		}
		is := subject
		if len(ids) > 0 {
			is = "Re: " + subject
		}
		if refs := strings.Fields(m.Headers["References"]); *m.Subject != is || !slices.Equal(refs, ids) && len(refs)+len(ids) > 0 {
			p.t.Errorf("message %d is %q after %q, want %q after %q", i, *m.Subject, refs, is, ids)
		}
		ids = append(ids, m.Headers["Message-ID"])
	}
	if !slices.Equal(got, want) {
		text, _ := json.MarshalIndent(map[string]any{"got": got, "want": want}, "", " ")
		p.t.Errorf("%s", text)
	}
}

// TestCorrectSubject checks that an email which was sent is recognized by its subject if its text was changed and it has the
// id of another step.
func TestCorrectSubject(t *testing.T) {
	p := newEngineFixture(t)
	start := p.app.Clock.Now()
	ann := p.contact("ann@x.example")
	a, b, c := chainStep{"", "A", "Hello", 0}, chainStep{"", "B", "Second", 2}, chainStep{"", "C", "Third", 9}
	campaign, template := p.runsChain("Chain", []chainStep{a, b, c}, ann)
	p.to("03-02 12:00")
	p.Write.Patch(template, chain([]chainStep{a, {"", "N", "New", 1}, {"", "B!", "Second", 2}, c})).Is(200)
	p.app.Work()
	p.corrects(campaign, [3]int{0, 0, 1})
	p.to("03-04 09:00")
	if got, want := p.texts(ann, start), []string{"A +0", "B +2", "C +11"}; !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
}

// TestCorrectSkippedStep removes a step that was skipped for one person and brings it back. It stays skipped for that person,
// also if what follows was sent meanwhile, and others get it.
func TestCorrectSkippedStep(t *testing.T) {
	p := newEngineFixture(t)
	start := p.app.Clock.Now()
	ann, bob := p.contact("ann@x.example"), p.contact("bob@x.example")
	a, b, c, d := chainStep{"a", "A", "Hello", 0}, chainStep{"b", "B", "", 2}, chainStep{"c", "C", "", 9}, chainStep{"d", "D", "", 9}
	campaign, template := p.runsChain("Chain", []chainStep{a, b, c, d}, ann, bob)
	correct := func(steps []chainStep, want [3]int) {
		t.Helper()
		p.Write.Patch(template, chain(steps)).Is(200)
		p.app.Work()
		p.corrects(campaign, want)
	}
	p.Write.Post("/v1/sequences/"+p.sequence(campaign, ann).ID+"/skip", `{"step_index": 1}`).Is(200)
	correct([]chainStep{a, c, d}, [3]int{2, 0, 0})
	correct([]chainStep{a, b, c, d}, [3]int{2, 0, 0})
	p.to("03-10 09:00")
	for contact, want := range map[string][]string{ann: {"A +0", "C +9", "D +18"}, bob: {"A +0", "B +2", "C +11", "D +20"}} {
		if got := p.texts(contact, start); !slices.Equal(got, want) {
			t.Errorf("received %q, want %q", got, want)
		}
	}
	p.verify()
}
