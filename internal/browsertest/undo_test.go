package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// bulk changes or deletes contacts and waits until it is done. It returns the id of the operation.
func (d *demo) bulk(t testing.TB, body map[string]any) (id string) {
	t.Helper()
	id = d.call(t, http.MethodPost, "/v1/contacts/bulk", body)["data"].(map[string]any)["id"].(string)
	eventually(t, "the operation has ended", func() bool { return d.get(t, "/v1/operations/"+id)["status"] == "completed" })
	return id
}

// TestUndoDialog undoes a change of three contacts of which somebody changed one since. A dry run says before what goes
// back and what stays, and afterwards the operation says that it was undone.
func TestUndoDialog(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		name := fmt.Sprint("Undone ", b.number)
		var ids []string
		for range 3 {
			ids = append(ids, shared.create(t, "/v1/contacts", map[string]any{"first_name": "Ada", "last_name": name, "title": "Before"}))
		}
		operation := shared.bulk(t, map[string]any{"ids": ids, "set": map[string]any{"title": "After"}})
		shared.call(t, http.MethodPatch, "/v1/contacts/"+ids[1], map[string]any{"title": "Since"})
		titles := func(want ...string) {
			t.Helper()
			for i, id := range ids {
				if got := shared.get(t, "/v1/contacts/"+id)["title"]; got != want[i] {
					t.Errorf("the title of contact %d is %v, want %s", i, got, want[i])
				}
			}
		}

		b.visit("/")
		b.goTo("Operations")
		b.until(find("tbody a[href='/app/operations/"+operation+"']", "Changed 3 contacts"))
		b.screenshot(fmt.Sprint("operations", width))
		b.click("tbody a[href='/app/operations/"+operation+"']", "")
		b.click(".heading button", "Undo…")
		b.shows("2 records are put back. Fields get the values that they had before.")
		b.shows("1 record was changed since. What was changed stays.")
		b.screenshot(fmt.Sprint("undo", width))
		titles("After", "Since", "After") // nothing has happened yet
		b.click("dialog button.primary", "Undo for 2 records")
		b.until(find("dialog h2", "2 records put back"))
		titles("Before", "Since", "Before")
		b.click("dialog button", "Close")
		b.shows("This was undone.")
		if eval[bool](b, `Boolean(`+find(".heading button", "Undo…")+`)`) {
			t.Error("what was undone can be undone again")
		}
		b.click("a", "Show the undo")
		b.until(`document.querySelector('h1').innerText === 'Undo: put back 2 contacts'`)
		b.click("a", "Changed 3 contacts")
		b.until(find(".notice", "This was undone."))
	}
}

// TestUndoRefused opens the dialog for an operation that somebody else has undone meanwhile.
func TestUndoRefused(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	id := shared.create(t, "/v1/contacts", map[string]any{"first_name": "Ada", "last_name": fmt.Sprint("Refused ", b.number), "title": "Before"})
	operation := shared.bulk(t, map[string]any{"ids": []string{id}, "set": map[string]any{"title": "After"}})
	b.visit("/operations/" + operation)
	b.until(find(".heading button", "Undo…"))
	shared.call(t, http.MethodPost, "/v1/operations/"+operation+"/undo", map[string]any{})
	b.expected = append(b.expected, "status of 409")
	b.click(".heading button", "Undo…")
	b.shows("It was undone already.")
	b.click("dialog a", "Show the undo")
	b.until(`document.querySelector('h1')?.innerText.startsWith('Undo: put back')`)
}

// TestUndoImport takes back what an import added.
func TestUndoImport(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	email := fmt.Sprintf("back%d@import.example", b.number)
	b.visit("/imports/new")
	b.chooseFile("taken back.csv", "First name,E-mail\nAda,"+email+"\n")
	b.click("button", "Import 1 row")
	b.click(".heading button", "Undo…")
	b.shows("1 record is put back. Added records go to the trash, changed ones get their values back.")
	b.click("dialog button.primary", "Undo for 1 record")
	b.shows("1 record put back")
	b.shows("This was undone.")
	if n := count(t, "/v1/contacts/list", rule("email", email)); n != 0 {
		t.Errorf("%d contacts of the import are left", n)
	}

	b.click(".notice a", "Show the undo")
	b.until(find(".heading button", "Undo…"))
	b.click(".heading button", "Undo…")
	b.click("dialog button.primary", "Undo for 1 record")
	b.shows("1 record put back")
	b.click("main a", "Imported 1 contact")
	b.shows("This was undone, and the undo was undone, too.")
	b.visit("/operations")
	b.until(find("tbody a", "Imported 1 contact from taken back.csv"))
}

// TestHistoryValues shows the values before and after each change in words, and leads to the operation that made it.
func TestHistoryValues(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	name, tag := fmt.Sprint("Valuable ", b.number), fmt.Sprint("Historic ", b.number)
	account := shared.create(t, "/v1/accounts", map[string]any{"name": name + " GmbH"})
	tagID := shared.create(t, "/v1/tags", map[string]any{"name": tag, "color": "green", "object_type": "contact"})
	id := shared.create(t, "/v1/contacts", map[string]any{"first_name": "Ada", "last_name": name, "title": "CEO"})
	shared.call(t, http.MethodPatch, "/v1/contacts/"+id, map[string]any{"title": "CTO", "account_id": account})
	operation := shared.bulk(t, map[string]any{"ids": []string{id}, "add_tags": []string{tagID}})
	b.ready("/contacts/" + id)
	shared.call(t, http.MethodPatch, "/v1/contacts/"+id, map[string]any{"notes": strings.Repeat("Long. ", 100) + "Before" + strings.Repeat(" Same.", 100)})
	shared.call(t, http.MethodPatch, "/v1/contacts/"+id, map[string]any{"notes": strings.Repeat("Long. ", 100) + "After" + strings.Repeat(" Same.", 100)})
	b.ready("/contacts/" + id)
	b.shows("Long. Before Same.")
	b.shows("Long. After Same.")
	b.shows("Title: CEO → CTO")
	b.shows("Account: nothing → " + name + " GmbH")
	b.shows("Tags: nothing → " + tag)
	b.screenshot("history")
	b.click(".timeline a", "Show the operation")
	b.until(`location.pathname.endsWith('` + operation + `') && document.querySelector('h1')?.innerText === 'Changed 1 contact'`)
}
