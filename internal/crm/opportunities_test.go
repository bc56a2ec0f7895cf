package crm_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"prospector/internal/apptest"
)

func TestOpportunity(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	account, contact := apptest.Makers["accounts"](org), apptest.Makers["contacts"](org)
	tag := org.Write.Post("/v1/tags", `{"name": "Large", "color": "green", "object_type": "opportunity"}`).Is(201).ID()

	// Every field is present, with null or its default.
	sparse := fmt.Sprintf(`{"data": {"id": "<id>", "created_at": "2026-03-02T09:00:00.000Z", "updated_at": "2026-03-02T09:00:00.000Z", "name": "Printers",
		"account_id": %q, "contact_id": null, "owner_id": null, "stage": "prospecting", "amount": null, "currency": null, "close_date": null, "notes": null,
		"external_id": null, "tags": []}, "meta": {"timestamp": "2026-03-02T09:00:00.000Z"}}`, account)
	org.Write.Post("/v1/opportunities", fmt.Sprintf(`{"name": "Printers", "account_id": %q}`, account)).Is(201, sparse)
	org.Write.Post("/v1/opportunities", fmt.Sprintf(`{"name": "Printers", "account_id": %q, "contact_id": null, "owner_id": null, "stage": null, "amount": null,
		"currency": "", "close_date": null, "notes": "", "external_id": "", "tags": null}`, account)).Is(201, sparse)

	fields := fmt.Sprintf(`"name": " Toner & <Ink> ", "account_id": %q, "contact_id": %q, "owner_id": %q, "stage": "negotiation", "amount": -1.5e3, "currency": "EUR",
		"close_date": "2028-02-29", "notes": "a\nb", "external_id": "SF-1", "tags": [%q]`, account, contact, org.User, tag)
	want := `{"data": {"id": "<id>", "created_at": "<time>", "updated_at": "<time>", ` + fields + `}, "meta": {"timestamp": "<time>"}}`
	id := org.Write.Post("/v1/opportunities", "{"+fields+"}").Is(201, want).ID()
	path := "/v1/opportunities/" + id
	got := org.Read.Get(path).Is(200, want)
	org.Write.Patch(path, got.Value("data")).Is(200, want)

	// Absent fields stay unchanged, null clears a field or restores its default.
	app.Clock.Advance(time.Second)
	org.Write.Patch(path, `{"contact_id": null, "stage": null, "amount": null, "currency": "", "close_date": "", "tags": [], "notes": null}`).Is(200,
		fmt.Sprintf(`{"data": {"id": %q, "created_at": "2026-03-02T09:00:00.000Z", "updated_at": "2026-03-02T09:00:01.000Z", "name": " Toner & <Ink> ",
			"account_id": %q, "contact_id": null, "owner_id": %q, "stage": "prospecting", "amount": null, "currency": null, "close_date": null, "notes": null,
			"external_id": "SF-1", "tags": []}, "meta": {"timestamp": "<time>"}}`, id, account, org.User))
	for _, stage := range []string{"prospecting", "qualification", "proposal", "negotiation", "won", "lost"} {
		if got := org.Write.Patch(path, map[string]string{"stage": stage}).Is(200).Text("data.stage"); got != stage {
			t.Errorf("sent %s, stored as %s", stage, got)
		}
	}

	org.Write.Delete(path).Is(204)
	org.Read.Get(path).Fails(404, "not_found", "Resource not found")
}

// TestBadOpportunities checks the validation of each field on create and update. Invalid values are
// reported by field, and nothing changes.
func TestBadOpportunities(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	account := apptest.Makers["accounts"](org)
	id := org.Write.Post("/v1/opportunities", apptest.EntityBody("opportunities", account, "")).Is(201).ID()
	org.Write.Post("/v1/opportunities", fmt.Sprintf(`{"account_id": %q}`, account)).Fails(422, "validation_failed", "name: required")
	org.Write.Post("/v1/opportunities", `{"name": "Printers"}`).Fails(422, "validation_failed", "account_id: required")
	org.Write.Post("/v1/opportunities", `{"name": "", "account_id": null, "stage": "maybe"}`).Is(422, `{"error": {"code": "validation_failed", "message": "<any>", "details": [
		{"path": "stage", "message": "\"maybe\" is not one of: prospecting, qualification, proposal, negotiation, won, lost"},
		{"path": "name", "message": "required"}, {"path": "account_id", "message": "required"}]}}`)
	refused(t, org, "opportunities", account, id, []refusal{
		{"name", `null`, "name: required"},
		{"name", `""`, "name: required"},
		{"name", `7`, "name: must be a string"},
		{"name", `"` + strings.Repeat("n", 10_001) + `"`, "name: must be at most 10000 characters"},
		{"account_id", `null`, "account_id: required"},
		{"account_id", `""`, "account_id: required"},
		{"account_id", `"` + apptest.Makers["accounts"](other) + `"`, "account_id: does not exist"},
		{"account_id", `"` + apptest.Makers["contacts"](org) + `"`, "account_id: does not exist"},
		{"account_id", `"x"`, "account_id: \"x\" is not a UUID"},
		{"contact_id", `"` + apptest.Makers["contacts"](other) + `"`, "contact_id: does not exist"},
		{"owner_id", `"` + other.User.String() + `"`, "owner_id: does not exist"},
		{"owner_id", `7`, "owner_id: must be a UUID"},
		{"stage", `"Won"`, "stage: \"Won\" is not one of: prospecting, qualification, proposal, negotiation, won, lost"},
		{"stage", `true`, "stage: must be a string"},
		{"amount", `"5"`, "amount: \"5\" is not a number"},
		{"amount", `9007199254740993`, "amount: must be between -2^53 and 2^53"},
		{"amount", `1e400`, "amount: must be between -2^53 and 2^53"},
		{"currency", `["EUR"]`, "currency: must be a string"},
		{"close_date", `"2026-02-29"`, "close_date: \"2026-02-29\" is not a date"},
		{"close_date", `"2026-02-28T00:00:00Z"`, "close_date: \"2026-02-28T00:00:00Z\" is not a date"},
		{"close_date", `20260228`, "close_date: must be a date"},
		{"notes", `"` + strings.Repeat("n", 100_001) + `"`, "notes: must be at most 100000 characters"},
		{"notes", `"a\u0000b"`, "notes: must not contain NUL characters"},
		{"tags", `["` + apptest.Makers["tags"](org) + `"]`, "tags[0]: the tag is for another object type, account"},
		{"external_id", `1`, "external_id: must be a string"},
		{"website", `"x.example"`, "website: unknown field"},
	})
	org.Write.Patch("/v1/opportunities/"+id, fmt.Sprintf(`{"amount": 9007199254740992, "notes": %q, "name": %q}`, strings.Repeat("ü", 100_000), strings.Repeat("ü", 10_000))).Is(200)
}

// refusal is an invalid value of a field.
type refusal struct{ field, value, message string }

// refused requires that each invalid value, and any change of a read-only field, is refused on
// create and on update, with the name of the field and without changing anything.
func refused(t *testing.T, org *apptest.Org, entity, account, id string, refusals []refusal) {
	t.Helper()
	path := "/v1/" + entity
	before := org.Dump()
	for _, r := range append(refusals,
		refusal{"id", `"0190b2f0-0000-7000-8000-000000000000"`, "id: read-only field"},
		refusal{"created_at", `"2020-01-01T00:00:00Z"`, "created_at: read-only field"},
		refusal{"updated_at", `null`, "updated_at: read-only field"},
		refusal{"tags", `["x"]`, "tags[0]: \"x\" is neither an id nor a known name"},
		refusal{"tags", `["0190b2f0-0000-7000-8000-000000000000"]`, "tags[0]: does not exist"},
		refusal{"custom_field_x", `1`, "custom_field_x: unknown field"},
		refusal{"nope", `null`, "nope: unknown field"},
	) {
		org.Write.Patch(path+"/"+id, fmt.Sprintf(`{%q: %s}`, r.field, r.value)).Fails(422, "validation_failed", r.message)
		body := map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte(apptest.EntityBody(entity, account, "")), &body); err != nil {
			t.Fatal(err)
		}
		body[r.field] = json.RawMessage(r.value)
		org.Write.Post(path, body).Fails(422, "validation_failed", r.message)
	}
	if org.Dump() != before {
		t.Errorf("a refused request for %s changed something", entity)
	}
}
