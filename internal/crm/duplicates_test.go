package crm_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
	"prospector/internal/crm"
	"prospector/internal/shape"
	"prospector/store"
)

// duplicates returns all groups as "by value: names", following the cursor.
func duplicates(t *testing.T, org *apptest.Org, entity, name string, size int) (groups []string) {
	t.Helper()
	var next any
	for {
		page := org.Read.Post("/v1/"+entity+"/duplicates", map[string]any{"next": next, "page_size": size}).Is(200)
		found := page.Value("data.groups").([]any)
		if len(found) > size {
			t.Fatalf("%d groups on a page of %d", len(found), size)
		}
		for _, g := range found {
			group := g.(map[string]any)
			var names []string
			for _, rec := range group["records"].([]any) {
				names = append(names, fmt.Sprint(rec.(map[string]any)[name]))
			}
			groups = append(groups, fmt.Sprintf("%v %v: %s", group["by"], group["value"], strings.Join(names, ", ")))
		}
		if next = page.Value("data.next"); next == nil {
			return groups
		}
	}
}

func TestDuplicates(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	account := org.Write.Post("/v1/accounts", `{"name": "Globex", "website": "https://www.globex.example/about", "country": "Germany"}`).Is(201).ID()
	for _, body := range []string{
		`{"name": "GLOBEX", "country": "germany", "website": "globex.example"}`,
		`{"name": "Globex", "country": "France"}`,
		`{"name": "Initech", "website": "linkedin.com/company/initech", "linkedin_url": "https://www.linkedin.com/company/Initech/"}`,
		`{"name": "Initrode", "website": "linkedin.com/company/initech", "linkedin_url": "linkedin.com/company/initech?x=1"}`,
	} {
		org.Write.Post("/v1/accounts", body).Is(201)
	}
	for i, body := range []map[string]any{
		{"email": "Hank@Globex.example", "first_name": "Hank", "last_name": "Scorpio", "account_id": account},
		{"email": "hank@globex.example"},
		{"first_name": "hank", "last_name": "SCORPIO", "account_id": account},
		{"first_name": "Hank", "last_name": "Scorpio"},
		{"first_name": "Hank", "last_name": "Scorpio"}, // neither of them is at an account
		{"linkedin_url": "https://linkedin.com/in/homer"},
		{"linkedin_url": "http://www.linkedin.com/in/Homer/"},
		{"email": "lonely@globex.example"},
	} {
		body["title"] = fmt.Sprint("T", i)
		org.Write.Post("/v1/contacts", body).Is(201)
	}
	other.Write.Post("/v1/contacts", `{"email": "lonely@globex.example"}`).Is(201)
	for size := range 3 {
		if got, want := duplicates(t, org, "contacts", "title", size+1), []string{
			"email hank@globex.example: T0, T1", "linkedin_url linkedin.com/in/homer: T5, T6", "name Hank Scorpio: T0, T2",
		}; !slices.Equal(got, want) {
			t.Errorf("contacts: %q, want %q", got, want)
		}
		if got, want := duplicates(t, org, "accounts", "name", size+1), []string{
			"website globex.example: Globex, GLOBEX", "linkedin_url linkedin.com/company/initech: Initech, Initrode", "name Globex: Globex, GLOBEX",
		}; !slices.Equal(got, want) {
			t.Errorf("accounts: %q, want %q", got, want)
		}
	}
	if got := duplicates(t, other, "contacts", "title", 10); got != nil {
		t.Errorf("another organization has %q", got)
	}
	org.Read.Post("/v1/contacts/duplicates", `{"next": "nowhere"}`).Fails(422, "validation_failed", `next: "nowhere" is not the cursor of a page`)
}

// TestManyDuplicates walks more keys than one transaction reads, past a group that is too large to count.
func TestManyDuplicates(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	add := func(n int, email func(i int) string) {
		err := app.Store.Update(context.Background(), org.ID, store.Actor{}, func(tx *store.Tx) error {
			for i := range n {
				if _, err := app.CRM.Contacts.Insert(tx, crm.Contact{Email: shape.Text(email(i)), Title: "T", Source: crm.SourceAPI}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		add(200, func(i int) string { return fmt.Sprintf("twice%d@globex.example", i) })
	}
	for from := 0; from < 24_000; from += 4000 {
		add(4000, func(i int) string { return fmt.Sprintf("once%d@globex.example", from+i) })
	}
	add(1500, func(int) string { return "info@globex.example" })
	got := duplicates(t, org, "contacts", "title", 50)
	if len(got) != 201 || !strings.HasPrefix(got[0], "email info@globex.example: ") || strings.Count(got[0], "T") != 100 {
		t.Errorf("%d groups", len(got))
	}
	org.Read.Post("/v1/contacts/duplicates", `{"page_size": 1}`).Has(200, `{"data": {"groups": [{"count": 1000}]}}`)
}
