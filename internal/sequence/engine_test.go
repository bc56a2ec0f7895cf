package sequence_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
	"prospector/internal/service"
	"prospector/store"
)

// engineFixture is an organization with running campaigns, on a clock that moves from one due time
// to the next.
type engineFixture struct {
	*apptest.Org
	t   *testing.T
	app *apptest.App
}

// newEngineFixture starts on Monday, March 2nd, 09:00, in an organization with the calendar of
// simUTC.
func newEngineFixture(t *testing.T, change ...func(*service.Config)) *engineFixture {
	t.Helper()
	app := apptest.New(t, change...)
	p := &engineFixture{app.Org("Acme"), t, app}
	p.Admin.Patch("/v1/organization", simUTC).Is(200)
	return p
}

// sequence is a sequence as it is listed.
type sequence struct {
	ID       string
	Campaign string `json:"campaign_id"`
	Contact  string `json:"contact_id"`
	Status   string
	Reason   *string
	Started  time.Time  `json:"started_at"`
	Step     *int       `json:"current_step_index"`
	Next     *time.Time `json:"next_due_at"`
	History  []pastStep

	Name        *string `json:"contact_name"`
	Email       *string `json:"contact_email"`
	Deleted     bool    `json:"contact_deleted"`
	DuplicateOf *string `json:"duplicate_of"`
}

type pastStep struct {
	Index   int `json:"step_index"`
	Type    string
	Status  string
	Due     time.Time `json:"due_at"`
	At      *time.Time
	Reason  string
	Message *string `json:"message_id"`
	Task    *string `json:"task_id"`
	Version int     `json:"template_version"`
}

// outboxMessage is a message as it is listed.
type outboxMessage struct {
	ID       string
	Campaign string `json:"campaign_id"`
	Sequence string `json:"sequence_id"`
	Contact  string `json:"contact_id"`
	Step     int    `json:"step_index"`
	From, To string
	Subject  *string
	Body     *string
	Headers  map[string]string
	Status   string
	Error    *string
	Created  time.Time `json:"created_at"`
}

type stepTask struct {
	ID       string
	Title    string
	Type     string
	Status   string
	Due      *time.Time `json:"due_at"`
	Contact  *string    `json:"contact_id"`
	Campaign *string    `json:"campaign_id"`
	Owner    *string    `json:"owner_id"`
	Notes    *string
}

func (p *engineFixture) sequences(campaign string) []sequence {
	p.t.Helper()
	return apptest.WholeList[sequence](p.t, p.Org, campaign+"/sequences")
}

// sequence returns the sequence of a contact, or nil.
func (p *engineFixture) sequence(campaign, contact string) *sequence {
	p.t.Helper()
	of := apptest.WholeList[sequence](p.t, p.Org, campaign+"/sequences", apptest.IsRule("contact_id", contact))
	switch len(of) {
	case 0:
		return nil
	case 1:
		return &of[0]
	}
	p.t.Fatalf("%s has %d sequences", contact, len(of))
	return nil
}

func (p *engineFixture) outbox(rules ...string) []outboxMessage {
	p.t.Helper()
	return apptest.WholeList[outboxMessage](p.t, p.Org, "/v1/outbox", rules...)
}

func (p *engineFixture) tasks(rules ...string) []stepTask {
	p.t.Helper()
	return apptest.WholeList[stepTask](p.t, p.Org, "/v1/tasks", rules...)
}

// contacts creates n contacts with email addresses.
func (p *engineFixture) contacts(n int) (ids []string) {
	p.t.Helper()
	for chunk := range slices.Chunk(make([]struct{}, n), 500) {
		records := make([]map[string]string, len(chunk))
		for i := range records {
			who := fmt.Sprintf("c%d", len(ids)+i)
			records[i] = map[string]string{"email": who + "@x.example", "first_name": strings.ToUpper(who), "last_name": "Lee"}
		}
		for _, made := range p.Write.Post("/v1/contacts/batch", map[string]any{"records": records}).Is(200).Value("data.results").([]any) {
			ids = append(ids, made.(map[string]any)["id"].(string))
		}
	}
	return ids
}

// campaign creates an active campaign with an audience of the contacts, and starts it. more
// contains additional fields.
func (p *engineFixture) campaign(contacts []string, more map[string]any, steps []simStep, links ...simLink) string {
	p.t.Helper()
	body := map[string]any{"status": "active"}
	maps.Copy(body, more)
	path := simCampaign(p.Org, simAudience(p.Org, contacts...), body, steps, links...)
	p.app.Work()
	return path
}

// next returns when the next job becomes due, or the zero time if there is no such job.
func (p *engineFixture) next() time.Time {
	p.t.Helper()
	due, next, err := p.app.Store.Due(p.app.Clock.Now(), 1, nil, nil)
	if err != nil || len(due) > 0 {
		p.t.Fatalf("%d jobs are due still: %v", len(due), err)
	}
	return next
}

// runTo moves the clock from one due time to the next, up to and including the given time. It calls
// after, if given, at each of them.
func (p *engineFixture) runTo(moment time.Time, after ...func()) {
	p.t.Helper()
	for {
		p.app.Work()
		for _, do := range after {
			do()
		}
		p.app.Work()
		next := p.next()
		if next.IsZero() || next.After(moment) {
			simAdvance(p.t, p.app, moment)
			p.app.Work()
			return
		}
		simAdvance(p.t, p.app, next)
	}
}

// to calls runTo with a minute of 2026, such as "03-02 09:00".
func (p *engineFixture) to(minute string) {
	p.t.Helper()
	at, err := time.Parse("2006-01-02 15:04", "2026-"+minute)
	if err != nil {
		p.t.Fatal(err)
	}
	p.runTo(at)
}

// minute formats a time as the tests write it, without redundant parts.
func minute(at time.Time) string {
	layout := "01-02 15:04"
	if !at.Equal(at.Truncate(time.Minute)) {
		layout = "01-02 15:04:05.000"
	}
	return at.UTC().Format(layout)
}

// line describes a step of a history: "0 sent 03-02 09:00". If its status changed at another time
// than the due time, it is "0 sent 03-02 09:00 at 03-02 09:30".
func (h *pastStep) line() string {
	line := fmt.Sprintf("%d %s %s", h.Index, h.Status, minute(h.Due))
	if h.At != nil && !h.At.Equal(h.Due) {
		line += " at " + minute(*h.At)
	}
	return line
}

// is requires the state of the sequence of a contact: its status such as "active" or "stopped
// opted_out", the lines of its history and, after a bar, the ends of their reasons. "none" means
// that there is no sequence.
func (p *engineFixture) is(campaign, contact, status string, want ...string) *sequence {
	p.t.Helper()
	s := p.sequence(campaign, contact)
	if s == nil {
		if status != "none" {
			p.t.Errorf("no sequence, want one with status %s", status)
		}
		return &sequence{}
	}
	got := s.Status
	if s.Reason != nil {
		got += " " + *s.Reason
	}
	same := len(want) == len(s.History)
	var lines []string
	for i, h := range s.History {
		lines = append(lines, h.line()+" | "+h.Reason)
		if same {
			line, reason, told := strings.Cut(want[i], " | ")
			same = line == h.line() && (!told || strings.HasSuffix(h.Reason, reason))
		}
	}
	if got != status || !same {
		p.t.Errorf("sequence is %s:\n%s\nwant %s:\n%s", got, strings.Join(lines, "\n"), status, strings.Join(want, "\n"))
	}
	return s
}

// sentAll requires exactly these messages in the outbox, each as "c0@x.example 0 03-02 09:00".
func (p *engineFixture) sentAll(want ...string) {
	p.t.Helper()
	got := []string{}
	for _, m := range p.outbox() {
		got = append(got, fmt.Sprintf("%s %d %s", m.To, m.Step, minute(m.Created)))
	}
	if !slices.Equal(apptest.Sorted(got), apptest.Sorted(want)) {
		p.t.Errorf("got messages\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// agrees requires that everything shown of a campaign is consistent: its sequences, their Tasks,
// the messages, the statistics and what the store contains.
func (p *engineFixture) agrees(campaign string) {
	p.t.Helper()
	messages, tasks := map[string]outboxMessage{}, map[string]stepTask{}
	for _, m := range p.outbox(apptest.IsRule("campaign_id", apptest.IDIn(campaign))) {
		messages[m.ID] = m
	}
	for _, task := range p.tasks(apptest.IsRule("campaign_id", apptest.IDIn(campaign))) {
		tasks[task.ID] = task
	}
	counts := newCounts()
	once := map[string]bool{}
	for _, s := range p.sequences(campaign) {
		counts.add(&s)
		p.settled(&s)
		for _, h := range s.History {
			key := fmt.Sprint(s.Contact, h.Index)
			if once[key] {
				p.t.Errorf("contact %s: step %d appears twice in the history", s.Contact, h.Index)
			}
			once[key] = true
			p.stepAgrees(&s, &h, messages, tasks)
		}
	}
	if len(messages) > 0 {
		p.t.Errorf("%d messages belong to no step: %v", len(messages), messages)
	}
	if p.Read.Get(campaign).Status == 200 { // a deleted campaign has no statistics
		counts.are(p.t, p.Read.Get(campaign+"/stats").Is(200))
	}
	p.verify()
}

// stepAgrees compares a step of a history with its message or Task, and removes the message from
// the remaining ones.
func (p *engineFixture) stepAgrees(s *sequence, h *pastStep, messages map[string]outboxMessage, tasks map[string]stepTask) {
	p.t.Helper()
	if (h.At == nil) != (h.Status == "waiting") || h.At != nil && (h.At.Before(h.Due) && h.Status != "skipped") {
		p.t.Errorf("%s: unexpected time %v", h.line(), h.At)
	}
	if h.Message != nil {
		m, found := messages[*h.Message]
		if !found || m.Status != h.Status || m.Sequence != s.ID || m.Contact != s.Contact || m.Step != h.Index || !m.Created.Equal(*h.At) {
			p.t.Errorf("%s: unexpected message %+v", h.line(), m)
		}
		delete(messages, *h.Message)
	} else if h.Status == "captured" || h.Status == "failed" {
		p.t.Errorf("%s has no message", h.line())
	}
	if h.Task == nil {
		if h.Status == "task_open" || h.Status == "done" {
			p.t.Errorf("%s has no Task", h.line())
		}
		return
	}
	task, found := tasks[*h.Task]
	if found && (task.Status == "open") != (h.Status == "task_open") || !found && h.Status == "task_open" || h.Type == "auto_email" {
		p.t.Errorf("%s: unexpected Task %+v", h.line(), task)
	}
}

// settled compares the fields of a sequence with its history.
func (p *engineFixture) settled(s *sequence) {
	p.t.Helper()
	var next *pastStep
	waiting := 0
	for i := range s.History {
		h := &s.History[i]
		if h.Status == "waiting" || h.Status == "task_open" || h.Status == "held" {
			waiting++
		}
		if h.Status == "waiting" && (next == nil || h.Due.Before(next.Due)) {
			next = h
		}
	}
	switch {
	case next == nil:
		if s.Next != nil || len(s.History) > 0 && s.Step == nil {
			p.t.Errorf("%+v waits for nothing", s)
		}
	case strings.Contains(next.Reason, "; waits: the campaign is"):
		if s.Next != nil {
			p.t.Errorf("%+v is planned while its campaign does not send", s)
		}
	case s.Next == nil || !s.Next.Equal(next.Due) || *s.Step != next.Index:
		p.t.Errorf("%+v waits for %s", s, next.line())
	}
	if (waiting > 0) != (s.Status == "active") {
		p.t.Errorf("%+v is %s", s, s.Status)
	}
}

// verify checks the consistency of the organization's outreach data in the store.
func (p *engineFixture) verify() {
	p.t.Helper()
	err := p.app.Store.View(p.ID, func(tx *store.Tx) error {
		report := func(_ bool, format string, args ...any) { p.t.Errorf(format, args...) }
		return store.VerifyPortions(tx, report, append(p.app.Outreach.Portions(), p.app.Sequences.Portions()...)...)
	})
	if err != nil {
		p.t.Error(err)
	}
}

// counts are the statistics of sequences, counted by the test.
type counts struct {
	Status     map[string]int
	Reasons    map[string]int
	NotStarted map[string]int // sequences that have not started, by reason
	Steps      map[int]map[string]int
	of         map[string]int // statuses of steps
}

func newCounts() *counts {
	return &counts{map[string]int{}, map[string]int{}, map[string]int{}, map[int]map[string]int{}, map[string]int{}}
}

func (c *counts) add(s *sequence) {
	c.Status[s.Status]++
	switch {
	case s.Status == "not_started":
		c.NotStarted[*s.Reason]++
	case s.Reason != nil:
		c.Reasons[*s.Reason]++
	}
	for _, h := range s.History {
		if c.Steps[h.Index] == nil {
			c.Steps[h.Index] = map[string]int{}
		}
		column := map[string]string{"waiting": "waiting", "task_open": "waiting", "held": "held", "sent": "done", "captured": "done", "done": "done", "skipped": "skipped", "failed": "failed", "unknown": "failed"}[h.Status]
		c.Steps[h.Index][column]++
		c.of[h.Status]++
	}
}

// are requires that statistics equal the counts. They may contain steps that no sequence has
// reached.
func (c *counts) are(t *testing.T, stats *apptest.Response) {
	t.Helper()
	steps := []string{}
	for _, step := range stats.Value("data.steps").([]any) {
		i := int(step.(map[string]any)["step_index"].(float64))
		of := c.Steps[i]
		steps = append(steps, fmt.Sprintf(`{"step_index": %d, "waiting": %d, "done": %d, "skipped": %d, "failed": %d, "held": %d}`, i, of["waiting"], of["done"], of["skipped"], of["failed"], of["held"]))
		delete(c.Steps, i)
	}
	if len(c.Steps) > 0 {
		t.Errorf("the stats leave out %v", c.Steps)
	}
	stats.Is(200, fmt.Sprintf(`{"data": {"enrolled": %d, "not_started": %d, "not_started_by_reason": %s, "active": %d, "completed": %d, "stopped": %d, "stopped_by_reason": %s,
		"messages_sent": %d, "messages_captured": %d, "messages_failed": %d, "tasks_open": %d, "next_due_at": "<any>", "last_due_at": "<any>", "steps": [%s]},
		"meta": {"timestamp": "<time>"}}`, c.Status["not_started"]+c.Status["active"]+c.Status["completed"]+c.Status["stopped"], c.Status["not_started"], apptest.AsJSON(c.NotStarted),
		c.Status["active"], c.Status["completed"], c.Status["stopped"], apptest.AsJSON(c.Reasons), c.of["sent"], c.of["captured"], c.of["failed"]+c.of["unknown"], c.of["task_open"], strings.Join(steps, ", ")))
}
