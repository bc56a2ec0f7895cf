package browsertest

import (
	"fmt"
	"testing"
)

// TestSettingsTrash takes back the deletion of a tag, and restores one from the trash.
func TestSettingsTrash(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	tag := fmt.Sprint("Keepsake ", b.number)
	b.visit("/settings/tags")
	b.click("button", "New tag")
	b.fill("name", tag)
	b.choose("[data-field=object_type]", "Account")
	b.click("dialog button.primary", "Create")
	b.until(find("main td .tag.green", tag))
	remove := func() {
		b.clickIn(tag, "button", "Delete…")
		b.click("dialog button.primary", "Delete the tag")
		b.until("!" + find("main td", tag))
	}
	remove()
	b.shows(tag + " deleted")
	b.click(".toast button", "Undo")
	b.until(find("main td .tag.green", tag))

	remove()
	b.ready("/settings/trash?kind=tags")
	row := fmt.Sprintf(`[...document.querySelectorAll('main tbody tr')].find((r) => r.querySelector('.name')?.innerText === %s)`, quote(tag))
	b.until("!!" + row)
	b.until(row + `.innerText.includes('Account')`)
	b.hit(row + `.querySelector('input')`)
	b.click("button", "Restore 1 tag")
	b.shows("1 record restored")
	b.visit("/settings/tags")
	b.until(find("main td .tag.green", tag))
}
