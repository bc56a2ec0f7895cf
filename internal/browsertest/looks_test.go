package browsertest

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// textAt is an expression for the left edge of the text of an element.
func textAt(element string) string {
	return fmt.Sprintf(`(() => { const r = document.createRange(); r.selectNodeContents(%s); return r.getBoundingClientRect().left; })()`, element)
}

// TestHomeText reads whole titles on Home where there is room, and no name twice. A clock of campaigns that is ahead,
// as in the demo, is mentioned.
func TestHomeText(t *testing.T) {
	b := open(t, 1280)
	contact := shared.create(t, "/v1/contacts", map[string]any{"first_name": "Nina", "last_name": fmt.Sprint("Home", b.number), "email": fmt.Sprintf("nina%d@home.example", b.number)})
	name := fmt.Sprint("Nina Home", b.number)
	long := fmt.Sprint("Go through the answers of the questionnaire with the purchasing team ", b.number)
	var tasks []string
	for _, title := range []string{"Call " + name, long} {
		tasks = append(tasks, shared.create(t, "/v1/tasks", map[string]any{"title": title, "type": "call", "contact_id": contact, "due_at": "2001-01-01T00:00:00Z"}))
	}
	b.signInAsNew()
	b.shows("Campaigns run on a faster clock here")
	b.until(find(".needs a", long))
	if over := eval[int](b, fmt.Sprintf(`(() => { const e = %s; return e.scrollWidth - e.clientWidth; })()`, find(".needs a", long))); over > 0 {
		t.Errorf("%d px of a title are cut", over)
	}
	if n := eval[int](b, fmt.Sprintf(`%s.innerText.split(%s).length - 1`, find(".needs li", "Call "+name), quote(name))); n != 1 {
		t.Errorf("the name is there %d times", n)
	}
	// A message does not cover the navigation.
	b.clickIn(long, "button", "Done")
	b.until(find(".toast", long))
	b.click("nav a", "Settings")
	b.until(`location.pathname === '/app/settings' && document.querySelector('.toast')`)
	for _, task := range tasks {
		shared.call(t, http.MethodDelete, "/v1/tasks/"+task, nil)
	}
}

// TestRightToLeft opens a contact with an Arabic name, which begins where other text begins.
func TestRightToLeft(t *testing.T) {
	b := open(t, 1280)
	id := shared.create(t, "/v1/contacts", map[string]any{"first_name": "محمد", "last_name": "القاسمي", "title": "مدير", "email": fmt.Sprintf("rtl%d@rtl.example", b.number)})
	twin := shared.create(t, "/v1/contacts", map[string]any{"first_name": "محمد", "last_name": "القاسمي", "title": "Buyer", "email": fmt.Sprintf("rtl%d@rtl.example", b.number)})
	b.signInAsNew()
	b.ready("/contacts/" + id)
	aligned := func(what, one, other string) {
		if d := eval[float64](b, textAt(one)+" - "+textAt(other)); d < -8 || d > 8 {
			t.Errorf("%s begins %.0f px beside what is above it", what, d)
		}
	}
	aligned("the name", `document.querySelector('h1')`, `document.querySelector('.heading a')`)
	aligned("a field", find("button.inline-edit", "محمد"), find("button.inline-edit", "no"))
	b.ready(fmt.Sprintf("/contacts?q=rtl%d", b.number))
	aligned("a cell", find("td", "مدير"), find("td", "Buyer"))
	shared.call(t, http.MethodDelete, "/v1/contacts/"+twin, nil) // no duplicates for other tests
}

// TestRecordText opens a contact with a long address. The address breaks only after the @, and on a phone what comes next
// and what happened are above the fields.
func TestRecordText(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		id := shared.create(t, "/v1/contacts", map[string]any{"first_name": "Long", "email": fmt.Sprintf("hannelore.jaeger%d@jaegerbau.example", b.number)})
		b.signInAsNew()
		b.ready("/contacts/" + id)
		if n := eval[int](b, `(() => { const w = document.createTreeWalker(document.querySelector('dd a[href^=mailto]'), NodeFilter.SHOW_TEXT); let most = 0;
			while (w.nextNode()) { const r = document.createRange(); r.selectNodeContents(w.currentNode); most = Math.max(most, new Set([...r.getClientRects()].map((e) => e.top)).size); } return most; })()`); n != 1 {
			t.Errorf("at %d px, a part of the address is on %d lines", width, n)
		}
		isBelow := eval[bool](b, find("h2", "Fields")+`.getBoundingClientRect().top > `+find("h2", "Timeline")+`.getBoundingClientRect().top`)
		if isBelow != (width < 900) {
			t.Errorf("at %d px, the fields are below what happened: %t", width, isBelow)
		}
	}
}

// TestRoom requires that lists and tables use the room that there is.
func TestRoom(t *testing.T) {
	b := open(t, 1440)
	b.signInAsNew()
	b.ready("/tasks?q=answers")
	if cut := eval[string](b, `[...document.querySelectorAll('td a')].filter((e) => e.scrollWidth > e.clientWidth && e.innerText.startsWith('Go through the answers with')).map((e) => e.innerText).join()`); cut != "" {
		t.Errorf("cut: %s", cut)
	}
	b.ready("/settings/users")
	if lines := eval[int](b, `Math.max(...[...document.querySelectorAll('tbody tr')].map((r) => new Set([...r.querySelectorAll('.button')].map((e) => e.getBoundingClientRect().top)).size))`); lines != 1 {
		t.Errorf("the buttons of a user take %d lines", lines)
	}
	at := eval[[]float64](b, `(() => { const r = document.querySelector('tbody td:nth-child(2)').getBoundingClientRect(); return [r.x + 5, r.y + 5]; })()`)
	b.run(input.DispatchMouseEvent(input.MouseMoved, at[0], at[1]))
	if colors := eval[int](b, `new Set([...document.querySelector('tbody tr').cells].map((e) => getComputedStyle(e).backgroundColor)).size`); colors != 1 {
		t.Errorf("a row under the mouse has %d colours", colors)
	}
	b.run(chromedp.KeyEvent("k", chromedp.KeyModifiers(input.ModifierCtrl)))
	b.until(`document.querySelectorAll('dialog li').length > 20`)
	if over := eval[float64](b, `document.querySelector('dialog').getBoundingClientRect().bottom - innerHeight`); over > 0 {
		t.Errorf("the pages to jump to are %.0f px below the window", over)
	}
	b.keys(kb.Escape)
	phone := open(t, 390)
	phone.signInAsNew()
	phone.ready("/tasks")
	if d := eval[float64](phone, find("main button", "New task")+`.getBoundingClientRect().top - document.querySelector('h1').getBoundingClientRect().bottom`); d > 0 {
		t.Errorf("on a phone, the button is %.0f px below the title", d)
	}
}
