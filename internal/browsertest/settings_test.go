package browsertest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// get returns a record.
func (d *demo) get(t testing.TB, path string) map[string]any {
	t.Helper()
	return d.call(t, http.MethodGet, path, nil)["data"].(map[string]any)
}

// total returns how many records a list has.
func (d *demo) total(t testing.TB, path string, query map[string]any) float64 {
	t.Helper()
	return d.call(t, http.MethodPost, path, query)["pagination"].(map[string]any)["total_count"].(float64)
}

// named returns the record of a list that is not paged whose field has a value, or nil.
func (d *demo) named(t testing.TB, path, field, value string) map[string]any {
	t.Helper()
	for _, r := range d.call(t, http.MethodGet, path, nil)["data"].([]any) {
		if r := r.(map[string]any); r[field] == value {
			return r
		}
	}
	return nil
}

// eventually waits for what the service does by itself.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); {
		if time.Now().After(end) {
			t.Fatal("never: ", what)
		}
	}
}

// TestUsers creates a user, whose link is shown at once, changes, deactivates and activates them, and invites them again.
func TestUsers(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		email := fmt.Sprintf("colleague%d@northwind.example", b.number)
		user := func() map[string]any { return shared.named(t, "/v1/users", "email", email) }
		b.visit("/settings/users")
		b.click("button", "New user")
		b.fill("email", email)
		b.fill("first_name", "Colin")
		b.click("dialog button.primary", "Create")
		b.shows("A link for " + email)
		b.until(`document.querySelector('dialog pre').innerText.includes('/app/welcome#')`)
		b.click("dialog button", "Done")
		b.until(find("main td", email))
		if got := user(); got["access"] != "write" || got["first_name"] != "Colin" {
			t.Errorf("the user is %v", got)
		}

		b.clickIn(email, "button", "Change…")
		b.fill("last_name", "Quist")
		b.choose("[data-field=access]", "Admin")
		b.click("dialog button.primary", "Save")
		b.until(find("main td", "Colin Quist"))
		if got := user(); got["access"] != "admin" || got["last_name"] != "Quist" {
			t.Errorf("the user is %v", got)
		}

		b.clickIn(email, "button", "Deactivate…")
		b.click("dialog button.primary", "Deactivate")
		b.until(fmt.Sprintf(`%s.closest('tr').innerText.includes('Disabled')`, find("main td", email)))
		if user()["active"] != false {
			t.Error("the user is active")
		}
		b.clickIn(email, "button", "Activate")
		b.until(fmt.Sprintf(`%s.closest('tr').innerText.includes('Active')`, find("main td", email)))
		if user()["active"] != true {
			t.Error("the user is not active")
		}
		b.clickIn(email, "button", "Invite")
		b.shows("A link for " + email)
		link := eval[string](b, `document.querySelector('dialog pre').innerText`)
		other := open(t, width)
		other.redeem(link)
	}
}

// TestKeys creates an API key, which works until it is deactivated.
func TestKeys(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	name := fmt.Sprint("Integration ", b.number)
	b.visit("/settings/keys")
	b.click("button", "New API key")
	b.fill("name", name)
	b.choose("[data-field=access]", "Read")
	b.click("dialog button.primary", "Create")
	b.shows("It is shown only once.")
	key := eval[string](b, `document.querySelector('dialog pre').innerText.trim()`)
	status := func() int {
		req, err := http.NewRequest(http.MethodGet, shared.url+"/v1/me", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode
	}
	if got := status(); got != http.StatusOK {
		t.Errorf("the key is answered with %d", got)
	}
	b.click("dialog button", "Done")
	b.clickIn(name, "button", "Deactivate…")
	b.click("dialog button.primary", "Deactivate")
	b.until(fmt.Sprintf(`%s.closest('tr').innerText.includes('Disabled')`, find("main td", name)))
	if got := status(); got != http.StatusUnauthorized {
		t.Errorf("the key that is deactivated is answered with %d", got)
	}
}

// TestVocabulary creates and deletes a tag, a field and a suppression.
func TestVocabulary(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		tag, field, domain := fmt.Sprint("Vocabulary ", b.number), fmt.Sprint("vocabulary_", b.number), fmt.Sprintf("vocabulary%d.example", b.number)
		has := func(list, field, value string) bool {
			return shared.total(t, "/v1/"+list+"/list", map[string]any{"filters": []any{map[string]any{"field": field, "condition": "is", "value": value}}}) == 1
		}
		b.visit("/settings/tags")
		b.click("button", "New tag")
		b.fill("name", tag)
		b.choose("[data-field=object_type]", "Account")
		b.click("dialog button.primary", "Create")
		b.until(find("main td .tag.green", tag))
		if !has("tags", "name", tag) {
			t.Error("the tag does not exist")
		}
		b.clickIn(tag, "button", "Delete…")
		b.click("dialog button.primary", "Delete the tag")
		b.until("!document.querySelector('dialog') && !" + find("main td", tag))
		if has("tags", "name", tag) {
			t.Error("the tag still exists")
		}

		b.visit("/settings/fields")
		b.click("button", "New field")
		b.fill("key", field)
		b.choose("[data-field=data_type]", "Yes or no")
		b.click("dialog button.primary", "Create")
		b.until(find("main td", field))
		if made := shared.named(t, "/v1/fields", "key", field); made["data_type"] != "boolean" || made["entity"] != "contacts" {
			t.Errorf("the field is %v", made)
		}
		b.clickIn(field, "button", "Delete…")
		b.click("dialog button.primary", "Delete the field")
		b.until("!document.querySelector('dialog') && !" + find("main td", field))
		if shared.named(t, "/v1/fields", "key", field) != nil {
			t.Error("the field still exists")
		}

		b.visit("/settings/suppressions")
		b.click("button", "New suppression")
		b.fill("domain", domain)
		b.fill("reason", "asked by phone")
		b.click("dialog button.primary", "Create")
		b.until(find("main td", domain))
		if !has("suppressions", "domain", domain) {
			t.Error("the domain is not suppressed")
		}
		b.clickIn(domain, "button", "Remove…")
		b.click("dialog button.primary", "Remove")
		b.until("!" + find("main td", domain))
		if has("suppressions", "domain", domain) {
			t.Error("the domain is still suppressed")
		}
	}
}

// TestOwnSessions ends another session of the user, then chooses a password and signs in with it.
func TestOwnSessions(t *testing.T) {
	b := open(t, 1280)
	email := fmt.Sprintf("sessions%d@northwind.example", time.Now().UnixNano())
	user := shared.create(t, "/v1/users", map[string]any{"email": email, "first_name": "Ada", "access": "admin"})
	invite := func() string {
		return shared.call(t, http.MethodPost, "/v1/users/"+user+"/invite", map[string]any{})["data"].(map[string]any)["url"].(string)
	}
	b.redeem(invite())
	other := open(t, 1280)
	other.expected = append(other.expected, "status of 401")
	other.redeem(invite())
	b.visit("/settings/me")
	b.until(`document.querySelectorAll('main tbody tr').length === 2`)
	b.click("main td button", "End")
	b.until(`document.querySelectorAll('main tbody tr').length === 1 && document.querySelector('main tbody').innerText.includes('this session')`)
	other.click("nav a", "Contacts")
	other.shows("Your session has ended")

	const password = "correct horse battery"
	b.click("button", "Change the password…")
	b.fill("password", password)
	b.click("dialog button.primary", "Save")
	b.shows("The password was changed")
	other.fill("password", password)
	other.click("dialog button.primary", "Sign in")
	other.until(`!document.querySelector('dialog') && document.querySelector('h1').innerText.startsWith('Contacts ')`)
}

// TestWebhook adds an endpoint, sends it a test event that it refuses, redelivers the event, changes the secret, pauses the
// webhook, redelivers what was given up and deletes the webhook.
func TestWebhook(t *testing.T) {
	for _, width := range widths {
		var failures atomic.Int64
		received := make(chan string, 100)
		endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if failures.Add(-1) >= 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			received <- string(body)
		}))
		defer endpoint.Close()
		b := open(t, width)
		b.signInAsNew()
		b.visit("/settings/webhooks")
		b.click("button", "New webhook")
		b.fill("url", endpoint.URL)
		b.fill("triggers", "opportunity.*")
		b.click("dialog button.primary", "Create")
		b.shows("It signs the deliveries and is shown only once.")
		secret := eval[string](b, `document.querySelector('dialog pre').innerText`)
		b.click("dialog button", "Done")
		b.click("main td a", endpoint.URL)
		b.until(`document.querySelector('h1').innerText === ` + quote(endpoint.URL))
		path := "/v1/webhooks/subscriptions/" + eval[string](b, `location.pathname.split('/').at(-1)`)
		if got := shared.get(t, path); fmt.Sprint(got["triggers"]) != "[opportunity.*]" {
			t.Errorf("the webhook is %v", got)
		}

		// fail sends a test event whose two attempts fail, and waits until n failed attempts are shown.
		fail := func(n int) {
			failures.Store(2)
			b.click("button", "Test")
			b.shows("A test event is on its way")
			b.until(fmt.Sprintf(`[...document.querySelectorAll('main td')].filter((e) => e.innerText.includes('503')).length === %d`, n))
		}
		fail(2)
		b.click("main td button", "Redeliver")
		if body := <-received; !strings.Contains(body, "webhook.test") {
			t.Errorf("received %s", body)
		}
		b.until(find("main td .status", "Succeeded"))

		b.click("button", "Rotate the secret…")
		b.click("dialog button.primary", "Rotate")
		b.shows("The new secret")
		if now := eval[string](b, `document.querySelector('dialog pre').innerText`); now == secret || len(now) != len(secret) {
			t.Errorf("the secret was %q and is %q", secret, now)
		}
		b.click("dialog button", "Done")
		for action, status := range map[string]string{"Pause": "paused"} {
			b.click("button", action)
			b.until(find(".heading button", "Activate"))
			if got := shared.get(t, path)["status"]; got != status {
				t.Errorf("after %s the webhook is %v", action, got)
			}
		}
		b.click("button", "Activate")
		b.until(find(".heading button", "Pause"))

		b.click("button", "Redeliver failed…")
		b.shows("No event was given up")
		fail(4)
		b.click("button", "Redeliver failed…")
		b.click("dialog button.primary", "Redeliver 1 event")
		if body := <-received; !strings.Contains(body, "webhook.test") {
			t.Errorf("received %s", body)
		}
		b.until(`[...document.querySelectorAll('main td .status')].filter((e) => e.innerText.includes('Succeeded')).length === 2`)
		at := eval[string](b, `location.pathname.replace('/app', '')`)
		b.click(".tabs a", "Filter and export")
		b.until(`document.querySelector('h1').innerText.startsWith('Deliveries')`)
		b.addRule("Trigger key", "is", "webhook.test")
		b.until(find("main td", "503"))
		if file := b.export("Export as CSV"); strings.Count(file, "http_503") != 4 || strings.Count(file, "succeeded") != 2 {
			t.Errorf("the exported attempts are %s", file)
		}
		b.visit(at)
		b.click("button", "Delete…")
		b.click("dialog button.primary", "Delete the webhook")
		b.until(`location.pathname === '/app/settings/webhooks' && !` + find("main td", endpoint.URL))
		if n := shared.total(t, "/v1/webhooks/subscriptions/list", map[string]any{"search": endpoint.URL}); n != 0 {
			t.Errorf("%v webhooks are left", n)
		}
	}
}
