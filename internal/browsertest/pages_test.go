package browsertest

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
)

// pagePaths are the addresses of all pages, with records of the demo.
func pagePaths(t *testing.T) map[string]string {
	t.Helper()
	if shared == nil {
		return nil
	}
	id := func(list string) string {
		record := shared.first(t, "/v1/"+list+"/list", map[string]any{"page_size": 1})
		for _, key := range []string{"id", "preview_id"} {
			if id, ok := record[key].(string); ok {
				return id
			}
		}
		return ""
	}
	paths := map[string]string{
		"home": "/", "market": "/market", "preview": "/previews/" + id("tam/previews"), "template": "/templates/" + id("sequence-templates"),
		"new template": "/templates/new", "webhook": "/settings/webhooks/" + id("webhooks/subscriptions"), "nothing": "/contacts?q=nobodyhasthisname",
		"companies": "/catalog/companies", "people": "/catalog/people", "previews": "/previews", "templates": "/templates", "outbox": "/outbox",
		"deliveries": "/settings/webhooks/deliveries",
		"settings":   "/settings", "filtered": "/contacts?f=title:contains:vp",
		"imports": "/imports", "new import": "/imports/new", "import": "/imports/" + shared.someImport(t), "trash": "/settings/trash", "operations": "/operations", "operation": "/operations/" + id("operations"),
		"duplicates": "/contacts/duplicates", "no duplicates": "/accounts/duplicates",
		"dynamic audience": "/audiences/" + shared.create(t, "/v1/audiences", map[string]any{"name": fmt.Sprint("Everybody ", time.Now().UnixNano()), "type": "dynamic", "filters": []any{}}),
	}
	for _, name := range []string{"contacts", "accounts", "opportunities", "tasks", "meetings", "audiences", "campaigns"} {
		paths[name], paths["one of "+name] = "/"+name, "/"+name+"/"+id(name)
	}
	for _, name := range []string{"users", "keys", "fields", "tags", "suppressions", "webhooks", "mail", "erasure", "me"} {
		paths["settings "+name] = "/settings/" + name
	}
	return paths
}

// ready waits until a page has shown its rows.
func (b *tab) ready(path string) {
	b.t.Helper()
	b.visit(path)
	b.until(`!document.querySelector('.table:not(.plain)') || document.querySelector('.table:not(.plain) tbody tr:not(.spacer) td:not(:has(.skeleton)), .empty')`)
}

// TestPages opens every page, and requires that it fits the screen and logs no error.
func TestPages(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		for name, path := range pagePaths(t) {
			t.Run(fmt.Sprintf("%d/%s", width, name), func(t *testing.T) {
				b.t = t
				b.ready(path)
				if over := eval[int](b, `Math.max(document.documentElement.scrollWidth - document.documentElement.clientWidth, document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth)`); over > 0 {
					t.Errorf("the page is %d px too wide", over)
				}
				if over := eval[int](b, `document.documentElement.scrollHeight - document.documentElement.clientHeight`); over > 0 {
					t.Errorf("the page is %d px too high", over)
				}
				if n := eval[int](b, `document.querySelectorAll('h1').length`); n != 1 {
					t.Errorf("%d headings of the first level", n)
				}
				if lines := eval[int](b, `new Set([...document.querySelectorAll('.toolbar .menu')].map((e) => e.getBoundingClientRect().top)).size`); lines > 1 {
					t.Errorf("the menus take %d lines", lines)
				}
				if n := eval[int](b, `[...document.querySelectorAll('td .button')].filter((e) => e.getBoundingClientRect().right > e.closest('td').getBoundingClientRect().right + 1).length`); n > 0 {
					t.Errorf("%d buttons are cut", n)
				}
				if cut := eval[string](b, `[...document.querySelectorAll('.table:not(.plain) thead th')].filter((e) => innerWidth > 720 && e.scrollWidth > e.clientWidth).map((e) => e.innerText).join()`); cut != "" {
					t.Errorf("the headings %s are cut", cut)
				}
				b.check()
			})
		}
		b.t = t
	}
}

// TestWords requires that people read words where the API has names of its own.
func TestWords(t *testing.T) {
	b := open(t, 1280)
	shared.create(t, "/v1/contacts", map[string]any{"first_name": "Opted", "email": fmt.Sprintf("words%d@out.example", b.number), "do_not_contact": true})
	task := shared.create(t, "/v1/tasks", map[string]any{"title": "Words", "type": "todo"})
	b.signInAsNew()
	for _, c := range [][3]string{
		{"/settings/suppressions", "opted out", "opted_out"}, {"/settings/fields", "Any of several values", "Multi select"}, {"/tasks/" + task, "To-do", "Todo"},
		{"/catalog/people", "Company", "Company ID"}, {"/campaigns", "Template", "Template name"}, {"/nowhere", "This does not exist", "did not work"},
	} {
		b.visit(c[0])
		b.until(fmt.Sprintf(`document.querySelector('main').innerText.includes(%s)`, quote(c[1])))
		if eval[bool](b, fmt.Sprintf(`document.querySelector('main').innerText.includes(%s)`, quote(c[2]))) {
			t.Errorf("%s shows %q", c[0], c[2])
		}
	}
	b.visit("/catalog/companies")
	b.click(".tabs a", "People")
	b.until(`document.querySelector('h1').innerText.startsWith('People of the catalog') && document.querySelector('.tabs [aria-current=page]').innerText === 'People'`)
}

// hostile is text that would run a script or break the page if it became markup anywhere.
const hostile = `"'><img src=x onerror="hit=1"><script>hit=1</script></textarea>${hit=1}{{x}} مرحبا 🦊`

// TestHostileText fills every text field of every kind of record, and opens every page that shows it.
func TestHostileText(t *testing.T) {
	b := open(t, 1280)
	account := shared.create(t, "/v1/accounts", map[string]any{"name": hostile, "industry": hostile, "description": hostile, "country": hostile, "location": hostile, "notes": hostile, "phone_number": hostile})
	contact := shared.create(t, "/v1/contacts", map[string]any{"first_name": hostile, "last_name": hostile, "email": "hostile@text.example", "title": hostile, "location": hostile, "notes": hostile, "account_id": account})
	made := map[string]string{"/accounts/": account, "/contacts/": contact}
	made["/tasks/"] = shared.create(t, "/v1/tasks", map[string]any{"title": hostile, "notes": hostile, "contact_id": contact, "due_at": "2020-01-01T00:00:00Z", "type": "call"})
	made["/meetings/"] = shared.create(t, "/v1/meetings", map[string]any{"title": hostile, "notes": hostile, "location": hostile, "contact_id": contact, "starts_at": "2030-01-01T00:00:00Z"})
	made["/opportunities/"] = shared.create(t, "/v1/opportunities", map[string]any{"name": hostile, "notes": hostile, "account_id": account})
	made["/audiences/"] = shared.create(t, "/v1/audiences", map[string]any{"name": hostile, "contact_ids": []string{contact}})
	made["/templates/"] = shared.create(t, "/v1/sequence-templates", map[string]any{"name": hostile, "description": hostile,
		"steps":  []any{map[string]any{"type": "auto_email", "index": 0, "title": `<img src=x onerror="hit=1">`, "subject": "<b>hit</b>", "message": `<script>hit=1</script>`, "day": 0, "hour": 9}},
		"blocks": map[string]any{"x": map[string]any{"name": hostile, "block_type": "MANUAL", "content": `<script>hit=1</script>`}}})
	made["/campaigns/"] = shared.create(t, "/v1/campaigns", map[string]any{"name": hostile, "template_id": made["/templates/"], "audience_ids": []string{made["/audiences/"]}})
	made["/settings/webhooks/"] = shared.create(t, "/v1/webhooks/subscriptions", map[string]any{"url": "http://127.0.0.1:9/%3Cscript%3E", "triggers": []string{"*"}, "description": hostile})
	shared.create(t, "/v1/fields", map[string]any{"entity": "contacts", "key": "hostile", "label": hostile, "data_type": "enum", "allowed_values": []string{hostile}})
	shared.create(t, "/v1/users", map[string]any{"email": "hostile@northwind.example", "first_name": hostile, "last_name": hostile, "title": hostile})
	shared.create(t, "/v1/api-keys", map[string]any{"name": hostile, "access": "read"})
	shared.create(t, "/v1/suppressions", map[string]any{"email": "hostile@suppressed.example", "reason": hostile})
	shared.call(t, http.MethodPatch, "/v1/organization", map[string]any{"postal_address": hostile})
	b.signInAsNew()
	paths := pagePaths(t)
	for prefix, id := range made {
		paths["hostile"+prefix] = prefix + id
	}
	for name, path := range paths {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.ready(path)
			if eval[bool](b, `typeof hit !== 'undefined' || document.querySelector('main img, main script') !== null`) {
				t.Error("text became markup")
			}
			b.check()
		})
	}
	b.t = t
	t.Run("search", func(t *testing.T) {
		b.t = t
		b.visit("/contacts?q=" + "%3Cscript%3Ehit%3D1%3C%2Fscript%3E&f=title:contains:%3Cimg%20src%3Dx%20onerror%3Dhit%3D1%3E&unknown=%3Cb%3E")
		b.shows("<img src=x onerror=hit=1>")
		b.check()
	})
	b.t = t
	if name := eval[string](b, fmt.Sprintf(`fetch('/v1/contacts/%s', {headers: {'X-Prospector-Console': '1'}}).then((r) => r.json()).then((r) => r.data.first_name)`, contact)); name != hostile {
		t.Errorf("the name is %q", name)
	}
}

// TestAccessibility requires that axe-core finds nothing on any page and in any dialog, on a wide screen and a phone and in both themes. It needs npm, which installs
// axe-core from the registry that it is configured with.
func TestAccessibility(t *testing.T) {
	if shared == nil {
		open(t, 1280)
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed, so accessibility is not tested")
	}
	dir := t.TempDir()
	install := exec.Command("npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "axe-core@4.10.3")
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("npm does not install axe-core, so accessibility is not tested: %v\n%s", err, out)
	}
	axe, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int64{1440, 390} {
		b := open(t, width)
		b.run(page.SetBypassCSP(true))
		examined := 0
		examine := func(name string, show func()) {
			t.Run(fmt.Sprintf("%d/%s", width, name), func(t *testing.T) {
				b.t = t
				if examined%10 == 0 { // a user has a rate limit
					b.signInAsNew()
				}
				examined++
				show()
				_ = eval[bool](b, string(axe)+`; true`)
				for theme, rules := range map[string]string{"light": "", "dark": "runOnly: ['color-contrast']"} { // only colours differ
					b.setTheme(theme)
					for _, finding := range eval[[]string](b, `axe.run({ resultTypes: ['violations'], `+rules+` }).then((r) => r.violations.flatMap((v) => v.nodes.slice(0, 3).map((n) => v.id + ': ' + n.html.slice(0, 200) + ' ' + n.failureSummary)))`) {
						t.Errorf("%s: %s", theme, finding)
					}
				}
			})
		}
		for name, path := range pagePaths(t) {
			examine(name, func() { b.ready(path) })
		}
		for name, d := range dialogs(t) {
			examine("dialog "+name, func() {
				b.ready(d.path)
				for _, button := range d.buttons {
					b.click("button, summary, tbody input", button)
				}
				if len(d.buttons) == 0 {
					b.keys(d.key)
				}
				b.until(`document.querySelector('dialog[open], details[open]')?.getAnimations().length === 0`)
			})
		}
		b.t = t
	}
}

// dialog is a dialog or a menu, and how a page opens it: by its buttons in turn, or a key.
type dialog struct {
	path    string
	buttons []string
	key     string
}

func dialogs(t *testing.T) map[string]dialog {
	t.Helper()
	number := time.Now().UnixNano()
	id := shared.create(t, "/v1/contacts", map[string]any{"first_name": "Dialog", "email": fmt.Sprintf("dialog%d@adler.example", number)})
	contact, found := "/contacts/"+id, fmt.Sprintf("/contacts?q=dialog%d", number)
	draft := "/campaigns/" + shared.create(t, "/v1/campaigns", map[string]any{
		"name": fmt.Sprint("Dialogs ", number), "template_id": shared.first(t, "/v1/sequence-templates/list", map[string]any{"search": "Three emails"})["id"],
		"audience_ids": []string{shared.create(t, "/v1/audiences", map[string]any{"name": fmt.Sprint("Dialogs ", number), "contact_ids": []string{id}})},
	})
	const row = "Select row 1"
	return map[string]dialog{
		"new contact": {"/contacts", []string{"New contact"}, ""}, "new task": {"/tasks", []string{"New task"}, ""}, "new campaign": {"/campaigns", []string{"New campaign"}, ""},
		"new audience": {"/audiences", []string{"New audience"}, ""}, "filter": {"/contacts", []string{"+ Filter"}, ""}, "group": {"/contacts", []string{"+ Group"}, ""},
		"views": {"/contacts", []string{"Views"}, ""}, "columns": {"/contacts", []string{"Columns"}, ""}, "save a view": {"/contacts", []string{"Views", "Save this view…"}, ""},
		"delete": {found, []string{row, "Delete…"}, ""}, "campaign": {found, []string{row, "Campaign…"}, ""}, "audience": {found, []string{row, "Audience…"}, ""},
		"tags": {found, []string{row, "Tags…"}, ""}, "change": {found, []string{row, "Change a field…"}, ""},
		"opt out": {contact, []string{"Opt out…"}, ""}, "delete a record": {contact, []string{"Delete…"}, ""}, "start": {draft, []string{"Start…"}, ""}, "add people": {draft, []string{"Add people…"}, ""},
		"keys": {"/", nil, "?"}, "search": {"/", nil, "/"}, "new user": {"/settings/users", []string{"New user"}, ""}, "new field": {"/settings/fields", []string{"New field"}, ""},
		"new webhook": {"/settings/webhooks", []string{"New webhook"}, ""}, "organization": {"/settings", []string{"Change…"}, ""},
	}
}

// setTheme has the page follow a system in the given theme.
func (b *tab) setTheme(theme string) {
	b.t.Helper()
	b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}))
	b.until(fmt.Sprintf(`(document.documentElement.dataset.theme || 'light') === %s`, quote(theme)))
}
