package browsertest

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// within fails if a measured value exceeds its budget, and logs both. make bench-console prints them.
func within(t *testing.T, what string, value, limit int) {
	t.Helper()
	t.Logf("%-58s %7d of %7d", what, value, limit)
	if value > limit {
		t.Errorf("%s: %d, want at most %d", what, value, limit)
	}
}

// listCalls returns how many pages of records the console has requested since the last call.
func (b *tab) listCalls() (n int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, request := range b.requests {
		if strings.HasPrefix(request, "POST ") && strings.HasSuffix(request, "/list") {
			n++
		}
	}
	b.requests = nil
	return n
}

// received returns how many bytes the browser has received since the last call.
func (b *tab) received() (n int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	n, b.transferred = int(b.transferred), 0
	return n
}

// sizes are the bytes of files, as they are sent and decompressed.
type sizes struct{ Files, Sent, Raw int }

// loadedFiles is the size of the scripts and style sheets that the page has loaded.
const loadedFiles = `(() => { const found = performance.getEntriesByType('resource').filter((e) => /\/app\/-\/.*\.(js|css)$/.test(e.name));
	const sum = (key) => [...new Map(found.map((e) => [e.name, e[key]])).values()].reduce((a, b) => a + b, 0);
	return { Files: new Set(found.map((e) => e.name)).size, Sent: sum('encodedBodySize'), Raw: sum('decodedBodySize') }; })()`

// TestFileBudget measures the scripts and style sheets of Home as the browser receives them.
func TestFileBudget(t *testing.T) {
	b := open(t, 1280)
	b.signIn()
	b.visit("/")
	b.shows("Needs you")
	const kB = 1024
	first := eval[sizes](b, loadedFiles)
	within(t, "first load: requests", first.Files, 25)
	within(t, "first load: bytes as sent", first.Sent, 120*kB)
	if first.Sent >= first.Raw/2 {
		t.Errorf("first load %+v", first)
	}
}

// fetchedFiles are the files of the console that were fetched: those that the page links, in any order, and others.
const fetchedFiles = `(() => { const linked = [...document.querySelectorAll('link[rel=stylesheet], link[rel=modulepreload], script')].map((e) => e.href || e.src);
	const fetched = performance.getEntriesByType('resource').map((e) => e.name).filter((name) => /\/app\/-\/.*\.(js|css)$/.test(name));
	return { Linked: linked.length, Late: fetched.filter((name) => !linked.includes(name)), Twice: fetched.filter((name, i) => fetched.indexOf(name) !== i),
		Unused: linked.filter((name) => !fetched.includes(name)) }; })()`

// TestNothingTwice opens pages by their addresses. The browser fetches the modules that the page links, each once, and has to
// wait for no other.
func TestNothingTwice(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	for name, path := range pagePaths(t) {
		t.Run(name, func(t *testing.T) {
			b.run(chromedp.Navigate("about:blank"), network.ClearBrowserCache())
			b.ready(path)
			files := eval[struct {
				Linked              int
				Late, Twice, Unused []string
			}](b, fetchedFiles)
			if files.Linked < 15 || len(files.Late)+len(files.Twice)+len(files.Unused) > 0 {
				t.Errorf("%+v", files)
			}
		})
	}
}

// TestTableBudget opens a table of many contacts: what it transfers, how many lists it requests, and how many rows it
// keeps while it is scrolled. make bench-console runs it with 100,000 contacts.
func TestTableBudget(t *testing.T) {
	b := open(t, 1280)
	contacts := 10_000
	if n, err := strconv.Atoi(os.Getenv("PROSPECTOR_CONTACTS")); err == nil {
		contacts = n
	}
	for from := 0; from < contacts; from += 1000 {
		var items []any
		for i := from; i < from+1000; i++ {
			items = append(items, map[string]any{"first_name": "Large", "last_name": fmt.Sprintf("Table%06d", i), "email": fmt.Sprintf("large%d@table.example", i), "title": fmt.Sprint("Tester ", i/10_000)})
		}
		shared.call(t, http.MethodPost, "/v1/contacts/batch", map[string]any{"records": items})
	}
	b.signIn()
	b.run(chromedp.Navigate("about:blank"), network.ClearBrowserCache())
	b.listCalls()
	b.received()
	b.visit("/contacts")
	b.until(fmt.Sprintf(`Number(document.querySelector('h1').innerText.replace(/\D/g, '')) > %d`, contacts))
	b.until(find(".table tbody a", "Large Table"))
	within(t, "table usable: bytes transferred", b.received(), 150_000)
	within(t, "table usable: lists requested", b.listCalls(), 3) // the contacts, the tags, and the accounts

	b.visit("/contacts?f=title:is:Tester 0&sort=last_name")
	b.until(`document.querySelector('h1').innerText.startsWith('Contacts 10,000 of')`)
	rows, elements := 0, 0
	for row := 0; row < 10_000; row += 500 {
		_ = eval[bool](b, fmt.Sprintf(`(document.querySelector('.table').scrollTop = %d * 36, true)`, row))
		b.until(fmt.Sprintf(`[...document.querySelectorAll('.table tbody a')].some((a) => a.innerText === 'Large Table%06d')`, row+5))
		rows = max(rows, eval[int](b, `document.querySelectorAll('.table tbody tr').length`))
		elements = max(elements, eval[int](b, `document.querySelectorAll('*').length`))
	}
	within(t, "scrolling 10,000 rows: rows in the document", rows, 99)
	within(t, "scrolling 10,000 rows: elements in the document", elements, 3000)

	b.visit("/contacts")
	b.until(find(".table tbody a", ""))
	b.focus("#search")
	b.keys("Table00999")
	b.listCalls()
	b.keys("8")
	b.until(`document.querySelector('h1').innerText.startsWith('Contacts 1 of')`)
	within(t, "search: lists requested after the last key", b.listCalls(), 2)
}
