package browsertest

import (
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"
)

// randomViews encodes random views and returns those that do not survive it. It follows the source of query.js.
const randomViews = `
	let seed = %d;
	const random = (n) => { seed = Math.imul(seed ^ (seed >>> 15), seed | 1) + 0x6d2b79f5 | 0; seed ^= seed + Math.imul(seed ^ (seed >>> 7), seed | 61); return ((seed ^ (seed >>> 14)) >>> 0) %% n; };
	const pick = (all) => all[random(all.length)];
	const texts = ['', ' ', 'vp', 'a,b', ',', '\\', '\\,', 'a\\', '"', '"a"', '"a\nb"', 'true', 'FALSE', '12', '-1.5', '1e5', '.', '1.', 'null', 'a:b', '::', '&f=x', '%%2C', '%%', '+', '#', 'Müller & Söhne', 'مرحبا', '🦊', '[1]', '{"a":1}', "it's"];
	const text = () => Array.from({ length: random(3) }, () => pick(texts)).join(pick(['', ' ', ',']));
	const value = () => pick([text, text, text, () => random(1e6) - 5e5, () => random(1e6) / 1024, () => random(2) === 0, () => random(1e9) * 1e15])();
	const rule = () => {
		const field = pick(['title', 'scoring.heat_score', 'custom_field_a1', 'employee_count']);
		const condition = pick(['is', 'is_not', 'contains', 'between', 'is_empty', 'is_not_empty', 'at_least']);
		if (noValue.has(condition)) return { field, condition };
		return { field, condition, value: random(2) ? value() : Array.from({ length: 1 + random(4) }, value) };
	};
	const group = (depth) => ({ operator: pick(['and', 'or']), filters: Array.from({ length: random(4) }, () => depth > 0 && random(2) ? group(depth - 1) : rule()) });
	const wrong = [];
	for (let i = 0; i < 10_000; i++) {
		const view = { q: text(), rules: Array.from({ length: random(4) }, rule), where: random(2) ? group(3) : null, sort: pick(['', 'last_name', '-created_at']), page: 1 + random(9), cols: pick([[], ['name'], ['name', 'custom_field_a1']]) };
		const address = new URL('http://host/app/contacts' + encode(view)); // as the browser reads it
		const { unknown, ...decoded } = decode(address.searchParams);
		if (unknown.length || JSON.stringify(decoded) !== JSON.stringify(view) || encode(decoded) !== encode(view)) wrong.push(address.search + ' is ' + JSON.stringify(decoded) + ', not ' + JSON.stringify(view));
	}
	return wrong.slice(0, 3);`

// TestRandomViews requires that 10,000 random views are the same after they were an address.
func TestRandomViews(t *testing.T) {
	b := open(t, 1280)
	source, err := os.ReadFile("../console/web/js/query.js")
	if err != nil {
		t.Fatal(err)
	}
	seed := int32(time.Now().UnixNano())
	script := "(() => {" + regexp.MustCompile(`(?m)^(import .*|export )`).ReplaceAllString(string(source), "") + fmt.Sprintf(randomViews, seed) + "})()"
	for _, wrong := range eval[[]string](b, script) {
		t.Errorf("seed %d: %s", seed, wrong)
	}
}

// follow opens an address of the console as a link does, and waits until the page is shown.
func (b *tab) follow(path string) {
	b.t.Helper()
	_ = eval[bool](b, fmt.Sprintf(`(() => { document.title = 'left'; const a = document.createElement('a'); a.href = '/app' + %s; document.body.append(a); a.click(); a.remove(); return true; })()`, quote(path)))
	b.shown()
}

// back goes back to the page before.
func (b *tab) back() {
	b.t.Helper()
	_ = eval[bool](b, `(document.title = 'left', history.back(), true)`)
	b.shown()
}

// shown waits until a page has its title, which a page gets before it is drawn, and is drawn.
func (b *tab) shown() {
	b.t.Helper()
	b.until(`document.title !== 'left'`)
	_ = eval[bool](b, `(window.isDrawn = false, requestAnimationFrame(() => requestAnimationFrame(() => { window.isDrawn = true; })), true)`)
	b.until(`window.isDrawn && document.querySelector('main h1')`)
}

// TestBack leaves every page for another and comes back to the same address with the same content.
func TestBack(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	paths := pagePaths(t)
	delete(paths, "template") // the clock of the demo is fast, and so are the dates of the steps
	paths["peek"] = "/contacts?f=title:contains:vp&sort=last_name&cols=name,title&open=" + shared.first(t, "/v1/contacts/list", map[string]any{"sort": "last_name", "filters": []any{map[string]any{"field": "title", "condition": "contains", "value": "vp"}}})["id"].(string)
	paths["where"] = `/contacts?where={"operator":"or","filters":[{"field":"title","condition":"contains","value":"vp"},{"field":"title","condition":"contains","value":"chief"}]}`
	const text = `document.querySelector('main').innerText.replace(/just now|it was .* for them|, \d+ of \d+|\d+ min|\d+:\d+/g, '')` // without what changes by itself
	b.ready("/contacts")
	_ = eval[bool](b, `(() => { const real = fetch; window.pending = 0; window.fetch = async (...all) => { pending++; try { return await real(...all); } finally { setTimeout(() => pending--, 50); } }; return true; })()`)
	for name, path := range paths {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.follow(path)
			b.until(`pending === 0 && (() => { const before = window.seenText; window.seenText = ` + text + `; return before === window.seenText; })()`)
			before, address := eval[string](b, text), eval[string](b, `location.href`)
			b.follow("/outbox?f=status:is:captured&sort=subject")
			b.back()
			b.until(fmt.Sprintf(`location.href === %s && %s === %s`, quote(address), text, quote(before)))
		})
	}
	b.t = t
}
