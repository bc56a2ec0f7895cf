package browsertest

import (
	"fmt"
	"net/http"
	"testing"
)

// TestDuplicateGroups says that two records are not the same, takes that back, and asks to merge all that are almost certain.
func TestDuplicateGroups(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	for _, entity := range []string{"contacts", "accounts"} {
		twin := ""
		for range 2 {
			if entity == "contacts" {
				twin = shared.create(t, "/v1/contacts", map[string]any{"first_name": "Ada", "last_name": fmt.Sprint("Pair ", b.number), "email": fmt.Sprintf("pair%d@x.example", b.number)})
			} else {
				twin = shared.create(t, "/v1/accounts", map[string]any{"name": fmt.Sprint("Pair ", b.number), "website": fmt.Sprintf("pair%d.example", b.number)})
			}
		}
		b.visit("/" + entity + "/duplicates?min=0.9")
		b.until(find("td a", fmt.Sprint("Pair ", b.number)))
		b.click("tr:has(td) button", "Not the same")
		b.shows("They are not listed as duplicates any more")
		b.click("button", "Undo")
		b.until(find("td a", fmt.Sprint("Pair ", b.number)))
		b.click(".heading button", "Merge")
		b.shows("You can undo this for 30 days.")
		b.click("dialog button", "Cancel")
		shared.call(t, http.MethodDelete, "/v1/"+entity+"/"+twin, nil) // no duplicates for other tests
	}
}
