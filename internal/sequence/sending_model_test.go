package sequence_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"prospector/internal/address"
	"prospector/internal/apptest"
	"prospector/internal/service"
)

// TestSendingModel runs random campaigns to contacts that share addresses, while a random series of
// changes, outages, refusals and restarts happens. A record of everything that arrived at the mail
// server shows that nobody received anything that they must not receive. PROSPECTOR_SOAK is the number of
// worlds, 6 by default. PROSPECTOR_SEED is the first seed.
func TestSendingModel(t *testing.T) {
	for seed := range apptest.SoakSeeds(t, 6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := newSendingWorld(t, uint64(seed))
			for range 60 {
				w.step()
			}
			w.finish()
		})
	}
}

// sendingWorld is an organization whose campaigns run, and what is known about it.
type sendingWorld struct {
	*mailer
	random    *rand.Rand
	seed      uint64
	gap       time.Duration
	contacts  []*modelContact
	campaigns []*modelCampaign
	// suppressed has the reasons of the suppressed addresses; manual the ids of those set by request.
	reasons map[string]string
	manual  map[string]string
	arrived []arrival
	seen    int // mails of the server that are in arrived
	// mayRepeat counts the unknown messages that a request tries again, by address, campaign and step.
	mayRepeat map[string]int
	log       []string // what happened, for a failure

	mu      sync.Mutex // guards the following fields, which the mail server uses
	mode    string
	round   int
	bounced []string
}

type modelContact struct {
	path, email string
	optedOut    bool
}

type modelCampaign struct {
	path, audience string
	hours          []int // between a step and the one before
	paused         bool
}

// arrival is a message that the mail server accepted.
type arrival struct {
	at             time.Time
	to             string // in canonical form
	subject        string // names the campaign and the step
	campaign, step int
	messageID      string
}

func (a arrival) key() string { return a.to + " " + a.subject }

var modelDomains = []string{"one.example", "two.example", "zürich.example", "four.example"}

func newSendingWorld(t *testing.T, seed uint64) *sendingWorld {
	random := rand.New(rand.NewPCG(seed, 20))
	w := &sendingWorld{
		random: random, seed: seed, gap: []time.Duration{12 * time.Hour, 2 * time.Hour, 30 * time.Hour}[random.IntN(3)],
		reasons: map[string]string{}, manual: map[string]string{}, mayRepeat: map[string]int{},
	}
	w.mailer = newMailer(t, func(c *service.Config) {
		c.Mail.RecipientGap = w.gap
		c.Mail.DailyCap, c.Mail.MinGap = random.IntN(2)*8, time.Duration(random.IntN(2))*time.Minute
	})
	w.server.Reply(w.answer)
	w.Admin.Patch("/v1/organization", `{"sending_window": {"from_hour": 8, "to_hour": 18}}`).Is(200)
	for i := range 10 {
		c := &modelContact{email: w.spelling()}
		c.path = "/v1/contacts/" + w.Write.Post("/v1/contacts", map[string]any{"email": c.email, "first_name": fmt.Sprint("C", i)}).Is(201).ID()
		w.contacts = append(w.contacts, c)
	}
	for range 3 {
		w.newCampaign()
	}
	return w
}

// spelling returns an address of a small set, in one of its spellings.
func (w *sendingWorld) spelling() string {
	local, domain := []string{"ann", "bob"}[w.random.IntN(2)], modelDomains[w.random.IntN(len(modelDomains))]
	switch w.random.IntN(4) {
	case 0:
		return strings.ToUpper(local) + "@" + domain
	case 1:
		return local + "@" + strings.ToUpper(domain)
	case 2:
		return local + "@" + strings.Replace(domain, "zürich", "xn--zrich-kva", 1)
	}
	return local + "@" + domain
}

func (w *sendingWorld) newCampaign() {
	k := len(w.campaigns)
	c := &modelCampaign{}
	var steps, transitions []string
	for i := range 1 + w.random.IntN(3) {
		steps = append(steps, fmt.Sprintf(`{"index": %d, "type": "auto_email", "subject": "K%d S%d", "message": "Hello {{recipient.first_name|there}}"}`, i, k, i))
		c.hours = append(c.hours, 1+w.random.IntN(40))
		if i > 0 {
			transitions = append(transitions, fmt.Sprintf(`{"from_step_index": %d, "to_step_index": %d, "transition_type": "PREVIOUS_STEP_COMPLETES", "post_check_delay": %d, "post_check_time_unit": "hours"}`, i-1, i, c.hours[i]))
		}
	}
	template := w.Write.Post("/v1/sequence-templates", fmt.Sprintf(`{"name": "T%d", "steps": [%s], "transitions": [%s]}`, k, strings.Join(steps, ","), strings.Join(transitions, ","))).Is(201).ID()
	var ids []string
	for _, contact := range w.contacts {
		if w.random.IntN(3) > 0 {
			ids = append(ids, apptest.IDIn(contact.path))
		}
	}
	c.audience = apptest.AudienceOf(w.Org, fmt.Sprint("A", k), ids...)
	c.path = "/v1/campaigns/" + w.Write.Post("/v1/campaigns", fmt.Sprintf(`{"name": "K%d", "template_id": %q, "audience_ids": [%q], "status": "active"}`, k, template, apptest.IDIn(c.audience))).Is(201).ID()
	w.campaigns = append(w.campaigns, c)
	w.note("campaign %d: hours %v, contacts %v", k, c.hours, ids)
}

func (w *sendingWorld) note(format string, args ...any) {
	w.log = append(w.log, w.app.Clock.Now().Format("Mon 02 15:04 ")+fmt.Sprintf(format, args...))
}

// failed reports a violation together with the seed and everything that happened.
func (w *sendingWorld) failed(format string, args ...any) {
	w.t.Helper()
	w.t.Errorf("seed %d: "+format, append([]any{w.seed}, args...)...)
}

// step makes a random change, lets some time pass, and checks what arrived.
func (w *sendingWorld) step() {
	w.t.Helper()
	w.change()
	w.pass([]time.Duration{time.Minute, 20 * time.Minute, time.Hour, 5 * time.Hour, 26 * time.Hour}[w.random.IntN(5)])
}

func (w *sendingWorld) pass(d time.Duration) {
	w.t.Helper()
	w.mu.Lock()
	w.round++
	w.mu.Unlock()
	if w.random.IntN(2) == 0 {
		w.run() // at once, before time passes
		w.collect()
	}
	w.app.Clock.Advance(d)
	w.run()
	w.collect()
}

// answer is what the mail server says. It depends on nothing but the seed, the round and the recipient.
func (w *sendingWorld) answer(stage, to string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := fnv.New64a()
	fmt.Fprint(h, w.seed, w.round, w.mode, stage, to)
	random := rand.New(rand.NewPCG(h.Sum64(), 1))
	switch w.mode + " " + stage {
	case "refusing RCPT":
		return "550 5.7.1 not from you"
	case "busy RCPT", "busy " + apptest.MailContent:
		if random.IntN(2) == 0 {
			return "451 4.3.0 not now"
		}
	case "mixed RCPT":
		switch random.IntN(12) {
		case 0:
			w.bounced = append(w.bounced, to)
			return "550 5.1.1 no such user"
		case 1:
			return "554 5.7.1 no"
		case 2:
			return "421 4.3.2 closing"
		}
	case "mixed " + apptest.MailContent:
		switch random.IntN(8) {
		case 0:
			return apptest.MailDrop // after the message was stored
		case 1:
			return "552 5.3.4 too big"
		}
	}
	return ""
}

// change makes a random change.
func (w *sendingWorld) change() {
	w.t.Helper()
	contact := w.contacts[w.random.IntN(len(w.contacts))]
	campaign := w.campaigns[w.random.IntN(len(w.campaigns))]
	switch w.random.IntN(14) {
	case 0:
		w.pause(campaign)
	case 1, 2:
		w.release(campaign)
	case 3:
		w.optOut(contact)
	case 4:
		w.suppress(address.Key(w.spelling()))
	case 5:
		contact.email = w.spelling()
		w.note("%s has address %s", contact.path, contact.email)
		w.Write.Patch(contact.path, map[string]any{"email": contact.email}).Is(200)
	case 6:
		w.setTransport([]string{"outbox", "smtp", "smtp"}[w.random.IntN(3)])
	case 7:
		w.note("mail server down")
		w.server.Down()
		w.pass(time.Duration(1+w.random.IntN(30)) * time.Hour)
		w.server.Up()
	case 8, 9, 10:
		mode := []string{"", "mixed", "mixed", "busy", "refusing"}[w.random.IntN(5)]
		w.note("the mail server is %q", mode)
		w.mu.Lock()
		w.mode = mode
		w.mu.Unlock()
	case 11:
		w.retry(campaign)
	case 12:
		action := []string{"add", "remove"}[w.random.IntN(2)]
		w.note("%s %s of %s", action, contact.path, campaign.audience)
		w.Write.Post(campaign.audience+"/contacts/"+action, fmt.Sprintf(`{"contact_ids": [%q]}`, apptest.IDIn(contact.path))).Is(200)
	case 13:
		if len(w.campaigns) < 6 {
			w.newCampaign()
		}
	}
}

func (w *sendingWorld) pause(c *modelCampaign) {
	w.t.Helper()
	status := "paused"
	if c.paused {
		if w.Read.Get(c.path).Is(200).Value("data.held") != nil {
			w.Write.Patch(c.path, `{"status": "active"}`).Fails(409, "campaign_held", "")
			return
		}
		status = "active"
	}
	c.paused = !c.paused
	w.note("%s is %s", c.path, status)
	w.Write.Patch(c.path, fmt.Sprintf(`{"status": %q}`, status)).Is(200)
}

func (w *sendingWorld) release(c *modelCampaign) {
	w.t.Helper()
	if w.Read.Get(c.path).Is(200).Value("data.held") == nil {
		return
	}
	overdue, captured := []string{"send", "skip"}[w.random.IntN(2)], []string{"restart", "keep"}[w.random.IntN(2)]
	w.note("release %s: %s, %s", c.path, overdue, captured)
	w.Write.Post(c.path+"/release", fmt.Sprintf(`{"overdue": %q, "captured": %q}`, overdue, captured)).Is(200)
}

func (w *sendingWorld) retry(c *modelCampaign) {
	w.t.Helper()
	status := []string{`"failed"`, `"failed", "unknown"`}[w.random.IntN(2)]
	w.note("retry %s of %s", status, c.path)
	if strings.Contains(status, "unknown") {
		for _, m := range w.messages() {
			if m.Status == "unknown" && m.CampaignID == apptest.IDIn(c.path) {
				w.mayRepeat[address.Key(m.To)+" "+m.Subject]++
			}
		}
	}
	w.Write.Post(c.path+"/retry", `{"status": [`+status+`]}`).Is(200)
}

func (w *sendingWorld) optOut(c *modelContact) {
	w.t.Helper()
	c.optedOut = !c.optedOut
	w.note("%s %s opted out: %v", c.path, c.email, c.optedOut)
	key := address.Key(c.email)
	w.Write.Patch(c.path, map[string]any{"do_not_contact": c.optedOut}).Is(200)
	others := slices.ContainsFunc(w.contacts, func(o *modelContact) bool { return o.optedOut && address.Key(o.email) == key })
	switch {
	case c.optedOut:
		w.reasons[key] = cmp.Or(w.reasons[key], "opted_out")
	case w.reasons[key] == "opted_out" && !others:
		delete(w.reasons, key)
	}
}

// suppress suppresses an address, or removes the suppression that was set by request.
func (w *sendingWorld) suppress(key string) {
	w.t.Helper()
	if id := w.manual[key]; id != "" {
		w.note("%s is not suppressed", key)
		w.Admin.Delete("/v1/suppressions/" + id).Is(204)
		delete(w.manual, key)
		delete(w.reasons, key)
		return
	}
	if w.reasons[key] != "" {
		return
	}
	w.note("%s is suppressed", key)
	res := w.Admin.Post("/v1/suppressions", fmt.Sprintf(`{"email": %q}`, strings.ToUpper(key)))
	if res.Status != 200 { // the address of a contact who has opted out is suppressed already
		res.Is(201)
	}
	w.manual[key] = res.ID()
	w.reasons[key] = "manual"
}

func (w *sendingWorld) setTransport(transport string) {
	w.t.Helper()
	w.note("restart with %s", transport)
	w.app.Config.Mail.Transport = transport
	w.app.Restart()
}

// modelMessage is a message as it is listed.
type modelMessage struct {
	To, Subject, Status, Error string
	CampaignID                 string `json:"campaign_id"`
	SequenceID                 string `json:"sequence_id"`
	Headers                    map[string]string
}

func (w *sendingWorld) messages() []modelMessage {
	w.t.Helper()
	var list struct{ Data []modelMessage }
	if err := json.Unmarshal(w.Read.Post("/v1/outbox/list", `{"sort": "created_at", "page_size": 500}`).Is(200).Body, &list); err != nil {
		w.t.Fatal(err)
	}
	return list.Data
}

// collect records the messages that have arrived since the last call, and checks each of them.
func (w *sendingWorld) collect() {
	w.t.Helper()
	now := w.app.Clock.Now()
	mails := w.server.Mails()
	for _, m := range mails[w.seen:] {
		a := arrival{at: now, to: address.Key(m.To[0]), subject: m.Header.Get("Subject"), messageID: m.Header.Get("Message-ID")}
		if _, err := fmt.Sscanf(a.subject, "K%d S%d", &a.campaign, &a.step); err != nil {
			w.t.Fatalf("%q: %v", a.subject, err)
		}
		w.note("arrived: %s", a.key())
		w.checkArrival(a)
		w.arrived = append(w.arrived, a)
	}
	w.seen = len(mails)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, to := range w.bounced {
		key := address.Key(to)
		w.note("bounced: %s", key)
		w.reasons[key] = "bounce"
		delete(w.manual, key)
	}
	w.bounced = nil
}

func (w *sendingWorld) checkArrival(a arrival) {
	w.t.Helper()
	if reason := w.reasons[a.to]; reason != "" {
		w.failed("%s arrived at an address that is suppressed: %s", a.key(), reason)
	}
	if day := a.at.Weekday(); a.at.Hour() < 8 || a.at.Hour() >= 18 || day == time.Saturday || day == time.Sunday {
		w.failed("%s arrived outside the sending window, on %s", a.key(), a.at)
	}
	if w.campaigns[a.campaign].paused {
		w.failed("%s arrived while its campaign was paused", a.key())
	}
	for _, b := range w.arrived {
		if b.key() != a.key() {
			continue
		}
		if w.mayRepeat[a.key()]--; w.mayRepeat[a.key()] < 0 {
			w.failed("%s arrived twice, on %s and %s", a.key(), b.at, a.at)
		}
		break
	}
}

// finish ends all trouble, lets the campaigns run to their end, and checks all messages.
func (w *sendingWorld) finish() {
	w.t.Helper()
	w.mu.Lock()
	w.mode = ""
	w.mu.Unlock()
	if w.app.Config.Mail.Transport != "smtp" {
		w.setTransport("smtp")
	}
	for _, c := range w.campaigns {
		if w.Read.Get(c.path).Is(200).Value("data.held") != nil {
			w.note("release %s", c.path)
			w.Write.Post(c.path+"/release", `{"overdue": "send", "captured": "keep"}`).Is(200)
		}
		if c.paused {
			w.pause(c)
		}
	}
	for range 120 {
		w.pass(6 * time.Hour)
	}
	w.checkMessages()
	for _, c := range w.campaigns {
		if active := w.Read.Get(c.path + "/stats").Is(200).Int("data.active"); active != 0 {
			w.failed("%d sequences of %s do not end: %s", active, c.path, w.Read.Post(c.path+"/sequences/list", `{"filters": [{"field": "status", "condition": "is", "value": "active"}]}`).Body)
		}
	}
	w.checkConsistency()
	if w.t.Failed() {
		w.t.Logf("seed %d:\n%s", w.seed, strings.Join(w.log, "\n"))
	}
}

// checkMessages compares the statuses of messages with what arrived, and checks the distances between
// the messages of a sequence and of an address.
func (w *sendingWorld) checkMessages() {
	w.t.Helper()
	byID := map[string]modelMessage{}
	arrived := map[string]bool{}
	for _, m := range w.messages() {
		byID[m.Headers["Message-ID"]] = m
	}
	for i, a := range w.arrived {
		m := byID[a.messageID]
		arrived[a.messageID] = true
		if m.Status != "sent" && m.Status != "unknown" {
			w.failed("%s arrived, but is %q: %s", a.key(), m.Status, m.Error)
		}
		for _, b := range w.arrived[:i] {
			w.checkDistance(a, b, m.SequenceID == byID[b.messageID].SequenceID)
		}
	}
	for id, m := range byID {
		if m.Status == "sent" && !arrived[id] {
			w.failed("%s %s is sent but did not arrive", m.To, m.Subject)
		}
	}
	if len(w.arrived) == 0 {
		w.failed("nothing arrived")
	}
}

// checkDistance checks the time between two messages, of which b came first.
func (w *sendingWorld) checkDistance(a, b arrival, sameSequence bool) {
	w.t.Helper()
	distance := a.at.Sub(b.at)
	if !sameSequence {
		if a.to == b.to && distance < w.gap {
			w.failed("%s arrived %s after %s, want at least %s", a.key(), distance, b.key(), w.gap)
		}
		return
	}
	planned := time.Duration(0)
	for step := min(a.step, b.step) + 1; step <= max(a.step, b.step); step++ {
		planned += time.Duration(w.campaigns[a.campaign].hours[step]) * time.Hour
	}
	if distance < planned {
		w.failed("%s arrived %s after %s, want at least %s", a.key(), distance, b.key(), planned)
	}
}
