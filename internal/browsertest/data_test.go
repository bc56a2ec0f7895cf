package browsertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// saved keeps what the page saves as a file in window.saved.
const saved = `(() => { const make = URL.createObjectURL; URL.createObjectURL = (blob) => { window.saved = blob; return make(blob); }; return true; })()`

// bar is an expression for the number that a bar shows.
func bar(label string) string {
	return fmt.Sprintf(`%s?.querySelector('.number')?.innerText.replace(',', '')`, find(".bars li", label))
}

// chooseFile chooses a file with the given content for an import.
func (b *tab) chooseFile(name, content string) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.until(`document.querySelector('input[type=file]')`)
	b.run(chromedp.SetUploadFiles(`input[type=file]`, []string{file}, chromedp.ByQuery))
}

// TestImport brings a file as people have them: in an old encoding, with semicolons, German headings, a heading that
// nothing recognizes, numbers and tags in their own spelling, and rows that cannot be imported.
func TestImport(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		n := b.number
		rows := []string{"Vorname;Nachname;E-Mail;Position;Kürzel;Hat sich abgemeldet"}
		for i := range 40 {
			rows = append(rows, fmt.Sprintf("Jürgen;Müßig %d;juergen%d.%d@import.example;Geschäftsführer;k%d;nein", i, i, n, i))
		}
		rows = append(rows, "Anna;Ohne;keine Adresse;Chefin;x;nein", ";;;;;vielleicht")
		b.visit("/")
		b.clicks = 0
		b.goTo("Contacts")
		b.until(`document.querySelector('tbody a')`) // nothing moves any more
		b.click("a", "Import…")
		b.chooseFile("kontakte.csv", latin1(strings.Join(rows, "\r\n")))
		b.clicks++ // which takes one
		b.shows("separated by semicolons")
		b.shows("ISO-8859-1")
		b.shows("Column Hat sich abgemeldet: does it say who has opted out?")
		b.screenshot(fmt.Sprint("import-question", width))
		b.click("button", "Yes, with every value but a no")
		b.clicks-- // a question that usual files do not raise
		b.until(bar("Rows") + ` === '42'`)
		b.screenshot(fmt.Sprint("import-check", width))
		if over := eval[int](b, `document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth`); over > 0 {
			t.Errorf("the columns are %d px too wide", over)
		}
		for column, field := range map[string]string{"Vorname": "first_name", "Nachname": "last_name", "E-Mail": "email", "Position": "title", "Kürzel": ""} {
			if got := eval[string](b, fmt.Sprintf(`document.querySelector('select[aria-label="Field of the column %s"]').value`, column)); got != field {
				t.Errorf("the column %s is recognized as %q, want %q", column, got, field)
			}
		}
		b.choose(`select[aria-label="Field of the column Kürzel"]`, "External ID")
		b.shows("chosen by you")
		b.focus("[data-field=tags]")
		b.keys(fmt.Sprint("Import ", n))
		b.click("label", "Create tags that do not exist")
		b.clicks -= 1 // an option that the usual import does not need
		b.until(bar("Rows") + ` === '42' && ` + find("button", "Import 4"))
		want := eval[string](b, bar("New"))
		b.click("button", "Import 4")
		b.until(`location.pathname.startsWith('/app/imports/0') && /Completed/.test(document.querySelector('.heading').innerText)`)
		if b.clicks > 5 {
			t.Errorf("%d clicks, want at most 5", b.clicks)
		}
		if got := eval[string](b, bar("New")); got != want {
			t.Errorf("%s are new, the dry run said %s", got, want)
		}
		b.shows("keine Adresse")
		b.screenshot(fmt.Sprint("import-done", width))
		_ = eval[bool](b, saved)
		b.click("button", "Download them")
		b.until(`window.saved`)
		if rejects := eval[string](b, `window.saved.text()`); !strings.Contains(rejects, "vielleicht") || strings.Contains(rejects, "Jürgen") {
			t.Errorf("the rejects are %q", rejects)
		}
		found := shared.first(t, "/v1/contacts/list", map[string]any{"filters": []any{map[string]any{"field": "email", "condition": "is", "value": fmt.Sprintf("juergen7.%d@import.example", n)}}})
		if found["last_name"] != "Müßig 7" || found["external_id"] != "k7" || len(found["tags"].([]any)) != 1 {
			t.Errorf("the contact is %v", found)
		}
		shared.clear(t, "contacts", map[string]any{"field": "email", "condition": "contains", "value": "@import.example"}) // the external ids are free again
		b.goTo("Imports")
		b.until(find("tbody a", ""))
		if eval[bool](b, `document.querySelector('tbody').textContent.includes('dry run')`) {
			t.Error("an import is shown as a dry run")
		}
		b.click(".tabs a", "All")
		b.until(find("td", "Completed, dry run"))
		b.screenshot(fmt.Sprint("imports", width))
		if align := eval[string](b, `getComputedStyle(document.querySelector('tbody td.number')).textAlign`); width > 720 && align != "end" {
			t.Errorf("numbers are aligned at %s", align)
		}
	}
}

// TestNewField makes a field of a chosen type for a column that no field fits. The wizard then imports the column into it, with the accounts
// that are missing, and asks before what was entered is lost.
func TestNewField(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	n := b.number
	b.visit("/imports/new")
	b.chooseFile("new.csv", fmt.Sprintf("E-Mail,Firma,Erstkontakt %d\nnew%d@field.example,New Field %d GmbH,2024-03-01\n", n, n, n))
	b.until(bar("Rows") + ` === '1'`)
	b.click("button", "New field…")
	b.until(`document.querySelector('[data-field=data_type]').selectedOptions[0].text === 'Date'`) // guessed by the values
	b.choose("[data-field=data_type]", "Any of several values")
	b.focus("[data-field=allowed_values]")
	_ = eval[bool](b, `document.activeElement.select() || true`)
	b.keys("2024-03-01, 2024-03-02")
	b.click("dialog button", "Create")
	column := fmt.Sprintf(`document.querySelector('select[aria-label="Field of the column Erstkontakt %d"]')`, n)
	b.until(column + fmt.Sprintf(`.selectedOptions[0].text === 'Erstkontakt %d'`, n))
	for _, answer := range []string{"Cancel", ""} {
		b.click("nav a", "Imports")
		b.shows("Leave without saving?")
		if answer != "" {
			b.click("dialog button", answer)
		} else {
			b.keys(kb.Escape)
		}
		b.until(`!document.querySelector('dialog') && location.pathname === '/app/imports/new'`)
	}
	b.click("button", "Import 1 row")
	b.until(`/^\/app\/imports\/0.*/.test(location.pathname) && /Completed/.test(document.querySelector('.heading').innerText)`)
	if problems := eval[bool](b, `document.body.innerText.includes('Problems')`); problems {
		t.Error("the import has problems")
	}
	key := eval[string](b, `fetch('/v1/schemas/contacts', {headers: {'X-Prospector-Console': '1'}}).then((r) => r.json()).then((r) => r.data.fields.find((f) => f.label === '`+fmt.Sprintf("Erstkontakt %d", n)+`').key)`)
	found := shared.first(t, "/v1/contacts/list", map[string]any{"search": fmt.Sprintf("new%d@field.example", n)})
	if fmt.Sprint(found[key]) != "[2024-03-01]" || found["account_id"] == nil {
		t.Errorf("the contact is %v", found)
	}
}

// someImport imports a file in which nothing can be imported, and returns the id of the import.
func (d *demo) someImport(t testing.TB) string {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("options", `{"entity": "contacts"}`)
	file, err := form.CreateFormFile("file", "nobody.csv")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(file, "email,title\nnobody,"+hostile+"\n")
	_ = form.Close()
	req, err := http.NewRequest(http.MethodPost, d.url+"/v1/imports", &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+d.key)
	req.Header.Set("Content-Type", form.FormDataContentType())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var made struct {
		Data struct{ ID string }
	}
	if err := json.NewDecoder(res.Body).Decode(&made); err != nil || made.Data.ID == "" {
		t.Fatalf("status %d, %v", res.StatusCode, err)
	}
	return made.Data.ID
}

// latin1 encodes a text.
func latin1(text string) string {
	var b []byte
	for _, r := range text {
		b = append(b, byte(r))
	}
	return string(b)
}

// clear deletes all records that match, for good.
func (d *demo) clear(t testing.TB, entity string, rule map[string]any) {
	t.Helper()
	for {
		found := d.call(t, http.MethodPost, "/v1/"+entity+"/list", map[string]any{"filters": []any{rule}, "page_size": 100})["data"].([]any)
		if len(found) == 0 {
			return
		}
		for _, record := range found {
			d.call(t, http.MethodDelete, fmt.Sprintf("/v1/%s/%v?permanent=true", entity, record.(map[string]any)["id"]), nil)
		}
	}
}

// TestImportGoesOn leaves the page of an import while the file is uploaded. The strip at the foot of the pages shows how
// far it is, and then the result.
func TestImportGoesOn(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	b.visit("/imports/new?entity=accounts")
	b.chooseFile("companies.csv", fmt.Sprintf("Company,Website\nLater %d,later%d.example\n", b.number, b.number))
	b.until(find("button", "Import 1 row"))
	_ = eval[bool](b, `(() => { const send = XMLHttpRequest.prototype.send; XMLHttpRequest.prototype.send = function (body) { window.release = () => send.call(this, body); }; return true; })()`)
	b.click("button", "Import 1 row")
	b.until(find(".foot .work", "Uploading companies.csv"))
	b.goTo("Accounts")
	_ = eval[bool](b, `release() || true`)
	b.click(".foot a", "Imported: 1 new")
	b.until(bar("New") + ` === '1'`)
}

// TestDuplicates merges two contacts, and keeps one value of each.
func TestDuplicates(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		email := fmt.Sprintf("twin%d@duplicates.example", b.number)
		tag := fmt.Sprint("Twins ", b.number)
		shared.create(t, "/v1/tags", map[string]any{"name": tag, "object_type": "contact", "color": "blue"})
		first := shared.create(t, "/v1/contacts", map[string]any{"first_name": "Ada", "last_name": "Twin", "tags": []string{tag}, "email": email, "title": "Head of Sales", "notes": "met in Berlin"})
		second := shared.create(t, "/v1/contacts", map[string]any{"first_name": "Ada", "last_name": "Twin", "email": email, "title": "VP Sales", "phone_number": "+49 30 1", "notes": "likes tea"})
		b.ready("/contacts")
		b.click("summary", "More")
		b.click("button", "Find duplicates")
		b.shows("groups that may be the same")
		b.screenshot(fmt.Sprint("duplicates-list", width))
		b.openGroup("/contacts/duplicates", email)
		b.until(find(".compare td", tag))
		b.screenshot(fmt.Sprint("duplicates", width))
		b.click("label", "VP Sales")
		b.click("label", "Head of Sales")
		keep, gone := first, second
		if eval[string](b, `document.querySelector('.compare thead th:has(input:checked) a').href`) == shared.url+"/app/contacts/"+second {
			keep, gone = second, first
		}
		b.click("button", "Merge 1 contact into Ada Twin")
		b.shows("1 contact merged")
		record := shared.call(t, http.MethodGet, "/v1/contacts/"+keep, nil)["data"].(map[string]any)
		if record["title"] != "Head of Sales" || record["phone_number"] != "+49 30 1" || !strings.Contains(fmt.Sprint(record["notes"]), "tea") || !strings.Contains(fmt.Sprint(record["notes"]), "Berlin") {
			t.Errorf("the contact that stays is %v", record)
		}
		b.expected = append(b.expected, "status of 404")
		b.visit("/contacts/" + gone)
		b.until(`location.pathname === '/app/contacts/` + keep + `' && document.querySelector('h1').innerText === 'Ada Twin'`)
	}
}

// TestMergeSelected merges two contacts that share nothing but were selected in the list. With one row, or with everything
// that matches, there is nothing to merge.
func TestMergeSelected(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	word := fmt.Sprintf("mergeword%d", b.number)
	ids := map[string]string{}
	for _, name := range []string{"Jürgen", "J.", "Other"} {
		ids[name] = shared.create(t, "/v1/contacts", map[string]any{"first_name": name, "last_name": word, "title": name + "'s title"})
	}
	b.ready("/contacts?q=" + word)
	merge := find(".selection button", "Merge…")
	pick := func(name string) { b.clickIn(name, "input[type=checkbox]", "") }
	pick("Jürgen")
	b.until(find(".selection", "1 selected") + " && !" + merge)
	b.click("button", "Select all 3 matching")
	b.until(find(".selection", "3 selected") + " && !" + merge)
	b.click(".selection button", "Clear")
	pick("Jürgen")
	pick("J.")
	b.click(".selection button", "Merge…")
	b.until("!" + find(".tabs", "") + " && " + find(".compare th", "Jürgen") + " && !" + find(".compare", "Other"))
	b.hit(`[...document.querySelectorAll('.compare thead th')].find((e) => e.innerText.includes('Jürgen')).querySelector('input')`)
	b.click("label", "J.'s title")
	b.click("button", "Merge 1 contact into Jürgen")
	b.shows("1 contact merged")
	b.until(`location.pathname === '/app/contacts/` + ids["Jürgen"] + `' && ` + find("dd", "J.'s title"))
	merged := shared.total(t, "/v1/contacts/list", map[string]any{})
	b.click(".toast button", "Undo")
	b.shows("put back")
	if n := shared.total(t, "/v1/contacts/list", map[string]any{}); n != merged+1 {
		t.Errorf("%v contacts after the undo of the merge, want one more than %v", n, merged)
	}
}

// TestBulk changes a field and a tag of everything that matches, then of single rows, and takes it back.
func TestBulk(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	word := fmt.Sprintf("bulkword%d", b.number)
	for i := range 12 {
		shared.create(t, "/v1/contacts", map[string]any{"first_name": "Many", "last_name": fmt.Sprintf("%s %d", word, i), "title": "before"})
	}
	total := func(field, value string) any {
		return shared.call(t, http.MethodPost, "/v1/contacts/list", map[string]any{"search": word, "page_size": 1, "filters": []any{map[string]any{"field": field, "condition": "is", "value": value}}})["pagination"].(map[string]any)["total_count"]
	}
	b.ready("/contacts?q=" + word)
	b.click("tbody input[type=checkbox]", "")
	b.click("button", "Select all 12 matching")
	b.click("button", "Change a field…")
	b.until(find("[data-field=title]", ""))
	b.screenshot("bulk")
	b.focus("[data-field=title]")
	b.keys("after")
	b.click("button", "Change 12 contacts")
	b.shows("12 changed")
	if n := total("title", "after"); n != 12.0 {
		t.Errorf("%v contacts are changed", n)
	}

	b.until(`!document.querySelector('.table.dimmed')`)
	b.click("tbody tr:nth-child(3) input[type=checkbox]", "")
	b.click("button", "Change a field…")
	b.until(find("[data-field=title]", ""))
	b.focus("[data-field=title]")
	b.keys("third" + kb.Enter)
	b.shows("1 changed")
	if n := total("title", "third"); n != 1.0 {
		t.Errorf("%v contacts are changed, want one", n)
	}
	b.hit(`[...document.querySelectorAll('.toast')].find((e) => e.innerText.startsWith('1 changed')).querySelector('button')`)
	for end := time.Now().Add(20 * time.Second); total("title", "after") != 12.0; {
		if time.Now().After(end) {
			t.Fatal("the change was not undone")
		}
	}

	b.ready("/contacts?q=" + word)
	b.click("tbody input[type=checkbox]", "")
	b.click("button", "Select all 12 matching")
	shared.create(t, "/v1/contacts", map[string]any{"first_name": "One", "last_name": word + " more"})
	b.click("button", "Delete…")
	b.click("dialog button.primary", "Delete 13 contacts") // the number is that of now
	b.shows("13 deleted")
	b.shows("No contact matches.")
}

// TestTrash deletes contacts, takes it back, deletes them again, and restores or erases them from the trash.
func TestTrash(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		name := fmt.Sprintf("Thrown %d", b.number)
		id := shared.create(t, "/v1/contacts", map[string]any{"first_name": "Away", "last_name": name, "title": "kept"})
		exists := func(want bool) {
			t.Helper()
			found := shared.call(t, http.MethodPost, "/v1/contacts/list", map[string]any{"filters": []any{map[string]any{"field": "id", "condition": "is", "value": id}}})["data"].([]any)
			if (len(found) == 1) != want {
				t.Errorf("the contact is %v", found)
			}
		}
		deleteIt := func() {
			b.ready("/contacts/" + id)
			b.click("button", "Delete…")
			b.click("dialog button.primary", "Delete this contact")
			b.shows("Away " + name + " deleted")
			exists(false)
		}
		deleteIt()
		b.click(".toast button", "Undo")
		b.until(`location.pathname.endsWith('` + id + `') && document.querySelector('h1').innerText.includes('Thrown')`)
		exists(true)
		b.until(`/Restored by Ada[^]*Deleted by Ada[^]*Created by/.test(document.querySelector('.timeline')?.innerText)`)

		row := `tr:has(td:first-child span.clip)`
		deleteIt()
		b.ready("/settings/trash")
		b.until(find(row, name))
		b.click("tbody input[type=checkbox]", "")
		b.screenshot(fmt.Sprint("trash", width))
		b.click("button", "Restore 1 contact")
		b.shows("1 record restored")
		exists(true)

		deleteIt()
		b.ready("/settings/trash")
		b.until(find(row, name))
		b.click("tbody input[type=checkbox]", "")
		b.click("button", "Delete permanently…")
		b.click("dialog button.primary", "Delete 1 contact permanently")
		b.shows("1 record deleted permanently")
		b.until("!" + find(row, name))
		exists(false)
	}
}

// TestDynamicAudience saves a filtered list as an audience. A contact that begins to match is in it, and its filters can
// be changed.
func TestDynamicAudience(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	title := fmt.Sprintf("Dynamic%d", b.number)
	id := shared.create(t, "/v1/contacts", map[string]any{"first_name": "Comes", "last_name": "Later", "title": "something else"})
	shared.create(t, "/v1/contacts", map[string]any{"first_name": "Is", "last_name": "Here", "title": title})
	b.ready("/contacts?f=title:is:" + title)
	b.click("summary", "More")
	b.click("button", "Save as audience…")
	b.until(`document.activeElement.matches('dialog input')`)
	b.keys("All " + title)
	b.shows("1 contact matches now.")
	b.screenshot("audience-new")
	b.click("dialog button.primary", "Create")
	b.until(`document.querySelector('h1').innerText === 'All ` + title + ` 1'`)
	b.shows("Title is " + title)
	b.until(find("tbody a", "Is Here"))
	if eval[bool](b, `document.querySelector('tbody input[type=checkbox]') !== null`) {
		t.Error("the contacts can be selected")
	}
	b.screenshot("audience-dynamic")
	shared.call(t, http.MethodPatch, "/v1/contacts/"+id, map[string]any{"title": title})
	b.visit("/audiences/" + eval[string](b, `location.pathname.split('/').at(-1)`))
	b.until(find("tbody a", "Comes Later"))

	// Nothing changes before it is saved, which names the campaign that acts on it.
	path := "/v1/audiences/" + eval[string](b, `location.pathname.split('/').at(-1)`)
	filters := func() int {
		return len(shared.call(t, http.MethodGet, path, nil)["data"].(map[string]any)["filters"].([]any))
	}
	const change = "2 match now, 1 with your change: 0 come in, 1 leave."
	b.addRule("First name", "is", "Comes")
	b.shows(change)
	b.click("button", "Discard")
	b.until(`document.querySelectorAll('.chip.on').length === 1 && !document.querySelector('.notice')`)
	shared.create(t, "/v1/campaigns", map[string]any{"name": "Runs for " + title, "status": "active", "audience_ids": []string{path[len("/v1/audiences/"):]},
		"template_id": shared.first(t, "/v1/sequence-templates/list", map[string]any{"page_size": 1})["id"]})
	b.ready(strings.TrimPrefix(path, "/v1"))
	b.addRule("First name", "is", "Comes")
	b.shows(change)
	b.screenshot("audience-change")
	b.click("button", "Save")
	b.shows("stop for those who leave: Runs for " + title)
	if n := filters(); n != 1 {
		t.Errorf("%d filters before the change is confirmed", n)
	}
	b.click("dialog button", "Cancel")
	b.click("nav a", "Contacts")
	b.shows("Leave without saving?")
	b.click("dialog button", "Cancel")
	b.click("button", "Save")
	b.click("dialog button.primary", "Save: 0 come in, 1 leave")
	b.until(`document.querySelector('h1').innerText === 'All ` + title + ` 1' && document.querySelectorAll('.chip.on').length === 2`)
	b.until(find("tbody a", "Comes Later") + " && !" + find("tbody a", "Is Here"))
	if n := filters(); n != 2 {
		t.Errorf("%d filters are saved", n)
	}
}

// TestRanges filters by a range of numbers, and offers the values of a field with their counts.
func TestRanges(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	b.ready("/accounts")
	b.click("button", "+ Filter")
	b.choose("#rule-field", "Employee count")
	b.choose("#rule-condition", "is between")
	b.focus("#rule-value")
	b.keys("50")
	b.focus("#rule-to")
	b.keys("500" + kb.Enter)
	b.until(`decodeURIComponent(location.search) === '?f=employee_count:between:50,500'`)
	b.shows("Employee count is between 50 and 500")
	want := shared.call(t, http.MethodPost, "/v1/accounts/list", map[string]any{"page_size": 1, "filters": []any{map[string]any{"field": "employee_count", "condition": "between", "value": []int{50, 500}}}})["pagination"].(map[string]any)["total_count"]
	b.until(fmt.Sprintf(`document.querySelector('h1').innerText.startsWith('Accounts %v of ')`, want))
	b.click("button", "+ Filter")
	b.choose("#rule-field", "Industry")
	b.until(`document.querySelectorAll('#rule-value-options option').length > 1 && /^[\d,]+$/.test(document.querySelector('#rule-value-options option').text)`)
}

// TestErased shows that a person was erased, and what it means to remove that.
func TestErased(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	email := fmt.Sprintf("erased%d@person.example", b.number)
	shared.create(t, "/v1/contacts", map[string]any{"first_name": "Erased", "last_name": "Person", "email": email})
	if out, err := exec.Command(shared.binary, "erase", "--org", "Northwind Demo", "--email", email, "--yes", "--data-dir", shared.data).CombinedOutput(); err != nil {
		t.Fatalf("erase: %v\n%s", err, out)
	}
	b.visit("/settings/suppressions")
	b.until(find("tr", "an erased person"))
	b.click("tr:has(td .soft) button", "Remove…")
	b.shows("Forget that a person was erased?")
	b.keys(kb.Escape)
}

// TestNumbers types numbers as people write them. What can be read in two ways is refused in words, never guessed.
func TestNumbers(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	b.expected = append(b.expected, "status of 422")
	account := shared.create(t, "/v1/accounts", map[string]any{"name": fmt.Sprint("Numbers ", b.number)})
	b.visit("/accounts/" + account)
	field := `dt:has(+ dd .inline-edit)`
	row := fmt.Sprintf(`[...document.querySelectorAll(%s)].find((e) => e.innerText === 'Annual revenue').nextElementSibling`, quote(field))
	_ = eval[bool](b, row+`.querySelector('button').click() || true`)
	b.until(`document.activeElement.id === 'inline'`)
	for typed, message := range map[string]string{
		"2.500": "2.500 can be read in two ways. Write 2500 or 2.5.", "12.345": "Write 12345 or 12.3450.", "1.250,50": "1.250,50 is not a number. Write it like 2500 or 2.5.", "12,5": "12,5 is not a number.",
	} {
		_ = eval[bool](b, `document.activeElement.select() || true`)
		b.keys(typed + kb.Enter)
		b.shows(message)
	}
	for typed, want := range map[string]float64{"1,300": 1300, "6’912’000": 6912000, "2 500.25": 2500.25, "12.3450": 12.345, "0.125": 0.125} {
		b.visit("/accounts/" + account)
		b.until(row)
		_ = eval[bool](b, row+`.querySelector('button').click() || true`)
		b.until(`document.activeElement.id === 'inline'`)
		_ = eval[bool](b, `document.activeElement.select() || true`)
		b.keys(typed + kb.Enter)
		b.shows("Annual revenue saved")
		if got := shared.call(t, http.MethodGet, "/v1/accounts/"+account, nil)["data"].(map[string]any)["annual_revenue"]; got != want {
			t.Errorf("%q is saved as %v, want %v", typed, got, want)
		}
	}

	b.ready("/accounts")
	b.click("button", "New account")
	b.until(find("[data-field=name]", ""))
	b.focus("[data-field=name]")
	b.keys("Ambiguous")
	b.focus("[data-field=employee_count]")
	b.keys("2.500" + kb.Enter)
	b.shows("2.500 can be read in two ways. Write 2500 or 2.5.")
	b.keys(kb.Escape)
	b.until(`!document.querySelector('dialog')`)
	b.addRule("Employee count", "is at least", "3,162")
	b.until(`decodeURIComponent(location.search) === '?f=employee_count:at_least:3162'`)
	b.shows("Employee count is at least 3,162")
	b.ready("/accounts")
	b.addRule("Employee count", "is", "1,300; 50")
	b.until(`decodeURIComponent(location.search) === '?f=employee_count:is:1300,50'`)
	b.shows("Employee count is 1,300; 50")
	b.ready("/accounts")
	b.click("button", "+ Filter")
	b.choose("#rule-field", "Employee count")
	b.choose("#rule-condition", "is between")
	for _, c := range [][3]string{{"50", "1.000", "1.000 can be read in two ways."}, {"500", "50", "The first value is greater than the second."}} {
		for i, id := range []string{"rule-value", "rule-to"} {
			b.focus("#" + id)
			_ = eval[bool](b, `document.activeElement.select() || true`)
			b.keys(c[i])
		}
		b.keys(kb.Enter)
		b.shows(c[2])
	}
	b.visit("/accounts?f=employee_count:at_least:many")
	b.shows("Employee count is at least many")
}

// TestTrashAll restores more records than a block of the table has, and takes that back and does it again. It erases all
// only if they are as many as it said.
func TestTrashAll(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	title := fmt.Sprint("Forgotten ", b.number)
	var records []any
	for i := range 130 {
		records = append(records, map[string]any{"title": title, "starts_at": fmt.Sprintf("2026-11-18T10:00:00.%03dZ", i)})
	}
	shared.call(t, http.MethodPost, "/v1/meetings/batch", map[string]any{"records": records})
	left := func() int { return count(t, "/v1/meetings/list", rule("title", title)) }
	shared.call(t, http.MethodPost, "/v1/meetings/bulk", map[string]any{"filters": []any{rule("title", title)}, "delete": true, "expect": 130})
	eventually(t, "the meetings are deleted", func() bool { return left() == 0 })
	b.ready("/settings/trash?kind=meetings")
	all := int(shared.total(t, "/v1/meetings/trash/list", map[string]any{}))
	b.shows(fmt.Sprintf("%d deleted meetings", all))
	deleted := shared.first(t, "/v1/meetings/trash/list", map[string]any{})["deleted_at"].(string)
	at, err := time.Parse(time.RFC3339, deleted)
	if err != nil {
		t.Fatal(err)
	}
	b.until(find("tbody td", at.AddDate(0, 0, 30).Format("2 Jan")))
	b.click("tbody input[type=checkbox]", "")
	b.click("button", fmt.Sprintf("Select all %d matching", all))
	b.click("button", fmt.Sprintf("Restore %d meetings", all))
	b.shows(fmt.Sprintf("%d records restored", all))
	b.shows("Nothing is here.")
	b.until(`!document.querySelector('.foot p')`)
	b.click(".toast button", "Undo")
	b.shows(fmt.Sprintf("%d records put back", all))
	b.shows(fmt.Sprintf("%d deleted meetings", all))
	b.click(".toast:last-child button", "Undo")
	b.shows("Nothing is here.")
	if n := left(); n != 130 {
		t.Errorf("%d of 130 meetings are back", n)
	}

	ids := shared.call(t, http.MethodPost, "/v1/meetings/list", map[string]any{"filters": []any{rule("title", title)}, "page_size": 3})["data"].([]any)
	path := func(i int) string { return "/v1/meetings/" + ids[i].(map[string]any)["id"].(string) }
	shared.call(t, http.MethodDelete, path(0), nil)
	shared.call(t, http.MethodDelete, path(1), nil)
	b.ready("/settings/trash?kind=meetings")
	b.click("tbody input[type=checkbox]", "")
	b.click("button", "Select all 2 matching")
	b.click("button", "Delete permanently…")
	b.until(find("dialog button.primary", "Delete 2 meetings permanently"))
	shared.call(t, http.MethodDelete, path(2), nil)
	b.expected = append(b.expected, "status of 409")
	b.click("dialog button.primary", "Delete 2 meetings permanently")
	b.until(find(".toast.bad", "3 records, not 2"))
	if n := shared.total(t, "/v1/meetings/trash/list", map[string]any{}); n != 3 {
		t.Errorf("%v meetings are left in the trash, want 3", n)
	}
	b.click("button", "Delete permanently…")
	b.click("dialog button.primary", "Delete 3 meetings permanently")
	b.shows("3 records deleted permanently")
	b.shows("Nothing is here.")
	shared.clear(t, "meetings", rule("title", title))
}
