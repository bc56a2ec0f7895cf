package browsertest

import (
	"fmt"
	"net/http"
	"testing"
)

// busyCampaign makes a campaign look as if it sent something whenever it is read, and counts what is read of it.
const busyCampaign = `(() => { const real = fetch; window.read = { stats: 0, simulate: 0 }; window.fetch = async (url, options) => {
	const [, what] = /campaigns\/[^/]+\/(stats|simulate)$/.exec(url) || [];
	const answer = await real(url, options);
	if (!what) return answer;
	const body = await answer.json();
	read[what]++;
	if (what === 'stats') body.data.messages_sent = 100 + read.stats;
	else body.summary.per_day = [{ date: '2030-01-0' + read.simulate, sends: 700 + read.simulate, tasks: 0 }];
	return new Response(JSON.stringify(body), { headers: answer.headers });
}; return true; })()`

// TestPlanAgain leaves the page of a running campaign open. Its counts are read every few seconds, and its plan, which is
// dear, when a minute has passed and something has happened.
func TestPlanAgain(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	b.ready("/campaigns")
	_ = eval[bool](b, busyCampaign)
	b.click("tbody a", "Buyers, by email")
	plan := func(n int) { b.until(find("main svg text", fmt.Sprint(700+n))) }
	b.until(`read.stats === 1`)
	plan(1)
	b.until(`read.stats === 3`)
	b.shows("103 emails sent")
	if n := eval[int](b, `read.simulate`); n != 1 {
		t.Errorf("the plan was read %d times within a minute", n)
	}
	_ = eval[bool](b, `(() => { const now = Date.now; Date.now = () => now() + 61e3; return true; })()`)
	plan(2)
}

// TestAddAgain adds contacts to a campaign that has some of them already.
func TestAddAgain(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	_, audience, _ := waiting(t, b, nil)
	title, ids := someContacts(t, b, 3)
	shared.call(t, http.MethodPost, "/v1/audiences/"+audience+"/contacts/add", map[string]any{"contact_ids": ids[:2]})
	for i, want := range []string{"1 contact added, 2 were in it already", "0 contacts added, 3 were in it already"} {
		b.ready("/contacts?f=title:is:" + title)
		b.click("thead input[type=checkbox]", "")
		b.click("button", "Campaign…")
		b.choose("[data-field=campaign]", fmt.Sprint("Waits ", b.number))
		b.fill("name", fmt.Sprintf("Added %d.%d", b.number, i))
		b.click("dialog button.primary", "Add 3")
		b.shows(want)
	}
	b.ready("/contacts?f=title:is:" + title)
	b.click("thead input[type=checkbox]", "")
	b.click("button", "Audience…")
	b.choose("[data-field=audience]", fmt.Sprint("Waits ", b.number))
	b.click("dialog button.primary", "Add 3")
	b.shows("1 contact added, 2 were in it already")
}

// lateCounts makes the counts of a campaign that are read first those from before anybody was enrolled. Nobody seems to look
// at the page, so that it does not read them again after a while.
const lateCounts = `(() => { const real = fetch; let first = true; Object.defineProperty(document, 'hidden', { get: () => true }); window.fetch = async (url, options) => {
	const answer = await real(url, options);
	if (!first || !/campaigns\/[^/]+\/stats$/.test(url)) return answer;
	first = false;
	const body = await answer.json();
	Object.assign(body.data, { enrolled: 0, active: 0 });
	return new Response(JSON.stringify(body), { headers: answer.headers });
}; return true; })()`

// TestLateCounts opens a campaign that enrolls people after its counts were read. The sum has those whom the table shows.
func TestLateCounts(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	campaign, audience, contact := waiting(t, b, nil)
	shared.call(t, http.MethodPost, "/v1/audiences/"+audience+"/contacts/add", map[string]any{"contact_ids": []string{contact}})
	eventually(t, "somebody is enrolled", func() bool {
		return shared.total(t, "/v1/campaigns/"+campaign+"/sequences/list", map[string]any{}) == 1
	})
	b.ready("/campaigns")
	_ = eval[bool](b, lateCounts)
	b.click("tbody a", fmt.Sprint("Waits ", b.number))
	b.until(find("main tbody a", "Waits Number"))
	b.shows("1 enrolled = 1 active")
}
