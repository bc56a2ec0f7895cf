package browsertest

import (
	"net/http"
	"sync/atomic"
	"testing"
)

// TestMailSettings looks at the state of the mail server and tests it: without an address, with one, with one that must
// not be written to, and when the server refuses the message. Who has write access sees the state and cannot test, and
// who has read access sees neither.
func TestMailSettings(t *testing.T) {
	if shared == nil {
		open(t, 1280)
	}
	var isRefused atomic.Bool
	d := startMailing(t, mailServer(t, &isRefused))
	defer func(before *demo) { shared = before }(shared)
	shared = d
	d.create(t, "/v1/suppressions", map[string]any{"email": "gone@elsewhere.example"})
	for _, width := range widths {
		isRefused.Store(false)
		b := open(t, width)
		b.expected = append(b.expected, "status of 409", "status of 422")
		b.signInAsNew()
		b.visit("/settings/mail")
		b.shows("Emails go out.")
		test := func(to, want string) {
			t.Helper()
			b.click("button", "Send a test…")
			if to != "" {
				b.fill("to", to)
			}
			b.click("dialog button.primary", "Test")
			b.shows(want)
		}
		done := func() {
			t.Helper()
			b.click("dialog button.primary", "Done")
			b.until(`!document.querySelector('dialog')`)
		}
		test("", "The test succeeded")
		b.shows("Greet the server")
		done()
		test("bill@elsewhere.example", "The test succeeded")
		b.shows("Send the message")
		b.screenshot("mail-test")
		done()
		test("gone@elsewhere.example", "gone@elsewhere.example must not be written to")
		b.click("dialog button", "Cancel")
		isRefused.Store(true)
		test("bill@elsewhere.example", "The test failed: Send the message")
		b.shows("the content is refused")
		done()
	}
	for access, isShown := range map[string]bool{"write": true, "read": false} {
		b := open(t, 1280)
		b.expected = append(b.expected, "status of 403")
		user := d.create(t, "/v1/users", map[string]any{"email": access + "@acme.example", "first_name": "Eve", "access": access})
		b.redeem(d.call(t, http.MethodPost, "/v1/users/"+user+"/invite", map[string]any{})["data"].(map[string]any)["url"].(string))
		b.visit("/settings")
		b.shows("Time zone")
		if got := eval[bool](b, find("main .tabs a", "Mail")+` !== undefined`); got != isShown {
			t.Errorf("with %s access, a link to Mail is shown: %v", access, got)
		}
		if isShown {
			b.visit("/settings/mail")
			b.shows("Emails go out.")
			if eval[bool](b, find("button", "Send a test…")+` !== undefined`) {
				t.Error("who is no admin can test")
			}
		}
	}
}
