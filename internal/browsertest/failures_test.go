package browsertest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// failing answers the requests of a page as the mode in the session storage says. Those that every page needs first are
// answered as the mode "first" says. Waiting is ten times faster.
const failing = `(() => {
	const real = window.fetch, timeout = window.setTimeout;
	window.setTimeout = (act, ms, ...all) => timeout(act, ms / 10, ...all);
	const answer = (status, message, headers = {}) => new Response(JSON.stringify({ error: { code: 'test', message } }), { status, headers });
	window.fetch = async (url, options) => {
		const mode = sessionStorage.getItem(/^\/v1\/(me|organization|sessions)/.test(url) ? 'first' : 'mode');
		if (!mode || !url.startsWith('/v1/')) return real(url, options);
		if (mode === 'offline') throw new TypeError('Failed to fetch');
		if (mode === '503') return answer(503, 'Out of order.', { 'Retry-After': '1' });
		if (mode === '500') return answer(500, 'Broken.');
		if (mode === '403') return answer(403, 'Not for you.');
		return new Promise((_, reject) => options.signal?.addEventListener('abort', () => reject(options.signal.reason)));
	};
})()`

// failing makes the requests of this tab fail on demand.
func (b *tab) failing() {
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(failing).Do(ctx)
		return err
	}))
}

// setMode makes the requests of a kind fail.
func (b *tab) setMode(kind, mode string) {
	b.t.Helper()
	_ = eval[bool](b, fmt.Sprintf(`(sessionStorage.setItem('%s', '%s'), true)`, kind, mode))
}

// TestFailuresAtStart opens the console while it cannot read who is signed in. It must say so instead of showing an
// empty page.
func TestFailuresAtStart(t *testing.T) {
	b := open(t, 1280)
	b.failing()
	b.signIn()
	b.setMode("first", "503")
	b.run(chromedp.Navigate(shared.url + "/app/contacts"))
	b.until(`/Out of order. Trying again in 1 second/.test(document.querySelector('.bar')?.innerText)`)
	b.setMode("first", "500")
	b.until(`/This did not work\s+Broken\./.test(document.querySelector('main')?.innerText) && !document.querySelector('.bar')`)
	b.setMode("first", "")
	b.click("main button", "Try again")
	b.loaded()
	b.shows("Contacts")
}

// TestFailures opens every page while the service is out of order, cannot be reached, refuses to answer and is slow.
func TestFailures(t *testing.T) {
	b := open(t, 1280)
	b.failing()
	mode := func(name string) { b.setMode("mode", name) }
	paths := pagePaths(t)
	delete(paths, "settings") // they read nothing else
	delete(paths, "settings me")
	for name, path := range paths {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.signInAsNew() // a user has a rate limit
			visit := func(state string) {
				mode(state)
				b.run(chromedp.Navigate(shared.url + "/app" + path))
			}
			visit("503")
			b.until(`/Out of order. Trying again in 1 second/.test(document.querySelector('.bar')?.innerText)`)
			mode("offline")
			b.until(`/The service cannot be reached. Trying again in/.test(document.querySelector('.bar')?.innerText)`)
			mode("")
			b.loaded()
			b.until(`!document.querySelector('.bar')`)

			visit("403")
			b.until(`document.querySelector('main h1') && /You have admin access|Not for you/.test(document.body.innerText)`)

			visit("slow")
			if slices.Contains([]string{"/settings/trash", "/templates/new", "/operations"}, path) { // only a part of the page is slow
				b.until(`document.querySelector('main h1')`)
			} else {
				b.click("main button", "Cancel")
				b.shows("Loading was cancelled.")
			}
			mode("")
			b.check()
		})
	}
	b.t = t
}
