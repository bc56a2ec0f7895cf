package browsertest

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// failing answers the requests of a page as the mode in the session storage says, except those that every page needs
// first. Waiting is ten times faster.
const failing = `(() => {
	const real = window.fetch, timeout = window.setTimeout;
	window.setTimeout = (act, ms, ...all) => timeout(act, ms / 10, ...all);
	const answer = (status, message, headers = {}) => new Response(JSON.stringify({ error: { code: 'test', message } }), { status, headers });
	window.fetch = async (url, options) => {
		const mode = sessionStorage.getItem('mode');
		if (!mode || !/^\/v1\/(?!me|organization|sessions)/.test(url)) return real(url, options);
		if (mode === 'offline') throw new TypeError('Failed to fetch');
		if (mode === '503') return answer(503, 'Out of order.', { 'Retry-After': '1' });
		if (mode === '403') return answer(403, 'Not for you.');
		return new Promise((_, reject) => options.signal?.addEventListener('abort', () => reject(options.signal.reason)));
	};
})()`

// TestFailures opens every page while the service is out of order, cannot be reached, refuses to answer and is slow.
func TestFailures(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(failing).Do(ctx)
		return err
	}))
	mode := func(name string) {
		_ = eval[bool](b, fmt.Sprintf(`(sessionStorage.setItem('mode', '%s'), true)`, name))
	}
	paths := pagePaths(t)
	delete(paths, "settings") // they read nothing else
	delete(paths, "settings me")
	for name, path := range paths {
		t.Run(name, func(t *testing.T) {
			b.t = t
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
			if path == "/settings/trash" || path == "/templates/new" { // only a part of the page is slow
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
