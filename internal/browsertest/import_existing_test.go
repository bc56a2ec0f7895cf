package browsertest

import (
	"fmt"
	"strings"
	"testing"
)

// TestImportOfExisting imports a file about a contact that exists: the wizard shows what would change with the values before and
// after, asks for the system of the ids, and the contact has its other id beside the first. The list is then exported for a
// spreadsheet.
func TestImportOfExisting(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	n := b.number
	email, city := fmt.Sprintf("known%d@existing.example", n), fmt.Sprint("Köln ", n)
	id := shared.create(t, "/v1/contacts", map[string]any{"first_name": "Ada", "last_name": "Known", "email": email, "title": "CTO", "external_id": fmt.Sprint("pipedrive:", n)})
	b.visit("/imports/new")
	b.chooseFile("known.csv", fmt.Sprintf("Contact ID,Vorname,Nachname,E-Mail,Position,Ort\nK%d,Ada,Known,%s,CEO,%s\n", n, email, city))
	b.until(bar("Rows") + ` === '1' && ` + bar("Updated") + ` === '1'`)
	b.shows("WHAT WOULD CHANGE")
	b.shows("CTO → CEO")
	b.choose("[data-field=id_system]", "Hubspot")
	b.shows(fmt.Sprintf("hubspot:K%d", n))
	b.click("button", "Import 1 row")
	b.shows("WHAT CHANGED")
	found := shared.get(t, "/v1/contacts/"+id)
	if fmt.Sprint(found["other_external_ids"]) != fmt.Sprintf("[hubspot:K%d]", n) || found["title"] != "CEO" || found["city"] != city {
		t.Errorf("the contact is %v", found)
	}
	b.visit("/contacts/" + id)
	b.shows(fmt.Sprintf("hubspot:K%d", n))
	b.ready("/contacts?q=" + email)
	b.until(`document.querySelector('h1').innerText.includes(' 1 of ')`)
	if file := b.export("Export for Excel"); !strings.HasPrefix(file, "First name,Last name,") || !strings.Contains(file, "\nAda,Known,") {
		t.Errorf("the file is %q", file)
	}
}
