package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
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
	b.until(find("main tbody button", "Waits Number"))
	b.shows("1 enrolled = 1 active")
}

// TestCampaignPage opens a campaign of the demo. Its steps have their titles, with bars that are shares of everybody. Those
// who replied are a part of the sum that looks like success and comes first. People are found by name, and a person beside
// the table has the whole reason and every step.
func TestCampaignPage(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		campaign := shared.first(t, "/v1/campaigns/list", map[string]any{"search": "Buyers, by email"})
		path := fmt.Sprint("/v1/campaigns/", campaign["id"])
		stats := shared.get(t, path+"/stats")
		template := shared.get(t, fmt.Sprint("/v1/sequence-templates/", campaign["template_id"]))
		b.ready(fmt.Sprint("/campaigns/", campaign["id"]))
		for i, step := range template["steps"].([]any) {
			b.until(find(".bars li", fmt.Sprintf("%d. %s", i+1, step.(map[string]any)["title"])))
		}
		done, enrolled := stats["steps"].([]any)[0].(map[string]any)["done"].(float64), stats["enrolled"].(float64)
		if got, want := eval[float64](b, `Number(document.querySelector('.bars rect').getAttribute('width'))`), 100*done/enrolled; got < want-0.5 || got > want+0.5 {
			t.Errorf("the bar of the first step is %.1f wide, want %.1f", got, want)
		}
		replied := stats["stopped_by_reason"].(map[string]any)["replied"].(float64)
		b.shows(fmt.Sprintf("%.0f enrolled = %.0f replied + ", enrolled, replied))
		b.until(`document.querySelector('.legend li').className === 'fill-good' && /replied/.test(document.querySelector('.legend li').innerText)`)

		person := shared.first(t, path+"/sequences/list", map[string]any{"filters": []any{map[string]any{"field": "reason", "condition": "is", "value": "replied"}}})
		name := person["contact_name"].(string)
		b.focus("main input[type=search]")
		b.keys(name)
		b.until(fmt.Sprintf(`document.querySelectorAll('main tbody tr:not(.spacer)').length > 0 && [...document.querySelectorAll('main tbody tr:not(.spacer)')].every((r) => r.innerText.includes(%s))`, quote(name)))
		b.click("main tbody button", name)
		b.until(find(".peek", "Has replied"))
		b.until(find(".peek a", "Show the email"))
		reason := person["history"].([]any)[0].(map[string]any)["reason"].(string)
		b.until(find(".peek td", strings.ReplaceAll(reason, "step 0", "step 1")))
		if cut := eval[bool](b, `[...document.querySelectorAll('.peek dd, .peek td')].some((e) => e.scrollWidth > e.clientWidth)`); cut {
			t.Error("a reason beside the table is cut")
		}
		address := eval[string](b, `location.href`)
		b.run(chromedp.Navigate("about:blank"), chromedp.Navigate(address))
		b.until(find(".peek h2", name))
		b.screenshot(fmt.Sprint("campaign-person", width))
	}
}

// TestHeldInList requires that the list of campaigns says which are held, and why in words.
func TestHeldInList(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	owner := shared.create(t, "/v1/users", map[string]any{"email": fmt.Sprintf("gone%d@northwind.example", b.number), "first_name": "Gus", "access": "write"})
	campaign, audience, contact := waiting(t, b, owner)
	shared.call(t, http.MethodPost, "/v1/users/"+owner+"/deactivate", map[string]any{})
	eventually(t, "the campaign is held", func() bool { return shared.get(t, "/v1/campaigns/"+campaign)["held"] != nil })
	shared.call(t, http.MethodPost, "/v1/audiences/"+audience+"/contacts/add", map[string]any{"contact_ids": []string{contact}})
	eventually(t, "somebody is enrolled", func() bool { return shared.get(t, "/v1/campaigns/"+campaign+"/stats")["enrolled"] == 1.0 })
	b.ready(fmt.Sprintf("/campaigns?q=Waits %d", b.number))
	b.until(find("tbody tr .status.warn", "Held: the owner is deactivated"))
	b.ready("/campaigns/" + campaign)
	b.until(find("main tbody td", "the campaign is held (the owner is deactivated)"))
	b.click("main tbody button", "Waits Number")
	b.until(find(".peek .reason", "the campaign is held (the owner is deactivated)"))
	b.click(".peek button", "Stop…")
	b.click("dialog button.primary", "Stop the sequence")
	b.until(find(".peek .reason", "Stopped by a user"))
	if got := shared.first(t, "/v1/campaigns/"+campaign+"/sequences/list", map[string]any{}); got["status"] != "stopped" || got["reason"] != "manual" {
		t.Errorf("the sequence is %v: %v", got["status"], got["reason"])
	}
}

// TestUnfinishedText starts a campaign with the template that the console proposes. It asks before the placeholder is sent.
func TestUnfinishedText(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	_, ids := someContacts(t, b, 1)
	title := fmt.Sprint("Unfinished ", b.number)
	b.ready("/templates/new")
	b.click("button", "One email")
	b.fill("name", title)
	b.click("button", "Save")
	b.until(`/templates.[0-9a-f-]{36}/.test(location.pathname)`)
	template := shared.first(t, "/v1/sequence-templates/list", map[string]any{"search": title})["id"]
	audience := shared.create(t, "/v1/audiences", map[string]any{"name": title, "contact_ids": ids})
	campaign := shared.create(t, "/v1/campaigns", map[string]any{"name": title, "template_id": template, "audience_ids": []string{audience}})
	b.ready("/campaigns/" + campaign)
	b.click("button", "Start…")
	b.shows("The text is not finished. There is a placeholder such as “…” in: Email.")
	b.until(find("dialog button.primary", "Start for 1 person") + `.disabled`)
	b.click("dialog label", "Send it as it is")
	b.until(`!` + find("dialog button.primary", "Start for 1 person") + `.disabled`)
	b.click("dialog a", "Open the template")
	b.until(`location.pathname.startsWith('/app/templates/') && !document.querySelector('dialog')`)
	if got := shared.get(t, "/v1/campaigns/"+campaign)["status"]; got != "draft" {
		t.Errorf("the campaign is %v", got)
	}
}

// TestEditCampaign renames a running campaign and gives it to another sender, then completes and archives it.
func TestEditCampaign(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	campaign, _, _ := waiting(t, b, nil)
	sender := shared.create(t, "/v1/users", map[string]any{"email": fmt.Sprintf("sender%d@northwind.example", b.number), "first_name": "Sender", "last_name": fmt.Sprint("Number", b.number), "access": "write"})
	path := "/v1/campaigns/" + campaign
	b.ready("/campaigns/" + campaign)
	name := fmt.Sprint("Renamed ", b.number)
	b.click("summary", "More")
	b.click("button", "Name and sender…")
	b.fill("name", name)
	b.fill("owner_id", fmt.Sprint("Sender Number", b.number))
	b.until(fmt.Sprintf(`document.querySelector('dialog datalist option')?.value === 'Sender Number%d'`, b.number))
	b.click("dialog button.primary", "Save")
	b.until(`document.querySelector('h1').innerText === ` + quote(name))
	if got := shared.get(t, path); got["name"] != name || got["owner_id"] != sender {
		t.Errorf("the campaign is %v of %v", got["name"], got["owner_id"])
	}
	for _, c := range [][3]string{{"Complete…", "Complete the campaign", "completed"}, {"Archive…", "Archive the campaign", "archived"}} {
		b.click("summary", "More")
		b.click("button", c[0])
		b.click("dialog button.primary", c[1])
		b.until(fmt.Sprintf(`/%s/i.test(document.querySelector('.heading p').innerText) && !document.querySelector('dialog')`, c[2]))
		if got := shared.get(t, path)["status"]; got != c[2] {
			t.Errorf("the campaign is %v, want %v", got, c[2])
		}
	}
}
