package bulk_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// contacts creates n contacts, of which every third has the title CTO.
func contacts(org *apptest.Org, n int) (ids []string) {
	for from := 0; from < n; from += 500 {
		var records []string
		for i := from; i < min(n, from+500); i++ {
			records = append(records, fmt.Sprintf(`{"email": "c%d@x.example", "title": %q}`, i, []string{"CTO", "CEO", "CFO"}[i%3]))
		}
		res := org.Write.Post("/v1/contacts/batch", `{"records": [`+strings.Join(records, ",")+`]}`).Is(200)
		for i := range records {
			ids = append(ids, res.Text(fmt.Sprintf("data.results.%d.id", i)))
		}
	}
	return ids
}

func total(org *apptest.Org, rule string) int {
	return org.Read.Post("/v1/contacts/list", `{"filters": [`+rule+`], "page_size": 1}`).Is(200).Int("pagination.total_count")
}

func tag(org *apptest.Org, object, name string) string {
	return org.Write.Post("/v1/tags", map[string]string{"name": name, "color": "red", "object_type": object}).Is(201).ID()
}

// counts checks the result of an Operation.
func counts(t *testing.T, org *apptest.Org, id, status string, matched, changed, failed int) *apptest.Response {
	t.Helper()
	res := org.Read.Get("/v1/operations/" + id).Is(200)
	if got := fmt.Sprint(res.Text("data.status"), res.Int("data.matched"), res.Int("data.changed"), res.Int("data.failed")); got != fmt.Sprint(status, matched, changed, failed) {
		t.Errorf("the operation is %s, want %s", got, fmt.Sprint(status, matched, changed, failed))
	}
	return res
}

// TestUpdate changes what a filter selects, over several transactions. Records that came later are not changed, and
// those that were deleted meanwhile are counted.
func TestUpdate(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	const n = 900
	ids := contacts(org, n)
	champion, old := tag(org, "contact", "Champion"), tag(org, "contact", "Old")
	account := org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201).ID()
	org.Write.Patch("/v1/contacts/"+ids[0], fmt.Sprintf(`{"tags": [%q, %q]}`, champion, old)).Is(200)
	res := org.Write.Post("/v1/contacts/bulk", fmt.Sprintf(`{"filters": [{"field": "title", "condition": "is", "value": "CTO"}],
		"set": {"account_id": %q, "location": "Bern", "phone_number": null}, "add_tags": ["champion"], "remove_tags": [%q], "expect": 300}`, account, old)).Is(202, `{"data": {
		"id": "<any>", "created_at": "<any>", "updated_at": "<any>", "kind": "update", "entity": "contacts", "status": "running", "dry_run": false, "progress": 0, "matched": 300,
		"changed": 0, "failed": 0, "problems": [], "user_id": "<any>", "finished_at": null,
		"undoable_until": null, "undone_by": null, "undo_of": null, "undone": 0, "kept": null, "reason": null, "erased": [], "left": [], "left_omitted": 0}, "meta": {"timestamp": "<any>"}}`)
	org.Write.Delete("/v1/contacts/" + ids[3]).Is(204)
	late := org.Write.Post("/v1/contacts", `{"email": "late@x.example", "title": "CTO"}`).Is(201).ID()
	app.Clock.Advance(time.Minute)
	app.Restart()
	app.Work()
	done := counts(t, org, res.ID(), "completed", 300, 299, 1)
	if done.Text("data.problems.0.code") != "not_found" || done.Int("data.problems.0.count") != 1 || done.Text("data.problems.0.first_id") != ids[3] ||
		done.Value("data.progress") != 1.0 || done.Text("data.finished_at") == "" || done.Text("data.user_id") != org.User.String() {
		t.Errorf("the operation is %s", done.Body)
	}
	if got := total(org, `{"field": "tags", "condition": "is", "value": "Champion"}, {"field": "location", "condition": "is", "value": "Bern"}, {"field": "account_id", "condition": "is", "value": "`+account+`"}`); got != 299 {
		t.Errorf("%d contacts are changed", got)
	}
	if got := total(org, `{"field": "tags", "condition": "is", "value": "Old"}`); got != 0 {
		t.Errorf("%d contacts have the tag that was removed", got)
	}
	if got := org.Read.Get("/v1/contacts/" + late).Is(200).Value("data.location"); got != nil {
		t.Error("a contact that came later was changed")
	}
	history := org.Read.Get("/v1/contacts/" + ids[6] + "/history").Is(200)
	if history.Text("data.0.operation") != "bulk_contacts" || history.Text("data.0.user_id") != org.User.String() {
		t.Errorf("the history is %s", history.Body)
	}

	// What has the values already is not changed again.
	again := org.Write.Post("/v1/contacts/bulk", fmt.Sprintf(`{"ids": [%q, %q], "set": {"location": "Bern"}}`, ids[6], late)).Is(202).ID()
	app.Work()
	counts(t, org, again, "completed", 2, 1, 0)
	if list := org.Read.Post("/v1/operations/list", `{"filters": [{"field": "status", "condition": "is", "value": "completed"}]}`).Is(200); list.Int("pagination.total_count") != 2 || list.Text("data.0.id") != again {
		t.Errorf("the operations are %s", list.Body)
	}
}

// TestProblems groups the problems of records that their kind refuses.
func TestProblems(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	for i := range 4 {
		org.Write.Post("/v1/meetings", fmt.Sprintf(`{"title": "M", "starts_at": "2026-04-0%dT09:00:00Z"}`, 1+i)).Is(201)
	}
	id := org.Write.Post("/v1/meetings/bulk", `{"filters": [], "set": {"ends_at": "2026-04-02T10:00:00Z"}}`).Is(202).ID()
	app.Work()
	if res := counts(t, org, id, "completed", 4, 2, 2); res.Int("data.problems.0.count") != 2 || res.Text("data.problems.0.message") != "ends_at: must not be before starts_at" {
		t.Errorf("the operation is %s", res.Body)
	}
}

// TestDelete deletes records to the trash.
func TestDelete(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	ids := contacts(org, 120)
	id := org.Write.Post("/v1/contacts/bulk", `{"search": "cto", "delete": true}`).Is(202).ID()
	app.Work()
	counts(t, org, id, "completed", 40, 40, 0)
	if got := total(org, ``); got != 80 {
		t.Errorf("%d contacts are left", got)
	}
	org.Write.Post("/v1/contacts/"+ids[0]+"/restore", nil).Is(200)
	account := org.Write.Post("/v1/accounts", `{"name": "Globex"}`).Is(201).ID()
	org.Write.Post("/v1/opportunities", `{"name": "Deal", "account_id": "`+account+`"}`).Is(201)
	id = org.Write.Post("/v1/accounts/bulk", `{"filters": [], "delete": true}`).Is(202).ID()
	app.Work()
	if res := counts(t, org, id, "completed", 1, 0, 1); res.Text("data.problems.0.code") != "in_use" {
		t.Errorf("the operation is %s", res.Body)
	}
}

// TestDryRun counts without changing anything.
func TestDryRun(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	contacts(org, 30)
	res := org.Write.Post("/v1/contacts/bulk", `{"filters": [{"field": "title", "condition": "is", "value": "CTO"}], "delete": true, "dry_run": true}`).Is(202)
	if res.Text("data.status") != "completed" || res.Int("data.matched") != 10 || res.Int("data.changed") != 0 {
		t.Errorf("the dry run is %s", res.Body)
	}
	app.Work()
	if got := total(org, ``); got != 30 {
		t.Errorf("%d contacts are left", got)
	}
	org.Write.Post("/v1/contacts/bulk", `{"filters": [], "delete": true, "expect": 29}`).Fails(409, "count_changed", "the selection has 30 records, not 29")
	org.Write.Post("/v1/contacts/bulk", `{"filters": [{"field": "email", "condition": "is", "value": "nobody@x.example"}], "delete": true, "expect": 0}`).Is(202)
}

// TestCancel ends an Operation before its job has run.
func TestCancel(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	contacts(org, 600)
	id := org.Write.Post("/v1/contacts/bulk", `{"filters": [], "set": {"title": "COO"}}`).Is(202).ID()
	other.Write.Post("/v1/operations/"+id+"/cancel", nil).Fails(404, "not_found", "")
	org.Write.Post("/v1/operations/"+id+"/cancel", nil).Is(200)
	app.Work()
	counts(t, org, id, "cancelled", 600, 0, 0)
	if got := total(org, `{"field": "title", "condition": "is", "value": "COO"}`); got != 0 {
		t.Errorf("%d contacts are changed", got)
	}
	org.Write.Post("/v1/operations/"+id+"/cancel", nil).Fails(409, "invalid_transition", "the operation is cancelled")
	// Operations are refused while too many are waiting, and kept for 30 days.
	for range 20 {
		org.Write.Post("/v1/contacts/bulk", `{"filters": [], "set": {"title": "COO"}}`).Is(202)
	}
	org.Write.Post("/v1/contacts/bulk", `{"filters": [], "set": {"title": "COO"}}`).Fails(429, "rate_limited", "20 operations are running")
	app.Work()
	app.Clock.Advance(30*24*time.Hour + time.Second)
	org.Write.Post("/v1/contacts/bulk", `{"filters": [], "delete": true, "dry_run": true}`).Is(202)
	if got := org.Read.Post("/v1/operations/list", `{}`).Is(200).Int("pagination.total_count"); got != 2 {
		t.Errorf("%d operations are left", got)
	}
}

// TestRefusals checks requests before anything is accepted.
func TestRefusals(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	id := contacts(org, 1)[0]
	tag(org, "account", "Gold")
	before := org.Dump()
	for body, messages := range map[string][]string{
		`{}`:                          {"ids: required, unless filters or search is given", "set: required"},
		`{"set": {"title": "x"}}`:     {"ids: required, unless filters or search is given"},
		`{"filters": []}`:             {"set: required, unless add_tags, remove_tags or delete is given"},
		`{"filters": [], "set": {}}`:  {"set: must not be empty"},
		`{"filters": [], "set": []}`:  {"set: must be an object"},
		`{"ids": [], "delete": true}`: {"ids: must not be empty"},
		`{"ids": ["{id}"], "filters": [], "delete": true}`:        {"ids: must not be combined with filters or search"},
		`{"filters": [], "delete": true, "set": {"title": "x"}}`:  {"delete: must not be combined with set"},
		`{"filters": [], "delete": true, "add_tags": ["x"]}`:      {"delete: must not be combined with set"},
		`{"filters": [], "set": {"title": 1, "size": 2}}`:         {"set.title: must be a string", "set.size: unknown field"},
		`{"filters": [], "set": {"id": "{id}"}}`:                  {"set.id: read-only field"},
		`{"filters": [], "set": {"account_id": "{id}"}}`:          {"set.account_id: does not exist"},
		`{"filters": [], "set": {"custom_field_x": 1}}`:           {"set.custom_field_x"},
		`{"filters": [], "set": {"add_tags": ["Gold"]}}`:          {"set.add_tags: give add_tags beside set"},
		`{"filters": [], "add_tags": ["Gold"]}`:                   {`add_tags[0]: "Gold" is neither an id nor a known name`},
		`{"filters": [], "remove_tags": []}`:                      {"remove_tags: must not be empty"},
		`{"filters": [], "set": {"title": "x"}, "expect": -1}`:    {"expect: must be"},
		`{"filters": [], "set": {"title": "x"}, "colour": "red"}`: {"colour: unknown field"},
	} {
		t.Run(body, func(t *testing.T) {
			res := org.Write.In(t).Post("/v1/contacts/bulk", strings.ReplaceAll(body, "{id}", id)).Fails(422, "validation_failed", "")
			for _, message := range messages {
				path, text, _ := strings.Cut(message, ": ")
				has := slices.ContainsFunc(res.Value("error.details").([]any), func(d any) bool {
					detail := d.(map[string]any)
					return strings.HasPrefix(detail["path"].(string), path) && strings.HasPrefix(detail["message"].(string), text)
				})
				if !has {
					t.Errorf("%s is missing in %s", message, res.Body)
				}
			}
		})
	}
	org.Write.Post("/v1/contacts/bulk", `{"filters": [{"field": "size", "condition": "is", "value": 1}], "delete": true}`).Fails(422, "invalid_filter", "filters[0].field")
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
}

// TestExpectedCounts changes what 100 random filters select, each with the number of a dry run, while titles change all
// the time. Either as many records are changed as the dry run said, or none.
func TestExpectedCounts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	ids := contacts(org, 120)
	titles := []string{"CTO", "CEO", "CFO", "CMO"}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		random := rand.New(rand.NewPCG(seed, 1))
		for {
			select {
			case <-stop:
				return
			default:
			}
			if res := org.Write.Patch("/v1/contacts/"+ids[random.IntN(len(ids))], fmt.Sprintf(`{"title": %q}`, titles[random.IntN(len(titles))])); res.Status != 200 {
				t.Errorf("a title is not changed: %s", res.Body)
				return
			}
		}
	}()
	random := rand.New(rand.NewPCG(seed, 2))
	agreed := 0
	for i := range 100 {
		rules := []string{
			fmt.Sprintf(`{"field": "title", "condition": "is", "value": %q}`, titles[random.IntN(len(titles))]),
			fmt.Sprintf(`{"field": "title", "condition": "is_not", "value": %q}`, titles[random.IntN(len(titles))]),
			fmt.Sprintf(`{"field": "email", "condition": "contains", "value": "c%d"}`, random.IntN(10)),
		}
		random.Shuffle(len(rules), func(a, b int) { rules[a], rules[b] = rules[b], rules[a] })
		filters := strings.Join(rules[:1+random.IntN(len(rules))], ", ")
		mark := fmt.Sprint("mark", i)
		body := fmt.Sprintf(`{"filters": [%s], "set": {"location": %q}, `, filters, mark)
		n := org.Write.Post("/v1/contacts/bulk", body+`"dry_run": true}`).Is(202).Int("data.matched")
		res := org.Write.Post("/v1/contacts/bulk", body+fmt.Sprintf(`"expect": %d}`, n))
		app.Work()
		if res.Status == 409 {
			n = 0
		} else {
			counts(t, org, res.Is(202).ID(), "completed", n, n, 0)
			agreed++
		}
		if got := total(org, fmt.Sprintf(`{"field": "location", "condition": "is", "value": %q}`, mark)); got != n {
			t.Errorf("%s: %d contacts are changed, want %d", filters, got, n)
		}
	}
	close(stop)
	<-stopped
	if agreed == 0 {
		t.Error("all changes were refused")
	}
	t.Logf("%d of 100 agreed", agreed)
}

// TestDeleteYields: deleting accounts whose contacts may join a dynamic audience does not make other writers wait until
// all of these contacts are judged.
func TestDeleteYields(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Write.Post("/v1/audiences", `{"name": "Nowhere", "type": "dynamic", "filters": [{"field": "account_id", "condition": "is_empty"}]}`).Is(201)
	const accounts, batch = 200, 25
	var records []string
	for i := range accounts {
		account := org.Write.Post("/v1/accounts", fmt.Sprintf(`{"name": "A%d"}`, i)).Is(201).ID()
		for j := range 4 {
			records = append(records, fmt.Sprintf(`{"email": "c%d@a%d.example", "account_id": %q}`, j, i, account))
		}
	}
	org.Write.Post("/v1/contacts/batch", `{"records": [`+strings.Join(records, ",")+`]}`).Is(200)
	id := org.Write.Post("/v1/accounts/bulk", `{"filters": [], "delete": true}`).Is(202).ID()
	stop := app.WriteAlways()
	app.Work()
	stop()
	counts(t, org, id, "completed", accounts, 0, accounts)
	transactions := 0
	for line := range strings.Lines(org.Dump()) {
		_, _ = fmt.Sscanf(line, "operations.log (%d)", &transactions)
	}
	if transactions < 2*accounts/batch { // without others that wait, there would be one for each batch
		t.Errorf("%d accounts were judged in %d transactions", accounts, transactions)
	}
}
