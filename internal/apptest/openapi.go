package apptest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"prospector/handlers"
)

// document is the API document that requests and responses are validated against.
type document struct {
	spec                *openapi3.T
	requests, responses *schemas // of JSON bodies
}

// documents caches the documents that the tests of a process have loaded, by the names of their
// operations. The values are of type func() (*document, error).
var documents sync.Map

// registerTextTypes makes the library treat web pages and exports as text.
var registerTextTypes = sync.OnceFunc(func() {
	for _, media := range []string{"text/html", "text/csv", "application/x-ndjson"} {
		openapi3filter.RegisterBodyDecoder(media, openapi3filter.RegisteredBodyDecoder("text/plain"))
	}
})

func loadDocument(t testing.TB, url string, ops []handlers.Operation) *document {
	t.Helper()
	registerTextTypes()
	var names strings.Builder
	for i := range ops {
		fmt.Fprintln(&names, ops[i].Name)
	}
	read, _ := documents.LoadOrStore(names.String(), sync.OnceValues(func() (*document, error) { return fetchDocument(url) }))
	d, err := read.(func() (*document, error))()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func fetchDocument(url string) (*document, error) {
	res, err := http.Get(url + "/openapi.json")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	return readDocument(raw)
}

func readDocument(raw []byte) (*document, error) {
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	forbidUnknown(doc)
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	d := &document{}
	if d.spec, err = openapi3.NewLoader().LoadFromData(raw); err != nil {
		return nil, err
	}
	if err := d.spec.Validate(context.Background()); err != nil {
		return nil, err
	}
	if d.responses, err = newSchemas(doc); err != nil {
		return nil, err
	}
	var lenient any // a copy, because schemas keep the document
	if err := json.Unmarshal(raw, &lenient); err != nil {
		return nil, err
	}
	allowEmpty(lenient)
	d.requests, err = newSchemas(lenient, requestFormats()...)
	return d, err
}

// allowEmpty adds "" to the enums that also allow null. The document describes in words that an empty string
// clears a field, because code generators would make "" a value of the type.
func allowEmpty(doc any) {
	switch v := doc.(type) {
	case []any:
		for _, entry := range v {
			allowEmpty(entry)
		}
	case map[string]any:
		if of, _ := v["anyOf"].([]any); len(of) == 2 && reflect.DeepEqual(of[1], map[string]any{"type": "null"}) {
			if choice := of[0].(map[string]any); choice["enum"] != nil {
				choice["enum"] = append(choice["enum"].([]any), "")
			}
		}
		for _, entry := range v {
			allowEmpty(entry)
		}
	}
}

// forbidUnknown forbids properties that a schema does not declare, so that undocumented fields in a
// response are detected. Schemas with custom fields allow other properties only for code generators.
func forbidUnknown(doc map[string]any) {
	for _, s := range doc["components"].(map[string]any)["schemas"].(map[string]any) {
		schema := s.(map[string]any)
		_, named := schema["properties"]
		_, custom := schema["patternProperties"]
		if named && schema["additionalProperties"] == nil || custom && schema["propertyNames"] == nil {
			schema["additionalProperties"] = false
		}
	}
}

// shouldValidate reports whether a request and its response are validated against the schemas. All of
// them are, except under the race detector. There validation takes most of the time, so that only the
// first request of each operation and status is validated.
func shouldValidate(op string, status int) bool {
	return !RaceDetector || seen.add(op, strconv.Itoa(status))
}

// validate checks a request and its response against the document. The document must allow a request that
// succeeded, and must describe every response, including its error code. If useSchemas returns false,
// the bodies are not checked against their schemas.
func (a *App) validate(req *http.Request, body []byte, r *Response, useSchemas func(op string, status int) bool) error {
	op, params := a.operation(req)
	if op == nil {
		return nil // an unknown path or method, which is not in the document
	}
	item := a.document.spec.Paths.Value(op.Path)
	input := &openapi3filter.RequestValidationInput{
		Request:    req,
		PathParams: params,
		Route:      &routers.Route{Spec: a.document.spec, Path: op.Path, PathItem: item, Method: op.Method, Operation: item.GetOperation(op.Method)},
	}
	withSchemas := useSchemas(op.Name, r.Status)
	if withSchemas && r.Status < 400 {
		if err := a.document.checkRequest(input, body); err != nil {
			return fmt.Errorf("%s\nreturned %d %s\nbut the API document does not allow the request: %w", r.what, r.Status, r.Body, err)
		}
	}
	if withSchemas {
		if err := a.document.checkResponse(input, r); err != nil {
			return fmt.Errorf("%s\nreturned %d %s\nbut the API document does not describe this response: %w", r.what, r.Status, r.Body, err)
		}
	}
	code := "ok"
	if r.Status >= 400 && !isJSON(r.Header) {
		return nil // a web page, which has no code
	}
	if r.Status >= 400 {
		code = "unauthorized"
		if r.Status != http.StatusUnauthorized {
			code = r.Text("error.code")
		}
		codes, _ := json.Marshal(input.Route.Operation.Responses.Status(r.Status).Value.Extensions["x-error-codes"])
		var documented []string
		if err := json.Unmarshal(codes, &documented); err != nil || !slices.Contains(documented, code) {
			return fmt.Errorf("%s\nreturned %d with the undocumented error code %s", r.what, r.Status, code)
		}
	}
	seen.add(op.Name, code)
	return nil
}

// CheckEvent checks the body of a webhook event against the API document.
func (a *App) CheckEvent(key string, body []byte) error {
	return a.document.responses.check(body, "webhooks", key, "post", "requestBody", "content", jsonMedia, "schema")
}

// options returns the options of the library. JSON bodies are validated with schemas instead.
func options(isJSON bool) *openapi3filter.Options {
	return &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, MultiError: true, SkipSettingDefaults: true,
		ExcludeRequestBody: isJSON, ExcludeResponseBody: isJSON,
	}
}

func (d *document) checkRequest(input *openapi3filter.RequestValidationInput, body []byte) error {
	op := input.Route.Operation
	for name := range input.Request.URL.Query() {
		if op.Parameters.GetByInAndName(openapi3.ParameterInQuery, name) == nil {
			return fmt.Errorf("undocumented query parameter %s", name)
		}
	}
	if form, isForm, err := formOptions(input.Request.Header, body); isForm {
		input.Request.Body, input.Options = io.NopCloser(bytes.NewReader(nil)), options(true)
		if err == nil {
			err = openapi3filter.ValidateRequest(context.Background(), input)
		}
		if err != nil || form == nil {
			return err
		}
		return d.requests.check(form, "paths", input.Route.Path, strings.ToLower(input.Route.Method), "requestBody", "content", formMedia, "schema", "properties", "options")
	}
	described := len(body) > 0 && isJSON(input.Request.Header) && op.RequestBody != nil && op.RequestBody.Value.Content[jsonMedia] != nil
	input.Request.Body = io.NopCloser(bytes.NewReader(body))
	input.Options = options(described)
	if err := openapi3filter.ValidateRequest(context.Background(), input); err != nil || !described {
		return err
	}
	return d.requests.check(body, "paths", input.Route.Path, strings.ToLower(input.Route.Method), "requestBody", "content", jsonMedia, "schema")
}

func (d *document) checkResponse(input *openapi3filter.RequestValidationInput, r *Response) error {
	documented := input.Route.Operation.Responses.Status(r.Status)
	described := isJSON(r.Header) && documented != nil && documented.Value.Content[jsonMedia] != nil
	response := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: r.Status, Header: r.Header, Options: options(described)}
	response.SetBodyBytes(r.Body)
	if err := openapi3filter.ValidateResponse(context.Background(), response); err != nil || !described {
		return err
	}
	return d.responses.check(r.Body, "paths", input.Route.Path, strings.ToLower(input.Route.Method), "responses", strconv.Itoa(r.Status), "content", jsonMedia, "schema")
}

func (a *App) operation(req *http.Request) (found *handlers.Operation, params map[string]string) {
	ops := a.API.Operations()
	for i := range ops {
		if ops[i].Method != req.Method {
			continue
		}
		// Several operations may match; the one with the fewest parameters wins.
		if p, ok := ops[i].Match(req.URL.Path); ok && (found == nil || len(p) < len(params)) {
			found, params = &ops[i], p
		}
	}
	return found, params
}

// seen records which operations returned which status and code, over all tests of a process.
var seen = outcomes{m: map[string]map[string]bool{}}

type outcomes struct {
	mu sync.Mutex
	m  map[string]map[string]bool
}

// add records an outcome of an operation, and reports whether it is the first of its kind.
func (o *outcomes) add(op, code string) (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.m[op] == nil {
		o.m[op] = map[string]bool{}
	}
	first = !o.m[op][code]
	o.m[op][code] = true
	return first
}

// Seen reports whether the operation has returned the code in any test of this process. "ok" means success.
func Seen(op, code string) bool {
	seen.mu.Lock()
	defer seen.mu.Unlock()
	return seen.m[op][code]
}
