package cmd_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// demoGuide matches the guide that the demo prints. The keys are its last two lines.
var demoGuide = regexp.MustCompile(
	`(?s)running at (https?://127\.0\.0\.1:\d+) .*\nexport KEY=(pro_\S+) [^\n]*\nexport OTHER_KEY=(pro_\S+) [^\n]*\n\z`)

// demo is a running demo with the keys and requests that it printed.
type demo struct {
	*server
	key, otherKey string
	curls         []string
}

// demo runs a demo without a running campaign. It has no rate limit, because tryAll polls.
func (p *place) demo() *demo {
	p.t.Helper()
	p.env = append(p.env, "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0")
	d := &demo{server: p.start("demo", "--addr", "127.0.0.1:0", "--companies", "2000", "--speed", "1")}
	m := d.await(d.stdout, demoGuide)
	d.url, d.key, d.otherKey = m[1], m[2], m[3]
	for line := range strings.Lines(m[0]) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "curl ") {
			d.curls = append(d.curls, line)
		}
	}
	return d
}

// curl sends the request of a printed command line.
func (d *demo) curl(line string) reply {
	d.t.Helper()
	words := shellWords(strings.NewReplacer("$KEY", d.key, "$OTHER_KEY", d.otherKey).Replace(line))
	var method, url, body string
	var headers []string
	for i := 1; i < len(words); i++ {
		value := func() string {
			if i++; i == len(words) {
				d.t.Fatalf("%s: an option has no value", line)
			}
			return words[i]
		}
		switch w := words[i]; {
		case w == "-s":
		case w == "-X":
			method = value()
		case w == "-d":
			body = value()
		case w == "-H":
			name, content, _ := strings.Cut(value(), ": ")
			headers = append(headers, name, content)
		case strings.HasPrefix(w, "http://127.0.0.1:"):
			if url = w; !strings.Contains(line, "'"+url+"'") {
				d.t.Errorf("%s: the URL is not quoted, so some shells interpret it", line)
			}
		default:
			d.t.Fatalf("%s: unexpected argument %q", line, w)
		}
	}
	if method == "" {
		method = http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
	}
	r, err := send(client, method, url, body, headers...)
	if err != nil {
		d.t.Fatalf("%s: %v", line, err)
	}
	return r
}

// signsIn uses the link to the console, which works once.
func (d *demo) signsIn() {
	d.t.Helper()
	link := regexp.MustCompile(regexp.QuoteMeta(d.url) + `/app/welcome#token=(\S+)`).FindStringSubmatch(d.stdout.String())
	if link == nil {
		d.t.Fatalf("the demo prints no link to the console:\n%s", d.stdout)
	}
	for _, want := range []int{http.StatusCreated, http.StatusUnauthorized} {
		r, err := send(client, http.MethodPost, d.url+"/v1/sessions/redeem", `{"token": "`+link[1]+`"}`, "Content-Type", "application/json")
		if err != nil || r.status != want {
			d.t.Errorf("the link gives %d, want %d: %s (%v)", r.status, want, r.body, err)
		}
	}
}

// shellWords splits a line as a shell does, as far as spaces and quotes go.
func shellWords(line string) (words []string) {
	var word strings.Builder
	var quote rune
	open := false
	for _, r := range line + " " {
		switch {
		case r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, open = r, true
		case r == ' ' && quote == 0:
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	return words
}

// tryAll sends every printed request. One is sent by the other organization, and one accepts an Import.
func (d *demo) tryAll() {
	d.t.Helper()
	if len(d.curls) != 10 {
		d.t.Fatalf("the demo prints %d requests, want 10:\n%s", len(d.curls), d.stdout)
	}
	for i, line := range d.curls {
		want := http.StatusOK
		switch i {
		case 6:
			want = http.StatusNotFound
		case 8:
			want = http.StatusAccepted
		}
		if r := d.curl(line); r.status != want {
			d.t.Errorf("%s\nstatus %d: %s", line, r.status, r.body)
		}
	}
	for late := time.Now().Add(waitTimeout); d.total(d.key, "tam/imports", `{"filters": [{"field": "status", "condition": "is_not", "value": "completed"}]}`) > 0; {
		if time.Now().After(late) {
			d.t.Fatalf("an Import does not finish:\n%s", d.stderr)
		}
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	d := p.demo()
	d.tryAll()
	contacts, accounts := d.total(d.key, "contacts", "{}"), d.total(d.key, "accounts", "{}")
	if contacts < 200 || contacts > 1000 || accounts < 20 {
		t.Errorf("the demo has %d contacts in %d accounts, want a few hundred in some dozen", contacts, accounts)
	}
	for filter, what := range map[string]string{
		`{"field": "source", "condition": "is", "value": "tam_import"}`:                "was imported",
		`{"field": "custom_field_products", "condition": "is", "value": "Salesforce"}`: "was found to use Salesforce",
	} {
		if n := d.total(d.key, "accounts", `{"filters": [`+filter+`]}`); n == 0 {
			t.Errorf("no account of the demo %s", what)
		}
	}
	if n := d.total(d.key, "contacts", `{"filters": [{"field": "account_id", "condition": "is_empty"}]}`); n != 0 {
		t.Errorf("%d contacts of the demo have no account", n)
	}
	d.do(http.StatusCreated, d.key, "POST", "/v1/contacts", `{"email": "mine@example.com"}`)
	d.hasOutreach()
	d.stop()

	again := p.demo()
	if again.key == d.key {
		t.Error("the second run prints the key of the first")
	}
	again.do(http.StatusUnauthorized, d.key, "GET", "/v1/me", "")
	if n := again.total(again.key, "contacts", "{}"); n != contacts+1 {
		t.Errorf("the second run has %d contacts, want the %d of the first and the one created there", n, contacts)
	}
	again.tryAll()
	again.hasOutreach()
	// Commands reach the demo like any server.
	p.run("org", "list", "--data-dir", "demo-data").says(`ID +NAME +CREATED\n` + anID + ` +Northwind Demo +` + aTime + `\n` + anID + ` +Southgate Demo +` + aTime + `\n`)
	keys := p.run("key", "list", "--org", "Northwind Demo", "--data-dir", "demo-data").ok().stdout
	if n := len(regexp.MustCompile(`(?m)demo +admin +true `).FindAllString(keys, -1)); n != 1 {
		t.Errorf("%d demo keys are active, want 1:\n%s", n, keys)
	}
	again.stop()
}

// hasOutreach checks that audiences, templates and the draft exist once, and that no campaign runs.
func (d *demo) hasOutreach() {
	d.t.Helper()
	for entity, want := range map[string]int{"audiences": 2, "sequence-templates": 2, "campaigns": 1} {
		if n := d.total(d.key, entity, "{}"); n != want {
			d.t.Errorf("got %d %s, want %d", n, entity, want)
		}
	}
	for entity, filter := range map[string]string{
		"audiences":          `{"field": "contact_count", "condition": "less_than", "value": 5}`,
		"sequence-templates": `{"field": "owner_id", "condition": "is_empty"}`,
		"campaigns":          `{"field": "status", "condition": "is_not", "value": "draft"}`,
	} {
		if n := d.total(d.key, entity, `{"filters": [`+filter+`]}`); n != 0 {
			d.t.Errorf("%d %s match %s, want none", n, entity, filter)
		}
	}
}

// TestDemoGuide checks that the requests of the guide show what it says: an opt-out changes the list
// and the simulation, and appears in the history.
func TestDemoGuide(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	d := p.demo()
	list, simulate, optOut, history := d.curls[0], d.curls[1], d.curls[2], d.curls[3]
	d.signsIn()
	who := regexp.MustCompile(`/v1/contacts/(` + anID + `)`).FindStringSubmatch(optOut)
	if who == nil {
		t.Fatalf("%s contains no contact", optOut)
	}
	listed := func() bool { return strings.Contains(string(d.curl(list).body), who[1]) }
	says := func(line string, words ...string) {
		t.Helper()
		answer := string(d.curl(line).body)
		for _, w := range words {
			if !strings.Contains(answer, w) {
				t.Errorf("%s\nthe response does not contain %s:\n%s", line, w, answer)
			}
		}
	}
	before := listed()
	says(simulate, who[1], `"action":"send"`, `"action":"task"`, `"subject":"Re: A question about `, `"missing":[]`,
		"2 hours after step 0 was due", "2 business days after step 0 was completed", "90 minutes after step 2 was completed", "the last of the 2 transitions it waits for")
	d.curl(optOut)
	says(history, `"operation":"update_contact"`, "do_not_contact")
	says(simulate, `"action":"skip"`, "the contact has opted out")
	if !before || listed() {
		t.Errorf("listed before opting out: %v, after: %v", before, listed())
	}
	all := string(d.curl(regexp.MustCompile(`-d '.*'`).ReplaceAllString(simulate, `-d '{}'`)).body)
	if n := strings.Count(all, `"contact_id"`); n < 5 || !strings.Contains(all, who[1]) || !strings.Contains(all, `"action":"send"`) {
		t.Errorf("simulating all audiences covers %d contacts:\n%s", n, all)
	}
	d.stop()
}

// TestDemoWhileFilling checks that the demo serves the API while it generates its market, that it reports the
// progress, and that it can be interrupted.
func TestDemoWhileFilling(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	d := p.start("demo", "--addr", "127.0.0.1:0", "--companies", "1000000")
	m := d.await(d.stdout, regexp.MustCompile(`Serving (http://127\.0\.0\.1:\d+) already (?s:.*)\n  export KEY=(\S+)\n`))
	d.url = m[1]
	key := m[2]
	d.do(http.StatusOK, "", "GET", "/healthz", "")
	d.await(d.stderr, regexp.MustCompile(`Generating a market of 1000000 companies:\n0 of 4000000 records\n`))
	ready := d.do(http.StatusServiceUnavailable, "", "GET", "/readyz", "")
	if !regexp.MustCompile(`"the demo is generating its market: \d+ of 4000000 records"`).Match(ready.body) {
		t.Errorf("/readyz returns %s", ready.body)
	}
	if n := d.total(key, "contacts", "{}"); n < 200 {
		t.Errorf("%d contacts exist while the market is generated", n)
	}
	d.do(http.StatusCreated, key, "POST", "/v1/contacts", `{"email": "early@example.com"}`)
	d.stop()
}

// TestDemoAfterKill checks that a killed demo can be run again.
func TestDemoAfterKill(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	d := p.demo()
	contacts := d.total(d.key, "contacts", "{}")
	d.kill()
	d = p.demo()
	if n := d.total(d.key, "contacts", "{}"); n != contacts {
		t.Errorf("got %d contacts, want %d", n, contacts)
	}
	d.stop()
}

// TestDemoReferences checks that the records of the demo refer to each other, and that neither
// organization sees the other.
func TestDemoReferences(t *testing.T) {
	t.Parallel()
	d := newPlace(t).demo()
	for _, entity := range []string{"opportunities", "tasks", "meetings"} {
		if n := d.total(d.key, entity, "{}"); n < 20 {
			t.Errorf("got %d %s", n, entity)
		}
		for _, field := range []string{"account_id", "contact_id", "owner_id"} {
			if n := d.total(d.key, entity, `{"filters": [{"field": "`+field+`", "condition": "is_empty"}]}`); n != 0 {
				t.Errorf("%d %s have no %s", n, entity, field)
			}
		}
	}
	all, theirs := d.total(d.key, "contacts", "{}"), d.total(d.otherKey, "contacts", "{}")
	if theirs == 0 || theirs >= all {
		t.Errorf("the other organization has %d contacts, this one %d", theirs, all)
	}
	open := `{"filters": [{"field": "stage", "condition": "is", "value": ["won", "lost"]}, {"field": "close_date", "condition": "is_after", "value": "` + time.Now().Format(time.DateOnly) + `"}]}`
	if n := d.total(d.key, "opportunities", open); n != 0 {
		t.Errorf("%d closed deals have a close date in the future", n)
	}
	d.stop()
}
