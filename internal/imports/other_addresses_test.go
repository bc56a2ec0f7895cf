package imports_test

import (
	"fmt"
	"testing"

	"prospector/internal/apptest"
)

// TestOtherAddresses checks that imports keep further addresses and numbers, and find people by them.
func TestOtherAddresses(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	contact := func(email, want string) {
		t.Helper()
		org.Read.Post("/v1/contacts/list", fmt.Sprintf(`{"filters": [{"field": "email", "condition": "is", "value": %q}]}`, email)).Has(200, `{"data": [`+want+`]}`)
	}
	// Left-over addresses and numbers of several columns, and of one cell.
	file := "First Name,Last Name,Work email,Personal email,Phone,Mobile\nAda,Berg,ada@acme.example,ada@home.example,+49 30 1111111,+49 170 2222222\nBo,Stone,bo@acme.example; bo@old.example,,,+49 170 3333333\n"
	imported(t, app, org, "contacts", file, "").Has(200, `{"data": {"added": 2, "values_dropped": 0}}`)
	contact("ada@acme.example", `{"other_emails": ["ada@home.example"], "phone_number": "+49 30 1111111", "other_phones": ["+49 170 2222222"]}`)
	contact("bo@acme.example", `{"other_emails": ["bo@old.example"], "phone_number": "+49 170 3333333", "other_phones": []}`)
	imported(t, app, org, "contacts", file, "").Has(200, `{"data": {"added": 0, "updated": 0, "unchanged": 2}}`)

	// A row finds a contact by another address, fills what is empty there, and never swaps the address.
	imported(t, app, org, "contacts", "Name,Email,Title,Phone\nAda Berg,ADA@home.example,CEO,+49 30 9999999\n", "").Has(200, `{"data": {"added": 0, "updated": 1}}`)
	contact("ada@acme.example", `{"title": "CEO", "phone_number": "+49 30 1111111", "other_emails": ["ada@home.example"]}`)
	imported(t, app, org, "contacts", "Name,Email,Title\nAda Berg,ada@home.example,CTO\n", "").Has(200, `{"data": {"added": 0, "updated": 0, "unchanged": 1}}`)
	// The other way round: the row has the stored address as another one.
	imported(t, app, org, "contacts", "Name,Work email,Personal email\nAda Berg,ada@new.example,ada@acme.example\n", "").Has(200, `{"data": {"added": 0, "updated": 1}}`)
	contact("ada@acme.example", `{"other_emails": ["ada@home.example", "ada@new.example"]}`)
	// Somebody else with the address is another contact, and a role address finds nobody.
	imported(t, app, org, "contacts", "Name,Email\nZoe Quint,ada@home.example\n", "").Has(200, `{"data": {"added": 1}}`)
	imported(t, app, org, "contacts", "Name,Work email,Personal email\nPia Info,pia@acme.example,info@acme.example\nMax Info,max@acme.example,info@acme.example\n", "").Has(200, `{"data": {"added": 2}}`)

	// Rows add addresses and remove none, up to ten.
	for i := range 12 {
		imported(t, app, org, "contacts", fmt.Sprintf("Email,Personal email\nbo@acme.example,bo%d@x.example\n", i), "")
	}
	got := org.Read.Post("/v1/contacts/list", `{"filters": [{"field": "email", "condition": "is", "value": "bo@acme.example"}]}`).Is(200)
	if others := got.Value("data.0.other_emails").([]any); len(others) != 10 || others[0] != "bo@old.example" {
		t.Errorf("%v", others)
	}
	for cell, want := range map[string]string{
		"030 1234567; 0171 7654321":          `{"phone_number": "030 1234567", "other_phones": ["0171 7654321"]}`,
		"+49 170 5555555 ::: +49 30 7777777": `{"phone_number": "+49 170 5555555", "other_phones": ["+49 30 7777777"]}`,
		"030/1234567 / 0171/7654321":         `{"phone_number": "030/1234567", "other_phones": ["0171/7654321"]}`,
		"\"030 1234567, ext. 12\"":           `{"phone_number": "030 1234567, ext. 12", "other_phones": []}`,
		"\"=\"\"0049301234567\"\"\"":         `{"phone_number": "0049301234567", "other_phones": []}`,
		"\"030 1234567\n0171 7654321\"":      `{"phone_number": "030 1234567", "other_phones": ["0171 7654321"]}`,
		"siehe Notiz":                        `{"phone_number": null, "other_phones": []}`,
	} {
		app := apptest.New(t)
		org := app.Org("Phones")
		imported(t, app, org, "contacts", "Email,Phone\nada@x.example,"+cell+"\n", "").Has(200, `{"data": {"added": 1}}`)
		org.Read.Post("/v1/contacts/list", nil).Has(200, `{"data": [`+want+`]}`)
	}
	// Accounts have one number, so that the cell stays as it is.
	imported(t, app, org, "accounts", "Name,Phone\nAcme,030 1234567; 0171 7654321\n", "").Has(200, `{"data": {"added": 1, "values_dropped": 0}}`)
	org.Read.Post("/v1/accounts/list", nil).Has(200, `{"data": [{"phone_number": "030 1234567; 0171 7654321"}]}`)
	// Who has opted out with one of them has opted out.
	imported(t, app, org, "contacts", "Name,Work email,Personal email,Unsubscribed\nEve Oz,eve@acme.example,eve@home.example,yes\n", "")
	if list := org.Read.Post("/v1/suppressions/list", `{"sort": "email"}`).Is(200).Column("email"); fmt.Sprint(list) != "[eve@acme.example eve@home.example]" {
		t.Errorf("suppressed are %v", list)
	}
}
