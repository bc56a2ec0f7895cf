package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// pictures takes pictures of a dialog or a page in both themes.
func (b *tab) pictures(name string) {
	b.t.Helper()
	for _, theme := range []string{"dark", "light"} {
		b.setTheme(theme)
		b.screenshot(fmt.Sprintf("%s-%d-%s", name, b.width, theme))
	}
}

// joined is a running campaign of a call with one person in it.
func joined(t *testing.T, b *tab) (path, audience, contact string) {
	t.Helper()
	campaign, audience, contact := waiting(t, b, nil)
	path = "/v1/campaigns/" + campaign
	shared.call(t, http.MethodPost, "/v1/audiences/"+audience+"/contacts/add", map[string]any{"contact_ids": []string{contact}})
	eventually(t, "the person is active", func() bool { return shared.get(t, path+"/stats")["active"] == 1.0 })
	return path, audience, contact
}

// TestReopen completes a campaign whose last day has passed, and reopens it with a new one.
func TestReopen(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		path, _, _ := joined(t, b)
		shared.call(t, http.MethodPatch, path, map[string]any{"status": "completed"})
		shared.call(t, http.MethodPatch, path, map[string]any{"end_date": "2020-01-15"})
		eventually(t, "the person is stopped", func() bool { return shared.get(t, path+"/stats")["stopped"] == 1.0 })
		b.ready(path[len("/v1"):])
		b.pictures("completed")
		b.click(".heading button", "Reopen…")
		b.shows("1 person who was stopped by its end goes on where they were")
		b.shows("Wed 15 Jan 2020 has passed.")
		b.pictures("reopen")
		b.expected = append(b.expected, "status of 422")
		b.setDate("end_date", "2020-02-01")
		b.click("dialog button.primary", "Reopen the campaign")
		b.until(find("dialog .error", "has passed"))
		b.setDate("end_date", "2099-12-31")
		b.click("dialog button.primary", "Reopen the campaign")
		b.until(`!document.querySelector('dialog') && /paused/i.test(document.querySelector('.heading p').innerText)`)
		if got := shared.get(t, path); got["status"] != "paused" || got["end_date"] != "2099-12-31" {
			t.Errorf("the campaign is %v until %v", got["status"], got["end_date"])
		}
		eventually(t, "the person goes on", func() bool { return shared.get(t, path+"/stats")["active"] == 1.0 })
		b.until(find(".heading button", "Resume…"))
	}
}

// setDate types a day into a field.
func (b *tab) setDate(name, day string) {
	b.t.Helper()
	b.until(find("[data-field="+name+"]", ""))
	_ = eval[bool](b, fmt.Sprintf(`(() => { const e = document.querySelector('[data-field=%s]'); e.value = %s; e.dispatchEvent(new Event('input', { bubbles: true })); return true; })()`, name, quote(day)))
}

// TestCopyCampaign copies a campaign for two other audiences. The copy is a draft with its settings.
func TestCopyCampaign(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		campaign, _, _ := waiting(t, b, nil)
		path := "/v1/campaigns/" + campaign
		names := []string{fmt.Sprint("Copied A ", b.number), fmt.Sprint("Copied B ", b.number)}
		for _, name := range names {
			shared.create(t, "/v1/audiences", map[string]any{"name": name, "contact_ids": []string{}})
		}
		b.ready(path[len("/v1"):])
		b.click("summary", "More")
		b.pictures("campaign-more")
		b.click("button", "Copy…")
		b.until(fmt.Sprintf(`document.querySelector('dialog [data-field=name]').value === 'Waits %d, copy'`, b.number))
		b.expected = append(b.expected, "status of 422")
		b.click("dialog button.primary", "Create draft")
		b.until(`document.querySelector('dialog [data-field=audience_ids][aria-invalid=true]')`)
		for _, name := range names {
			b.choose("dialog select", name)
			b.until(find("dialog .chip", name))
		}
		b.pictures("copy")
		b.click("dialog button.primary", "Create draft")
		b.until(fmt.Sprintf(`document.querySelector('h1')?.innerText === 'Waits %d, copy' && !document.querySelector('dialog')`, b.number))
		original, copied := shared.get(t, path), shared.first(t, "/v1/campaigns/list", map[string]any{"search": fmt.Sprintf("Waits %d, copy", b.number)})
		if copied["status"] != "draft" || copied["template_id"] != original["template_id"] || len(copied["audiences"].([]any)) != 2 {
			t.Errorf("the copy is %v", copied)
		}
	}
}

// TestNewestText changes the template of a running campaign. The page of the template says who keeps the earlier text, and
// that of the campaign counts whom the newest text reaches, brings it to them and leads to the operation.
func TestNewestText(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		step := func(i int, title string) map[string]any {
			return map[string]any{"type": "call", "index": i, "title": title, "message": "Ask", "day": 5 * i, "hour": 9}
		}
		name := fmt.Sprint("Newest ", b.number)
		template := "/v1/sequence-templates/" + shared.create(t, "/v1/sequence-templates", map[string]any{"name": name, "steps": []any{step(0, "First call"), step(1, "Second call")}})
		contact := shared.create(t, "/v1/contacts", map[string]any{"first_name": "Nina", "email": fmt.Sprintf("nina%d@newest.example", b.number)})
		audience := shared.create(t, "/v1/audiences", map[string]any{"name": name, "contact_ids": []string{contact}})
		path := "/v1/campaigns/" + shared.create(t, "/v1/campaigns", map[string]any{"name": name, "status": "active", "template_id": template[len("/v1/sequence-templates/"):], "audience_ids": []string{audience}})
		eventually(t, "the first call is a task", func() bool {
			return strings.Contains(fmt.Sprint(shared.call(t, http.MethodPost, path+"/sequences/list", map[string]any{})["data"]), "task_open")
		})
		b.visit("/templates/" + template[len("/v1/sequence-templates/"):] + "?step=2")
		b.fill("title", "Another second call")
		b.click("button", "Save")
		b.shows("Whoever is in " + name + " already keeps the earlier text")
		b.pictures("saved-template")
		b.click(".heading a", name)
		b.until(find("summary", "More"))
		b.click("summary", "More")
		b.click("button", "Use the newest text…")
		b.shows("1 person gets the newest text from the next step on.")
		b.pictures("newest-text")
		b.click("dialog button.primary", "Change it for 1 person")
		b.until(`!document.querySelector('dialog')`)
		b.click(".foot a", "Brought the newest text to 1 person")
		b.until(`location.pathname.startsWith('/app/operations/') && document.querySelector('h1')?.innerText === 'Brought the newest text to 1 person'`)
		b.pictures("newest-text-operation")

		// Now the first step, which is a task already, is gone.
		shared.call(t, http.MethodPatch, template, map[string]any{"steps": []any{step(0, "Only a new call")}, "transitions": []any{}})
		b.ready(path[len("/v1"):])
		b.click("summary", "More")
		b.click("button", "Use the newest text…")
		b.shows("1 person keeps the earlier text: a step that has happened is not in the template any more.")
		b.pictures("newest-text-kept")
		b.click("dialog button", "Close")
		b.ready("/operations")
		b.until(find("tbody a", "Brought the newest text to 1 person"))
	}
}

// TestOnePersonOnAPhone reads the whole reason of a person in a campaign, and the operations, on every width.
func TestOnePersonOnAPhone(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		path, _, _ := joined(t, b)
		b.ready(path[len("/v1"):])
		b.click("main tbody button", fmt.Sprint("Waits Number", b.number))
		b.until(find(".peek .reason", ""))
		b.pictures("person")
		if cut := eval[bool](b, `[...document.querySelectorAll('.peek dd, .peek td, .peek .button')].some((e) => e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > innerWidth)`); cut {
			t.Errorf("at %d px, something about the person is cut", width)
		}
		b.click(".peek button", "Postpone…")
		b.pictures("postpone")
		b.click("dialog button", "Cancel")
		b.click(".peek button", "Stop…")
		b.pictures("stop")
		b.click("dialog button", "Stop the sequence")
		b.click(".peek button", "Restart…")
		b.until(find("dialog label", "Go on with the first step that was not sent"))
		b.pictures("restart")
		b.click("dialog button", "Cancel")
		b.ready("/operations")
		b.pictures("operations")
	}
}
