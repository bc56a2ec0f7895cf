package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestPeek shows records beside their list. The address names the record, and the list stays as it is.
func TestPeek(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		b.ready("/contacts?f=title:contains:vp&sort=last_name")
		isPeeking := func(row int) {
			t.Helper()
			b.until(fmt.Sprintf(`(() => { const name = document.querySelector('tr[aria-rowindex="%d"] a');
				return document.querySelector('.peek h2').innerText === name.innerText && name.href.endsWith(new URLSearchParams(location.search).get('open')); })()`, row+2))
		}
		b.until(`document.querySelector('tr[aria-rowindex="3"] a')`)
		b.keys("j")
		b.keys("o")
		isPeeking(0)
		b.until(find(".peek dt", "Title"))
		b.screenshot(fmt.Sprint("peek", width))
		b.keys("j")
		isPeeking(1)
		b.ready(eval[string](b, `location.pathname.slice(4) + location.search`))
		isPeeking(1)
		b.keys(kb.Escape)
		b.until(`!document.querySelector('.peek') && !location.search.includes('open') && location.search.includes('title:contains:vp')`)

		b.ready("/outbox")
		b.click("tbody button", "")
		b.until(`document.querySelector('.peek .mail')?.innerText.includes('Hello')`)
		b.click(".peek a", "Contact")
		b.until(`location.pathname.startsWith('/app/contacts/') && document.querySelector('main h1')`)

		// A member of a Preview, in the address with the reason of the exclusion.
		b.ready(fmt.Sprint("/previews/", shared.first(t, "/v1/tam/previews/list", map[string]any{"sort": "created_at"})["preview_id"]))
		b.click("a", "Show")
		b.until(`document.querySelector('.chip.on')`)
		b.click("tbody button", "")
		b.until(`document.querySelector('.peek h2')`)
		name := eval[string](b, `document.querySelector('.peek h2').innerText`)
		b.screenshot(fmt.Sprint("member", width))
		b.ready(eval[string](b, `location.pathname.slice(4) + location.search`))
		b.until(fmt.Sprintf(`document.querySelector('.peek h2')?.innerText === %s && document.querySelector('.chip.on')`, quote(name)))
		b.keys(kb.Escape)
		b.until(`!document.querySelector('.peek') && !location.search.includes('open') && location.search.includes('reason')`)
	}
}
