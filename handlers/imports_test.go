package handlers_test

import (
	"testing"

	"prospector/internal/apptest"
)

// TestFileImports covers what internal/imports tests in detail: the conflicts of imports.
func TestFileImports(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	for range 20 {
		apptest.Makers["imports"](org)
	}
	for name, at := range map[string]string{"create_import": "/v1/imports", "inspect_import": "/v1/imports/inspect"} {
		org.Write.Post(at, apptest.Forms[name]).Fails(409, "too_many_imports", "20 imports")
	}
	app.Work()
	done := org.Read.Post("/v1/imports/list", nil).Is(200).Text("data.0.id")
	org.Write.Post("/v1/imports/"+done+"/cancel", nil).Fails(409, "import_not_running", "already completed")
	org.Read.Get("/v1/imports/" + done + "/rejects").Is(200)
}
