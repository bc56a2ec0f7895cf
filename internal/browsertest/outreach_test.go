package browsertest

import (
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestTemplateLife writes a template, sends it to oneself, saves, changes and deletes it.
func TestTemplateLife(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		name := fmt.Sprint("Letter ", b.number)
		b.ready("/templates")
		b.click("button", "New template")
		b.click("button", "One email")
		b.fill("name", name)
		b.fill("subject", "About ropes")
		b.click("button", "Send to me")
		b.until(`/(Sent|Not sent) to new\d+@northwind\.example/.test(document.querySelector('.toast')?.innerText)`)
		b.click(".heading button", "Save")
		b.until(`document.querySelector('h1').innerText === ` + quote(name) + ` && !document.body.innerText.includes('not saved')`)
		b.until(`location.pathname !== '/app/templates/new'`)
		path := "/v1/sequence-templates/" + eval[string](b, `location.pathname.split('/').at(-1)`)
		subject := func() any {
			return shared.get(t, path)["steps"].([]any)[0].(map[string]any)["subject"]
		}
		if got := subject(); got != "About ropes" {
			t.Errorf("the subject is %v", got)
		}
		b.fill("subject", "About sails")
		b.click(".heading button", "Save")
		b.until(`!document.body.innerText.includes('not saved') && document.querySelector('.heading .primary').disabled`)
		if got := subject(); got != "About sails" {
			t.Errorf("the subject is %v", got)
		}
		b.click("button", "Delete…")
		b.click("dialog button.primary", "Delete the template")
		b.until(`location.pathname === '/app/templates'`)
		if n := shared.total(t, "/v1/sequence-templates/list", map[string]any{"search": name}); n != 0 {
			t.Errorf("%v templates are left", n)
		}
	}
}

// TestAudienceLife creates an audience, takes a contact out of it, takes that back, and deletes the audience.
func TestAudienceLife(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	_, ids := someContacts(t, b, 3)
	name := fmt.Sprint("Guests ", b.number)
	b.ready("/audiences")
	b.click("button", "New audience")
	b.fill("name", name)
	b.click("dialog button.primary", "Create")
	b.until(`document.querySelector('h1').innerText === ` + quote(name+" 0"))
	path := "/v1/audiences/" + eval[string](b, `location.pathname.split('/').at(-1)`)
	shared.call(t, http.MethodPost, path+"/contacts/add", map[string]any{"contact_ids": ids})
	count := func() any { return shared.get(t, path)["contact_count"] }

	b.ready(path[len("/v1"):])
	b.click("tbody input[type=checkbox]", "")
	b.click("button", "Remove 1 from the audience")
	b.shows("1 contact removed")
	b.until(`document.querySelector('h1').innerText === ` + quote(name+" 2"))
	if n := count(); n != 2.0 {
		t.Errorf("the audience has %v contacts", n)
	}
	b.click(".toast button", "Undo")
	b.until(`document.querySelector('h1').innerText === ` + quote(name+" 3"))
	if n := count(); n != 3.0 {
		t.Errorf("the audience has %v contacts", n)
	}
	b.click("button", "Delete…")
	b.click("dialog button.primary", "Delete the audience")
	b.until(`location.pathname === '/app/audiences'`)
	if n := shared.total(t, "/v1/audiences/list", map[string]any{"search": name}); n != 0 {
		t.Errorf("%v audiences are left", n)
	}
	b.click(".toast button", "Undo")
	b.until(`document.querySelector('h1')?.innerText === ` + quote(name+" 3"))
	b.click("button", "History")
	b.until(`['Restored by', 'Deleted by', 'Created by'].every((text) => document.querySelector('dialog')?.innerText.includes(text))`)
}

// waiting makes a running campaign whose only step is a call, which waits for a person, for a new contact.
func waiting(t *testing.T, b *tab, owner any) (campaign, audience, contact string) {
	t.Helper()
	name := fmt.Sprint("Waits ", b.number)
	contact = shared.create(t, "/v1/contacts", map[string]any{"first_name": "Waits", "last_name": fmt.Sprint("Number", b.number), "email": fmt.Sprintf("waits%d@outreach.example", b.number)})
	template := shared.create(t, "/v1/sequence-templates", map[string]any{"name": name, "steps": []any{map[string]any{"type": "call", "index": 0, "title": "Call", "message": "Ask", "day": 0, "hour": 9}}})
	audience = shared.create(t, "/v1/audiences", map[string]any{"name": name, "contact_ids": []string{}})
	campaign = shared.create(t, "/v1/campaigns", map[string]any{"name": name, "status": "active", "template_id": template, "audience_ids": []string{audience}, "owner_id": owner})
	return campaign, audience, contact
}

// TestReplied records that a contact has replied, which stops what is planned for them.
func TestReplied(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	campaign, audience, contact := waiting(t, b, nil)
	shared.call(t, http.MethodPost, "/v1/audiences/"+audience+"/contacts/add", map[string]any{"contact_ids": []string{contact}})
	sequence := func() map[string]any {
		found := shared.call(t, http.MethodPost, "/v1/campaigns/"+campaign+"/sequences/list", map[string]any{})["data"].([]any)
		if len(found) == 0 {
			return nil
		}
		return found[0].(map[string]any)
	}
	eventually(t, "the call is to be made", func() bool { return sequence()["status"] == "active" })
	b.visit("/contacts/" + contact)
	b.click("button", "Replied…")
	b.shows("1 running sequence stops.")
	b.click("dialog button.primary", "Record the reply")
	b.until(find("main li", "has replied"))
	b.until(find("main li .status.good", "Replied"))
	b.shows("Nothing is planned, because Waits Number")
	if got := sequence(); got["status"] != "stopped" || got["reason"] != "replied" {
		t.Errorf("the sequence is %v: %v", got["status"], got["reason"])
	}
}

// TestCampaignLife drafts a campaign and deletes it. Another one is held because its owner is deactivated; the dialog says
// what a release does, and it goes on. Then it is paused, which can be undone.
func TestCampaignLife(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	name := fmt.Sprint("Draft ", b.number)
	b.ready("/campaigns")
	b.click("button", "New campaign")
	b.fill("name", name)
	b.choose("[data-field=template_id]", "Three emails")
	b.choose("[data-field=audience_ids]", "Hot VPs")
	b.choose("[data-field=missing_values]", "Skip")
	b.click("dialog button.primary", "Create draft")
	b.until(`document.querySelector('h1').innerText === ` + quote(name))
	if made := shared.first(t, "/v1/campaigns/list", map[string]any{"search": name}); made["status"] != "draft" || made["template_name"] != "Three emails" || made["missing_values"] != "skip" {
		t.Errorf("the campaign is %v", made)
	}
	b.click("button", "Delete…")
	b.click("dialog button.primary", "Delete the campaign")
	b.until(`location.pathname === '/app/campaigns'`)
	if n := shared.total(t, "/v1/campaigns/list", map[string]any{"search": name}); n != 0 {
		t.Errorf("%v campaigns are left", n)
	}

	owner := shared.create(t, "/v1/users", map[string]any{"email": fmt.Sprintf("owner%d@northwind.example", b.number), "first_name": "Olga", "access": "write"})
	campaign, audience, contact := waiting(t, b, owner)
	shared.call(t, http.MethodPost, "/v1/users/"+owner+"/deactivate", map[string]any{})
	path := "/v1/campaigns/" + campaign
	eventually(t, "the campaign is held", func() bool { return shared.get(t, path)["held"] != nil })
	shared.call(t, http.MethodPost, "/v1/audiences/"+audience+"/contacts/add", map[string]any{"contact_ids": []string{contact}})
	shared.call(t, http.MethodPost, "/v1/users/"+owner+"/activate", map[string]any{})
	b.visit("/campaigns/" + campaign)
	b.shows("the owner is deactivated. Nothing is sent.")
	b.expected = append(b.expected, "status of 422") // the service says which choices it needs
	b.click("button", "Release…")
	b.shows("1 step is overdue")
	b.until(find("dialog button.primary", "Release") + `.disabled`)
	b.click("dialog label", "Do it now: 1 email or task")
	b.click("dialog button.primary", "Release")
	b.until(`!document.querySelector('dialog') && !document.body.innerText.includes('Held') && /Active/.test(document.querySelector('.heading').innerText)`)
	if held := shared.get(t, path)["held"]; held != nil {
		t.Errorf("the campaign is held: %v", held)
	}
	eventually(t, "the call is to be made", func() bool { return shared.get(t, path+"/stats")["tasks_open"] == 1.0 })

	b.click("button", "Pause")
	b.shows("The campaign is paused")
	if got := shared.get(t, path)["status"]; got != "paused" {
		t.Errorf("the campaign is %v", got)
	}
	b.click(".toast button", "Undo")
	b.until(find(".heading button", "Pause"))
	if got := shared.get(t, path)["status"]; got != "active" {
		t.Errorf("the campaign is %v", got)
	}
}

// TestExcludedCompanies excludes a company from a Preview, then deletes the Preview.
func TestExcludedCompanies(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	id := newPreview(t, "Belgium")
	path := "/v1/tam/preview/" + id
	excluded := func() float64 {
		n, _ := shared.get(t, path)["result"].(map[string]any)["accounts"].(map[string]any)["exclusions"].(map[string]any)["EXCLUDED_BY_USER"].(float64)
		return n
	}
	b.ready("/previews/" + id + "?kind=company&reason=ELIGIBLE")
	b.until(find("tbody .status", "Eligible"))
	b.click("tbody input[type=checkbox]", "")
	b.click("button", "Exclude 1 company…")
	b.click("dialog button.primary", "Exclude 1 company")
	b.until(find(".bars li", "Excluded by a user"))
	b.until(`!document.querySelector('.selection')`)
	if n := excluded(); n != 1 {
		t.Errorf("%v companies are excluded", n)
	}
	b.click("button", "Delete…")
	b.click("dialog button.primary", "Delete the Preview")
	b.until(`location.pathname === '/app/previews'`)
	for _, p := range shared.call(t, http.MethodPost, "/v1/tam/previews/list", map[string]any{})["data"].([]any) {
		if p.(map[string]any)["preview_id"] == id {
			t.Error("the Preview still exists")
		}
	}
}

// slowWork makes bulk operations and imports look unfinished until window.isSlow is false.
const slowWork = `(() => { const real = fetch; window.isSlow = true; window.fetch = async (url, options) => {
	const answer = await real(url, options);
	if (!window.isSlow || options?.method === 'POST' || !/\/v1\/(operations|imports)\/[0-9a-f-]{36}$/.test(url)) return answer;
	const body = await answer.json();
	body.data.status = 'running';
	return new Response(JSON.stringify(body), { headers: answer.headers });
}; return true; })()`

// TestCancelledTooLate cancels a bulk change and an import that are done already. The console says so, and shows the result.
func TestCancelledTooLate(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	b.expected = append(b.expected, "status of 409")
	title, _ := someContacts(t, b, 2)
	b.ready("/contacts?f=title:is:" + title)
	_ = eval[bool](b, slowWork)
	b.click("thead input[type=checkbox]", "")
	b.click("button", "Change a field…")
	b.fill("title", "Renamed"+kb.Enter)
	b.click(".foot button", "Cancel")
	b.until(`document.querySelector('.toast.bad')`)
	_ = eval[bool](b, `(window.isSlow = false, true)`)
	b.shows("2 changed")

	b.visit("/imports/new")
	_ = eval[bool](b, slowWork)
	_ = eval[bool](b, `(window.isSlow = false, true)`)
	b.chooseFile("late.csv", fmt.Sprintf("Email,First name\nlate%d@import.example,Late\n", b.number))
	b.until(find("button", "Import 1 row"))
	_ = eval[bool](b, `(window.isSlow = true, true)`)
	b.click("button", "Import 1 row")
	b.until(find(".heading button", "Cancel"))
	b.click(".heading button", "Cancel")
	b.until(`document.querySelector('.toast.bad')`)
	_ = eval[bool](b, `(window.isSlow = false, true)`)
	b.until(`/Completed/.test(document.querySelector('.heading').innerText)`)
	shared.first(t, "/v1/contacts/list", map[string]any{"search": fmt.Sprintf("late%d@import.example", b.number)})
}

// mailServer accepts connections until the test ends, and answers messages for which isRefused is true with 554. If isRefused
// is nil, it takes messages and never confirms them.
func mailServer(t *testing.T, isRefused *atomic.Bool) (port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	serve := func(c *textproto.Conn) {
		defer c.Close()
		_ = c.PrintfLine("220 test ESMTP")
		for {
			line, err := c.ReadLine()
			if err != nil {
				return
			}
			answer := "250 ok"
			switch verb, _, _ := strings.Cut(strings.ToUpper(line), " "); verb {
			case "DATA":
				_ = c.PrintfLine("354 go on")
				if _, err := c.ReadDotBytes(); err != nil {
					return
				}
				if isRefused == nil {
					return
				}
				if isRefused.Load() {
					answer = "554 5.6.0 the content is refused"
				}
			case "QUIT":
				answer = "221 bye"
			}
			_ = c.PrintfLine("%s", answer)
		}
	}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			go serve(textproto.NewConn(c))
		}
	}()
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return port
}

// TestRetry sends the messages again that a mail server has refused. The dialog has their number.
func TestRetry(t *testing.T) {
	var isRefused atomic.Bool
	isRefused.Store(true)
	mailing := startMailing(t, mailServer(t, &isRefused))
	b := open(t, 1280) // closed before the service stops, because the page goes on reading
	defer func(before *demo) { shared = before }(shared)
	shared = mailing
	b.signInAsNew()
	_, ids := someContacts(t, b, 2)
	template := shared.create(t, "/v1/sequence-templates", map[string]any{"name": "Refused", "steps": []any{map[string]any{"type": "auto_email", "index": 0, "title": "Email", "subject": "Hello", "message": "Hello", "day": 0, "hour": 0}}})
	audience := shared.create(t, "/v1/audiences", map[string]any{"name": "Refused", "contact_ids": ids})
	path := "/v1/campaigns/" + shared.create(t, "/v1/campaigns", map[string]any{"name": "Refused", "status": "active", "template_id": template, "audience_ids": []string{audience}, "owner_id": shared.named(t, "/v1/users", "email", "ada@acme.example")["id"]})
	stats := func(name string) any { return shared.get(t, path+"/stats")[name] }
	eventually(t, "two messages have failed", func() bool { return stats("messages_failed") == 2.0 })
	b.visit(path[len("/v1"):])
	b.shows("2 failed")
	isRefused.Store(false)
	b.click("button", "Retry…")
	b.shows("Try 2 messages again?")
	b.click("dialog button.primary", "Send 2 messages")
	eventually(t, "both messages are sent", func() bool { return stats("messages_sent") == 2.0 })
	b.shows("2 emails sent")
	b.until(`!document.querySelector('.heading').innerText.includes('Retry…')`)
}
