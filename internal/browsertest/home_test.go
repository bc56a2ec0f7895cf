package browsertest

import (
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"testing"
	"time"
)

// TestHome finds something to do on the Home of the demo. The bars of the next days add up to the open tasks that are
// due by then, as long as no campaign runs. An organization without campaigns is told how to begin.
func TestHome(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		b.ready("/?who=all")
		b.until(find(".needs li button", "Done"))
		b.until(`!document.querySelector('.skeleton')`)
		b.until(find("main svg text", ""))
		sum := func() int {
			return eval[int](b, `[...document.querySelectorAll('main svg.chart')].flatMap((s) => [...s.querySelectorAll('text')]).filter((e, i) => i % 2 === 0).map((e) => Number(e.textContent)).reduce((a, b) => a + b, 0)`)
		}
		before := sum()
		if before == 0 {
			t.Error("nothing happens in the next days")
		}
		shared.create(t, "/v1/tasks", map[string]any{"title": fmt.Sprint("In two days ", width), "due_at": time.Now().UTC().AddDate(0, 0, 2).Format(time.RFC3339)})
		shared.create(t, "/v1/tasks", map[string]any{"title": fmt.Sprint("In ten days ", width), "due_at": time.Now().UTC().AddDate(0, 0, 10).Format(time.RFC3339)})
		b.ready("/?who=all")
		b.until(find(".needs li button", "Done"))
		if after := sum(); after != before+1 {
			t.Errorf("%d are due after a task was added, %d before", after, before)
		}
		b.screenshot(fmt.Sprint("home", width))
	}
	b := open(t, 1280)
	out, err := exec.Command(shared.binary, "user", "invite", "--org", "Southgate Demo", "--email", "ben@southgate.example", "--data-dir", shared.data).Output()
	if err != nil {
		t.Fatalf("user invite: %v", err)
	}
	b.redeem(regexp.MustCompile(`http\S+`).FindString(string(out)))
	b.shows("First steps")
	b.shows("Start a campaign")
	b.screenshot("home-new")
}

// TestHomeMine requires that Home has the tasks and the held campaigns of the user and of nobody, and everybody's on request.
func TestHomeMine(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	me := eval[string](b, `fetch('/v1/me', { headers: { 'X-Prospector-Console': '1' } }).then((r) => r.json()).then((r) => r.data.user_id)`)
	other := shared.create(t, "/v1/users", map[string]any{"email": fmt.Sprintf("other%d@northwind.example", b.number), "first_name": "Otto", "access": "write"})
	title := func(whose string) string { return fmt.Sprintf("%s task %d", whose, b.number) }
	var tasks []string
	for whose, owner := range map[string]any{"My": me, "Another": other, "Nobody's": nil} {
		tasks = append(tasks, shared.create(t, "/v1/tasks", map[string]any{"title": title(whose), "due_at": "2001-01-01T00:00:00Z", "owner_id": owner}))
	}
	campaign, _, _ := waiting(t, b, other)
	shared.call(t, http.MethodPost, "/v1/users/"+other+"/deactivate", map[string]any{})
	eventually(t, "the campaign is held", func() bool { return shared.get(t, "/v1/campaigns/"+campaign)["held"] != nil })
	b.ready("/")
	b.until(find(".needs a", title("My")))
	b.until(find(".needs a", title("Nobody's")))
	if eval[bool](b, fmt.Sprintf(`[%s, %s].some((text) => document.querySelector('main').innerText.includes(text))`, quote(title("Another")), quote(fmt.Sprint("Waits ", b.number)))) {
		t.Error("Home has what is somebody else's")
	}
	b.click(".tabs a", "Everybody’s")
	b.until(find(".needs a", title("Another")))
	b.until(find(".needs a", fmt.Sprint("Waits ", b.number)))
	b.until(find(".needs .status.warn", "held: the owner is deactivated"))
	for _, task := range tasks {
		shared.call(t, http.MethodDelete, "/v1/tasks/"+task, nil)
	}
	shared.call(t, http.MethodPatch, "/v1/campaigns/"+campaign, map[string]any{"status": "archived"})
}

// TestTroubles requires that Home tells of a mail server that does not work and of a webhook that fails, and every page of the
// mail server.
func TestTroubles(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	hook := shared.create(t, "/v1/webhooks/subscriptions", map[string]any{"url": "http://127.0.0.1:9/trouble", "triggers": []string{"contact.created"}})
	someContacts(t, b, 1)
	eventually(t, "an attempt has failed", func() bool {
		return shared.get(t, "/v1/webhooks/subscriptions/"+hook)["last_failure_at"] != nil
	})
	b.ready("/")
	b.until(find(".needs a", "Webhook 127.0.0.1:9"))
	b.until(find(".needs .status.bad", ""))
	shared.call(t, http.MethodDelete, "/v1/webhooks/subscriptions/"+hook, nil)

	mailing := startMailing(t, "9") // nothing listens there
	c := open(t, 1280)
	defer func(before *demo) { shared = before }(shared)
	shared = mailing
	c.signInAsNew()
	_, ids := someContacts(t, c, 1)
	template := shared.create(t, "/v1/sequence-templates", map[string]any{"name": "Waits", "steps": []any{map[string]any{"type": "auto_email", "index": 0, "title": "Email", "subject": "Hello", "message": "Hello", "day": 0, "hour": 0}}})
	audience := shared.create(t, "/v1/audiences", map[string]any{"name": "Waits", "contact_ids": ids})
	shared.create(t, "/v1/campaigns", map[string]any{"name": "Waits", "status": "active", "template_id": template, "audience_ids": []string{audience}, "owner_id": shared.named(t, "/v1/users", "email", "ada@acme.example")["id"]})
	eventually(t, "the mail server does not work", func() bool { return shared.get(t, "/v1/mail/status")["status"] == "unavailable" })
	c.ready("/contacts")
	c.until(find("nav .status.bad", "The mail server does not work"))
	c.ready("/")
	c.until(find(".needs a", "The mail server does not work"))
	c.until(find(".needs .status.bad", "connect"))
}

// TestHomeReplies requires that Home shows who has replied to my campaigns, and everybody's replies on request.
func TestHomeReplies(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		me := eval[string](b, `fetch('/v1/me', { headers: { 'X-Prospector-Console': '1' } }).then((r) => r.json()).then((r) => r.data.user_id)`)
		for _, owner := range []any{me, nil} {
			if owner == nil { // another campaign, which is not mine
				b.number = opened.Add(1)
			}
			campaign, audience, contact := waiting(t, b, owner)
			shared.call(t, http.MethodPost, "/v1/audiences/"+audience+"/contacts/add", map[string]any{"contact_ids": []string{contact}})
			stats := func(name string) any { return shared.get(t, "/v1/campaigns/"+campaign+"/stats")[name] }
			eventually(t, "the person is active", func() bool { return stats("active") == 1.0 })
			shared.call(t, http.MethodPost, "/v1/contacts/"+contact+"/replied", map[string]any{})
			eventually(t, "the sequence is stopped", func() bool { return stats("stopped") == 1.0 })
		}
		b.ready("/")
		b.until(find(".section li", fmt.Sprint("Waits Number", b.number-1)))
		b.until(find(".section li .status.good", "replied"))
		b.until(find(".section header", "1 person in campaigns that go on"))
		b.pictures("home-replies")
		b.click(".tabs a", "Everybody’s")
		b.until(find(".section li", fmt.Sprint("Waits Number", b.number)))
		b.click(".section li a", fmt.Sprint("Waits ", b.number))
		b.until(`new URLSearchParams(location.search).get('reason') === 'replied'`)
		b.until(find("main tbody button", fmt.Sprint("Waits Number", b.number)))
	}
}
