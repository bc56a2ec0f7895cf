package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSessionNotice moves the clock of the page to four minutes before the session would end for lack of use. A notice
// offers to stay, and a request of another window makes it superfluous.
func TestSessionNotice(t *testing.T) {
	b := open(t, 390)
	b.signInAsNew()
	advance := `(() => { const now = Date.now; Date.now = () => now() + 12 * 3600e3 - 4 * 60e3; document.dispatchEvent(new Event('visibilitychange')); return true; })()`
	b.ready("/contacts")
	b.until(`performance.getEntriesByType('resource').some((r) => r.name.endsWith('/v1/sessions') && r.responseEnd)`)
	if eval[bool](b, `document.querySelector('.foot p') !== null`) {
		t.Error("a session that was just used has a notice")
	}
	_ = eval[bool](b, advance)
	b.shows("Your session ends at")
	b.screenshot("session-notice")
	b.mutex.Lock()
	b.requests = nil
	b.mutex.Unlock()
	b.click("button", "Stay signed in")
	b.until(`!document.querySelector('.foot p')`)
	b.mutex.Lock()
	requests := strings.Join(b.requests, "\n")
	b.mutex.Unlock()
	if n := strings.Count(requests, "GET /v1/sessions"); n != 1 {
		t.Errorf("staying took %d reads of the session in\n%s", n, requests)
	}

	_ = eval[bool](b, advance)
	b.shows("Your session ends at")
	_ = eval[bool](b, `new BroadcastChannel('session').postMessage('') || true`)
	b.until(`!document.querySelector('.foot p')`)
}

// slowPreviews makes all Previews look unfinished until window.progress is null.
const slowPreviews = `(() => { const real = fetch; window.progress = 0.4; window.fetch = async (url, options) => {
	const answer = await real(url, options);
	if (window.progress === null || !/preview\/[0-9a-f-]{36}\?/.test(url)) return answer;
	const body = await answer.json();
	Object.assign(body.data, window.failed ? { status: 'FAILED', failure_reason: 'tag_deleted' } : { status: 'PREPARING', progress: window.progress });
	return new Response(JSON.stringify(body), { headers: answer.headers });
}; return true; })()`

// TestProgress prepares a Preview and goes to another page meanwhile. The strip at the foot shows how far it is there,
// and leads back.
func TestProgress(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		b.expected = append(b.expected, "status of 409") // the Preview is ready already
		b.ready("/market?f=country:is:France")
		_ = eval[bool](b, slowPreviews)
		b.click("button", "Prepare Preview")
		b.until(`document.querySelector('.foot progress')?.value === 0.4`)
		b.shows("40 %")
		b.goTo("Contacts")
		_ = eval[bool](b, `(window.progress = 0.7, true)`)
		b.until(`document.querySelector('.foot progress')?.value === 0.7`)
		b.screenshot("progress")
		b.click(".foot button", "Cancel")
		b.until(`document.querySelector('.toast.bad')`)
		_ = eval[bool](b, `(window.progress = null, true)`)
		b.click(".foot a", "The Preview is ready:")
		b.shows("Eligible")
		b.until(`!document.querySelector('.foot p')`)
	}
}

// newPreview prepares a Preview of the companies of a country that have chiefs and vice presidents.
func newPreview(t *testing.T, country string) (id string) {
	t.Helper()
	made := shared.call(t, http.MethodPost, "/v1/tam/preview", map[string]any{"request_id": fmt.Sprintf("00000000-0000-4000-8000-%012x", time.Now().UnixMicro()&0xffffffffffff), "contact_filters": map[string]any{"include_keywords": []string{"chief", "vp"}}, "exclude_companies_without_titles": true,
		"company_filters": map[string]any{"filtering_rules": map[string]any{"filters": []any{map[string]any{"field": "country", "condition": "is", "value": country}}}}})
	id = made["data"].(map[string]any)["preview_id"].(string)
	for end := time.Now().Add(20 * time.Second); shared.call(t, http.MethodGet, "/v1/tam/preview/"+id, nil)["data"].(map[string]any)["status"] != "READY"; {
		if time.Now().After(end) {
			t.Fatal("the Preview is not prepared")
		}
	}
	return id
}

// deletePreview deletes a Preview of which the page no longer reads anything.
func (b *tab) deletePreview(id string) {
	b.t.Helper()
	b.ready("/previews")
	shared.call(b.t, http.MethodDelete, "/v1/tam/preview/"+id, nil)
}

// TestImportFirst imports the first two companies of a Preview with at most one contact.
func TestImportFirst(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	id := newPreview(t, "Italy")
	b.ready("/previews/" + id)
	b.click("button", "Import ")
	b.shows("contacts are new.")
	b.focus("[data-field=max_accounts]")
	b.keys("2")
	b.focus("[data-field=max_contacts]")
	b.keys("1")
	b.screenshot("import-first")
	b.click("dialog button.primary", "Import ")
	b.shows("Imported: 2 new accounts and 1 new contacts")
	b.deletePreview(id)
}

// TestFailedPreview shows why a Preview failed, and prepares its market again.
func TestFailedPreview(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	id := newPreview(t, "Spain")
	b.ready("/previews")
	_ = eval[bool](b, slowPreviews)
	_ = eval[bool](b, `window.failed = true`)
	b.click("tbody tr:not(.spacer) a", "")
	b.shows("The Preview failed: a tag that the market uses was deleted.")
	b.screenshot("preview-failed")
	if market := eval[string](b, `decodeURIComponent(`+find("a", "Change the market")+`.search)`); market != "?f=country:is:Spain&titles=chief,+vp" {
		t.Errorf("the market is %s", market)
	}
	_ = eval[bool](b, `(window.progress = null, true)`)
	b.click("button", "Try again")
	b.shows("Eligible")
	b.shows("Country is Spain · titles with chief, vp")
	b.until(`!document.querySelector('.foot p')`)
	if eval[string](b, `location.pathname`) == "/app/previews/"+id {
		t.Error("it is the same Preview")
	}
}
