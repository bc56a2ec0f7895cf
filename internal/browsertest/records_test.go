package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// export saves the list on the screen as CSV, with an action of its menu, and returns the file.
func (b *tab) export(action string) string {
	b.t.Helper()
	_ = eval[bool](b, `(() => { window.saved = ''; URL.createObjectURL = (blob) => { blob.text().then((text) => { saved = text; }); return '#'; }; return true; })()`)
	b.click("summary", "More")
	b.click("button", action)
	b.until(`window.saved`)
	return eval[string](b, `saved`)
}

// TestKinds creates a record of each kind, changes it, filters by a value that is offered, exports it, changes and deletes
// it with another one, restores both from the trash and deletes it alone.
func TestKinds(t *testing.T) {
	for _, kind := range []struct {
		entity, one, name, field, label, value, shown string
	}{
		{"accounts", "account", "name", "industry", "Industry", "Ropes", "Ropes"},
		{"opportunities", "opportunity", "name", "stage", "Stage", "negotiation", "Negotiation"},
		{"tasks", "task", "title", "type", "Type", "call", "Call"},
		{"meetings", "meeting", "title", "location", "Location", "Room 5", "Room 5"},
	} {
		t.Run(kind.entity, func(t *testing.T) {
			b := open(t, 1280)
			b.signInAsNew()
			name := fmt.Sprintf("Kind%d", b.number)
			path := "/v1/" + kind.entity
			count := func(field, value string) float64 {
				query := map[string]any{"search": name}
				if field != "" {
					query["filters"] = []any{map[string]any{"field": field, "condition": "is", "value": value}}
				}
				return shared.total(t, path+"/list", query)
			}
			second := map[string]any{kind.name: name + " second"}
			b.ready("/" + kind.entity)
			b.click("button", "New "+kind.one)
			b.fill(kind.name, name)
			switch kind.entity {
			case "opportunities":
				company := fmt.Sprintf("Buyer%d", b.number)
				second["account_id"] = shared.create(t, "/v1/accounts", map[string]any{"name": company})
				b.fill("account_id", company)
				b.until(`document.activeElement.list.querySelector('option')?.value === ` + quote(company))
			case "meetings":
				second["starts_at"] = "2031-01-02T10:00:00Z"
				b.focus("[data-field=starts_at]")
				_ = eval[bool](b, `(() => { const e = document.activeElement; e.value = '2031-01-01T10:00'; e.dispatchEvent(new Event('input', { bubbles: true })); return true; })()`)
			}
			b.click("dialog button.primary", "Create")
			b.until(`document.querySelector('h1')?.innerText === ` + quote(name))
			id := shared.first(t, path+"/list", map[string]any{"search": name})["id"].(string)

			_ = eval[bool](b, fmt.Sprintf(`[...document.querySelectorAll('main dt')].find((e) => e.innerText === %s).nextElementSibling.querySelector('button').click() || true`, quote(kind.label)))
			b.until(`document.activeElement.id === 'inline'`)
			if eval[bool](b, `document.activeElement.matches('select')`) {
				b.choose("#inline", kind.shown)
			} else {
				b.keys(kind.value)
			}
			b.keys(kb.Tab)
			b.shows(kind.label + " saved")
			if got := shared.get(t, path+"/"+id)[kind.field]; got != kind.value {
				t.Errorf("%s is %v, want %v", kind.field, got, kind.value)
			}

			other := shared.create(t, path, second)
			b.ready("/" + kind.entity + "?q=" + name)
			b.until(`document.querySelector('h1').innerText.includes(' 2 of ')`)
			if file := b.export("Export as CSV"); strings.Count(file, name) != 2 || !strings.Contains(file, kind.value) {
				t.Errorf("the file is %s", file)
			}
			b.addRule(kind.label, "is", kind.shown)
			b.until(`document.querySelector('h1').innerText.includes(' 1 of ')`)

			b.ready("/" + kind.entity + "?q=" + name)
			selectBoth := func() {
				b.click("thead input[type=checkbox]", "")
				b.until(find(".selection", "2 selected"))
			}
			selectBoth()
			b.click("button", "Change a field…")
			b.choose("[data-field=field]", "Notes")
			b.fill("notes", "bulky")
			b.click("dialog button.primary", "Change 2 "+kind.entity)
			b.shows("2 changed")
			for _, id := range []string{id, other} {
				if notes := shared.get(t, path+"/"+id)["notes"]; notes != "bulky" {
					t.Errorf("the notes are %v", notes)
				}
			}
			b.until(`!document.querySelector('.table.dimmed') && !document.querySelector('.selection')`)
			selectBoth()
			b.click("button", "Delete…")
			b.click("dialog button.primary", "Delete 2 "+kind.entity)
			b.shows("2 deleted")
			if n := count("", ""); n != 0 {
				t.Errorf("%v are left", n)
			}

			b.ready("/settings/trash?kind=" + kind.entity)
			for _, row := range []string{name + " second", name} {
				b.until(fmt.Sprintf(`[...document.querySelectorAll('main tbody tr')].some((r) => r.querySelector('.name')?.innerText === %s)`, quote(row)))
				b.hit(fmt.Sprintf(`[...document.querySelectorAll('main tbody tr')].find((r) => r.querySelector('.name')?.innerText === %s).querySelector('input')`, quote(row)))
			}
			b.click("button", "Restore 2 "+kind.entity)
			b.shows("2 records restored")
			if n := count(kind.field, kind.value); n != 1 || count("", "") != 2 {
				t.Errorf("%v of %v have their value", n, count("", ""))
			}

			b.ready("/" + kind.entity + "/" + id)
			b.click("button", "Delete…")
			b.click("dialog button.primary", "Delete this "+kind.one)
			b.shows(name + " deleted")
			if n := count("", ""); n != 1 {
				t.Errorf("%v are left, want the second one", n)
			}
			b.click(".toast button", "Undo")
			b.until(`location.pathname.endsWith('` + id + `') && document.querySelector('h1')?.innerText === ` + quote(name))
			if n := count("", ""); n != 2 {
				t.Errorf("%v are there, want both", n)
			}
		})
	}
}

// TestExports saves the contacts and the messages on the screen as files.
func TestExports(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	title, _ := someContacts(t, b, 3)
	b.ready("/contacts?f=title:is:" + title)
	if file := b.export("Export as CSV"); strings.Count(file, title) != 3 {
		t.Errorf("the file is %s", file)
	}
	message := shared.first(t, "/v1/outbox/list", map[string]any{"page_size": 1})
	b.ready(fmt.Sprint("/outbox?f=to:is:", message["to"]))
	want := shared.total(t, "/v1/outbox/list", map[string]any{"filters": []any{map[string]any{"field": "to", "condition": "is", "value": message["to"]}}})
	if file := b.export("Export as CSV"); float64(strings.Count(file, fmt.Sprint(message["to"]))) != want {
		t.Errorf("%v messages: %s", want, file)
	}
}

// TestMergedAccounts merges two accounts with the same website.
func TestMergedAccounts(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	name := fmt.Sprint("Same company ", b.number)
	for _, industry := range []string{"Ropes", "Sails"} {
		shared.create(t, "/v1/accounts", map[string]any{"name": name, "industry": industry})
	}
	b.openGroup("/accounts/duplicates", name)
	b.click("label", "Sails")
	b.click("button", "Merge 1 account into "+name)
	b.shows("1 account merged")
	found := shared.call(t, http.MethodPost, "/v1/accounts/list", map[string]any{"search": name})["data"].([]any)
	if len(found) != 1 || found[0].(map[string]any)["industry"] != "Sails" {
		t.Errorf("the accounts are %v", found)
	}
}

// TestDeletedView deletes a view and takes it back.
func TestDeletedView(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	name := fmt.Sprint("View ", b.number)
	count := func() float64 { return shared.total(t, "/v1/views/list", map[string]any{"search": name}) }
	shared.create(t, "/v1/views", map[string]any{"entity": "accounts", "name": name, "filtering_rules": []any{map[string]any{"field": "country", "condition": "is", "value": "Austria"}}})
	b.ready("/accounts")
	b.click("summary", "Views")
	b.clickIn(name, "button", "×")
	b.shows("The view " + name + " is deleted")
	if n := count(); n != 0 {
		t.Errorf("%v views are left", n)
	}
	b.click(".toast button", "Undo")
	b.until(find("summary", "Views"))
	b.click("summary", "Views")
	b.until(find(".popover a", name))
	if n := count(); n != 1 {
		t.Errorf("there are %v views", n)
	}
}

// TestContactActions adds a contact to a campaign from its page, and creates a task and a meeting for it there.
func TestContactActions(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		campaign, _, contact := waiting(t, b, nil)
		b.visit("/contacts/" + contact)
		b.click("button", "New task")
		b.fill("title", "Send the offer")
		b.click("dialog button.primary", "Create")
		b.until(find(".timeline li", "Send the offer"))
		b.click("button", "New meeting")
		b.fill("title", "Talk about the offer")
		b.fill("starts_at", "11202030"+kb.Tab+"1000AM")
		b.click("dialog button.primary", "Create")
		b.until(find(".timeline li", "Talk about the offer"))
		b.screenshot(fmt.Sprint("contact-actions", width))
		for _, entity := range []string{"tasks", "meetings"} {
			if n := count(t, "/v1/"+entity+"/list", rule("contact_id", contact)); n != 1 {
				t.Errorf("the contact has %d %s", n, entity)
			}
		}
		b.click("button", "Add to campaign…")
		b.choose("[data-field=campaign]", fmt.Sprint("Waits ", b.number))
		b.click("dialog button.primary", "Add 1")
		b.shows("1 contact added")
		b.until(`location.pathname === '/app/campaigns/` + campaign + `'`)
	}
}

// TestSameAddress is warned of a contact with the same address, and creates another one nevertheless.
func TestSameAddress(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	name, address := fmt.Sprint("Twin", b.number), fmt.Sprintf("twin%d@same.example", b.number)
	id := shared.create(t, "/v1/contacts", map[string]any{"first_name": "First", "last_name": name, "email": address})
	b.ready("/contacts")
	b.click("button", "New contact")
	b.fill("email", "another."+address)
	b.fill("last_name", name)
	b.fill("email", strings.ToUpper(address))
	b.until(find("dialog a", "First "+name+" has this address") + `.pathname === '/app/contacts/` + id + `'`)
	b.screenshot("same-address")
	b.click("dialog button.primary", "Create")
	b.until(`/^\/app\/contacts\/./.test(location.pathname)`)
	if n := count(t, "/v1/contacts/list", rule("email", address)); n != 2 {
		t.Errorf("%d contacts have the address", n)
	}
}
