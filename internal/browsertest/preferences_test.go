package browsertest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestPreferences chooses columns, a width and no single-letter keys. All of it is there in another browser of the
// same user, while this one stores nothing but its theme and the height of rows.
func TestPreferences(t *testing.T) {
	b := open(t, 1280)
	user := shared.create(t, "/v1/users", map[string]any{"email": fmt.Sprintf("columns%d@northwind.example", time.Now().UnixNano()), "first_name": "Ada", "access": "admin"})
	invite := func() string {
		return shared.call(t, http.MethodPost, "/v1/users/"+user+"/invite", map[string]any{})["data"].(map[string]any)["url"].(string)
	}
	b.redeem(invite())
	b.ready("/contacts")
	b.click("summary", "Columns")
	b.click(".popover label", "Email")
	b.until(find("th", "Email"))
	grip := eval[[]float64](b, `(() => { const r = document.querySelectorAll('th .grip')[0].getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`)
	b.run(chromedp.MouseEvent("mousePressed", grip[0], grip[1], chromedp.ButtonLeft), chromedp.MouseEvent("mouseMoved", grip[0]+60, grip[1], chromedp.ButtonLeft),
		chromedp.MouseEvent("mouseReleased", grip[0]+60, grip[1], chromedp.ButtonLeft))
	width := eval[string](b, `document.querySelector('col').getAttribute('width')`)
	b.click("nav button", "Ada")
	b.click("dialog label", "Single-letter keys")
	saved := `fetch('/v1/me/preferences', { headers: { 'X-Prospector-Console': '1' } }).then((r) => r.json()).then((r) => r.data.values)`
	b.answers(fmt.Sprintf(`%s.then((v) => v.keys_off && v.columns.contacts.some((c) => c.key === 'email') && String(v.columns.contacts[0].width) === %s)`, saved, quote(width)))
	if stored := eval[[]string](b, `Object.keys(localStorage).filter((key) => key !== 'theme' && key !== 'density')`); len(stored) > 0 {
		t.Errorf("the browser stores %v", stored)
	}

	other := open(t, 1280)
	other.redeem(invite())
	other.ready("/contacts")
	other.until(find("th", "Email") + fmt.Sprintf(` && document.querySelector('col').getAttribute('width') === %s`, quote(width)))
	other.keys("f")
	other.keys("?")
	if eval[bool](other, `document.querySelector('dialog[open]') !== null`) {
		t.Error("single-letter keys work although the user switched them off")
	}
}

// answers waits until a promise of the page, which is made anew each time, is kept with something true.
func (b *tab) answers(promise string) {
	b.t.Helper()
	if !eval[bool](b, fmt.Sprintf(`(async () => { for (const end = Date.now() + 20000; Date.now() < end;) if (await %s) return true; return false; })()`, promise)) {
		b.t.Fatalf("at %d px, never true: %s", b.width, promise)
	}
}
