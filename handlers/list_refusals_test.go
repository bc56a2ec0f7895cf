package handlers_test

import (
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// TestListRefusals checks that every list, export and count of values refuses fields that are not in its schema.
func TestListRefusals(t *testing.T) {
	app := apptest.New(t)
	org := app.Org("Acme")
	ops := app.API.Operations()
	for i := range ops {
		if strings.HasPrefix(ops[i].Name, "facet_") {
			body := strings.TrimSuffix(example(org, &ops[i]).(string), "}") + `, "filters": [{"field": "nope", "condition": "is", "value": 1}]}`
			org.Read.Post(path(t, app, org, &ops[i]), body).Fails(422, "invalid_filter", "filters[0].field")
		}
		if op := &ops[i]; strings.HasPrefix(op.Name, "list_") && op.Method == "POST" || strings.HasPrefix(op.Name, "export_") {
			at := path(t, app, org, op)
			org.Read.Post(at, `{"filters": [{"field": "nope", "condition": "is", "value": 1}]}`).Fails(422, "invalid_filter", "filters[0].field")
			org.Read.Post(at, `{"sort": "nope"}`).Fails(422, "invalid_sort", "nope")
			org.Read.Post(at, `{"sort": 1, "filters": 2}`).Fails(422, "validation_failed", "sort: must be a string")
		}
	}
}
