package crm_test

import (
	"fmt"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

func TestTags(t *testing.T) {
	app := apptest.New(t)
	org, other := app.Org("Acme"), app.Org("Umbrella")
	tag := func(c apptest.Client, name, object string) *apptest.Response {
		return c.Post("/v1/tags", map[string]string{"name": name, "color": "peach", "object_type": object})
	}
	first := tag(org.Write, "Key  Account", "account").Is(201, `{"data": {"id": "<id>", "name": "Key  Account", "color": "peach", "object_type": "account",
		"created_at": "<time>", "updated_at": "<time>"}, "meta": {"timestamp": "<time>"}}`).ID()

	// Names are compared ignoring case, surrounding spaces and repeated spaces, per object type and
	// organization.
	for _, name := range []string{"key account", " KEY ACCOUNT ", "Key   Account"} {
		tag(org.Write, name, "account").Is(409, fmt.Sprintf(`{"error": {"code": "tag_name_taken", "message": "<any>",
			"details": [{"path": "name", "message": "<any>", "id": %q}]}}`, first))
	}
	tag(org.Write, "Key Account", "contact").Is(201)
	tag(other.Write, "Key Account", "account").Is(201)

	second := tag(org.Write, "Partner", "account").Is(201).ID()
	org.Write.Patch("/v1/tags/"+second, `{"name": "KEY account"}`).Fails(409, "tag_name_taken", "another account tag")
	org.Write.Patch("/v1/tags/"+first, `{"name": "KEY account", "color": "berry"}`).Is(200) // its own name in another case
	org.Write.Patch("/v1/tags/"+first, `{"name": "Strategic"}`).Is(200)
	org.Write.Patch("/v1/tags/"+second, `{"name": "Key account"}`).Is(200) // free again

	for body, message := range map[string]string{
		`{"object_type": "contact"}`: "object_type: read-only field",
		`{"name": ""}`:               "name: required",
		`{"name": null}`:             "name: required",
		`{"name": "   "}`:            "name: must not be blank",
		`{"name": "a-b"}`:            "name: must contain only letters from a to z, digits and spaces",
		`{"name": "größe"}`:          "name: must contain only letters",
		`{"name": "` + strings.Repeat("a", 101) + `"}`: "name: must be at most 100 characters",
		`{"color": "pink"}`:                            "color: \"pink\" is not one of: green, blue, red, yellow, purple, berry, peach, gray",
		`{"color": null}`:                              "color: required",
	} {
		t.Run(message, func(t *testing.T) {
			org.Write.In(t).Patch("/v1/tags/"+first, body).Fails(422, "validation_failed", message)
		})
	}
	org.Write.Patch("/v1/tags/"+first, `{"object_type": "account", "name": "`+strings.Repeat("a", 100)+`"}`).Is(200)
	org.Write.Post("/v1/tags", `{}`).Is(422, `{"error": {"code": "validation_failed", "message": "name: required", "details": [
		{"path": "name", "message": "required"}, {"path": "color", "message": "required"}, {"path": "object_type", "message": "required"}]}}`)
	org.Write.Post("/v1/tags", `{"name": "A", "color": "red", "object_type": "deal"}`).
		Fails(422, "validation_failed", `object_type: "deal" is not one of: account, contact, opportunity, task, meeting`)

	// The name of a deleted tag is free again.
	org.Write.Delete("/v1/tags/" + second).Is(204)
	tag(org.Write, "Key account", "account").Is(201)
}
