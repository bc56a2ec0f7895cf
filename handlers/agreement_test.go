package handlers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// TestEveryKindAgrees compares lists with and without an index, for every entity and all of its
// fields, including custom ones. One organization has all records, and two others have half of them
// each. For every query and sort order, the list of the first must equal the merged lists of the
// other two, also after tags, accounts and fields were deleted.
func TestEveryKindAgrees(t *testing.T) {
	kinds := []string{"contacts", "tasks", "accounts", "opportunities", "meetings"}
	if apptest.RaceDetector { // the race detector makes it ten times as slow, and it finds the same in each
		kinds = kinds[:1]
	}
	for seed, entity := range kinds {
		t.Run(entity, func(t *testing.T) {
			t.Parallel()
			app := apptest.New(t)
			a := &agreement{t: t, entity: entity, rand: rand.New(rand.NewPCG(uint64(seed), 1))}
			for i := range 3 {
				a.add(app, i)
			}
			a.load()
			if apptest.RaceDetector { // this test makes one request after another
				a.ask(4)
				a.forget()
			} else {
				a.ask(12)
				a.forget()
				a.askEach()
				a.ask(8)
			}
			app.Work()
			a.ask(8)
			if _, err := app.Index.Check(t.Context(), false, func(int, int) {}, func(what string, _ bool) { t.Error(what) }, func(string) {}); err != nil {
				t.Error(err)
			}
		})
	}
}

type agreement struct {
	t      *testing.T
	entity string
	rand   *rand.Rand
	fields []apptest.ListField
	sides  []*side // all records, the even ones and the odd ones
}

// side is one of the organizations. Placeholders stand for the ids of its own records, and mean the
// same in each organization.
type side struct {
	org *apptest.Org
	ids map[string]string
}

// add creates an organization with the records that others refer to, and with a custom field of
// each type.
func (a *agreement) add(app *apptest.App, n int) {
	s := &side{org: app.Org(fmt.Sprint("Side ", n)), ids: map[string]string{}}
	a.sides = append(a.sides, s)
	s.ids["user"] = s.org.User.String()
	object := map[string]string{"opportunities": "opportunity"}[a.entity]
	if object == "" {
		object = strings.TrimSuffix(a.entity, "s")
	}
	for i := range 3 {
		s.ids[fmt.Sprint("tag", i)] = s.org.Write.Post("/v1/tags", fmt.Sprintf(`{"name": "T%d", "color": "red", "object_type": %q}`, i, object)).Is(201).ID()
		s.ids[fmt.Sprint("account", i)] = s.org.Write.Post("/v1/accounts", `{"name": "Referred to", "external_id": "ref`+fmt.Sprint(i)+`"}`).Is(201).ID()
		s.ids[fmt.Sprint("contact", i)] = s.org.Write.Post("/v1/contacts", `{"last_name": "Referred to", "first_name": "x", "external_id": "ref`+fmt.Sprint(i)+`"}`).Is(201).ID()
	}
	for _, typ := range []string{"text", "number", "boolean", "date", "enum", "multi_select"} {
		a.field(s, "my_"+typ, typ)
	}
	a.schema()
}

// field creates a custom field.
func (a *agreement) field(s *side, key, typ string) {
	body := map[string]any{"entity": a.entity, "key": key, "data_type": typ}
	if typ == "enum" || typ == "multi_select" {
		body["allowed_values"] = []string{"x", "X y", "ÿ"}
	}
	s.ids[key] = s.org.Admin.Post("/v1/fields", body).Is(201).ID()
}

func (a *agreement) schema() {
	var schema struct {
		Data struct{ Fields []apptest.ListField }
	}
	if err := json.Unmarshal(a.sides[0].org.Read.Get("/v1/schemas/"+a.entity).Is(200).Body, &schema); err != nil {
		a.t.Fatal(err)
	}
	a.fields = schema.Data.Fields
}

var mixedTexts = []string{"a", "A", "Ann Smith", "ann", "ÄNN-smith", "VP of Sales", "vp", "zebra 9", "日本", "o'neil", "--", "ß SS"}

// value returns a random value of a field, or nil for no value.
func (a *agreement) value(f *apptest.ListField) any {
	r := a.rand
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	switch {
	case f.Key == "website":
		return fmt.Sprintf("shop%d.example", r.IntN(40))
	case f.Key == "email":
		return fmt.Sprintf("%s%d@x.example", pick([]string{"Ann", "ann", "bob"}), r.IntN(300))
	case f.Key == "other_emails":
		return []string{"Ann@home.example", fmt.Sprintf("bob%d@home.example", r.IntN(9))}[r.IntN(2):]
	case f.Key == "other_external_ids": // unique
		return []string{fmt.Sprintf("hubspot:%d", r.Int()), fmt.Sprintf("Other%d", r.Int())}[r.IntN(2):]
	case f.Key == "other_phones":
		return []string{"+49 30 1", "030-2"}[r.IntN(2):]
	case f.Key == "owner_id":
		return "<user>"
	case f.Key == "campaign_id":
		return nil
	case f.Key == "tags":
		return []string{"<tag0>", "<tag1>", "<tag2>"}[r.IntN(3):]
	case f.Type == "reference":
		return fmt.Sprintf("<%s%d>", strings.TrimSuffix(f.Key, "_id"), r.IntN(3))
	case f.Enum != nil && f.Type == "multi":
		return f.Enum.Allowed[r.IntN(len(f.Enum.Allowed)):]
	case f.Enum != nil:
		return pick(f.Enum.Allowed)
	case f.Type == "number":
		return r.IntN(9)
	case f.Type == "boolean":
		return r.IntN(2) == 0
	case f.Type == "date":
		return fmt.Sprintf("2026-0%d-0%d", 1+r.IntN(3), 1+r.IntN(5))
	case f.Type == "datetime":
		return fmt.Sprintf("2026-0%d-0%dT%02d:00:00Z", 1+r.IntN(3), 1+r.IntN(5), r.IntN(24))
	}
	return pick(mixedTexts)
}

// load creates the records of each side in batches.
func (a *agreement) load() {
	batches := make([][]map[string]any, len(a.sides))
	for i := range apptest.ManyRecords {
		rec := map[string]any{}
		for j := range a.fields {
			f := &a.fields[j]
			required := strings.Contains(apptest.EntityBody(a.entity, "", ""), `"`+f.Key+`"`)
			if f.ReadOnly && f.Key != "source" || f.Key == "ends_at" || f.Key == "external_id" || !required && a.rand.IntN(3) == 0 {
				continue
			}
			if key, nested := strings.CutPrefix(f.Key, "scoring."); nested {
				rec["scoring"] = map[string]any{key: a.value(f)}
			} else {
				rec[f.Key] = a.value(f)
			}
		}
		rec["external_id"] = fmt.Sprintf("r%04d", i)
		batches[0] = append(batches[0], rec)
		batches[1+i%2] = append(batches[1+i%2], rec)
	}
	for i, s := range a.sides {
		for some := range slices.Chunk(batches[i], 500) {
			body, err := json.Marshal(map[string]any{"records": some})
			if err != nil {
				a.t.Fatal(err)
			}
			if res := s.org.Write.Post("/v1/"+a.entity+"/batch", s.fill(string(body))).Is(200); res.Int("data.failed") > 0 {
				a.t.Fatalf("%.2000s", res.Body)
			}
		}
	}
}

var ours = regexp.MustCompile(`<([a-z]+\d?)>`)

// fill replaces the placeholders with the ids of the side.
func (s *side) fill(body string) string {
	return ours.ReplaceAllStringFunc(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(body), func(name string) string { return s.ids[strings.Trim(name, "<>")] })
}

// query returns a random filter, search and sort. The last sort key is unique, so that the order is
// determined.
func (a *agreement) query() string {
	body := map[string]any{"filters": []any{a.filter(2)}}
	var keys []string
	for range a.rand.IntN(3) {
		if f := &a.fields[a.rand.IntN(len(a.fields))]; f.Sortable && f.Key != "id" {
			keys = append(keys, []string{"", "-"}[a.rand.IntN(2)]+f.Key)
		}
	}
	body["sort"] = strings.Join(append(keys, "external_id"), ",")
	if a.rand.IntN(4) == 0 {
		body["search"] = []string{"a", "an", "smith", "ve", "ÄN", "vp sa"}[a.rand.IntN(6)]
	}
	b, err := json.Marshal(body)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(b)
}

func (a *agreement) filter(depth int) any {
	if depth > 0 && a.rand.IntN(2) == 0 {
		subs := []any{}
		for range 1 + a.rand.IntN(3) {
			subs = append(subs, a.filter(depth-1))
		}
		return map[string]any{"operator": []string{"and", "or"}[a.rand.IntN(2)], "filters": subs}
	}
	f := &a.fields[a.rand.IntN(len(a.fields))]
	for f.Key == "id" || f.Key == "campaign_id" {
		f = &a.fields[a.rand.IntN(len(a.fields))]
	}
	condition := f.Conditions[a.rand.IntN(len(f.Conditions))]
	rule := map[string]any{"field": f.Key, "condition": condition}
	if !strings.HasSuffix(condition, "empty") {
		value := a.value(f)
		if list, is := value.([]string); is && a.rand.IntN(2) == 0 {
			value = list[0]
		}
		if f.Type == "text" && strings.HasSuffix(condition, "contains") {
			value = []string{"n", "an", "sm", "ß", " ", "-"}[a.rand.IntN(6)]
		}
		if condition == "between" {
			value = inOrder(value, a.value(f))
		}
		rule["value"] = value
	}
	return rule
}

// inOrder returns two numbers, dates or times in ascending order.
func inOrder(a, b any) []any {
	number := func(v any) (n float64) {
		_, _ = fmt.Sscan(fmt.Sprint(v), &n)
		return n
	}
	text, isText := a.(string)
	if isText && text > b.(string) || !isText && number(a) > number(b) {
		a, b = b, a
	}
	return []any{a, b}
}

var externalID = regexp.MustCompile(`"external_id":"(\w+)"`)

// ask compares random queries.
func (a *agreement) ask(n int) {
	a.t.Helper()
	for range n {
		a.hold(a.query())
	}
}

// askEach lists the records without a value of each field, sorted by that field.
func (a *agreement) askEach() {
	a.t.Helper()
	for _, f := range a.fields {
		sort := "external_id"
		if f.Sortable && f.Key != "id" {
			sort = f.Key + ",external_id"
		}
		a.hold(fmt.Sprintf(`{"filters": [{"field": %q, "condition": "is_empty"}], "sort": %q}`, f.Key, sort))
		a.hold(fmt.Sprintf(`{"filters": [{"field": %q, "condition": "is_not_empty"}], "sort": %q}`, f.Key, sort))
	}
}

// hold compares the responses of the sides.
func (a *agreement) hold(query string) {
	a.t.Helper()
	var lists [3][]string
	for i, s := range a.sides {
		body := s.fill(query)
		for _, found := range externalID.FindAllSubmatch(s.org.Read.Post("/v1/"+a.entity+"/export", body).Is(200).Body, -1) {
			if id := string(found[1]); !strings.HasPrefix(id, "ref") {
				lists[i] = append(lists[i], id)
			}
		}
	}
	for half := range 2 {
		if want := slices.DeleteFunc(slices.Clone(lists[0]), func(id string) bool { return int(id[4]-'0')%2 != half }); !slices.Equal(lists[1+half], want) {
			a.t.Fatalf("%s\nhalf %d has %d: %.300s\nnot %d: %.300s", query, half, len(lists[1+half]), lists[1+half], len(want), want)
		}
	}
	a.shows(query, lists[0])
}

// shows requires that the list equals the export, and that it contains no deleted value.
func (a *agreement) shows(query string, want []string) {
	s := a.sides[0]
	res := s.org.Read.Post("/v1/"+a.entity+"/list", s.fill(query)).Is(200)
	var got []string
	refs := 0
	for _, found := range externalID.FindAllSubmatch(res.Body, -1) {
		if id := string(found[1]); strings.HasPrefix(id, "ref") {
			refs++
		} else {
			got = append(got, id)
		}
	}
	if total := res.Int("pagination.total_count"); total < len(want) || total > len(want)+3 || len(got)+refs != min(50, total) || !slices.Equal(got, want[:len(got)]) {
		a.t.Fatalf("%s\nthe list has %d: %s\nthe export %d: %.500s", query, total, got, len(want), want)
	}
	for _, gone := range []string{"gone tag", "gone account"} {
		if id := s.ids[gone]; id != "" && bytes.Contains(res.Body, []byte(id)) {
			a.t.Fatalf("%s\nshows the %s %s", query, gone, id)
		}
	}
}

// forget deletes a tag, an account and two custom fields on each side, and creates one of the
// fields again with another type.
func (a *agreement) forget() {
	for _, s := range a.sides {
		s.org.Write.Delete("/v1/tags/" + s.ids["tag0"]).Is(204)
		s.ids["gone tag"] = s.ids["tag0"]
		if a.entity != "opportunities" { // opportunities require their account
			s.org.Write.Delete("/v1/accounts/" + s.ids["account0"]).Is(204)
			s.ids["gone account"] = s.ids["account0"]
		}
		s.org.Admin.Delete("/v1/fields/" + s.ids["my_text"]).Is(204)
		s.org.Admin.Delete("/v1/fields/" + s.ids["my_multi_select"]).Is(204)
		a.field(s, "my_text", "number")
		for some := range slices.Chunk([]int{1, 2, 3, 4, 5, 6, 7, 8}, 2) { // some records have a value
			var records []map[string]any
			for _, i := range some {
				records = append(records, map[string]any{"external_id": fmt.Sprintf("r%04d", i), "custom_field_my_text": i})
			}
			s.org.Write.Post("/v1/"+a.entity+"/batch", map[string]any{"match_on": "external_id", "records": records}).Is(200)
		}
	}
	a.schema()
}
