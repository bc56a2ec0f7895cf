package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestKeyboard does the top tasks without a mouse: with Tab, Enter, the space bar, the arrow keys, Ctrl K and text.
func TestKeyboard(t *testing.T) {
	b := open(t, 1280)
	b.hasNoMouse = true
	b.signInAsNew()
	doTasks(b)
}

// press moves the focus to an element and activates it.
func (b *tab) press(selector, text string) {
	b.t.Helper()
	b.tabTo(selector, text)
	key := kb.Enter
	if eval[bool](b, `document.activeElement.type === 'checkbox'`) {
		key = " "
	}
	b.keys(key)
	b.clicks++
}

// tabTo presses Tab until an element has the focus, which must be visible, or Shift Tab if the element comes before what
// has the focus: a table in between loads further rows as the focus reaches them.
func (b *tab) tabTo(selector, text string) {
	b.t.Helper()
	element := find(selector, text)
	b.until(element + ` && !` + element + `.disabled`)
	const most = 200
	for range most {
		if eval[bool](b, `document.activeElement === `+element) {
			if !eval[bool](b, `document.activeElement.matches(':focus-visible') && getComputedStyle(document.activeElement).outlineStyle !== 'none'`) {
				b.t.Errorf("the focus on %s %q is not visible", selector, text)
			}
			return
		}
		if eval[bool](b, `Boolean(document.activeElement.compareDocumentPosition(`+element+`) & Node.DOCUMENT_POSITION_PRECEDING)`) {
			b.run(chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(input.ModifierShift)))
		} else {
			b.keys(kb.Tab)
		}
	}
	b.t.Fatalf("Tab does not reach %s %q; the focus is on %s", selector, text, eval[string](b, `document.activeElement.outerHTML.slice(0, 200)`))
}

// arrowTo selects an option of a select element with the arrow keys.
func (b *tab) arrowTo(selector, option string) {
	b.t.Helper()
	b.tabTo(selector, "")
	wanted := fmt.Sprintf(`[...document.activeElement.options].find((o) => o.text.includes(%s))`, quote(option))
	b.until(wanted)
	steps := eval[int](b, wanted+`.index - document.activeElement.selectedIndex`)
	key := kb.ArrowDown
	if steps < 0 {
		key, steps = kb.ArrowUp, -steps
	}
	b.keys(strings.Repeat(key, steps))
	b.until(wanted + `.selected`)
}

// TestEscape closes a dialog and the palette on lists, whose own keys have Escape close what is beside the list.
func TestEscape(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	for _, path := range []string{"/contacts", "/imports", "/outbox"} {
		b.ready(path)
		b.click("button", "+ Filter")
		b.until(`document.querySelector('dialog[open]')`)
		b.keys(kb.Escape)
		b.until(`!document.querySelector('dialog')`)
		b.run(chromedp.KeyEvent("k", chromedp.KeyModifiers(input.ModifierCtrl)))
		b.until(`document.activeElement.matches('dialog input')`)
		b.keys(kb.Escape)
		b.until(`!document.querySelector('dialog')`)
	}
}
