package apptest

import (
	"cmp"
	"net/http"
	"strings"
	"testing"
)

// TestValidate alters one part of a request or response at a time, and expects that validation against
// the document detects it.
func TestValidate(t *testing.T) {
	app := New(t)
	as := app.Org("Acme").Write
	// With 100 levels, a validator that visits each level twice would never finish.
	deep := func(condition string) string {
		rule := `{"field": "name", "condition": "` + condition + `", "value": "x"}`
		return `{"filters": ` + strings.Repeat(`{"filters": [`, 100) + rule + strings.Repeat(`]}`, 100) + `}`
	}
	bodies := map[string]string{
		"/v1/accounts": `{"name": "Alder Labs"}`, "/v1/accounts/list": deep("is"), "/v1/tasks": `{"title": "Call", "due_at": ""}`, "/v1/tags": `{}`,
	}
	answers := map[string]*Response{}
	for path, body := range bodies {
		answers[path] = as.Post(path, body)
	}
	answers["/v1/accounts"].Is(http.StatusCreated)
	answers["/v1/accounts/list"].Is(http.StatusOK)
	answers["/v1/tags"].Is(http.StatusUnprocessableEntity)

	for _, c := range []struct {
		path, query, body string
		answer            [2]string // a part of the response body, and its replacement
		status            int
		header            [2]string // a name and its value
		refusal           string
	}{
		{path: "/v1/accounts"},
		{path: "/v1/accounts/list"},
		{path: "/v1/tasks"},
		{path: "/v1/tags"},
		{path: "/v1/accounts", answer: [2]string{`"name":`, `"colour":"red","name":`}, refusal: `at '/data': additional properties 'colour' not allowed`},
		{path: "/v1/accounts", answer: [2]string{`"name":`, `"custom_field_Tier":"A","name":`}, refusal: `additional properties 'custom_field_Tier' not allowed`},
		{path: "/v1/accounts", answer: [2]string{`"Alder Labs"`, `7`}, refusal: `at '/data/name': got number, want string`},
		{path: "/v1/accounts", answer: [2]string{`"name":"Alder Labs",`, ``}, refusal: `at '/data': missing property 'name'`},
		{path: "/v1/accounts", answer: [2]string{`"created_at":"2`, `"created_at":"x2`}, refusal: `is not valid date-time`},
		{path: "/v1/accounts", answer: [2]string{`"id":"0`, `"id":"`}, refusal: `is not valid uuid`},
		{path: "/v1/accounts", answer: [2]string{`}}`, `}}}`}, refusal: `invalid character`},
		{path: "/v1/tags", answer: [2]string{`"code":"validation_failed"`, `"code":"colourless"`}, refusal: `returned 422 with the undocumented error code colourless`},
		{path: "/v1/accounts", status: http.StatusAccepted, refusal: `status is not supported`},
		{path: "/v1/accounts", header: [2]string{"Content-Type", "text/html"}, refusal: `Content-Type`},
		{path: "/v1/accounts", header: [2]string{"X-RateLimit-Limit", "many"}, refusal: `X-RateLimit-Limit`},
		{path: "/v1/accounts", query: "?colour=red", refusal: `undocumented query parameter colour`},
		{path: "/v1/accounts", body: `{"name": "Alder Labs", "colour": "red"}`, refusal: `invalid propertyName 'colour'`},
		{path: "/v1/accounts", body: `{"name": 7}`, refusal: `at '/name': got number, want string`},
		{path: "/v1/tasks", body: `{"title": "Call", "due_at": "soon"}`, refusal: `'soon' is not valid date`},
		{path: "/v1/accounts/list", body: deep("resembles"), refusal: `value must be one of`},
	} {
		t.Run(c.path+" "+c.refusal, func(t *testing.T) {
			r, body := *answers[c.path], cmp.Or(c.body, bodies[c.path])
			if !strings.Contains(string(r.Body), c.answer[0]) {
				t.Fatalf("%s is not in %s", c.answer[0], r.Body)
			}
			if c.answer[0] != "" {
				r.Body = []byte(strings.Replace(string(r.Body), c.answer[0], c.answer[1], 1))
			}
			r.Status, r.Header = cmp.Or(c.status, r.Status), r.Header.Clone()
			if c.header[0] != "" {
				r.Header.Set(c.header[0], c.header[1])
			}
			req, err := http.NewRequest(http.MethodPost, app.URL+c.path+c.query, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			err = app.validate(req, []byte(body), &r, func(string, int) bool { return true })
			if (err != nil) != (c.refusal != "") || err != nil && !strings.Contains(err.Error(), c.refusal) {
				t.Errorf("validate = %v, want %q", err, c.refusal)
			}
		})
	}
}
