package browsertest

import (
	"fmt"
	"net/http"
	"testing"
)

// dynamic makes a dynamic audience with one rule.
func dynamic(t *testing.T, name, field, condition, value string) (path string) {
	t.Helper()
	return "/v1/audiences/" + shared.create(t, "/v1/audiences", map[string]any{"name": name, "type": "dynamic",
		"filters": []any{map[string]any{"field": field, "condition": condition, "value": value}}})
}

// TestDeleteUsedTag deletes a tag. The question names what hangs on it. A dynamic audience of everybody without the tag would
// have a person more, so a second question offers to make it static.
func TestDeleteUsedTag(t *testing.T) {
	for _, width := range widths {
		b := open(t, width)
		b.signInAsNew()
		name := fmt.Sprint("Used ", b.number)
		tag := shared.create(t, "/v1/tags", map[string]any{"name": name, "color": "red", "object_type": "contact"})
		for i := range 12 {
			shared.create(t, "/v1/contacts", map[string]any{"first_name": fmt.Sprint("Una", i), "email": fmt.Sprintf("una%d.%d@uses.example", i, b.number), "tags": []string{tag}})
		}
		audience := dynamic(t, "Without "+name, "tags", "is_not", tag)
		before := shared.get(t, audience)["contact_count"]
		b.visit("/settings/tags")
		b.clickIn(name, "button", "Delete…")
		b.until(find("dialog li", "12 contacts"))
		b.until(find("dialog li", "Una1, Una2"))
		b.until(find("dialog li", "and 2 more"))
		b.until(find("dialog li", "1 audience, by filters"))
		b.until(find("dialog li", "Without "+name))
		b.pictures("uses")
		b.expected = append(b.expected, "status of 409")
		b.click("dialog button", "Delete the tag")
		b.shows("This dynamic audience becomes static with the contacts it has now:")
		b.until(find("dialog li", "Without "+name))
		b.pictures("uses-force")
		b.click("dialog button", "Cancel")
		b.until(find("dialog .notice", "Nothing was changed."))
		if got := shared.get(t, audience)["type"]; got != "dynamic" {
			t.Errorf("the audience is %v although somebody said no", got)
		}
		b.click("dialog button", "Delete the tag")
		b.click("dialog button", "Make it static and go on")
		b.until(`!document.querySelector('dialog') && ![...document.querySelectorAll('main tr')].some((r) => r.innerText.includes(` + quote(name) + `))`)
		if got := shared.get(t, audience); got["type"] != "static" || got["contact_count"] != before {
			t.Errorf("the audience is %v with %v contacts, want %v", got["type"], got["contact_count"], before)
		}
	}
}

// TestDeleteUsedOthers reads what hangs on an account, a field, a template, an audience, a user and a view.
func TestDeleteUsedOthers(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	b.expected = append(b.expected, "status of 409")
	name := fmt.Sprint("Hangs ", b.number)
	owner := shared.create(t, "/v1/users", map[string]any{"email": fmt.Sprintf("hangs%d@northwind.example", b.number), "first_name": "Hanna", "access": "write"})
	campaign, audience, _ := waiting(t, b, owner)
	account := shared.create(t, "/v1/accounts", map[string]any{"name": name})
	shared.create(t, "/v1/opportunities", map[string]any{"name": "Deal of " + name, "account_id": account})
	field := fmt.Sprint("hangs_", b.number)
	shared.create(t, "/v1/fields", map[string]any{"entity": "accounts", "key": field, "label": name, "data_type": "text"})
	shared.create(t, "/v1/views", map[string]any{"entity": "accounts", "name": "Columns of " + name, "columns": []string{"custom_field_" + field}})

	b.visit("/accounts/" + account)
	b.click(".heading button", "Delete…")
	b.until(find("dialog li", "1 opportunity"))
	b.until(find("dialog li", "Deal of "+name))
	b.click("dialog button", "Delete this account")
	b.until(find("dialog [role=alert]", "An opportunity refers to this record."))
	b.pictures("uses-refused")
	b.click("dialog button", "Cancel")

	b.visit("/settings/fields")
	b.clickIn(name, "button", "Delete…")
	b.until(find("dialog li", "1 view, by filters or columns"))
	b.click("dialog button", "Delete the field")
	b.until(`!document.querySelector('dialog')`)

	waits := fmt.Sprint("Waits ", b.number)
	template := fmt.Sprint(shared.get(t, "/v1/campaigns/"+campaign)["template_id"])
	for path, kind := range map[string]string{"/templates/" + template: "template", "/audiences/" + audience: "audience"} {
		b.visit(path)
		b.click(".heading button", "Delete…")
		b.until(find("dialog li", "1 campaign"))
		b.until(find("dialog li", waits))
		b.click("dialog button", "Delete the "+kind)
		b.until(find("dialog [role=alert]", ""))
		b.click("dialog button", "Cancel")
	}

	b.visit("/settings/users")
	b.clickIn(fmt.Sprintf("hangs%d@", b.number), "button", "Deactivate…")
	b.until(find("dialog li", "1 campaign, as sender"))
	b.until(find("dialog li", waits))
	b.click("dialog button", "Deactivate")
	b.until(`!document.querySelector('dialog')`)
	shared.call(t, http.MethodPatch, "/v1/campaigns/"+campaign, map[string]any{"status": "archived"})
}

// TestBulkDeleteUsed deletes two accounts, of which a dynamic audience names one. That one stays, until the audience becomes
// static.
func TestBulkDeleteUsed(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	name := fmt.Sprint("Bulky", b.number)
	var ids []string
	for i := range 2 {
		ids = append(ids, shared.create(t, "/v1/accounts", map[string]any{"name": fmt.Sprint(name, " ", i), "industry": name}))
	}
	audience := dynamic(t, "Of "+name, "account_id", "is", ids[0])
	b.ready("/accounts?f=industry:is:" + name)
	b.click("thead input[type=checkbox]", "")
	b.click("button", "Delete…")
	b.click("dialog button.primary", "Delete 2 accounts")
	b.shows("Dynamic audiences depend on 1 record that was not deleted.")
	b.until(find("dialog td", "The filters of the dynamic audience \"Of "+name+"\" name it."))
	b.pictures("uses-bulk")
	b.click("dialog button", "Delete 1 nevertheless")
	b.shows("1 deleted")
	eventually(t, "both are deleted", func() bool { return count(t, "/v1/accounts/list", rule("industry", name)) == 0 })
	if got := shared.get(t, audience)["type"]; got != "static" {
		t.Errorf("the audience is %v", got)
	}
}

// TestMergeUsed merges two accounts although a dynamic audience names the one that goes.
func TestMergeUsed(t *testing.T) {
	b := open(t, 1280)
	b.signInAsNew()
	b.expected = append(b.expected, "status of 409")
	name := fmt.Sprint("Merged used ", b.number)
	keep := shared.create(t, "/v1/accounts", map[string]any{"name": name})
	gone := shared.create(t, "/v1/accounts", map[string]any{"name": name + " B"})
	audience := dynamic(t, "Of "+name, "account_id", "is", gone)
	b.visit("/accounts/duplicates?ids=" + keep + "," + gone)
	b.hit(`[...document.querySelectorAll('.compare thead th')].find((e) => e.querySelector('a').innerText === ` + quote(name) + `).querySelector('input')`)
	b.click("main button.primary", "Merge 1 account")
	b.shows("A dynamic audience depends on it")
	b.click("dialog button", "Cancel")
	b.until(find(".toast", "Nothing was changed."))
	b.click("main button.primary", "Merge 1 account")
	b.click("dialog button", "Make it static and go on")
	b.until(find(".toast", "1 account merged"))
	if got := shared.get(t, audience)["type"]; got != "static" {
		t.Errorf("the audience is %v", got)
	}
}
