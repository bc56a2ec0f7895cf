package handlers_test

import (
	"encoding/json"
	"maps"
	"testing"

	"prospector/handlers"
	"prospector/internal/apptest"
)

// TestRestoreTaken checks that no record is restored while another has its external_id.
func TestRestoreTaken(t *testing.T) {
	org := apptest.New(t).Org("Acme")
	for _, kind := range []struct{ entity, object string }{
		{"accounts", "account"}, {"contacts", "contact"}, {"opportunities", "opportunity"}, {"tasks", "task"}, {"meetings", "meeting"},
	} {
		t.Run(kind.entity, func(t *testing.T) {
			w, at := org.Write.In(t), "/v1/"+kind.entity
			var body map[string]any
			if err := json.Unmarshal([]byte(example(org, &handlers.Operation{Name: "create_" + kind.object}).(string)), &body); err != nil {
				t.Fatal(err)
			}
			taken := maps.Clone(body)
			body["external_id"], taken["external_id"] = "x-1", "X-1"
			id := w.Post(at, body).Is(201).ID()
			w.Delete(at + "/" + id).Is(204)
			other := w.Post(at, taken).Is(201).ID()
			w.Post(at+"/"+id+"/restore", `{}`).Fails(409, "external_id_taken", "external_id")
			w.Patch(at+"/"+other, `{"external_id": null}`).Is(200)
			w.Post(at+"/"+id+"/restore", `{}`).Has(200, `{"data": {"external_id": "x-1"}}`)
		})
	}
}
