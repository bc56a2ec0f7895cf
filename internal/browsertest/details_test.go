package browsertest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestWaysBack goes from a record back to the list it was opened from, and leaves a template that is not saved.
func TestWaysBack(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	b.visit("/contacts?q=director&sort=last_name")
	b.click("tbody a", "")
	b.until(`location.pathname.startsWith('/app/contacts/') && document.querySelector('.heading a')?.innerText.startsWith('‹ Contacts, 1 of ')`)
	b.click(".heading a", "‹ Contacts")
	b.until(`location.pathname === '/app/contacts' && location.search === '?q=director&sort=last_name'`)

	b.goTo("Templates")
	b.click("button", "New")
	b.click("button", "One email")
	for _, answer := range []string{"Cancel", "Leave"} {
		_ = eval[bool](b, `history.back() || true`)
		b.shows("Leave without saving?")
		b.click("button", answer)
		if answer == "Cancel" {
			b.until(`location.pathname === '/app/templates/new' && !document.querySelector('dialog[open]')`)
			b.shows("not saved")
		}
	}
	b.until(`location.pathname === '/app/templates'`)
	b.check()
}

// TestChoices requires that a list of choices shows what is chosen, and that a filter without a value is refused.
func TestChoices(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	b.visit("/contacts")
	b.click("button", "+ Filter")
	b.until(`document.querySelector('#rule-field').selectedOptions[0].text !== 'ID'`)
	b.choose("#rule-field", "Heat score")
	b.until(`document.querySelector('#rule-value').selectedOptions[0].text === 'Choose…'`)
	b.click("button", "Apply")
	b.shows("Enter a value.")
	b.choose("#rule-value", "Cold")
	b.click("button", "Apply")
	b.until(`location.search === '?f=scoring.heat_score:is:cold'`)

	// A comma belongs to the text that must be contained. What the service refuses shows no records.
	b.visit("/contacts")
	b.addRule("Title", "contains", "ceo, cfo")
	b.until(`document.querySelector('h1').innerText.startsWith('Contacts 0 of ')`)
	b.expected = append(b.expected, "status of 422")
	b.visit("/contacts?f=foo:is:bar")
	b.shows(`"foo" is not a field of contacts`)
	b.until(`document.querySelectorAll('.table tbody tr[aria-rowindex]').length === 0`)

	tag := shared.create(t, "/v1/tags", map[string]any{"name": "Chosen", "color": "red", "object_type": "contact"})
	b.visit("/contacts")
	b.click("button", "+ Filter")
	b.choose("#rule-field", "Tags")
	b.choose("#rule-value", "Chosen")
	b.click("button", "Apply")
	b.until(fmt.Sprintf(`location.search === '?f=tags:is:%s' && document.querySelector('.chip.on').innerText.includes('Chosen')`, tag))

	b.visit("/market")
	b.choose("[data-field=ask]", "products")
	b.until(`document.querySelector('[data-field=answer]').selectedOptions[0].text === 'Choose…'`)
	b.check()
}

// TestTokensAreInserted inserts a token into a message: the field shows it at once.
func TestTokensAreInserted(t *testing.T) {
	b := open(t, 1280)
	b.expected = append(b.expected, "status of 422")
	b.signInAsNew()
	b.visit("/templates/new")
	b.click("button", "One email")
	b.focus("[data-field=message]")
	_ = eval[bool](b, `document.activeElement.select() || true`)
	b.keys("Dear ")
	b.choose("#token", "{{recipient.first_name}}")
	b.until(`document.querySelector('[data-field=message]').value === 'Dear {{recipient.first_name}}' && document.activeElement.matches('[data-field=message]')`)
	b.keys(kb.Backspace + kb.Backspace)
	b.shows("Step 1, message:")
}

// TestReloadedLink reloads the page of a one-time link, and opens it without its token.
func TestReloadedLink(t *testing.T) {
	b := open(t, 1280)
	b.run(chromedp.Navigate(shared.url + "/app/welcome"))
	b.until(find("button", "Continue"))
	b.keys(kb.Enter)
	b.shows("This link is incomplete.")
	b.run(chromedp.Navigate(shared.invite(t)), chromedp.Reload())
	b.until(find("button", "Continue"))
	b.keys(kb.Enter)
	b.shows("Needs you")
	if hash := eval[string](b, `location.hash`); hash != "" {
		t.Errorf("the token stays in the address: %s", hash)
	}
}

// TestTaskOfAPerson completes a task by a double click, which is no conflict, and follows it to its contact and to a
// message that the contact got.
func TestTaskOfAPerson(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	message := shared.first(t, "/v1/outbox/list", map[string]any{"page_size": 1})
	task := shared.create(t, "/v1/tasks", map[string]any{"title": "Call twice", "type": "call", "contact_id": message["contact_id"], "due_at": time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)})
	b.visit("/tasks/" + task)
	b.until(find(".heading button", "Done"))
	_ = eval[bool](b, fmt.Sprintf(`(() => { const done = %s; done.click(); done.click(); return true; })()`, find(".heading button", "Done")))
	b.shows("Status saved")
	b.until("!" + find(".heading button", "Done"))
	if eval[bool](b, `document.querySelector('dialog[open]') !== null`) {
		t.Error("a double click is a conflict with oneself")
	}
	if got := shared.call(t, http.MethodGet, "/v1/tasks/"+task, nil)["data"].(map[string]any)["status"]; got != "completed" {
		t.Errorf("the task is %v", got)
	}
	b.click(fmt.Sprintf(".linked a[href$='%s']", message["contact_id"]), "")
	b.click(".timeline a", fmt.Sprint(message["subject"]))
	b.until(fmt.Sprintf(`document.querySelector('.peek')?.textContent.includes(%s)`, quote(fmt.Sprint(message["body"])[:20])))
	b.check()
}

// TestBusinessDays adds a day to those on which the organization sends.
func TestBusinessDays(t *testing.T) {
	before := shared.call(t, http.MethodGet, "/v1/organization", nil)["data"].(map[string]any)["business_days"]
	t.Cleanup(func() { shared.call(t, http.MethodPatch, "/v1/organization", map[string]any{"business_days": before}) })
	b := open(t, 1280)
	b.signInAsNew()
	b.visit("/settings/organization")
	b.shows("Mon, Tue, Wed, Thu, Fri")
	b.click("button", "Change…")
	b.click("dialog label", "Sat")
	b.click("dialog button", "Save")
	b.shows("Mon, Tue, Wed, Thu, Fri, Sat")
	b.check()
}

// TestUserPicker finds a user by first and last name.
func TestUserPicker(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	last := fmt.Sprint("Köhler", b.number)
	user := shared.create(t, "/v1/users", map[string]any{"email": fmt.Sprintf("petra%d@northwind.example", time.Now().UnixNano()), "first_name": "Petra", "last_name": last})
	task := shared.create(t, "/v1/tasks", map[string]any{"title": "Whose?", "type": "call"})
	b.visit("/tasks/" + task)
	_ = eval[bool](b, `[...document.querySelectorAll('dt')].find((e) => e.innerText.startsWith('Owner')).nextElementSibling.querySelector('button').click() || true`)
	b.until(`document.activeElement.id === 'inline'`)
	_ = eval[bool](b, `document.activeElement.select() || true`)
	b.keys("Petra " + last)
	b.until(`document.querySelector('#inline-options option')?.value === ` + quote("Petra "+last))
	b.keys(kb.Enter)
	b.shows("saved")
	if got := shared.call(t, http.MethodGet, "/v1/tasks/"+task, nil)["data"].(map[string]any)["owner_id"]; got != user {
		t.Errorf("the owner is %v, want %v", got, user)
	}
}

// TestQuestion makes a field that research fills, which a market can then ask about.
func TestQuestion(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	key := fmt.Sprint("asked_", b.number)
	b.visit("/settings/fields")
	b.click("button", "New field")
	b.choose("[data-field=entity]", "Accounts")
	b.focus("[data-field=key]")
	b.keys(key)
	b.fill("'ai.question'", "Do they hire? "+key)
	b.fill("'ai.field'", "nonsense")
	b.expected = append(b.expected, "status of 422")
	b.click("dialog button.primary", "Create")
	b.until(`document.activeElement.matches('[data-field="ai.field"][aria-invalid=true]')`)
	b.fill("'ai.field'", "industry")
	b.click("dialog button.primary", "Create")
	b.until(find("td", key))
	b.visit("/market")
	b.until(fmt.Sprintf(`[...document.querySelectorAll('[data-field=ask] option')].some((o) => o.text.includes(%s))`, quote("Do they hire? "+key)))
}

// TestPrice reads on the page of a Preview what its question costs.
func TestPrice(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	for _, p := range shared.call(t, http.MethodPost, "/v1/tam/previews/list", map[string]any{})["data"].([]any) {
		p := p.(map[string]any)
		if p["status"] != "READY" || p["research"].(map[string]any)["question"] == nil {
			continue
		}
		b.visit(fmt.Sprint("/previews/", p["preview_id"]))
		cost := p["research"].(map[string]any)["cost"].(map[string]any)
		b.until(fmt.Sprintf(`document.body.innerText.replaceAll(',', '').includes('Research of %v companies: %v credits')`, cost["companies"], cost["actual_ai_signal_credits"]))
		return
	}
	t.Error("no Preview asks a question")
}

// TestNobodyEnrolled requires that a campaign that runs does not advise to start it.
func TestNobodyEnrolled(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	audience := shared.create(t, "/v1/audiences", map[string]any{"name": fmt.Sprint("Nobody ", b.number), "contact_ids": []string{}})
	template := shared.first(t, "/v1/sequence-templates/list", map[string]any{"page_size": 1})["id"]
	for status, text := range map[string]string{"draft": "come in when you start the campaign", "active": "come in one after another"} {
		b.visit("/campaigns/" + shared.create(t, "/v1/campaigns", map[string]any{"name": fmt.Sprint("Nobody ", status, b.number), "status": status, "audience_ids": []string{audience}, "template_id": template}))
		b.shows(text)
	}
}

// TestAllowedAgain asks before somebody who has opted out or is suppressed is written to again.
func TestAllowedAgain(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	address := fmt.Sprintf("again%d@allowed.example", b.number)
	contact := shared.create(t, "/v1/contacts", map[string]any{"first_name": "Again", "email": address, "do_not_contact": true})
	isOut := func() any {
		return shared.call(t, http.MethodGet, "/v1/contacts/"+contact, nil)["data"].(map[string]any)["do_not_contact"]
	}
	for _, answer := range []string{"Cancel", "Allow messages"} {
		b.visit("/contacts/" + contact)
		_ = eval[bool](b, `[...document.querySelectorAll('dt')].find((e) => e.innerText.startsWith('Do not contact')).nextElementSibling.querySelector('button').click() || true`)
		b.until(`document.activeElement.id === 'inline'`)
		b.choose("#inline", "no")
		b.keys(kb.Tab)
		b.shows("Running campaigns that have not begun with this person begin at once.")
		if out := isOut(); out != true {
			t.Fatalf("do_not_contact is %v before the answer", out)
		}
		b.click("dialog button", answer)
		b.until(`!document.querySelector('dialog')`)
	}
	b.shows("Do not contact saved")
	if out := isOut(); out != false {
		t.Errorf("do_not_contact is %v", out)
	}

	shared.create(t, "/v1/suppressions", map[string]any{"email": address})
	b.visit("/settings/suppressions")
	b.until(find("td", address))
	b.click("tr:has(td[dir=auto]) button", "Remove…")
	b.shows("Running campaigns that have not begun begin at once.")
}
