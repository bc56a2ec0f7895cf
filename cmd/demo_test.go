package cmd_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

var demoAddress = regexp.MustCompile(`(?s)running at (https?://127\.0\.0\.1:\d+) .*API key: (pro_\S+)\n.*Ctrl-C`)

// demo is a running demo with what it told its user.
type demo struct {
	*server
	key   string
	curls []string
}

func (p *place) demo() *demo {
	p.t.Helper()
	d := &demo{server: p.start("demo", "--addr", "127.0.0.1:0", "--companies", "2000")}
	m := d.await(d.stdout, demoAddress)
	d.url, d.key = m[1], m[2]
	for line := range strings.Lines(m[0]) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "curl ") {
			d.curls = append(d.curls, line)
		}
	}
	return d
}

// curl does what curl would with one of the printed lines.
func (d *demo) curl(line string) reply {
	d.t.Helper()
	words := shellWords(line)
	var method, url, body string
	var headers []string
	for i := 1; i < len(words); i++ {
		value := func() string {
			if i++; i == len(words) {
				d.t.Fatalf("%s: an option without its value", line)
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
				d.t.Errorf("%s: the URL is not quoted, and some shells make something of it", line)
			}
		default:
			d.t.Fatalf("%s: this test does not know %q", line, w)
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

// shellWords splits a line as a shell does, as far as spaces and single quotes go.
func shellWords(line string) (words []string) {
	var word strings.Builder
	quoted, open := false, false
	for _, r := range line + " " {
		switch {
		case r == '\'':
			quoted, open = !quoted, true
		case r == ' ' && !quoted:
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

// tryAll pastes every line of the things to try: one asks as the other organization, and one accepts an Import.
func (d *demo) tryAll() {
	d.t.Helper()
	if len(d.curls) != 10 {
		d.t.Fatalf("the demo shows %d lines to try, want 10:\n%s", len(d.curls), d.stdout)
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
			d.t.Errorf("%s\nis answered %d: %s", line, r.status, r.body)
		}
	}
	for late := time.Now().Add(patience); d.total(d.key, "tam/imports", `{"filters": [{"field": "status", "condition": "is_not", "value": "completed"}]}`) > 0; {
		if time.Now().After(late) {
			d.t.Fatalf("an Import does not end:\n%s", d.stderr)
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
		t.Errorf("the demo has %d contacts of %d accounts, want a few hundred of some dozen", contacts, accounts)
	}
	for filter, what := range map[string]string{
		`{"field": "source", "condition": "is", "value": "tam_import"}`: "was imported", `{"field": "custom_field_hiring", "condition": "is", "value": true}`: "was found to be hiring",
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
		t.Error("the second run shows the key of the first")
	}
	again.do(http.StatusUnauthorized, d.key, "GET", "/v1/me", "")
	if n := again.total(again.key, "contacts", "{}"); n != contacts+1 {
		t.Errorf("the second run has %d contacts, want the %d of the first and the one that was made there", n, contacts)
	}
	again.tryAll()
	again.hasOutreach()
	// Commands reach it as they reach any server.
	p.run("org", "list", "--data-dir", "demo-data").says(`ID +NAME +CREATED\n` + anID + ` +Northwind Demo +` + aTime + `\n` + anID + ` +Southgate Demo +` + aTime + `\n`)
	keys := p.run("key", "list", "--org", "Northwind Demo", "--data-dir", "demo-data").ok().stdout
	if n := len(regexp.MustCompile(`(?m)demo +admin +true `).FindAllString(keys, -1)); n != 1 {
		t.Errorf("%d demo keys are active, want 1:\n%s", n, keys)
	}
	again.stop()
}

// hasOutreach holds the demo to one of each that it has for campaigns, and to nothing that runs.
func (d *demo) hasOutreach() {
	d.t.Helper()
	for entity, want := range map[string]int{"audiences": 2, "sequence-templates": 2, "campaigns": 1} {
		if n := d.total(d.key, entity, "{}"); n != want {
			d.t.Errorf("there are %d %s, want %d", n, entity, want)
		}
	}
	for entity, filter := range map[string]string{
		"audiences":          `{"field": "contact_count", "condition": "less_than", "value": 5}`,
		"sequence-templates": `{"field": "owner_id", "condition": "is_empty"}`,
		"campaigns":          `{"field": "status", "condition": "is_not", "value": "draft"}`,
	} {
		if n := d.total(d.key, entity, `{"filters": [`+filter+`]}`); n != 0 {
			d.t.Errorf("%d %s have %s", n, entity, filter)
		}
	}
}

// TestDemoKeepsItsWord: the second thing to try says what becomes of the first, and who did it.
func TestDemoKeepsItsWord(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	d := p.demo()
	list, simulate, optOut, history := d.curls[0], d.curls[1], d.curls[2], d.curls[3]
	who := regexp.MustCompile(`/v1/contacts/(` + anID + `)`).FindStringSubmatch(optOut)
	if who == nil {
		t.Fatalf("%s names no contact", optOut)
	}
	listed := func() bool { return strings.Contains(string(d.curl(list).body), who[1]) }
	says := func(line string, words ...string) {
		t.Helper()
		answer := string(d.curl(line).body)
		for _, w := range words {
			if !strings.Contains(answer, w) {
				t.Errorf("%s\ndoes not say %s:\n%s", line, w, answer)
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
		t.Errorf("whoever opts out was listed before: %v, is listed after: %v", before, listed())
	}
	all := string(d.curl(regexp.MustCompile(`-d '.*'`).ReplaceAllString(simulate, `-d '{}'`)).body)
	if n := strings.Count(all, `"contact_id"`); n < 5 || !strings.Contains(all, who[1]) || !strings.Contains(all, `"action":"send"`) {
		t.Errorf("of all in its audiences it simulates %d:\n%s", n, all)
	}
	d.stop()
}

// TestDemoOutlivesKill: a demo that was killed is there again.
func TestDemoOutlivesKill(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	d := p.demo()
	contacts := d.total(d.key, "contacts", "{}")
	d.kill()
	d = p.demo()
	if n := d.total(d.key, "contacts", "{}"); n != contacts {
		t.Errorf("there are %d contacts, want %d", n, contacts)
	}
	d.stop()
}

// TestDemoHangsTogether: what the demo has names what belongs to it, and neither organization sees the other.
func TestDemoHangsTogether(t *testing.T) {
	t.Parallel()
	d := newPlace(t).demo()
	other := regexp.MustCompile(`Key of Southgate Demo: (pro_\S+)`).FindStringSubmatch(d.stdout.String())
	if other == nil {
		t.Fatalf("no key of the other organization in\n%s", d.stdout)
	}
	for _, entity := range []string{"opportunities", "tasks", "meetings"} {
		if n := d.total(d.key, entity, "{}"); n < 20 {
			t.Errorf("there are %d %s", n, entity)
		}
		for _, field := range []string{"account_id", "contact_id", "owner_id"} {
			if n := d.total(d.key, entity, `{"filters": [{"field": "`+field+`", "condition": "is_empty"}]}`); n != 0 {
				t.Errorf("%d %s have no %s", n, entity, field)
			}
		}
	}
	all, theirs := d.total(d.key, "contacts", "{}"), d.total(other[1], "contacts", "{}")
	if theirs == 0 || theirs >= all {
		t.Errorf("the other organization has %d contacts, this one %d", theirs, all)
	}
	open := `{"filters": [{"field": "stage", "condition": "is", "value": ["won", "lost"]}, {"field": "close_date", "condition": "is_after", "value": "` + time.Now().Format(time.DateOnly) + `"}]}`
	if n := d.total(d.key, "opportunities", open); n != 0 {
		t.Errorf("%d deals that are closed will be closed later", n)
	}
	d.stop()
}
