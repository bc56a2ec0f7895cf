package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// tab is a tab of the browser. It counts clicks, and what goes wrong in the page fails the test.
type tab struct {
	t      *testing.T
	number int64 // for names that no other tab uses
	ctx    context.Context
	end    context.CancelCauseFunc
	width  int64
	clicks int

	hasNoMouse bool // everything is done with the keyboard

	mutex       sync.Mutex
	problems    []string
	requests    []string // method and path of requests to the API
	transferred float64  // encoded bytes
	expected    []string // parts of problems that the test provokes
}

var opened atomic.Int64 // tabs

// recorder runs in each page before its scripts. It keeps what must not happen.
const recorder = `window.violations = []; document.addEventListener('securitypolicyviolation', (e) => violations.push(e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sample));`

// open opens a tab of the given width in which nobody is signed in.
func open(t *testing.T, width int64) *tab {
	t.Helper()
	if shared == nil {
		t.Skip("no browser is installed, so the console is not tested; on Debian: apt-get install chromium")
	}
	if lostChromium() {
		t.Fatal("chromium ended during an earlier test")
	}
	ctx, closeWindow, err := newWindow()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeWindow)
	ctx, cancel := context.WithTimeout(ctx, 12*time.Minute)
	t.Cleanup(cancel)
	ctx, end := context.WithCancelCause(ctx)
	t.Cleanup(func() { end(nil) })
	b := &tab{t: t, number: opened.Add(1), ctx: ctx, end: end, width: width, expected: []string{"status of 429"}} // a session has a rate limit, behind which the console waits
	chromedp.ListenTarget(ctx, b.listen)
	b.run(network.Enable(), log.Enable(), runtime.Enable(), emulation.SetDeviceMetricsOverride(width, 800, 1, width < 500), emulation.SetFocusEmulationEnabled(true),
		chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := page.AddScriptToEvaluateOnNewDocument(recorder).Do(ctx)
			return err
		}))
	t.Cleanup(b.check)
	return b
}

func (b *tab) listen(event any) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	switch e := event.(type) {
	case *inspector.EventTargetCrashed:
		b.end(errors.New("the page crashed")) // nothing answers any more
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, "exception: "+e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeAssert {
			b.problems = append(b.problems, fmt.Sprintf("console: %s", e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			b.problems = append(b.problems, "log: "+e.Entry.Text+" "+e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if _, path, ok := strings.Cut(e.Request.URL, "/v1/"); ok {
			b.requests = append(b.requests, e.Request.Method+" /v1/"+path)
			path, _, _ = strings.Cut(path, "?")
			called.Lock()
			called.requests[e.Request.Method+" /v1/"+path] = true
			called.Unlock()
		}
	case *network.EventLoadingFinished:
		b.transferred += e.EncodedDataLength
	}
}

// check fails the test if the page logged an error, ran into an exception or violated its policy.
func (b *tab) check() {
	var violations []string
	if b.ctx.Err() == nil {
		_ = chromedp.Run(b.ctx, chromedp.Evaluate(`window.violations || []`, &violations))
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, problem := range append(b.problems, violations...) {
		if !containsAny(problem, b.expected) {
			b.t.Errorf("at %d px: %s", b.width, problem)
		}
	}
	b.problems = nil
}

func containsAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

func (b *tab) run(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatalf("at %d px: %v", b.width, b.reason(err))
	}
}

// reason returns why an action failed.
func (b *tab) reason(err error) error {
	if b.ctx.Err() == nil {
		return err
	}
	if lostChromium() {
		return errors.New("chromium has ended")
	}
	return context.Cause(b.ctx)
}

// eval returns the value of an expression, which may be a promise.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	var value T
	b.run(chromedp.Evaluate(expression, &value, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return value
}

// until waits until an expression is true in the page.
func (b *tab) until(condition string) {
	b.t.Helper()
	expression := fmt.Sprintf(`new Promise((resolve) => { const end = Date.now() + 20000; (function look() {
		let is = false; try { is = %s; } catch {}
		if (is || Date.now() > end) resolve(Boolean(is)); else requestAnimationFrame(look); })(); })`, condition)
	for range 3 { // a navigation ends what runs in the page
		var is bool
		err := chromedp.Run(b.ctx, chromedp.Evaluate(expression, &is, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
		if err == nil && is {
			return
		}
		if b.ctx.Err() != nil {
			b.t.Fatalf("at %d px, waiting for %s: %v", b.width, condition, b.reason(err))
		}
		if err == nil {
			break
		}
	}
	b.t.Fatalf("at %d px, never true: %s\nThe page at %s shows:\n%s", b.width, condition, eval[string](b, `location.href`), eval[string](b, `document.body.innerText.slice(0, 1500)`))
}

// shows waits for a text.
func (b *tab) shows(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`document.body.innerText.includes(%s)`, quote(text)))
}

func quote(text string) string {
	quoted, _ := json.Marshal(text) // a string can always be encoded
	return string(quoted)
}

// find is an expression for the first visible element of a selector that shows a text, in the dialog if one is open.
func find(selector, text string) string {
	return fmt.Sprintf(`[...([...document.querySelectorAll('dialog[open]')].at(-1) || document).querySelectorAll(%s)].find((e) => e.checkVisibility()
		&& (e.innerText || e.textContent || e.getAttribute('aria-label') || '').trim().includes(%s))`, quote(selector), quote(text))
}

// click clicks on an element with the mouse, and counts it, or presses it with the keyboard. It waits until the element is enabled, has rested for two
// frames and is what the mouse would hit, as a person does.
func (b *tab) click(selector, text string) {
	b.t.Helper()
	if b.hasNoMouse {
		b.press(selector, text)
		return
	}
	b.hit(find(selector, text))
}

// clickIn clicks on an element in the row of a table or list that shows a text.
func (b *tab) clickIn(row, selector, text string) {
	b.t.Helper()
	b.hit(fmt.Sprintf(`[...[...document.querySelectorAll('main tr, main li, .popover .item')].find((r) => r.checkVisibility() && r.innerText.includes(%s)).querySelectorAll(%s)].find((e) => (e.innerText || e.getAttribute('aria-label') || '').includes(%s))`, quote(row), quote(selector), quote(text)))
}

// hit clicks on the element of an expression with the mouse. If the page moves under the pointer, the click reaches nothing and is made again.
func (b *tab) hit(element string) {
	b.t.Helper()
	b.clicks++
	for range 5 {
		b.until(fmt.Sprintf(`(() => {
			const e = %s; if (!e || e.disabled) return false;
			e.scrollIntoView({ block: 'center', inline: 'nearest' });
			const r = e.getBoundingClientRect(), at = [r.x + r.width / 2, r.y + r.height / 2], last = window.clickAt;
			window.clickAt = at;
			const hit = document.elementFromPoint(...at);
			if (String(at) !== String(last) || !(e.contains(hit) || hit?.contains(e))) return false;
			const events = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click'];
			const guard = (event) => {
				if (event.type === 'pointerdown') window.missed = event.target !== hit && !e.contains(event.target);
				if (window.missed) { event.preventDefault(); event.stopImmediatePropagation(); }
			};
			events.forEach((type) => addEventListener(type, guard, true));
			window.unguard = () => {
				events.forEach((type) => removeEventListener(type, guard, true));
				const { missed } = window; delete window.missed;
				return Boolean(missed);
			};
			return true; })()`, element))
		at := eval[[]float64](b, `(() => { const at = window.clickAt; delete window.clickAt; return at; })()`)
		b.run(chromedp.MouseClickXY(at[0], at[1]))
		var missed bool
		if err := chromedp.Run(b.ctx, chromedp.Evaluate(`window.unguard()`, &missed)); err != nil || !missed {
			return // an error says that the click has opened another document
		}
	}
	b.t.Fatalf("at %d px, the page moves under the pointer: %s", b.width, element)
}

// keys types into what has the focus.
func (b *tab) keys(text string) {
	b.t.Helper()
	b.run(chromedp.KeyEvent(text))
}

// focus moves the focus to a field without a click, as Tab does.
func (b *tab) focus(selector string) {
	b.t.Helper()
	if b.hasNoMouse {
		b.tabTo(selector, "")
		return
	}
	b.until(find(selector, ""))
	_ = eval[bool](b, find(selector, "")+`.focus() || true`)
}

// fill replaces what a field of a form has.
func (b *tab) fill(name, text string) {
	b.t.Helper()
	b.focus("[data-field=" + name + "]")
	_ = eval[bool](b, `document.activeElement.select() || true`)
	b.keys(text)
}

// choose selects an option of a select element, as typing its name does.
func (b *tab) choose(selector, option string) {
	b.t.Helper()
	if b.hasNoMouse {
		b.arrowTo(selector, option)
		return
	}
	b.until(find(selector, ""))
	if !eval[bool](b, fmt.Sprintf(`(() => { const s = %s; const o = [...s.options].find((o) => o.text.includes(%s)); if (!o) return false; s.focus(); s.value = o.value; s.dispatchEvent(new Event('change', { bubbles: true })); return true; })()`, find(selector, ""), quote(option))) {
		b.t.Fatalf("%s has no option %q", selector, option)
	}
}

// visit opens an address of the console and waits until it has loaded.
func (b *tab) visit(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate(shared.url + "/app" + path))
	b.loaded()
}

func (b *tab) loaded() {
	b.t.Helper()
	b.until(`document.querySelector('.shell main h1') && !document.querySelector('[aria-busy]')`)
}

// goTo opens a page from the navigation, or on a phone by its name in the palette. Either is one click.
func (b *tab) goTo(name string) {
	b.t.Helper()
	if b.width >= 720 && !b.hasNoMouse {
		b.click("nav a", name)
	} else {
		if b.hasNoMouse {
			b.run(chromedp.KeyEvent("k", chromedp.KeyModifiers(input.ModifierCtrl)))
		} else {
			b.click(".top button", "Search")
		}
		b.until(`document.activeElement.matches('dialog input')`)
		b.keys(name + kb.Enter)
	}
	b.until(fmt.Sprintf(`document.querySelector('main h1')?.innerText.includes(%s)`, quote(name)))
}

// signIn opens the console through a one-time link.
func (b *tab) signIn() {
	b.t.Helper()
	b.redeem(shared.invite(b.t))
}

// signInAsNew signs in as a new admin, for tests that open so many pages that they would share the rate limit of one
// user with others.
func (b *tab) signInAsNew() {
	b.t.Helper()
	user := shared.create(b.t, "/v1/users", map[string]any{
		"email": fmt.Sprintf("new%d@northwind.example", time.Now().UnixNano()), "first_name": "Ada", "access": "admin",
	})
	link := shared.call(b.t, http.MethodPost, "/v1/users/"+user+"/invite", map[string]any{})["data"].(map[string]any)["url"].(string)
	b.redeem(link)
}

// redeem opens a one-time link and signs in with it.
func (b *tab) redeem(link string) {
	b.t.Helper()
	b.run(chromedp.Navigate(link))
	b.until(find("button", "Continue"))
	b.keys(kb.Enter)
	b.loaded()
	b.clicks = 0
}

// screenshot writes a picture of the page, if pictures are wanted.
func (b *tab) screenshot(name string) {
	b.t.Helper()
	dir := os.Getenv("PROSPECTOR_SCREENSHOTS")
	if dir == "" {
		return
	}
	var picture []byte
	b.run(chromedp.CaptureScreenshot(&picture))
	if err := os.WriteFile(dir+"/"+name+".png", picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
