package handlers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

// dataOf returns the data of a response as raw JSON.
func dataOf(r *apptest.Response) json.RawMessage {
	var answer struct{ Data json.RawMessage }
	if err := json.Unmarshal(r.Body, &answer); err != nil {
		panic(err)
	}
	return answer.Data
}

func sorted(texts []string) []string { return slices.Sorted(slices.Values(texts)) }

// newTags creates tags of an object type, and returns their ids by name.
func newTags(org *apptest.Org, object string, names ...string) map[string]string {
	ids := map[string]string{}
	for _, name := range names {
		ids[name] = org.Write.Post("/v1/tags", map[string]string{"name": name, "color": "red", "object_type": object}).Is(201).ID()
	}
	return ids
}

// withIDs replaces names in braces by their ids.
func withIDs(text string, ids map[string]string) string {
	for name, id := range ids {
		text = strings.ReplaceAll(text, "{"+name+"}", id)
	}
	return text
}

// namesOf returns the names of ids, in their order.
func namesOf[ID any](ids map[string]string, got []ID) string {
	names := []string{}
	for _, id := range got {
		name := fmt.Sprint(id)
		for n, known := range ids {
			if known == name {
				name = n
				break
			}
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func TestTagEdits(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := makers["accounts"](org)
	for entity, object := range map[string]string{"accounts": "account", "contacts": "contact", "opportunities": "opportunity", "tasks": "task", "meetings": "meeting"} {
		ids := newTags(org, object, "A", "B", "C", "D")
		path := "/v1/" + entity + "/" + org.Write.Post("/v1/"+entity, newBody(entity, account, withIDs(`"tags": ["{A}", "{B}"]`, ids))).Is(201).ID()
		for _, step := range []struct{ body, want string }{
			{`{"add_tags": ["{C}"]}`, "A B C"},
			{`{"add_tags": ["{A}", "{C}"]}`, "A B C"},
			{`{"add_tags": ["{D}", "{D}"], "remove_tags": ["{B}", "{B}"]}`, "A C D"},
			{`{"remove_tags": ["{B}"]}`, "A C D"}, // it has no tags
			{`{"remove_tags": ["0190b2f0-0000-7000-8000-000000000000"]}`, "A C D"},
			{`{"add_tags": [], "remove_tags": []}`, "A C D"},
			{`{"add_tags": null, "remove_tags": null}`, "A C D"},
			{`{"tags": ["{A}"], "add_tags": ["{B}"]}`, "A B"}, // additions apply to the given tags
			{`{"remove_tags": ["{C}"], "tags": ["{C}", "{D}", "{A}"], "add_tags": ["{B}"]}`, "D A B"},
			{`{"tags": null, "add_tags": ["{C}"]}`, "C"},
			{`{"tags": [], "remove_tags": ["{C}"]}`, ""},
		} {
			res := org.Write.Patch(path, withIDs(step.body, ids)).Is(200)
			if got := namesOf(ids, res.Value("data.tags").([]any)); got != step.want {
				t.Errorf("%s: %s returns %s, want %s", entity, step.body, got, step.want)
			}
			if got := namesOf(ids, org.Read.Get(path).Is(200).Value("data.tags").([]any)); got != step.want {
				t.Errorf("%s: after %s the value = %s, want %s", entity, step.body, got, step.want)
			}
		}
	}
}

func TestBadTagEdits(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	ids := newTags(org, "contact", "A", "B")
	ids["account"], ids["foreign"] = makers["tags"](org), newTags(other, "contact", "A")["A"]
	id := org.Write.Post("/v1/contacts", newBody("contacts", "", withIDs(`"tags": ["{A}"]`, ids))).Is(201).ID()
	before := org.Dump()
	for body, message := range map[string]string{
		`{"add_tags": ["0190b2f0-0000-7000-8000-000000000000"]}`: "add_tags[0]: does not exist",
		`{"add_tags": ["{B}", "{foreign}"]}`:                     "add_tags[1]: does not exist",
		`{"add_tags": ["{account}"]}`:                            "add_tags[0]: the tag is for another object type, account",
		`{"tags": ["{foreign}"], "add_tags": ["{B}"]}`:           "tags[0]: does not exist",
		`{"add_tags": ["{B}"], "remove_tags": ["{B}"]}`:          "remove_tags: {B} is also in add_tags",
		`{"remove_tags": ["{A}"], "add_tags": ["{A}"]}`:          "remove_tags: {A} is also in add_tags",
		`{"add_tags": "{B}"}`:                                    "add_tags: must be a list",
		`{"remove_tags": {}}`:                                    "remove_tags: must be a list",
		`{"add_tags": ["x"]}`:                                    "add_tags[0]: \"x\" is neither an id nor a known name",
		`{"remove_tags": ["{A}", ""]}`:                           "remove_tags[1]: must not be empty",
		`{"remove_tags": [null]}`:                                "remove_tags[0]: must be a UUID",
		`{"add_notes": ["x"]}`:                                   "add_notes: unknown field",
		`{"remove_account_id": ["x"]}`:                           "remove_account_id: unknown field",
		`{"add_add_tags": []}`:                                   "add_add_tags: unknown field",
	} {
		t.Run(message, func(t *testing.T) {
			org.Write.In(t).Patch("/v1/contacts/"+id, withIDs(body, ids)).Fails(422, "validation_failed", withIDs(message, ids))
			org.Write.In(t).Patch("/v1/preview/contacts/"+id, withIDs(body, ids)).Fails(422, "validation_failed", withIDs(message, ids))
		})
	}
	// A new record has no tags to add to or remove from.
	for _, field := range []string{"add_tags", "remove_tags"} {
		org.Write.Post("/v1/contacts", newBody("contacts", "", withIDs(`"`+field+`": ["{A}"]`, ids))).Fails(422, "validation_failed", field+": unknown field")
	}
	org.Write.Patch("/v1/tags/"+ids["A"], `{"add_tags": []}`).Fails(422, "validation_failed", "add_tags: unknown field")
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
	// Edits without effect create no version.
	was := org.Read.Get("/v1/contacts/" + id).Is(200)
	app.Clock.Advance(time.Second)
	if is := org.Write.Patch("/v1/contacts/"+id, withIDs(`{"add_tags": ["{A}"], "remove_tags": ["{B}"]}`, ids)).Is(200); is.Header.Get("ETag") != was.Header.Get("ETag") ||
		is.Text("data.updated_at") != was.Text("data.updated_at") {
		t.Error("an edit without a change created a new version")
	}
}
