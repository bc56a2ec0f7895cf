package crm_test

import (
	"testing"
	"time"

	"prospector/internal/apptest"
)

func TestTagEdits(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account := apptest.Makers["accounts"](org)
	for entity, object := range map[string]string{"accounts": "account", "contacts": "contact", "opportunities": "opportunity", "tasks": "task", "meetings": "meeting"} {
		ids := apptest.NewTags(org, object, "A", "B", "C", "D")
		path := "/v1/" + entity + "/" + org.Write.Post("/v1/"+entity, apptest.EntityBody(entity, account, apptest.WithIDs(`"tags": ["{A}", "{B}"]`, ids))).Is(201).ID()
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
			res := org.Write.Patch(path, apptest.WithIDs(step.body, ids)).Is(200)
			if got := apptest.NamesOf(ids, res.Value("data.tags").([]any)); got != step.want {
				t.Errorf("%s: %s returns %s, want %s", entity, step.body, got, step.want)
			}
			if got := apptest.NamesOf(ids, org.Read.Get(path).Is(200).Value("data.tags").([]any)); got != step.want {
				t.Errorf("%s: after %s the value = %s, want %s", entity, step.body, got, step.want)
			}
		}
	}
}

func TestBadTagEdits(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	ids := apptest.NewTags(org, "contact", "A", "B")
	ids["account"], ids["foreign"] = apptest.Makers["tags"](org), apptest.NewTags(other, "contact", "A")["A"]
	id := org.Write.Post("/v1/contacts", apptest.EntityBody("contacts", "", apptest.WithIDs(`"tags": ["{A}"]`, ids))).Is(201).ID()
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
			org.Write.In(t).Patch("/v1/contacts/"+id, apptest.WithIDs(body, ids)).Fails(422, "validation_failed", apptest.WithIDs(message, ids))
			org.Write.In(t).Patch("/v1/preview/contacts/"+id, apptest.WithIDs(body, ids)).Fails(422, "validation_failed", apptest.WithIDs(message, ids))
		})
	}
	// A new record has no tags to add to or remove from.
	for _, field := range []string{"add_tags", "remove_tags"} {
		org.Write.Post("/v1/contacts", apptest.EntityBody("contacts", "", apptest.WithIDs(`"`+field+`": ["{A}"]`, ids))).Fails(422, "validation_failed", field+": unknown field")
	}
	org.Write.Patch("/v1/tags/"+ids["A"], `{"add_tags": []}`).Fails(422, "validation_failed", "add_tags: unknown field")
	if org.Dump() != before {
		t.Error("a refused request changed something")
	}
	// Edits without effect create no version.
	was := org.Read.Get("/v1/contacts/" + id).Is(200)
	app.Clock.Advance(time.Second)
	if is := org.Write.Patch("/v1/contacts/"+id, apptest.WithIDs(`{"add_tags": ["{A}"], "remove_tags": ["{B}"]}`, ids)).Is(200); is.Header.Get("ETag") != was.Header.Get("ETag") ||
		is.Text("data.updated_at") != was.Text("data.updated_at") {
		t.Error("an edit without a change created a new version")
	}
}
