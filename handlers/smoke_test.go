package handlers_test

import (
	"testing"

	"prospector/internal/apptest"
)

func TestSmoke(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	org.Read.Get("/v1/me").Is(200)
	id := org.Write.Post("/v1/contacts", `{"email":"x@y.example"}`).Is(201).ID()
	org.Write.Patch("/v1/contacts/"+id, `{"title":"x", "scoring":{"heat_score":"hot"}}`).Is(200)
	org.Write.Post("/v1/contacts/list", `{"filters":[{"field":"title","condition":"is","value":"x"}]}`).Is(200)
	org.Write.Get("/v1/schemas/contacts").Is(200)
	org.Write.Delete("/v1/contacts/" + id).Is(204)
	org.Write.Get("/v1/contacts/"+id).Fails(404, "not_found", "Resource")
	org.Admin.Get("/v1/api-keys").Is(200)
	org.Admin.Get("/v1/organization").Is(200)
	org.Admin.Get("/v1/users").Is(200)
}
