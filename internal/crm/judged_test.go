package crm_test

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// judgedRecord is a record of the collection.
type judgedRecord struct {
	pair, why string
	same      bool
	person
}

func readJudged(t *testing.T) (records []judgedRecord) {
	t.Helper()
	for _, file := range []string{judgedFile, hardFile} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if len(f) != 9 {
				t.Fatalf("%s: %q", file, line)
			}
			records = append(records, judgedRecord{f[0], f[2], f[1] == "yes", person{f[3], f[4], f[5], f[6], f[7], f[8]}})
		}
	}
	return records
}

// batch creates records and returns their ids.
func batch(org *apptest.Org, entity string, records []map[string]any) (ids []string) {
	for part := range slices.Chunk(records, 1000) {
		res := org.Write.Post("/v1/"+entity+"/batch", map[string]any{"records": part}).Is(200)
		for _, result := range res.Value("data.results").([]any) {
			ids = append(ids, result.(map[string]any)["id"].(string))
		}
	}
	return ids
}

// addJudged creates the contacts of the collection, in random order of their pairs, and returns their ids.
func addJudged(org *apptest.Org, records []judgedRecord) (ids []string) {
	names := map[string]bool{}
	for _, r := range records {
		names[r.account] = true
	}
	delete(names, "")
	sorted := slices.Sorted(maps.Keys(names))
	var accounts, contacts []map[string]any
	for _, name := range sorted {
		accounts = append(accounts, map[string]any{"name": name})
	}
	of := map[string]string{}
	for i, id := range batch(org, "accounts", accounts) {
		of[sorted[i]] = id
	}
	for _, r := range records {
		contact := map[string]any{"title": "T"}
		for field, value := range map[string]string{"account_id": of[r.account], "first_name": r.first, "last_name": r.last, "email": r.email, "phone_number": r.phone, "linkedin_url": r.linkedIn} {
			if value != "" {
				contact[field] = value
			}
		}
		contacts = append(contacts, contact)
	}
	return batch(org, "contacts", contacts)
}

// TestJudgedDuplicates finds the people of the collection that are there twice, and hardly anybody who is not.
func TestJudgedDuplicates(t *testing.T) {
	records := readJudged(t)
	app := apptest.New(t)
	org := app.Org("Acme")
	of := map[string]int{}
	for i, id := range addJudged(org, records) {
		of[id] = i
	}
	type count struct{ pairs, found int }
	byWhy := map[string]count{}
	first := map[string]int{}
	pairs, same := 0, 0
	for i, r := range records {
		if _, is := first[r.pair]; !is {
			first[r.pair] = i
			pairs++
			c := byWhy[r.why]
			c.pairs++
			byWhy[r.why] = c
			if r.same {
				same++
			}
		}
	}
	if pairs < 2000 {
		t.Fatalf("the collection has %d pairs", pairs)
	}
	right, wrong, next := 0, 0, any(nil)
	for {
		page := org.Read.Post("/v1/contacts/duplicates", map[string]any{"next": next, "page_size": 100}).Is(200)
		for _, g := range page.Value("data.groups").([]any) {
			group := g.(map[string]any)
			found := group["records"].([]any)
			for i := range found {
				for j := range i {
					a, b := records[of[found[i].(map[string]any)["id"].(string)]], records[of[found[j].(map[string]any)["id"].(string)]]
					c := byWhy[a.why]
					c.found++
					byWhy[a.why] = c
					if a.pair == b.pair && a.same {
						right++
					} else {
						wrong++
						if a.why != "family address" {
							t.Logf("%v %v: %+v and %+v", group["score"], group["reasons"], a, b)
						}
					}
				}
			}
		}
		if next = page.Value("data.next"); next == nil {
			break
		}
	}
	precision, recall := float64(right)/float64(right+wrong), float64(right)/float64(same)
	t.Logf("%d pairs, %d of them the same: precision %.3f, recall %.3f", pairs, same, precision, recall)
	for _, why := range slices.SortedFunc(maps.Keys(byWhy), cmp.Compare) {
		t.Logf("%-30s %d of %d", why, byWhy[why].found, byWhy[why].pairs)
	}
	if precision < 0.98 || recall < 0.85 {
		t.Error("too many are wrong or missed")
	}
}
