package browsertest

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"
	"time"
)

// startMailing runs a service of its own that sends through a mail server, with one organization that sends at any hour.
func startMailing(t *testing.T, port string) *demo {
	t.Helper()
	d := &demo{binary: shared.binary, data: filepath.Join(t.TempDir(), "data")}
	t.Cleanup(d.serve(t, smtp(port)...))
	d.createAcme(t)
	return d
}

// smtp returns the settings with which a service sends through a mail server on a port of this machine.
func smtp(port string) []string {
	return []string{"PROSPECTOR_MAIL_TRANSPORT=smtp", "PROSPECTOR_MAIL_SMTP_HOST=127.0.0.1", "PROSPECTOR_MAIL_SMTP_PORT=" + port, "PROSPECTOR_MAIL_SMTP_TLS=none"}
}

// serve runs a service on the data directory until stop is called.
func (d *demo) serve(t *testing.T, settings ...string) (stop func()) {
	t.Helper()
	c := exec.Command(d.binary, "serve", "--data-dir", d.data)
	c.Env = append(append(os.Environ(), "PROSPECTOR_ADDR=127.0.0.1:0", "PROSPECTOR_MAIL_MIN_GAP=0s", "PROSPECTOR_RATE_LIMIT_PER_MINUTE=0"), settings...)
	out, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`msg=listening address=(\S+)`)
	d.url = ""
	for lines := bufio.NewScanner(out); d.url == "" && lines.Scan(); {
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			d.url = m[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the process
	return func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
	}
}

// createAcme creates an organization that sends at any hour, with an admin and a key.
func (d *demo) createAcme(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{
		{"org", "create", "--name", "Acme"},
		{"user", "create", "--org", "Acme", "--email", "ada@acme.example", "--first-name", "Ada", "--access", "admin"},
		{"key", "create", "--org", "Acme", "--name", "test", "--access", "admin"},
	} {
		text, err := exec.Command(d.binary, append(args, "--data-dir", d.data)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, text)
		}
		d.key = regexp.MustCompile(`pro_\S+`).FindString(string(text))
	}
	d.call(t, http.MethodPatch, "/v1/organization", map[string]any{"business_days": []int{1, 2, 3, 4, 5, 6, 7}, "sending_window": map[string]any{"from_hour": 0, "to_hour": 24}, "postal_address": "1 Main Street"})
}

// TestReleaseAsks captures the emails of three people, then sends through a mail server, which holds the campaign. A fourth
// person joins. The dialog asks what becomes of the captured emails and of the overdue one, with their counts, chooses
// nothing by itself, and does what was chosen.
func TestReleaseAsks(t *testing.T) {
	if shared == nil {
		open(t, 1280)
	}
	d := &demo{binary: shared.binary, data: filepath.Join(t.TempDir(), "data")}
	stop := d.serve(t)
	d.createAcme(t)
	defer func(before *demo) { shared = before }(shared)
	shared = d
	var people []any
	for i := range 4 {
		people = append(people, d.create(t, "/v1/contacts", map[string]any{"first_name": "Cara", "email": fmt.Sprintf("cara%d@captured.example", i)}))
	}
	template := d.create(t, "/v1/sequence-templates", map[string]any{"name": "Two emails", "steps": []any{
		map[string]any{"type": "auto_email", "index": 0, "title": "First", "subject": "Hello", "message": "Hello", "day": 0, "hour": 0},
		map[string]any{"type": "auto_email", "index": 1, "title": "Second", "subject": "", "message": "Did this reach you?", "day": 5, "hour": 0}}})
	audience := d.create(t, "/v1/audiences", map[string]any{"name": "Captured", "contact_ids": people[:3]})
	path := "/v1/campaigns/" + d.create(t, "/v1/campaigns", map[string]any{"name": "Captured", "status": "active", "template_id": template, "audience_ids": []string{audience}, "owner_id": d.named(t, "/v1/users", "email", "ada@acme.example")["id"]})
	stats := func(name string) any { return d.get(t, path+"/stats")[name] }
	eventually(t, "three messages are captured", func() bool { return stats("messages_captured") == 3.0 })
	stop()

	stop = d.serve(t, smtp(mailServer(t, &atomic.Bool{}))...)
	t.Cleanup(stop)
	d.call(t, http.MethodPost, "/v1/audiences/"+audience+"/contacts/add", map[string]any{"contact_ids": people[3:]})
	eventually(t, "the fourth person is enrolled", func() bool { return stats("enrolled") == 4.0 })
	b := open(t, 1280)
	b.signInAsNew()
	b.visit(path[len("/v1"):])
	b.shows("the mail transport was changed")
	b.expected = append(b.expected, "status of 422") // the service says which choices it needs
	b.click("button", "Release…")
	b.shows("3 people have emails that were captured and never arrived")
	b.shows("1 step is overdue")
	isChosen := func() int { return eval[int](b, `document.querySelectorAll('dialog input:checked').length`) }
	if n := isChosen(); n != 0 {
		t.Errorf("%d choices are made already", n)
	}
	isReady := `!` + find("dialog button.primary", "Release") + `.disabled`
	if eval[bool](b, isReady) {
		t.Error("the campaign can be released without a choice")
	}
	b.screenshot("release")
	b.click("dialog label", "Begin again: 3 people get the emails from the first one on")
	if eval[bool](b, isReady) {
		t.Error("the campaign can be released before both choices are made")
	}
	b.click("dialog label", "Do it now: 1 email or task")
	b.until(isReady)
	b.click("dialog button.primary", "Release")
	b.until(`!document.querySelector('dialog')`)
	eventually(t, "all four have got the first email", func() bool { return stats("messages_sent") == 4.0 })
	if n := d.total(t, "/v1/outbox/list", map[string]any{"filters": []any{map[string]any{"field": "status", "condition": "is", "value": "sent"}, map[string]any{"field": "subject", "condition": "is_not", "value": "Hello"}}}); n != 0 {
		t.Errorf("%v other emails went out", n)
	}
}

// TestOnePerson postpones, skips, stops and restarts the sequence of one person who has got the first of three emails, and
// restarts it once more with all who were stopped for that reason.
func TestOnePerson(t *testing.T) {
	if shared == nil {
		open(t, 1280)
	}
	mailing := startMailing(t, mailServer(t, &atomic.Bool{}))
	b := open(t, 1280)
	defer func(before *demo) { shared = before }(shared)
	shared = mailing
	b.signInAsNew()
	contact := shared.create(t, "/v1/contacts", map[string]any{"first_name": "Pia", "email": "pia@person.example"})
	step := func(i int, title string) any {
		return map[string]any{"type": "auto_email", "index": i, "title": title, "subject": title, "message": "Hello", "day": 5 * i, "hour": 0}
	}
	template := shared.create(t, "/v1/sequence-templates", map[string]any{"name": "Three", "steps": []any{step(0, "First"), step(1, "Second"), step(2, "Third")}})
	audience := shared.create(t, "/v1/audiences", map[string]any{"name": "Person", "contact_ids": []string{contact}})
	path := "/v1/campaigns/" + shared.create(t, "/v1/campaigns", map[string]any{"name": "Person", "status": "active", "template_id": template, "audience_ids": []string{audience}, "owner_id": shared.named(t, "/v1/users", "email", "ada@acme.example")["id"]})
	sequence := func() map[string]any { return shared.first(t, path+"/sequences/list", map[string]any{}) }
	sent := func() any { return shared.get(t, path+"/stats")["messages_sent"] }
	eventually(t, "the first email is sent", func() bool { return sent() == 1.0 })
	b.ready(path[len("/v1"):])
	b.click("main tbody button", "Pia")

	b.click(".peek button", "Postpone…")
	until := time.Now().UTC().AddDate(0, 1, 0).Format("2006-01-02") + "T09:00"
	_ = eval[bool](b, fmt.Sprintf(`(() => { const e = document.querySelector('[data-field=until]'); e.value = %s; e.dispatchEvent(new Event('input', { bubbles: true })); return true; })()`, quote(until)))
	b.click("dialog button.primary", "Postpone")
	b.until(`!document.querySelector('dialog')`)
	if due := sequence()["next_due_at"].(string); due < until[:10] {
		t.Errorf("the next step is due %s, want %s", due, until)
	}

	b.until(`!/\d{4}-\d\d-\d\dT/.test(` + find(".peek", "postponed until") + `.innerText)`)

	b.click(".peek button", "Skip a step…")
	b.choose("[data-field=step_index]", "2. Second")
	b.click("dialog button.primary", "Skip the step")
	b.until(find(".peek tr", "Skipped"))

	b.click(".peek button", "Stop…")
	b.click("dialog button.primary", "Stop the sequence")
	b.until(find(".peek .reason", "Stopped by a user"))
	b.click(".peek button", "Restart…")
	b.until(find("dialog label", "Begin again: 1 email goes out a second time"))
	b.until(find("dialog button.primary", "Restart") + `.disabled`)
	b.click("dialog label", "Go on with the first step that was not sent")
	b.click("dialog button.primary", "Restart")
	b.until(find(".peek dd .status", "Active"))

	b.click(".peek button", "Stop…")
	b.click("dialog button.primary", "Stop the sequence")
	b.until(find(".peek .reason", "Stopped by a user"))
	b.click("summary", "More")
	b.click("button", "Restart people…")
	b.until(find("dialog button.primary", "Restart") + `.disabled`)
	b.screenshot("restart-many")
	b.click("dialog label", "Stopped by a user: 1 of 1 can go on")
	b.until(find("dialog p", "1 person goes on"))
	b.click("dialog button.primary", "Restart")
	eventually(t, "the sequence is active", func() bool { return sequence()["status"] == "active" })
	if n := sent(); n != 1.0 {
		t.Errorf("%v emails were sent", n)
	}
	b.visit("/contacts/" + contact)
	b.until(find("main li", "Third, "))
}

// TestReleaseUnknown sends through a mail server that takes messages and never confirms them, which holds the campaign. The
// console says so on every page. Release asks what becomes of these messages, with their number.
func TestReleaseUnknown(t *testing.T) {
	if shared == nil {
		open(t, 1280)
	}
	mailing := startMailing(t, mailServer(t, nil))
	b := open(t, 1280)
	defer func(before *demo) { shared = before }(shared)
	shared = mailing
	b.signInAsNew()
	var people []any
	for i := range 5 { // so many unknown messages hold a campaign; with a sixth person Release would ask about an overdue step, too
		people = append(people, shared.create(t, "/v1/contacts", map[string]any{"first_name": "Uma", "email": fmt.Sprintf("uma%d@unknown%d.example", i, i%3)}))
	}
	template := shared.create(t, "/v1/sequence-templates", map[string]any{"name": "Unknown", "steps": []any{map[string]any{"type": "auto_email", "index": 0, "title": "First", "subject": "Hello", "message": "Hello", "day": 0, "hour": 0}}})
	audience := shared.create(t, "/v1/audiences", map[string]any{"name": "Unknown", "contact_ids": people})
	path := "/v1/campaigns/" + shared.create(t, "/v1/campaigns", map[string]any{"name": "Unknown", "status": "active", "template_id": template, "audience_ids": []string{audience}, "owner_id": shared.named(t, "/v1/users", "email", "ada@acme.example")["id"]})
	eventually(t, "the campaign is held", func() bool { return shared.get(t, path)["held"] != nil })
	b.visit(path[len("/v1"):])
	b.until(find("nav .status.bad", "The mail server does not confirm emails"))
	if cut := eval[bool](b, `[...document.querySelectorAll('nav .status, nav .brand')].some((e) => e.scrollWidth > e.clientWidth || e.clientHeight < 20 || e.getBoundingClientRect().right > document.querySelector('nav').getBoundingClientRect().right)`); cut {
		t.Error("the navigation cuts what it says")
	}
	b.shows("the mail server does not say whether messages arrived")
	b.expected = append(b.expected, "status of 422") // the service says which choices it needs
	b.click("button", "Release…")
	b.until(find("dialog legend", "emails nobody knows whether they arrived"))
	b.until(find("dialog label", "which may then arrive twice"))
	b.until(find("dialog button.primary", "Release") + `.disabled`)
	b.pictures("release-unknown")
	b.click("dialog label", "Leave them: the next email begins a new conversation")
	b.until(`!` + find("dialog button.primary", "Release") + `.disabled`)
	b.click("dialog button.primary", "Release")
	b.until(`!document.querySelector('dialog') && !document.querySelector('main .notice.warn')`)
	if held := shared.get(t, path)["held"]; held != nil {
		t.Errorf("the campaign is held: %v", held)
	}
}

// TestAdmit admits somebody whom an undo brought into a running campaign.
func TestAdmit(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	contact := shared.create(t, "/v1/contacts", map[string]any{"first_name": "Nora", "email": "nora@admit.example", "title": "Admitted"})
	deletion := shared.create(t, "/v1/contacts/bulk", map[string]any{"ids": []string{contact}, "delete": true})
	ended := func(id string) func() bool {
		return func() bool { return shared.get(t, "/v1/operations/"+id)["status"] == "completed" }
	}
	eventually(t, "the contact is deleted", ended(deletion))
	template := shared.create(t, "/v1/sequence-templates", map[string]any{"name": "Admit", "steps": []any{map[string]any{"type": "call", "index": 0, "title": "Call", "day": 5, "hour": 9}}})
	audience := shared.create(t, "/v1/audiences", map[string]any{"name": "Admit", "type": "dynamic", "filters": []any{map[string]any{"field": "title", "condition": "is", "value": "Admitted"}}})
	path := "/v1/campaigns/" + shared.create(t, "/v1/campaigns", map[string]any{"name": "Admit", "status": "active", "template_id": template, "audience_ids": []string{audience}, "owner_id": shared.named(t, "/v1/users", "email", "ada@acme.example")["id"]})
	eventually(t, "the contact is back", ended(shared.create(t, "/v1/operations/"+deletion+"/undo", map[string]any{})))
	eventually(t, "she awaits confirmation", func() bool { return shared.get(t, path)["newcomers"] == 1.0 })
	b.ready(path[len("/v1"):])
	b.click(".notice button", "Admit 1 person…")
	b.click("dialog button.primary", "Admit 1 person")
	eventually(t, "her sequence is active", func() bool { return shared.get(t, path+"/stats")["active"] == 1.0 })
	b.until(`!document.querySelector('.notice')`)
}
