package outreach_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

func TestAudienceAdd(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	people, foreign := apptest.ContactsOf(org, "ann", "bob", "cid", "dan", "eve"), apptest.ContactsOf(other, "zoe")[0]
	org.Write.Patch("/v1/contacts/"+people[1], `{"do_not_contact": true}`).Is(200)
	org.Admin.Post("/v1/suppressions", `{"email": "CID@initech.example"}`).Is(201)
	path := apptest.AudienceOf(org, "A", people[0])
	was := org.Read.Get(path).Is(200)
	app.Clock.Advance(time.Second)
	answer := func(added int, failures ...string) string {
		list := []string{}
		for _, id := range failures {
			list = append(list, fmt.Sprintf(`{"contact_id": %q, "code": "contact_not_found", "description": "No such contact exists."}`, id))
		}
		return fmt.Sprintf(`{"data": {"audience_id": %q, "added": %d, "failures": [%s]}, "meta": {"timestamp": "<time>"}}`, apptest.IDIn(path), added, strings.Join(list, ","))
	}
	// Anyone can be added, including contacts who opted out or are suppressed. Contacts that are
	// already members or repeated are not counted. Unknown ids are failures.
	gone := apptest.Makers["contacts"](org)
	org.Write.Delete("/v1/contacts/" + gone).Is(204)
	org.Write.Post(path+"/contacts/add", apptest.ContactIDs(people[2], apptest.NobodyID, people[0], people[1], people[2], foreign, gone, strings.ToUpper(people[1]), apptest.NobodyID)).Is(200, answer(2, apptest.NobodyID, foreign, gone))
	apptest.HasContacts(t, org, path, people[:3]...)
	now := org.Read.Get(path).Is(200)
	if now.Text("data.updated_at") != "2026-03-02T09:00:01.000Z" || now.Header.Get("ETag") == was.Header.Get("ETag") {
		t.Errorf("adding contacts did not update the audience's version as expected: %s", now.Body)
	}
	// A request that adds nobody changes nothing.
	app.Clock.Advance(time.Second)
	before := org.Dump()
	org.Write.Post(path+"/contacts/add", apptest.ContactIDs(people[:3]...)).Is(200, answer(0))
	org.Write.Post(path+"/contacts/add", apptest.ContactIDs(apptest.NobodyID)).Is(200, answer(0, apptest.NobodyID))
	org.Write.Post(path+"/contacts/add", `{"search": "nobody at all"}`).Is(200, answer(0))
	org.Write.Post(path+"/contacts/add", `{"filters": [{"field": "email", "condition": "is_empty"}]}`).Is(200, answer(0))
	if org.Dump() != before {
		t.Error("adding nobody changed something")
	}
	// A replay returns the first response, even if the fields in its filters were deleted.
	field := apptest.NewField(org, "contacts", "score", "number", "")
	org.Write.Patch("/v1/contacts/"+people[3], `{"custom_field_score": 7}`).Is(200)
	for _, body := range []any{`{"filters": [{"field": "custom_field_score", "condition": "is", "value": 7}]}`, apptest.ContactIDs(people[4])} {
		first := org.Write.Do("POST", path+"/contacts/add", body, "Idempotency-Key", fmt.Sprint(body)).Is(200, answer(1))
		org.Write.Post(path+"/contacts/remove", apptest.ContactIDs(people[3:]...)).Is(200)
		if _, named := body.(string); named {
			org.Admin.Delete("/v1/fields/" + field).Is(204)
		}
		again := org.Write.Do("POST", path+"/contacts/add", body, "Idempotency-Key", fmt.Sprint(body))
		if again.Status != 200 || again.Header.Get("Idempotent-Replayed") != "true" || string(again.Body) != string(first.Body) {
			t.Errorf("unexpected response to the repeated request: %d %s", again.Status, again.Body)
		}
		apptest.HasContacts(t, org, path, people[:3]...)
	}
	org.Write.Do("POST", path+"/contacts/add", `{"filters": []}`, "Idempotency-Key", fmt.Sprint(apptest.ContactIDs(people[4]))).Fails(409, "idempotency_key_reused", "")
}

// TestDynamicAudience reaches the errors of dynamic audiences. Package outreach tests what they do.
func TestDynamicAudience(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	const unknown = `[{"field": "nope", "condition": "is", "value": 1}]`
	org.Write.Post(apptest.AudiencesPath, `{"name": "A", "type": "dynamic", "filters": `+unknown+`}`).Fails(422, "invalid_filter", "filters[0].field")
	path := apptest.AudiencesPath + "/" + org.Write.Post(apptest.AudiencesPath, `{"name": "A", "type": "dynamic", "filters": []}`).Is(201).ID()
	org.Write.Patch(path, `{"filters": `+unknown+`}`).Fails(422, "invalid_filter", "filters[0].field")
	people := apptest.ContactsOf(org, "ann", "bob")
	apptest.HasContacts(t, org, path, people...)
	for _, verb := range []string{"/contacts/add", "/contacts/remove"} {
		org.Write.Post(path+verb, apptest.ContactIDs(people[0])).Fails(409, "audience_dynamic", "change its filters")
	}
}

func TestAudienceAddRefusals(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	people := apptest.ContactsOf(org, "ann", "bob")
	path := apptest.AudienceOf(org, "A", people[0])
	before := org.Dump()
	for _, c := range []struct {
		body  string
		paths []string
	}{
		{``, []string{"contact_ids"}},
		{`{}`, []string{"contact_ids"}},
		{`{"contact_ids": null, "filters": null, "search": null}`, []string{"contact_ids"}},
		{`{"search": ""}`, []string{"contact_ids"}},
		{`{"search": " -,; "}`, []string{"contact_ids"}}, // contains no words, and must not match everybody
		{`{"contact_ids": []}`, []string{"contact_ids"}},
		{`{"contact_ids": ["{b}"], "filters": []}`, []string{"contact_ids"}},
		{`{"contact_ids": ["{b}"], "search": "bob"}`, []string{"contact_ids"}},
		{`{"contact_ids": [], "search": "bob"}`, []string{"contact_ids"}},
		{`{"contact_ids": "{b}"}`, []string{"contact_ids"}},
		{`{"contact_ids": ["{b}", "x", null, 7, ""]}`, []string{"contact_ids[1]", "contact_ids[2]", "contact_ids[3]", "contact_ids[4]"}},
		{`{"contact_ids": [` + strings.Repeat(`"{b}", `, 10_000) + `"{b}"]}`, []string{"contact_ids"}},
		{`{"search": 1}`, []string{"search"}},
		{`{"contact_ids": [], "colour": 1}`, []string{"contact_ids", "colour"}},
		{`{"colour": 1}`, []string{"contact_ids", "colour"}},
		{`{"contact_ids": ["x"], "search": "bob"}`, []string{"contact_ids", "contact_ids[0]"}},
		{`{"search": "b", "sort": "email", "page": 1}`, []string{"sort", "page"}},
	} {
		t.Run(apptest.RowName(c.body), func(t *testing.T) {
			res := org.Write.In(t).Post(path+"/contacts/add", strings.ReplaceAll(c.body, "{b}", people[1])).Fails(422, "validation_failed", "")
			if got := apptest.ProblemPaths(res); !slices.Equal(apptest.Sorted(got), apptest.Sorted(c.paths)) {
				t.Errorf("%.200s\nproblem paths = %q, want %q: %.500s", c.body, got, c.paths, res.Body)
			}
		})
	}
	for filters, at := range map[string]string{
		`[{"field": "nope", "condition": "is", "value": 1}]`:                                        "filters[0].field",
		`[{"field": "email", "condition": "is_before", "value": "x"}]`:                              "filters[0].condition",
		`[{"field": "email", "condition": "is_empty", "value": "x"}]`:                               "filters[0].value",
		`{"filters": [{"filters": [{"field": "email", "condition": "is"}], "operator": "or"}]}`:     "filters.filters[0].filters[0].value",
		`{"operator": "xor", "filters": []}`:                                                        "filters.operator",
		`[{"field": "custom_field_x", "condition": "is_empty"}]`:                                    "filters[0].field",
		`[{"field": "source", "condition": "is", "value": "crm"}, {"field": 1, "condition": "is"}]`: "filters[0].value",
	} {
		t.Run(filters, func(t *testing.T) {
			res := org.Write.In(t).Post(path+"/contacts/add", `{"filters": `+filters+`}`).Fails(422, "invalid_filter", at)
			if res.Text("error.details.0.path") != at {
				t.Errorf("%s: %s", filters, res.Body)
			}
		})
	}
	// Removing also takes 1 to 10,000 ids.
	for body, at := range map[string]string{``: "contact_ids", `{"contact_ids": []}`: "contact_ids", `{"contact_ids": null}`: "contact_ids", `{"contact_ids": ["{b}", "x"]}`: "contact_ids[1]", `{"filters": []}`: "filters",
		`{"contact_ids": [` + strings.Repeat(`"{b}", `, 10_000) + `"{b}"]}`: "contact_ids", `{"contact_ids": ["{b}"], "search": "b"}`: "search"} {
		org.Write.Post(path+"/contacts/remove", strings.ReplaceAll(body, "{b}", people[1])).Fails(422, "validation_failed", at)
	}
	// An archived audience accepts no contacts. Contacts can be removed from it, and added again
	// once it is active.
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
	org.Write.Patch(path, `{"status": "archived"}`).Is(200)
	before = org.Dump()
	for _, body := range []any{apptest.ContactIDs(people[1]), apptest.ContactIDs(people[0]), apptest.ContactIDs(apptest.NobodyID), `{"filters": []}`, `{"search": "nobody"}`} {
		org.Write.Post(path+"/contacts/add", body).Fails(409, "audience_archived", "the audience is archived")
	}
	if org.Dump() != before {
		t.Error("an archived audience was changed")
	}
	apptest.HasContacts(t, org, path, people[0])
	org.Write.Post(path+"/contacts/remove", apptest.ContactIDs(people[0])).Is(200)
	apptest.HasContacts(t, org, path)
	org.Write.Patch(path, `{"status": "active"}`).Is(200)
	org.Write.Post(path+"/contacts/add", apptest.ContactIDs(people...)).Is(200)
	apptest.HasContacts(t, org, path, people...)
}

func TestAudienceRemove(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	people, foreign := apptest.ContactsOf(org, "ann", "bob", "cid", "dan"), apptest.ContactsOf(other, "zoe")[0]
	path, second := apptest.AudienceOf(org, "A", people[:3]...), apptest.AudienceOf(org, "B", people...)
	answer := fmt.Sprintf(`{"data": {"audience_id": %q, "failures": []}, "meta": {"timestamp": "<time>"}}`, apptest.IDIn(path))
	app.Clock.Advance(time.Second)
	was := org.Read.Get(path).Is(200)
	body := apptest.ContactIDs(people[0], apptest.NobodyID, people[0], foreign, people[3], people[2])
	org.Write.Post(path+"/contacts/remove", body).Is(200, answer)
	apptest.HasContacts(t, org, path, people[1])
	apptest.HasContacts(t, org, second, people...) // another audience still has them
	now := org.Read.Get(path).Is(200)
	if now.Text("data.updated_at") != "2026-03-02T09:00:01.000Z" || now.Header.Get("ETag") == was.Header.Get("ETag") {
		t.Errorf("removing contacts did not update the audience's version as expected: %s", now.Body)
	}
	app.Clock.Advance(time.Second)
	before := org.Dump()
	org.Write.Post(path+"/contacts/remove", body).Is(200, answer) // again
	org.Write.Post(path+"/contacts/remove", apptest.ContactIDs(apptest.NobodyID)).Is(200, answer)
	if org.Dump() != before {
		t.Error("removing nobody changed something")
	}
	org.Write.Post(path+"/contacts/add", apptest.ContactIDs(people[0])).Is(200) // removed contacts may be added again
	apptest.HasContacts(t, org, path, people[:2]...)
	many := []string{people[0]}
	for i := range 9_999 {
		many = append(many, fmt.Sprintf("0190b2f0-0000-7000-8000-%012d", i+1))
	}
	org.Write.Post(path+"/contacts/remove", apptest.ContactIDs(many...)).Is(200, answer)
	apptest.HasContacts(t, org, path, people[1])
}

// TestAudienceContacts lists the contacts of an audience, with and without an index: by filter,
// search and order, page by page, and after every kind of change of its members.
func TestAudienceContacts(t *testing.T) {
	for _, n := range []int{60, 2400} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { audienceContacts(t, n) })
	}
}

func audienceContacts(t *testing.T, n int) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	apptest.Crowd(t, other, 3, func(int) string { return `"title": "VP Sales"` })
	apptest.NewField(org, "contacts", "score", "number", "")
	titles := []string{"VP Sales", "Director", "vp of sales"}
	ids := apptest.Crowd(t, org, n, func(i int) string { return fmt.Sprintf(`"title": %q, "custom_field_score": %d`, titles[i%3], (i*7)%n) })
	in := map[int]bool{}
	var some []string
	for i := 0; i < n; i += 4 {
		in[i] = true
		some = append(some, ids[i])
	}
	path := apptest.AudienceOf(org, "A", some...)
	empty := apptest.AudienceOf(org, "Empty")
	agree := func(when string) {
		t.Helper()
		if err := app.Index.Flush(); err != nil {
			t.Fatal(err)
		}
		for body, has := range map[string]func(i int) bool{
			``: func(int) bool { return true },
			`, "filters": [{"field": "title", "condition": "contains", "value": "vp"}]`:             func(i int) bool { return i%3 != 1 },
			`, "filters": [{"field": "custom_field_score", "condition": "less_than", "value": 20}]`: func(i int) bool { return (i*7)%n < 20 },
			`, "search": "vp sal"`: func(i int) bool { return i%3 != 1 },
			`, "search": "n1", "filters": {"operator": "or", "filters": [{"field": "title", "condition": "is", "value": ["Director"]}, {"field": "custom_field_score", "condition": "is", "value": 0}]}`: func(i int) bool {
				return strings.HasPrefix(fmt.Sprint(i), "1") && (i%3 == 1 || i == 0)
			},
			`, "filters": [{"field": "id", "condition": "is", "value": ["` + ids[0] + `", "` + ids[1] + `", "` + ids[4] + `"]}]`: func(i int) bool { return i <= 1 || i == 4 },
			`, "filters": [{"field": "email", "condition": "is_not_empty"}]`:                                                     func(int) bool { return false },
		} {
			var want []int
			for i := range in {
				if has(i) {
					want = append(want, i)
				}
			}
			for sort, key := range map[string]func(i int) int{"-custom_field_score": func(i int) int { return -((i * 7) % n) }, "id": func(i int) int { return i }, "title,-id": func(i int) int { return []int{2, 0, 1}[i%3]*n - i }} {
				slices.SortFunc(want, func(a, b int) int { return key(a) - key(b) })
				var order []string
				for _, i := range want {
					order = append(order, ids[i])
				}
				if got := apptest.ListedIDs(t, org, path+"/contacts", body+`, "sort": "`+sort+`"`, max(7, n/5)); !slices.Equal(got, order) {
					t.Errorf("%s: %s by %s returns %d contacts, want %d, or in another order", when, body, sort, len(got), len(order))
				}
			}
		}
		if got := apptest.ListedIDs(t, org, empty+"/contacts", "", 50); len(got) != 0 {
			t.Errorf("%s: the empty audience has %d contacts", when, len(got))
		}
		if n := org.Read.Get(path).Is(200).Int("data.contact_count"); n != len(in) {
			t.Errorf("%s: contact_count is %d, want %d", when, n, len(in))
		}
	}
	agree("at first")
	res := org.Write.Post(path+"/contacts/add", `{"filters": [{"field": "title", "condition": "is", "value": "Director"}], "search": "ann"}`).Is(200)
	added := 0
	for i := 1; i < n; i += 3 {
		if !in[i] {
			added++
		}
		in[i] = true
	}
	if res.Int("data.added") != added || len(res.Value("data.failures").([]any)) != 0 {
		t.Errorf("unexpected number of contacts added (%d): %s", added, res.Body)
	}
	agree("after an addition")
	org.Write.Post(path+"/contacts/remove", apptest.ContactIDs(ids[8], ids[1], ids[9])).Is(200)
	delete(in, 8)
	delete(in, 1)
	for _, i := range []int{0, 13, 2} { // two of them are members
		org.Write.Delete("/v1/contacts/" + ids[i]).Is(204)
		delete(in, i)
	}
	agree("after removals and deletions")
	app.Restart()
	agree("after a restart")
	org.Read.Post(path+"/contacts/list", `{"filters": [{"field": "contact_count", "condition": "is", "value": 1}]}`).Fails(422, "invalid_filter", "filters[0].field")
	org.Read.Post(path+"/contacts/list", `{"sort": "tags"}`).Fails(422, "invalid_sort", "tags")
	org.Read.Post(path+"/contacts/list", `{"page": 99}`).Is(200, fmt.Sprintf(`{"data": [], "pagination": {"page": 99, "page_size": 50, "total_count": %d, "total_pages": %d}, "meta": {"timestamp": "<time>"}}`, len(in), (len(in)+49)/50))
	if diff := apptest.Diff(string(apptest.DataOf(org.Read.Get("/v1/contacts/"+ids[4]))), apptest.Encoded(t, org.Read.Post(path+"/contacts/list", `{"search": "n4", "sort": "id"}`).Is(200).Value("data.0"))); diff != "" {
		t.Errorf("a listed contact differs from the contact itself: %s", diff)
	}
	// A changed contact is listed once and with its current values, even before it is indexed.
	org.Write.Patch("/v1/contacts/"+ids[16], `{"title": "Zeta"}`).Is(200)
	for rest, want := range map[string]int{``: len(in), `, "search": "zeta"`: 1, `, "search": "n16 director", "filters": [{"field": "id", "condition": "is", "value": "` + ids[16] + `"}]`: 0} {
		if got := apptest.ListedIDs(t, org, path+"/contacts", rest, 500); len(got) != want {
			t.Errorf("%s returns %d contacts, want %d", rest, len(got), want)
		}
	}
	apptest.CheckAudiences(t, app, org)
	apptest.CheckConsistency(t, app, org)
}

// TestAudienceCounts applies random changes to four audiences and compares them with plain sets.
func TestAudienceCounts(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	r := rand.New(rand.NewPCG(8, 1))
	people := apptest.Crowd(t, org, 60, func(i int) string { return fmt.Sprintf(`"title": "T%d"`, i%5) })
	paths, sets := make([]string, 4), make([]map[string]bool, 4)
	titles := map[string]int{}
	for i, id := range people {
		titles[id] = i % 5
	}
	for i := range paths {
		paths[i], sets[i] = apptest.AudienceOf(org, fmt.Sprint("A", i)), map[string]bool{}
	}
	some := func() (ids []string) {
		for range 1 + r.IntN(20) {
			ids = append(ids, people[r.IntN(len(people))])
		}
		return ids
	}
	for round := range 240 {
		a := r.IntN(len(paths))
		set, path := sets[a], paths[a]
		before := len(set)
		switch what := r.IntN(10); {
		case what < 4:
			ids := some()
			res := org.Write.Post(path+"/contacts/add", apptest.ContactIDs(ids...)).Is(200)
			gone := map[string]bool{}
			for _, id := range ids {
				if _, there := titles[id]; there {
					set[id] = true
				} else {
					gone[id] = true
				}
			}
			if res.Int("data.added") != len(set)-before || len(res.Value("data.failures").([]any)) != len(gone) {
				t.Errorf("unexpected response after adding %d contacts, with %d unknown ids: %s", len(set)-before, len(gone), res.Body)
			}
		case what < 7:
			ids := some()
			org.Write.Post(path+"/contacts/remove", apptest.ContactIDs(ids...)).Is(200)
			for _, id := range ids {
				delete(set, id)
			}
		case what == 7:
			title := r.IntN(5)
			res := org.Write.Post(path+"/contacts/add", fmt.Sprintf(`{"search": "T%d"}`, title)).Is(200)
			for id, has := range titles {
				if has == title {
					set[id] = true
				}
			}
			if res.Int("data.added") != len(set)-before {
				t.Errorf("unexpected number of contacts added (%d): %s", len(set)-before, res.Body)
			}
		case what == 8: // remove some and add others
			id := people[r.IntN(len(people))]
			if _, there := titles[id]; there {
				org.Write.Delete("/v1/contacts/" + id).Is(204)
				delete(titles, id)
				for _, s := range sets {
					delete(s, id)
				}
			}
			for _, id := range apptest.Crowd(t, org, 2, func(i int) string { return fmt.Sprintf(`"title": "T%d"`, i) }) {
				titles[id] = len(people) % 2
				org.Write.Patch("/v1/contacts/"+id, fmt.Sprintf(`{"title": "T%d"}`, len(people)%2)).Is(200)
				people = append(people, id)
			}
		default:
			org.Write.Delete(path).Is(204)
			paths[a], sets[a] = apptest.AudienceOf(org, fmt.Sprint("A", a)), map[string]bool{} // the same name without members
		}
		if round%8 == 0 {
			for i, path := range paths {
				var want []string
				for id := range sets[i] {
					want = append(want, id)
				}
				apptest.HasContacts(t, org, path, want...)
			}
		}
		if round == 120 {
			app.Restart()
		}
	}
	apptest.CheckAudiences(t, app, org)
	apptest.CheckConsistency(t, app, org)
}
