package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

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

// TestLargeTable opens a table of 10,000 contacts: what it transfers, how many lists it requests, and how many rows it
// keeps while it is scrolled.
func TestLargeTable(t *testing.T) {
	b := open(t, 1280)
	for from := 0; from < 10_000; from += 1000 {
		var items []any
		for i := from; i < from+1000; i++ {
			items = append(items, map[string]any{"first_name": "Large", "last_name": fmt.Sprintf("Table%05d", i), "email": fmt.Sprintf("large%d@table.example", i), "title": "Tester"})
		}
		shared.call(t, http.MethodPost, "/v1/contacts/batch", map[string]any{"records": items})
	}
	b.signIn()
	b.run(chromedp.Navigate("about:blank"))
	b.listCalls()
	b.mutex.Lock()
	b.transferred = 0
	b.mutex.Unlock()
	b.visit("/contacts")
	b.until(`/^Contacts 1\d,\d\d\d$/.test(document.querySelector('h1').innerText)`)
	b.until(find(".table tbody a", "Large Table"))
	b.mutex.Lock()
	transferred := b.transferred
	b.mutex.Unlock()
	calls := b.listCalls()
	t.Logf("usable after %.0f bytes and %d lists", transferred, calls)
	if transferred > 150_000 || calls > 3 { // the contacts, the tags, and the accounts
		t.Errorf("%.0f bytes and %d lists, want at most 150,000 and 3", transferred, calls)
	}

	b.visit("/contacts?f=title:is:Tester&sort=last_name")
	b.until(`document.querySelector('h1').innerText.startsWith('Contacts 10,000 of')`)
	most := 0
	for row := 0; row < 10_000; row += 500 {
		_ = eval[bool](b, fmt.Sprintf(`(document.querySelector('.table').scrollTop = %d * 36, true)`, row))
		b.until(fmt.Sprintf(`[...document.querySelectorAll('.table tbody a')].some((a) => a.innerText === 'Large Table%05d')`, row+5))
		most = max(most, eval[int](b, `document.querySelectorAll('.table tbody tr').length`))
	}
	t.Logf("at most %d rows in the document", most)
	if most >= 100 {
		t.Errorf("%d rows in the document, want fewer than 100", most)
	}
	if n := eval[int](b, `document.querySelectorAll('*').length`); n > 3000 {
		t.Errorf("%d elements, want at most 3,000", n)
	}

	_ = eval[bool](b, `(document.querySelector('.table').scrollTop = 0, true)`)
	b.until(find(".table tbody a", "Table00005"))
	b.listCalls()
	b.focus("#search")
	b.keys("Table09998")
	b.until(`document.querySelector('h1').innerText.startsWith('Contacts 1 of')`)
	if calls := b.listCalls(); calls > 2 {
		t.Errorf("a search takes %d lists after the last key, want at most 2", calls)
	}
}
