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
			groups = append(groups, fmt.Sprintf("%v %v %v %v: %s", group["score"], group["by"], group["value"], group["reasons"], strings.Join(names, ", ")))
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
			"0.94 linkedin_url linkedin.com/in/homer [same_linkedin_url missing_name]: T5, T6",
			"0.9 email hank@globex.example [same_email same_account same_name missing_name]: T0, T1, T2",
		}; !slices.Equal(got, want) {
			t.Errorf("contacts: %q, want %q", got, want)
		}
		if got, want := duplicates(t, org, "accounts", "name", size+1), []string{
			"0.98 website globex.example [same_website same_country same_name]: Globex, GLOBEX",
			"0.88 linkedin_url linkedin.com/company/initech [same_linkedin_url different_names]: Initech, Initrode",
		}; !slices.Equal(got, want) {
			t.Errorf("accounts: %q, want %q", got, want)
		}
	}
	if got := duplicates(t, other, "contacts", "title", 10); got != nil {
		t.Errorf("another organization has %q", got)
	}
	org.Read.Post("/v1/contacts/duplicates", `{"next": "nowhere"}`).Fails(422, "validation_failed", `next: "nowhere" is not the cursor of a page`)
}

// TestDuplicatePairs creates two or three records each, and expects one group or none.
func TestDuplicatePairs(t *testing.T) {
	app := apptest.New(t)
	for name, c := range map[string]struct {
		entity, records string
		want            string // of the groups: score, by, reasons and count
	}{
		"nickname":                  {"contacts", `{"account_id": "{account}", "first_name": "Bob", "last_name": "Miller"} {"account_id": "{account}", "first_name": "Robert", "last_name": "Miller"}`, "0.86 name [same_account nickname] 2"},
		"nickname without account":  {"contacts", `{"first_name": "Bob", "last_name": "Miller"} {"first_name": "Robert", "last_name": "Miller"}`, ""},
		"typo":                      {"contacts", `{"account_id": "{account}", "first_name": "Ann", "last_name": "Schneider"} {"account_id": "{account}", "first_name": "Ann", "last_name": "Schnieder"}`, "0.83 name [same_account typo] 2"},
		"umlaut and phone":          {"contacts", `{"first_name": "Jörg", "last_name": "Müller", "phone_number": "+49 30 1234567"} {"first_name": "Joerg", "last_name": "Mueller", "phone_number": "030 1234567"}`, "0.9 phone_number [same_phone_number same_name] 2"},
		"shared number":             {"contacts", `{"first_name": "Ann", "last_name": "Kern", "phone_number": "030 1234567"} {"first_name": "A.", "last_name": "Kern", "phone_number": "030 1234567"} {"first_name": "Bo", "last_name": "Chen", "phone_number": "030 1234567"}`, ""},
		"married":                   {"contacts", `{"first_name": "Ann", "last_name": "Kern", "linkedin_url": "linkedin.com/in/ann"} {"first_name": "Ann", "last_name": "Vogt", "linkedin_url": "linkedin.com/in/ann"}`, "0.91 linkedin_url [same_linkedin_url other_last_name] 2"},
		"role address":              {"contacts", `{"first_name": "Ann", "last_name": "Kern", "email": "info@x.example"} {"first_name": "Bo", "last_name": "Chen", "email": "info@x.example"}`, ""},
		"one address of two people": {"contacts", `{"first_name": "Ann", "last_name": "Kern", "email": "kern@x.example"} {"first_name": "Bo", "last_name": "Kern", "email": "kern@x.example"}`, "0.85 email [same_email different_names] 2"},
		"two LinkedIn URLs":         {"contacts", `{"first_name": "Ann", "email": "a@x.example", "linkedin_url": "linkedin.com/in/ann"} {"first_name": "Ann", "email": "a@x.example", "linkedin_url": "linkedin.com/in/ann2"}`, ""},
		"John and Jane and J":       {"contacts", `{"account_id": "{account}", "first_name": "John", "last_name": "Smith"} {"account_id": "{account}", "first_name": "Jane", "last_name": "Smith"} {"account_id": "{account}", "first_name": "J.", "last_name": "Smith"}`, ""},
		"J and one address of two":  {"contacts", `{"first_name": "John", "last_name": "Smith", "email": "smith@x.example"} {"first_name": "Jane", "last_name": "Smith", "email": "smith@x.example"} {"first_name": "J.", "last_name": "Smith", "email": "smith@x.example"}`, "0.85 email [same_email initial different_names] 3"},
		"a page of a company":       {"contacts", `{"first_name": "Ann", "last_name": "Alpha", "linkedin_url": "linkedin.com/company/acme"} {"first_name": "Ann", "last_name": "Gamma", "linkedin_url": "linkedin.com/company/acme"}`, ""},
		"three legal forms":         {"accounts", `{"name": "Umbrella GmbH"} {"name": "Umbrella"} {"name": "Umbrella AG"}`, "0.84 name [same_name legal_form] 2"},
		"legal form":                {"accounts", `{"name": "Umbrella GmbH"} {"name": "UMBRELLA", "country": "Germany"}`, "0.84 name [same_name legal_form] 2"},
		"other legal form":          {"accounts", `{"name": "Umbrella GmbH"} {"name": "Umbrella AG"}`, ""},
		"other country":             {"accounts", `{"name": "Umbrella", "country": "France"} {"name": "Umbrella", "country": "Germany"}`, ""},
		"other website":             {"accounts", `{"name": "Umbrella", "website": "umbrella.example"} {"name": "Umbrella", "website": "umbrella2.example"}`, ""},
		"country of one website":    {"accounts", `{"name": "Umbrella", "country": "France", "website": "umbrella.example"} {"name": "Umbrella Inc.", "country": "Germany", "website": "www.umbrella.example"}`, "0.88 website [same_website same_name legal_form other_country] 2"},
	} {
		t.Run(name, func(t *testing.T) {
			org := app.Org(strings.ReplaceAll(name, " ", "-"))
			account := org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201).ID()
			for rest := strings.ReplaceAll(c.records, "{account}", account); rest != ""; {
				body, after, _ := strings.Cut(rest, "} ")
				org.Write.In(t).Post("/v1/"+c.entity, strings.TrimSuffix(body, "}")+"}").Is(201)
				rest = after
			}
			page := org.Read.In(t).Post("/v1/"+c.entity+"/duplicates", nil).Is(200)
			var got []string
			for _, g := range page.Value("data.groups").([]any) {
				group := g.(map[string]any)
				got = append(got, fmt.Sprintf("%v %v %v %v", group["score"], group["by"], group["reasons"], group["count"]))
			}
			if strings.Join(got, "; ") != c.want || page.Int("data.total") != len(got) {
				t.Errorf("got %q of %d, want %q", got, page.Int("data.total"), c.want)
			}
		})
	}
}

// TestDismissDuplicates takes records out of a group. It stays so when one of them is merged into another record, until it is
// taken back.
func TestDismissDuplicates(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	var ids []any
	for range 3 {
		ids = append(ids, org.Write.Post("/v1/contacts", `{"first_name": "Ann", "email": "ann@x.example"}`).Is(201).ID())
	}
	counts := func() (counts []int) {
		for _, g := range org.Read.Post("/v1/contacts/duplicates", nil).Is(200).Value("data.groups").([]any) {
			counts = append(counts, int(g.(map[string]any)["count"].(float64)))
		}
		return counts
	}
	dismiss := func(dismissed any, ids ...any) int {
		return org.Write.Post("/v1/contacts/duplicates/dismiss", map[string]any{"ids": ids, "dismissed": dismissed}).Is(200).Int("data.pairs")
	}
	if got := counts(); !slices.Equal(got, []int{3}) {
		t.Fatalf("groups of %v", got)
	}
	if n := dismiss(true, ids[0], ids[2]); n != 1 || !slices.Equal(counts(), []int{2}) {
		t.Errorf("%d pairs dismissed, groups of %v", n, counts())
	}
	if n := dismiss(true, ids[2], ids[0]); n != 0 {
		t.Error("the same pair is dismissed again")
	}
	app.Restart()
	org.Write.Post(fmt.Sprintf("/v1/contacts/%s/merge", ids[1]), map[string]any{"ids": ids[:1]}).Is(200)
	if got := counts(); got != nil {
		t.Errorf("after a merge there are groups of %v", got)
	}
	if n := dismiss(false, ids[1], ids[2]); n != 1 || !slices.Equal(counts(), []int{2}) {
		t.Errorf("%d pairs taken back, groups of %v", n, counts())
	}
	org.Write.Post("/v1/contacts/duplicates/dismiss", map[string]any{"ids": ids[1:2]}).Fails(422, "validation_failed", "ids: must have at least two records")
	org.Write.Post("/v1/contacts/duplicates/dismiss", map[string]any{"ids": ids[:2]}).Fails(422, "validation_failed", fmt.Sprintf("ids[0]: %s does not exist", ids[0]))
	other.Write.Post("/v1/contacts/duplicates/dismiss", map[string]any{"ids": ids[1:]}).Fails(422, "validation_failed", "does not exist")
	org.Read.Post("/v1/contacts/duplicates/dismiss", map[string]any{"ids": ids[1:]}).Fails(403, "forbidden", "")
	org.Read.Post("/v1/contacts/duplicates", `{"min_score": 0.4}`).Fails(422, "validation_failed", "min_score: must be from 0.5 to 1, not 0.4")
}

// TestManyDuplicates reads more records than one transaction does, and a group with more than it shows.
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
	add(1500, func(int) string { return "info@globex.example" }) // of a role
	add(1500, func(int) string { return "ann@globex.example" })
	got := duplicates(t, org, "contacts", "title", 50)
	if len(got) != 201 || !strings.HasPrefix(got[200], "0.94 email ann@globex.example [same_email missing_name]: ") || strings.Count(got[200], "T") != 100 {
		t.Errorf("%d groups", len(got))
	}
	page := org.Read.Post("/v1/contacts/duplicates", `{"page_size": 100}`).Is(200)
	if page.Int("data.total") != 201 {
		t.Errorf("the total is %d", page.Int("data.total"))
	}
	last := org.Read.Post("/v1/contacts/duplicates", map[string]any{"page_size": 100, "next": org.Read.Post("/v1/contacts/duplicates", map[string]any{"page_size": 100, "next": page.Text("data.next")}).Is(200).Text("data.next")})
	last.Has(200, `{"data": {"groups": [{"count": 1500}], "total": 201, "next": null}}`)
}
