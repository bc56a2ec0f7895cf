package browsertest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// timed is an expression for the milliseconds between an action in the page and a condition.
func timed(act, condition string) string {
	return fmt.Sprintf(`new Promise((resolve) => { const start = performance.now(); %s; (function look() {
		let is = false; try { is = %s; } catch {}
		if (is || performance.now() - start > 20000) resolve(Math.round(performance.now() - start)); else requestAnimationFrame(look); })(); })`, act, condition)
}

// p95 is the time that 95 percent do not exceed.
func p95(times []int) int {
	slices.Sort(times)
	return times[len(times)*95/100]
}

// skipUnlessBench skips what depends on the speed of the machine.
func skipUnlessBench(t *testing.T) {
	t.Helper()
	if os.Getenv("PROSPECTOR_CONTACTS") == "" {
		t.Skip("run by make bench-console")
	}
}

// TestFirstLoadSpeed opens Home through a slow connection.
func TestFirstLoadSpeed(t *testing.T) {
	skipUnlessBench(t)
	b := open(t, 1280)
	b.signInAsNew()
	b.run(chromedp.Navigate("about:blank"), network.ClearBrowserCache(), network.EmulateNetworkConditions(false, 150, 1.6e6/8, 1.6e6/8))
	b.run(chromedp.Navigate(shared.url + "/app/"))
	b.until(find("main h2", "Next 7 days"))
	within(t, "Home usable at 1.6 Mbit/s and 150 ms: milliseconds", eval[int](b, `Math.round(performance.now())`), 2000)
}

// TestTableSpeed opens the contacts that TestTableBudget has made, jumps and scrolls in them, and moves the cursor.
func TestTableSpeed(t *testing.T) {
	skipUnlessBench(t)
	b := open(t, 1280)
	b.signInAsNew()
	var first, jumps, keys []int
	const shown = `document.querySelector('.table tbody tr[aria-rowindex] a')`
	for range 10 {
		b.visit("/tasks")
		first = append(first, eval[int](b, timed(`const a = document.createElement('a'); a.href = '/app/contacts?sort=last_name'; document.body.append(a); a.click(); a.remove()`, `location.pathname === '/app/contacts' && `+shown)))
	}
	within(t, "first rows of all contacts: milliseconds, p95", p95(first), 300)
	for i := range 20 {
		jumps = append(jumps, eval[int](b, timed(fmt.Sprintf(`const table = document.querySelector('.table'); table.scrollTop = table.scrollHeight * %v; await0 = performance.now()`, 0.9-float64(i)*0.04),
			`performance.now() > await0 + 20 && (() => { const box = document.querySelector('.table').getBoundingClientRect(); return ![...document.querySelectorAll('.table .skeleton')].some((e) => { const r = e.getBoundingClientRect(); return r.bottom > box.top && r.top < box.bottom; }); })()`)))
	}
	within(t, "jump to a row: milliseconds, p95", p95(jumps), 300)
	longest := eval[float64](b, `new Promise((resolve) => {
		let longest = 0, n = 0;
		new PerformanceObserver((list) => { for (const e of list.getEntries()) longest = Math.max(longest, e.duration); }).observe({ type: 'longtask' });
		const table = document.querySelector('.table');
		table.scrollTop = 0;
		(function scroll() { table.scrollTop += 90; if (++n < 300) requestAnimationFrame(scroll); else setTimeout(() => resolve(longest), 200); })(); })`)
	within(t, "longest task while 750 rows are scrolled: milliseconds", int(longest), 100)
	_ = eval[bool](b, `(window.painted = [], document.addEventListener('keydown', (e) => requestAnimationFrame(() => setTimeout(() => painted.push(Math.round(performance.now() - e.timeStamp))))), true)`)
	for i := range 30 {
		b.keys("j")
		b.until(fmt.Sprintf(`painted.length === %d`, i+1))
	}
	keys = eval[[]int](b, `painted`)
	within(t, "from a key to its effect: milliseconds, p95", p95(keys), 50)
}

// TestMemory navigates 200 times. The heap must be small and must not grow.
func TestMemory(t *testing.T) {
	skipUnlessBench(t)
	b := open(t, 1280)
	b.signInAsNew()
	paths := slices.Sorted(maps.Values(pagePaths(t)))
	b.ready("/contacts")
	heap := func() (used int) { // on the same page each time
		b.follow("/contacts")
		b.run(heapprofiler.CollectGarbage(), chromedp.ActionFunc(func(ctx context.Context) error {
			bytes, _, _, _, err := runtime.GetHeapUsage().Do(ctx)
			used = int(bytes)
			return err
		}))
		return used
	}
	half := 0
	for i := range 200 {
		if i == 100 {
			half = heap()
		}
		b.follow(paths[i%len(paths)])
	}
	full := heap()
	within(t, "heap after 200 navigations: bytes", full, 60<<20)
	within(t, "heap, growth by the last 100: percent", max(0, (full-half)*100/half), 10)
}
