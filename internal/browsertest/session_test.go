package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestSignIn signs in through a one-time link, with a password after that, and refuses a wrong one.
func TestSignIn(t *testing.T) {
	b := open(t, 1280)
	b.expected = append(b.expected, "status of 401", "status of 422", "username fields")
	link := shared.invite(t)
	b.run(chromedp.Navigate(link))
	b.until(find("button", "Continue"))
	b.keys("short" + kb.Enter)
	b.until(`document.querySelector('[aria-invalid=true]') === document.activeElement`)
	_ = eval[bool](b, `document.activeElement.select() || true`)
	b.keys("password12" + kb.Enter)
	b.shows("it is a common password; use four or more unrelated words")
	b.until(`document.querySelector('[aria-invalid=true]') === document.activeElement`)
	_ = eval[bool](b, `document.activeElement.select() || true`)
	const password = "a long enough password"
	b.keys(password + kb.Enter)
	b.shows("Needs you")

	b.click("nav button", "Ada")
	b.click("button", "Sign out")
	b.shows("Sign in to Prospector")
	b.focus("[data-field=email]")
	b.keys("ada@northwind.example" + kb.Tab + "wrong password" + kb.Enter)
	b.until(`document.querySelector('[role=alert]')`)
	b.focus("[data-field=password]")
	_ = eval[bool](b, `document.activeElement.select() || true`)
	b.keys(password + kb.Enter)
	b.shows("Needs you")

	b.run(chromedp.Navigate("about:blank"), chromedp.Navigate(link)) // it works once
	b.until(find("button", "Continue"))
	b.keys(kb.Enter)
	b.until(`document.querySelector('[role=alert]')`)
}

// TestSessionEnds ends the session while a form is filled in: the sign-in appears over the page and nothing is lost.
func TestSessionEnds(t *testing.T) {
	for _, width := range widths {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			const password = "another long password"
			email := fmt.Sprintf("expiry%d@northwind.example", width)
			user := shared.create(t, "/v1/users", map[string]any{"email": email, "access": "write"})
			link := shared.call(t, http.MethodPost, "/v1/users/"+user+"/invite", map[string]any{})["data"].(map[string]any)["url"].(string)
			b := open(t, width)
			b.expected = append(b.expected, "status of 401")
			b.run(chromedp.Navigate(link))
			b.until(find("button", "Continue"))
			b.keys(password + kb.Enter)
			b.loaded()
			b.visit("/contacts")
			b.click("button", "New contact")
			b.focus("[data-field=first_name]")
			name := fmt.Sprint("Survivor", width)
			b.keys(name)
			b.focus("[data-field=email]")
			b.keys(fmt.Sprintf("survivor%d@text.example", width))
			b.run(network.ClearBrowserCookies())
			b.click("button", "Create")
			b.shows("Your session has ended")
			b.focus("[data-field=password]")
			b.keys(password + kb.Enter)
			b.until(fmt.Sprintf(`document.querySelector('h1')?.innerText === %s`, quote(name)))
		})
	}
}

// TestForgedRequests sends the session's cookie as another site or a script without the console's header would.
func TestForgedRequests(t *testing.T) {
	b := open(t, 1280)
	b.signIn()
	var cookie string
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		cookies, err := network.GetCookies().Do(ctx)
		for _, c := range cookies {
			if !c.HTTPOnly || c.SameSite != network.CookieSameSiteStrict {
				t.Errorf("the cookie %s is not HttpOnly and SameSite=Strict", c.Name)
			}
			cookie = c.Name + "=" + c.Value
		}
		return err
	}))
	if cookies := eval[string](b, `document.cookie`); cookies != "" {
		t.Errorf("scripts see the cookie %s", cookies)
	}
	for _, c := range []struct {
		name, method, path string
		header             map[string]string
		want               int
	}{
		{"as the console does", "GET", "/v1/me", map[string]string{"X-Prospector-Console": "1"}, 200},
		{"without the header", "GET", "/v1/me", nil, 403},
		{"from another origin", "GET", "/v1/me", map[string]string{"X-Prospector-Console": "1", "Origin": "https://evil.example"}, 403},
		{"write without an origin", "POST", "/v1/tags", map[string]string{"X-Prospector-Console": "1"}, 403},
		{"write from another origin", "POST", "/v1/tags", map[string]string{"X-Prospector-Console": "1", "Origin": "https://evil.example"}, 403},
		{"list from this origin", "POST", "/v1/contacts/list", map[string]string{"X-Prospector-Console": "1", "Origin": shared.url}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequest(c.method, shared.url+c.path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Cookie", cookie)
			req.Header.Set("Content-Type", "application/json")
			for name, value := range c.header {
				req.Header.Set(name, value)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != c.want {
				t.Errorf("status %d, want %d", res.StatusCode, c.want)
			}
		})
	}
}

// TestAnotherUserSignsIn requires that a page never acts for another user than the one for whom it was loaded: neither if
// somebody else signs in after the session has ended, nor if that happens in another tab.
func TestAnotherUserSignsIn(t *testing.T) {
	const password = "somebody else's password"
	b := open(t, 1280)
	b.expected = append(b.expected, "status of 401", "username fields")
	email := fmt.Sprintf("else%d@northwind.example", b.number)
	user := shared.create(t, "/v1/users", map[string]any{"email": email, "first_name": "Elsa", "access": "write"})
	link := shared.call(t, http.MethodPost, "/v1/users/"+user+"/invite", map[string]any{})["data"].(map[string]any)["url"].(string)
	b.run(chromedp.Navigate(link))
	b.until(find("button", "Continue"))
	b.keys(password + kb.Enter)
	b.loaded()

	fill := func(name string) {
		b.visit("/contacts")
		b.click("button", "New contact")
		b.focus("[data-field=first_name]")
		b.keys(name)
		b.focus("[data-field=email]")
		b.keys(strings.ToLower(name) + "@text.example")
	}
	isElsa := `location.pathname === '/app/' && !document.querySelector('dialog[open]') && document.querySelector('.end button')?.innerText.includes('Elsa')`
	first, second := fmt.Sprint("Ended", b.number), fmt.Sprint("Elsewhere", b.number)

	b.signInAsNew()
	fill(first)
	b.run(network.ClearBrowserCookies())
	b.click("button", "Create")
	b.shows("Your session has ended")
	b.focus("[data-field=email]")
	_ = eval[bool](b, `document.activeElement.select() || true`)
	b.keys(email)
	b.focus("[data-field=password]")
	b.keys(password + kb.Enter)
	b.until(isElsa)

	b.signInAsNew()
	fill(second)
	signIn := fmt.Sprintf(`fetch('/v1/sessions', { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Prospector-Console': '1' }, body: JSON.stringify({ email: %s, password: %s }) }).then((answer) => answer.status)`, quote(email), quote(password))
	if status := eval[int](b, signIn); status != http.StatusCreated { // as another tab does, which shares the cookie
		t.Fatalf("the sign-in has status %d", status)
	}
	b.click("button", "Create")
	b.until(isElsa)

	for _, name := range []string{first, second} {
		found := shared.call(t, http.MethodPost, "/v1/contacts/list", map[string]any{"filters": []any{map[string]any{"field": "first_name", "condition": "is", "value": name}}})
		if n := found["pagination"].(map[string]any)["total_count"]; n != 0.0 {
			t.Errorf("%v contacts are called %s", n, name)
		}
	}
}
