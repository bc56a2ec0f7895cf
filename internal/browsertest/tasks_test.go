package browsertest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

var widths = []int64{1280, 390}

// tasks are the top tasks of a user, each with a limit of clicks from Home. Typing is free.
var tasks = []struct {
	name  string
	limit int
	do    func(b *tab)
}{
	{"see what needs attention", 0, seeToday},
	{"find a person", 1, findPerson},
	{"learn why a contact got a message", 2, learnWhy},
	{"complete a task", 1, completeTask},
	{"filter contacts by two conditions and save the view", 7, filterContacts},
	{"add everyone who matches to a campaign", 5, addToCampaign},
	{"import a file after a dry run", 5, importFile},
	{"describe a market and prepare a Preview", 6, describeMarket},
	{"see what a rule excluded, and import the rest", 5, importPreview},
	{"simulate and start a campaign", 5, startCampaign},
	{"redeliver a failed webhook attempt", 4, redeliver},
}

// doTasks does all tasks in a tab, each from Home.
func doTasks(b *tab) {
	t := b.t
	for _, task := range tasks {
		t.Run(task.name, func(t *testing.T) {
			b.t = t
			b.visit("/")
			b.clicks = 0
			task.do(b)
			if b.clicks > task.limit {
				t.Errorf("%d clicks, want at most %d", b.clicks, task.limit)
			}
			b.check()
		})
	}
	b.t = t
}

func TestTasks(t *testing.T) {
	for _, width := range widths {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			b := open(t, width)
			b.signInAsNew()
			doTasks(b)
		})
	}
}

func seeToday(b *tab) {
	b.shows("Needs you")
	b.shows("Next 7 days")
}

func findPerson(b *tab) {
	person := shared.first(b.t, "/v1/contacts/list", map[string]any{"page_size": 1, "search": "vp sales", "sort": "last_name"})
	b.click("button", "Search")
	b.until(`document.activeElement.matches('dialog input')`)
	name := fmt.Sprint(person["first_name"], " ", person["last_name"])
	b.keys(name)
	b.until(find("[role=option]", name))
	b.until(`document.querySelector('[role=option][aria-selected=true]')?.innerText.includes('Contacts')`)
	b.keys(kb.Enter)
	b.until(fmt.Sprintf(`document.querySelector('h1')?.innerText === %s`, quote(name)))
}

func learnWhy(b *tab) {
	campaign := shared.first(b.t, "/v1/campaigns/list", map[string]any{"search": "Buyers, by email"})
	sequence := shared.first(b.t, "/v1/sequences/list", map[string]any{"page_size": 1, "filters": []any{
		map[string]any{"field": "reason", "condition": "is", "value": "replied"}, map[string]any{"field": "campaign_id", "condition": "is", "value": campaign["id"]},
	}})
	b.click("button", "Search")
	b.until(`document.activeElement.matches('dialog input')`)
	contact := shared.call(b.t, http.MethodGet, fmt.Sprint("/v1/contacts/", sequence["contact_id"]), nil)["data"].(map[string]any)
	b.keys(fmt.Sprint(contact["email"])) // names are not unique
	b.until(fmt.Sprintf(`document.querySelectorAll('[role=option]').length === 1 && document.querySelector('[role=option][aria-selected=true]')?.innerText.includes(%s)`, quote(fmt.Sprint(sequence["contact_name"]))))
	b.keys(kb.Enter)
	b.shows("Buyers, by email")
	b.shows("replied")
}

func completeTask(b *tab) {
	title := fmt.Sprint("Call back ", b.number)
	id := shared.create(b.t, "/v1/tasks", map[string]any{"title": title, "type": "call", "due_at": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)})
	b.visit("/")
	b.until(find("li", title))
	b.click("li:has(a[href$='"+id+"']) button", "Done")
	b.shows("Done: " + title)
	b.until("!" + find("main li", title))
	if got := shared.call(b.t, http.MethodGet, "/v1/tasks/"+id, nil)["data"].(map[string]any)["status"]; got != "completed" {
		b.t.Errorf("the task is %v", got)
	}
}

func filterContacts(b *tab) {
	b.goTo("Contacts")
	for i, rule := range [][3]string{{"Title", "contains", "vp"}, {"Heat score", "is", "Hot"}} {
		b.addRule(rule[0], rule[1], rule[2])
		b.until(fmt.Sprintf(`document.querySelectorAll('main .chip.on').length === %d`, i+1))
	}
	want := shared.call(b.t, http.MethodPost, "/v1/contacts/list", map[string]any{"page_size": 1, "filters": []any{
		map[string]any{"field": "title", "condition": "contains", "value": "vp"}, map[string]any{"field": "scoring.heat_score", "condition": "is", "value": "hot"},
	}})["pagination"].(map[string]any)["total_count"]
	b.until(fmt.Sprintf(`/^Contacts\s+%v of /.test(document.querySelector('h1').innerText)`, want))
	b.until(`decodeURIComponent(location.search) === '?f=title:contains:vp&f=scoring.heat_score:is:hot'`)
	b.click("summary", "Views")
	b.click("button", "Save this view…")
	b.until(`document.activeElement.matches('dialog input')`)
	name := fmt.Sprint("Hot VPs ", b.number)
	b.keys(name + kb.Enter)
	b.shows("The view " + name + " is saved")
	if saved := shared.first(b.t, "/v1/views/list", map[string]any{"search": name}); saved["entity"] != "contacts" || len(saved["filtering_rules"].([]any)) != 2 {
		b.t.Errorf("the view is %v", saved)
	}
	_ = eval[bool](b, `history.back() || true`)
	b.until(`decodeURIComponent(location.search) === '?f=title:contains:vp' && document.querySelectorAll('.chip.on').length === 1`)
}

func addToCampaign(b *tab) {
	b.goTo("Contacts")
	b.focus("#search")
	b.keys("director")
	b.until(`location.search === '?q=director' && !document.querySelector('.table.dimmed') && /^Contacts\s+\d+ of [\d,]+$/.test(document.querySelector('h1').innerText)`)
	n := eval[int](b, `Number(document.querySelector('h1').innerText.split(/\s+/)[1])`)
	b.click("tbody input[type=checkbox]", "")
	b.click("button", fmt.Sprintf("Select all %d matching", n))
	b.click("button", "Campaign…")
	b.until(find("select", "") + `.options.length > 0`)
	b.choose("select", "Hot leads")
	name := fmt.Sprint("Directors ", b.number)
	b.focus("[data-field=name]")
	_ = eval[bool](b, `document.activeElement.select() || true`)
	b.keys(name)
	b.click("button", fmt.Sprintf("Add %d", n))
	b.until(`document.querySelector('h1').innerText === 'Hot leads'`)
	audience := shared.first(b.t, "/v1/audiences/list", map[string]any{"search": name})
	if audience["contact_count"] != float64(n) {
		b.t.Errorf("the audience has %v contacts, want %d", audience["contact_count"], n)
	}
}

func importFile(b *tab) {
	b.goTo("Contacts")
	b.click(".heading a", "Import…")
	b.until(`document.querySelector('input[type=file]')`)
	b.chooseFile("task.csv", fmt.Sprintf("Email,First name\ntask%d@import.example,Task\n", b.number))
	b.clicks++ // on the file
	b.until(bar("Rows") + ` === '1'`)
	b.click("button", "Import 1 row")
	b.until(`/Completed/.test(document.querySelector('.heading').innerText)`)
	shared.first(b.t, "/v1/contacts/list", map[string]any{"search": fmt.Sprintf("task%d@import.example", b.number)})
}

func describeMarket(b *tab) {
	b.goTo("New market")
	b.addRule("Country", "is", "France")
	b.until(`/Country is France/.test(document.querySelector('.bars').innerText)`)
	b.focus("#market-titles")
	b.keys("chief, vp")
	b.click("button", "Prepare Preview")
	b.until(`document.querySelector('h1').innerText.startsWith('Preview') && /Eligible/.test(document.body.innerText)`)
	b.shows("Without a question, a Preview costs nothing.")
	sum := eval[bool](b, `(() => { const n = [...document.querySelectorAll('.bars .number')].map((e) => Number(e.innerText.replace('−', '').replace(',', ''))); return n[0] === n.slice(1).reduce((a, b) => a + b, 0); })()`)
	if !sum {
		b.t.Error("the bars of the funnel do not add up to what matched")
	}
}

func importPreview(b *tab) {
	b.goTo("Previews")
	b.click("tbody tr:not(.spacer) a", "")
	b.click("a", "Show")
	b.until(`document.querySelector('.chip.on') && document.querySelector('tbody tr:not(.spacer) .status')`)
	b.click("header button", "Import")
	b.click("dialog button.primary", "Import")
	b.shows("Imported: ")
}

func startCampaign(b *tab) {
	template := shared.first(b.t, "/v1/sequence-templates/list", map[string]any{"search": "Three emails"})
	audience := shared.first(b.t, "/v1/audiences/list", map[string]any{"search": "Hot VPs"})
	name := fmt.Sprint("Start ", b.number)
	id := shared.create(b.t, "/v1/campaigns", map[string]any{"name": name, "template_id": template["id"], "audience_ids": []any{audience["id"]}})
	b.goTo("Campaigns")
	b.click("tbody a", name)
	b.click("button", "Simulate")
	b.shows("Nothing was sent.")
	plan := shared.call(b.t, http.MethodPost, fmt.Sprint("/v1/campaigns/", id, "/simulate"), map[string]any{"page_size": 1})["summary"].(map[string]any)
	people := plan["people"].(map[string]any)
	b.shows(fmt.Sprintf("%v of %v receive something", people["reached"], plan["contacts"]))
	b.shows(fmt.Sprintf("%v to %v people", plan["sends"], people["sends"]))
	b.keys(kb.Escape)
	b.until(`!document.querySelector('dialog[open]')`)
	b.click("button", "Start…")
	b.until(`(() => { const dialog = document.querySelector('dialog[open]').innerText; return /Start for (\d+) p/.exec(dialog)[1] === /(\d+) of \d+ receive/.exec(dialog)[1]; })()`)
	b.click("dialog button.primary", "Start for ")
	b.shows("The campaign has started")
	b.until(`/Active/.test(document.querySelector('.heading').innerText)`)
	if !eval[bool](b, `(() => { const n = document.querySelector('.section p').innerText.replace(/\([^)]*\)|,/g, '').match(/\d+/g).map(Number); return n.length === 5 && n[0] === n[1] + n[2] + n[3] + n[4]; })()`) {
		b.t.Errorf("the sum does not add up: %s", eval[string](b, `document.querySelector('.section p').innerText`))
	}
}

func redeliver(b *tab) {
	path := "/v1/webhooks/subscriptions"
	url := fmt.Sprintf("http://127.0.0.1:9/%d", b.number)
	id := shared.create(b.t, path, map[string]any{"url": url, "triggers": []string{"contact.created"}})
	shared.call(b.t, http.MethodPost, path+"/"+id+"/test", map[string]any{})
	failed := func() float64 {
		return shared.call(b.t, http.MethodGet, path+"/"+id+"/deliveries?status=failed", nil)["pagination"].(map[string]any)["total_count"].(float64)
	}
	for end := time.Now().Add(20 * time.Second); failed() < 2; { // the demo tries twice
		if time.Now().After(end) {
			b.t.Fatal("the attempts do not fail")
		}
	}
	b.goTo("Settings")
	b.click(".tabs a", "Webhooks")
	b.click("td a", url)
	b.click("td button", "Redeliver")
	for end := time.Now().Add(20 * time.Second); failed() == 2; {
		if time.Now().After(end) {
			b.t.Fatal("nothing was delivered again")
		}
	}
}
