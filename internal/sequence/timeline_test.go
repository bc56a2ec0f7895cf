package sequence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// timeline returns the timeline of a contact, as lines "03-02 09:00 message Hello: captured, to
// c0@x.example".
func (p *engineFixture) timeline(contact string) (lines []string) {
	p.t.Helper()
	res := p.Read.Get("/v1/contacts/" + contact + "/timeline?page_size=100").Is(200)
	for i := range res.Value("data").([]any) {
		at := fmt.Sprint("data.", i, ".")
		moment, err := time.Parse(time.RFC3339, res.Text(at+"at"))
		if err != nil {
			p.t.Fatal(err)
		}
		lines = append(lines, minute(moment)+" "+res.Text(at+"type")+" "+res.Text(at+"title")+": "+res.Text(at+"detail"))
	}
	return lines
}

// The timeline of a contact has everything that happened and is planned, newest first.
func TestTimeline(t *testing.T) {
	p := newEngineFixture(t)
	ids := p.contacts(2)
	ann := ids[0]
	if lines := p.timeline(ann); len(lines) != 0 {
		t.Errorf("a new contact has %q", lines)
	}
	campaign := p.campaign(ids, map[string]any{"name": "Spring"}, []simStep{simMail(0, 0, 10), simCall(1, 1, 9), simMail(2, 3, 9)})
	p.Write.Post("/v1/meetings", `{"title": "Demo", "contact_id": "`+ann+`", "starts_at": "2026-03-05T10:00:00Z"}`).Is(201)
	p.Write.Post("/v1/tasks", `{"title": "Write a letter", "contact_id": "`+ann+`", "type": "todo", "due_at": "2026-03-01T10:00:00Z"}`).Is(201)
	p.to("03-03 12:00")
	p.Write.Patch("/v1/contacts/"+ann, `{"do_not_contact": true}`).Is(200)
	p.app.Work()
	p.to("03-04 12:00")
	want := []string{
		"03-05 10:00 meeting Demo: ",
		"03-03 12:00 suppression Suppressed: c0@x.example: opted_out",
		"03-03 12:00 opt_out Opted out: ",
		"03-03 12:00 step Spring, step 2: skipped: ",
		"03-03 12:00 step Spring: stopped: opted_out",
		"03-03 09:00 task ",
		"03-02 10:00 message Hello: captured, to c0@x.example",
		"03-01 10:00 task Write a letter: todo, open",
	}
	got := p.timeline(ann)
	for _, w := range want {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, w) }) {
			t.Errorf("the timeline lacks %q:\n%s", w, strings.Join(got, "\n"))
		}
	}
	if len(got) != len(want) || !slices.IsSortedFunc(got, func(a, b string) int { return strings.Compare(b[:11], a[:11]) }) {
		t.Errorf("the timeline is\n%s", strings.Join(got, "\n"))
	}

	// It is paged, and other contacts have their own.
	first := p.Read.Get("/v1/contacts/" + ann + "/timeline?page_size=3").Is(200)
	last := p.Read.Get("/v1/contacts/" + ann + "/timeline?page_size=3&page=3").Is(200)
	if first.Text("data.0.title") != "Demo" || first.Int("pagination.total_count") != 8 || last.Text("data.1.title") != "Write a letter" {
		t.Errorf("the pages are %s and %s", first.Body, last.Body)
	}
	p.Write.Patch("/v1/contacts/"+ann, `{"do_not_contact": false}`).Is(200)
	if again := p.timeline(ann); !slices.ContainsFunc(again, func(line string) bool { return strings.HasPrefix(line, "03-04 12:00 opt_out Opted in again") }) {
		t.Errorf("the timeline is\n%s", strings.Join(again, "\n"))
	}
	other := p.timeline(ids[1])
	if len(other) != 3 || !strings.HasPrefix(other[0], "03-05 09:00 step Spring, step 2: waiting: ") {
		t.Errorf("the timeline of the other contact is\n%s", strings.Join(other, "\n"))
	}
	p.Write.Patch(campaign, `{"status": "paused"}`).Is(200)
	if other = p.timeline(ids[1]); !strings.HasSuffix(other[0], "; waits: the campaign is paused") {
		t.Errorf("the timeline of the other contact is\n%s", strings.Join(other, "\n"))
	}

	p.Read.Get("/v1/contacts/"+apptest.NobodyID+"/timeline").Fails(404, "not_found", "")
	p.app.Org("Umbrella").Read.Get("/v1/contacts/"+ann+"/timeline").Fails(404, "not_found", "")
}

// A sequence that has not started, and one that stopped before its first step, are on the timeline.
func TestTimelineNotStarted(t *testing.T) {
	p := newEngineFixture(t)
	without, ann, again := p.contact(""), p.contact("ann@x.example"), p.contact("ANN@x.example")
	p.campaign([]string{without, ann, again}, map[string]any{"name": "Spring"}, []simStep{simMail(0, 0, 9)})
	p.app.Clock.Advance(time.Hour)
	if got := p.timeline(without); !slices.Equal(got, []string{"03-02 09:00 step Spring: not started: no_address"}) {
		t.Errorf("the timeline is %q", got)
	}
	if got := p.timeline(again); !slices.Equal(got, []string{"03-02 09:00 step Spring: stopped: duplicate_address"}) {
		t.Errorf("the timeline is %q", got)
	}
}

// A reply stops all active sequences of a contact.
func TestReplied(t *testing.T) {
	p := newEngineFixture(t)
	rec := apptest.NewReceiver(t)
	rec.Subscribe(p.Org, "sequence.stopped")
	ids := p.contacts(2)
	steps := []simStep{simMail(0, 0, 9), simCall(1, 0, 10), simMail(2, 1, 9)}
	first := p.campaign(ids, nil, steps)
	second := p.campaign(ids, nil, steps[2:])
	over := p.campaign(ids, nil, steps[:1])
	p.to("03-02 10:00")
	replied := "/v1/contacts/" + ids[0] + "/replied"
	p.Read.Post(replied, nil).Fails(403, "forbidden", "")
	p.Write.Post(replied, nil).Is(200, `{"data": {"stopped": 2}, "meta": {"timestamp": "<time>"}}`)
	for range 2 {
		p.is(first, ids[0], "stopped replied", "0 captured 03-02 09:00", "1 skipped 03-02 10:00 | the sequence was stopped: replied", "2 skipped 03-03 09:00 at 03-02 10:00 | the sequence was stopped: replied")
		p.is(second, ids[0], "stopped replied", "2 skipped 03-03 09:00 at 03-02 10:00")
		p.is(over, ids[0], "completed", "0 captured 03-02 09:00")
		p.Write.Post(replied, nil).Is(200, `{"data": {"stopped": 0}, "meta": {"timestamp": "<time>"}}`)
		p.app.Restart()
	}
	for _, task := range p.tasks(apptest.IsRule("contact_id", ids[0])) {
		if task.Status != "cancelled" {
			t.Errorf("a Task is %s", task.Status)
		}
	}
	p.wantEvents(rec, ids, "sequence.stopped c0", "sequence.stopped c0")
	p.to("03-04 09:00")
	for _, m := range p.outbox(apptest.IsRule("contact_id", ids[0])) {
		if m.Created.After(apptest.Start.Add(time.Hour)) {
			t.Errorf("%+v was sent after the reply", m)
		}
	}
	p.is(second, ids[1], "completed", "2 captured 03-03 09:00")
	p.Write.Post("/v1/contacts/"+apptest.NobodyID+"/replied", nil).Fails(404, "not_found", "")
	p.agrees(first)
	p.agrees(second)
}
