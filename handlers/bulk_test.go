package handlers_test

import (
	"testing"

	"prospector/internal/apptest"
)

// TestBulk reaches the errors of bulk operations on every entity. Package bulk tests what they do.
func TestBulk(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	for _, entity := range []string{"accounts", "contacts", "opportunities", "tasks", "meetings"} {
		path := "/v1/" + entity + "/bulk"
		apptest.Makers[entity](org)
		org.Write.Post(path, `{"filters": [{"field": "x", "condition": "is", "value": 1}], "delete": true}`).Fails(422, "invalid_filter", "filters[0].field")
		org.Write.Post(path, `{"filters": [], "delete": true, "expect": 7}`).Fails(409, "count_changed", "not 7")
		id := org.Write.Post(path, `{"filters": [], "set": {"notes": "checked"}, "dry_run": true}`).Is(202).ID()
		org.Write.Post("/v1/operations/"+id+"/cancel", nil).Fails(409, "invalid_transition", "completed")

		trash := "/v1/" + entity + "/trash/bulk"
		org.Write.Post(trash, `{"filters": [{"field": "x", "condition": "is", "value": 1}], "restore": true}`).Fails(422, "invalid_filter", "filters[0].field")
		org.Write.Post(trash, `{"filters": [], "restore": true, "expect": 7}`).Fails(409, "count_changed", "not 7")
	}
}
