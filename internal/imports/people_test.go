package imports_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// testdata/people has exports of usual programs with fictional people. The headers are real. Beside each file are the people
// that it has, with the fields that are not empty. An account that is named has its own fields beside it.

// comparedFields are the fields in which people are compared.
var comparedFields = []string{
	"first_name", "last_name", "email", "title", "phone_number", "linkedin_url", "location", "city", "country", "notes", "tags",
	"account_name", "account_website", "account_industry", "account_employee_count", "account_annual_revenue", "account_phone_number", "account_linkedin_url", "account_country",
}

// peopleIn returns the contacts of an organization with their accounts and the names of their tags, by name.
func peopleIn(org *apptest.Org) map[string]map[string]string {
	all := func(entity string) (records []map[string]any) {
		for _, r := range org.Read.Post("/v1/"+entity+"/list", map[string]any{"page_size": 100}).Is(200).Value("data").([]any) {
			records = append(records, r.(map[string]any))
		}
		return records
	}
	byID := map[any]map[string]any{}
	for _, entity := range []string{"accounts", "tags"} {
		for _, r := range all(entity) {
			byID[r["id"]] = r
		}
	}
	people := map[string]map[string]string{}
	for _, c := range all("contacts") {
		person := map[string]string{}
		for _, field := range comparedFields {
			value := c[field]
			switch of, isAccount := strings.CutPrefix(field, "account_"); {
			case isAccount:
				value = byID[c["account_id"]][of]
			case field == "tags":
				var names []string
				for _, id := range c["tags"].([]any) {
					names = append(names, fmt.Sprint(byID[id]["name"]))
				}
				value = strings.Join(names, ",")
			}
			if n, is := value.(float64); is {
				value = fmt.Sprintf("%.0f", n)
			}
			if value != nil && value != "" {
				person[field] = fmt.Sprint(value)
			}
		}
		people[person["first_name"]+" "+person["last_name"]] = person
	}
	return people
}

// TestPeople imports the collection and counts the people and the fields that are right. No value may be wrong, and none
// may be missing that the report says nothing about.
func TestPeople(t *testing.T) {
	app := apptest.New(t)
	wanted, err := filepath.Glob("testdata/people/*.want.json")
	if err != nil || len(wanted) < 60 {
		t.Fatalf("%d files, %v", len(wanted), err)
	}
	people, rightPeople, fields, rightFields := 0, 0, 0, 0
	for _, path := range wanted {
		name := strings.TrimSuffix(filepath.Base(path), ".want.json")
		raw, err := os.ReadFile(path)
		var want []map[string]string
		if err == nil {
			err = json.Unmarshal(raw, &want)
		}
		files, _ := filepath.Glob(strings.TrimSuffix(path, ".want.json") + ".*")
		content, _ := os.ReadFile(files[0])
		if err != nil || len(files) != 2 || len(content) == 0 {
			t.Fatal(name, files, err)
		}
		org := app.Org("Acme " + name)
		form := apptest.NewForm(string(content), `{"entity": "contacts", "create_missing": ["tags", "accounts"]}`)
		form.Name = filepath.Base(files[0])
		id := org.Write.Post("/v1/imports", form).Is(202).ID()
		app.Work()
		report := org.Read.Get("/v1/imports/" + id).Is(200)
		if report.Text("data.status") != "completed" || report.Value("data.encoding_unsure") != false {
			t.Errorf("%s: %s", name, report.Body)
		}
		got := peopleIn(org)
		if len(got) > len(want) {
			t.Errorf("%s: there are %d people, want %d: %v", name, len(got), len(want), got)
		}
		for _, person := range want {
			found := got[person["first_name"]+" "+person["last_name"]]
			people++
			isRight := true
			for _, field := range comparedFields {
				if person[field] == "" && found[field] == "" {
					continue
				}
				fields++
				if found[field] == person[field] {
					rightFields++
					continue
				}
				isRight = false
				t.Logf("%s: %s of %s is %q, want %q", name, field, person["last_name"], found[field], person[field])
				if found[field] != "" || report.Int("data.values_dropped")+report.Int("data.skipped") == 0 {
					t.Errorf("%s: nothing is said of %s of %s: %s", name, field, person["last_name"], report.Body)
				}
			}
			if isRight {
				rightPeople++
			}
		}
	}
	t.Logf("%d files: %d of %d people and %d of %d fields are right", len(wanted), rightPeople, people, rightFields, fields)
	if 100*rightPeople < 98*people || 100*rightFields < 97*fields {
		t.Error("that is too few")
	}
}
