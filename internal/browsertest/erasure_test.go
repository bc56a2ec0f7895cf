package browsertest

import (
	"fmt"
	"testing"
)

// TestErasure erases a person: the console shows what goes and what stays, and wants the address to be typed again.
func TestErasure(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	email := fmt.Sprintf("zeb%d@person.example", b.number)
	contact := shared.create(t, "/v1/contacts", map[string]any{"first_name": "Zebulon", "last_name": "Quixotrix", "email": email})
	shared.create(t, "/v1/tasks", map[string]any{"title": "Call Zebulon Quixotrix", "contact_id": contact})
	b.visit("/settings/erasure")
	b.click("button", "Erase a person…")
	b.fill("email", fmt.Sprintf("nobody%d@person.example", b.number))
	b.fill("reason", "Request 17")
	b.click("dialog button.primary", "Show what would be erased")
	b.shows("Nothing to erase")
	b.click("dialog button", "Close")

	b.click("button", "Erase a person…")
	b.fill("email", email)
	b.fill("reason", "Request 17")
	b.click("dialog button.primary", "Show what would be erased")
	b.shows("This cannot be undone.")
	b.until(find("dialog td", "Contacts"))
	b.shows("What stays")
	b.until(`document.querySelector('dialog button.danger').disabled`)
	b.focus("#typed")
	b.keys(email)
	b.click("dialog button.danger", "Erase for ever")
	b.shows("The person was erased")
	b.until(find("td", "Request 17"))
	if rest := shared.total(t, "/v1/contacts/list", map[string]any{"filters": []any{map[string]any{"field": "email", "condition": "is", "value": email}}}); rest != 0 {
		t.Errorf("%v contacts are left", rest)
	}
	b.clickIn("Request 17", "a", "Open")
	b.shows("Erased a person")
	b.shows("What stays")
}
