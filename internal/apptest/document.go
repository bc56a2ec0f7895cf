package apptest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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

// document is the API document that requests and responses are held against.
type document struct {
	spec            *openapi3.T
	asked, answered *schemas // of the JSON bodies
}

// documents are those that the tests of a process have read, by the operations that they are made from, each as a
// func() (*document, error).
var documents sync.Map

// To the library a page and a streamed table are texts.
var knowTexts = sync.OnceFunc(func() {
	for _, media := range []string{"text/html", "text/csv", "application/x-ndjson"} {
		openapi3filter.RegisterBodyDecoder(media, openapi3filter.RegisteredBodyDecoder("text/plain"))
	}
})

func loadDocument(t testing.TB, url string, ops []handlers.Operation) *document {
	t.Helper()
	knowTexts()
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
	shut(doc)
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
	if d.asked, err = newSchemas(doc, inRequests()...); err != nil {
		return nil, err
	}
	d.answered, err = newSchemas(doc)
	return d, err
}

// shut forbids in every schema what it does not name, so that an answer with an undocumented field is found out. An
// answer with custom fields is open only for code generators.
func shut(doc map[string]any) {
	for _, s := range doc["components"].(map[string]any)["schemas"].(map[string]any) {
		schema := s.(map[string]any)
		_, named := schema["properties"]
		_, custom := schema["patternProperties"]
		if named && schema["additionalProperties"] == nil || custom && schema["propertyNames"] == nil {
			schema["additionalProperties"] = false
		}
	}
}

// hold holds a request and its response against the document.
func (a *App) hold(req *http.Request, body []byte, r *Response) {
	a.t.Helper()
	if err := a.check(req, body, r, sampled); err != nil {
		a.t.Fatal(err)
	}
}

// sampled tells whether a request and its answer are held against the schemas: all of them are, but under the race detector, where that
// takes most of the time, only the first of an operation and status.
func sampled(op string, status int) bool { return !raceDetector || seen.add(op, strconv.Itoa(status)) }

// check says what is not as the document has it: what succeeded must be allowed by it, and whatever is answered must be
// described in it, down to the error code. Those that looks is false of are held against all but the schemas.
func (a *App) check(req *http.Request, body []byte, r *Response, looks func(op string, status int) bool) error {
	op, params := a.operation(req)
	if op == nil {
		return nil // an unknown path or method, which no document can describe
	}
	item := a.document.spec.Paths.Value(op.Path)
	input := &openapi3filter.RequestValidationInput{
		Request:    req,
		PathParams: params,
		Route:      &routers.Route{Spec: a.document.spec, Path: op.Path, PathItem: item, Method: op.Method, Operation: item.GetOperation(op.Method)},
	}
	looked := looks(op.Name, r.Status)
	if looked && r.Status < 400 {
		if err := a.document.checkRequest(input, body); err != nil {
			return fmt.Errorf("%s\nwas answered %d %s\nbut the API document refuses it: %w", r.what, r.Status, r.Body, err)
		}
	}
	if looked {
		if err := a.document.checkResponse(input, r); err != nil {
			return fmt.Errorf("%s\nwas answered %d %s\nwhich the API document does not describe: %w", r.what, r.Status, r.Body, err)
		}
	}
	code := "ok"
	if r.Status >= 400 && !isJSON(r.Header) {
		return nil // a page, which has no code
	}
	if r.Status >= 400 {
		code = "unauthorized"
		if r.Status != http.StatusUnauthorized {
			code = r.Text("error.code")
		}
		codes, _ := json.Marshal(input.Route.Operation.Responses.Status(r.Status).Value.Extensions["x-error-codes"])
		var documented []string
		if err := json.Unmarshal(codes, &documented); err != nil || !slices.Contains(documented, code) {
			return fmt.Errorf("%s\nwas answered %d %s, a code that the API document does not have there", r.what, r.Status, code)
		}
	}
	seen.add(op.Name, code)
	return nil
}

// CheckEvent says what the API document refuses in the body of an event.
func (a *App) CheckEvent(key string, body []byte) error {
	return a.document.answered.check(body, "webhooks", key, "post", "requestBody", "content", jsonMedia, "schema")
}

// options leave a JSON body to the schemas.
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
			return fmt.Errorf("it has no query parameter %s", name)
		}
	}
	described := len(body) > 0 && isJSON(input.Request.Header) && op.RequestBody != nil && op.RequestBody.Value.Content[jsonMedia] != nil
	input.Request.Body = io.NopCloser(bytes.NewReader(body))
	input.Options = options(described)
	if err := openapi3filter.ValidateRequest(context.Background(), input); err != nil || !described {
		return err
	}
	return d.asked.check(body, "paths", input.Route.Path, strings.ToLower(input.Route.Method), "requestBody", "content", jsonMedia, "schema")
}

func (d *document) checkResponse(input *openapi3filter.RequestValidationInput, r *Response) error {
	documented := input.Route.Operation.Responses.Status(r.Status)
	described := isJSON(r.Header) && documented != nil && documented.Value.Content[jsonMedia] != nil
	response := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: r.Status, Header: r.Header, Options: options(described)}
	response.SetBodyBytes(r.Body)
	if err := openapi3filter.ValidateResponse(context.Background(), response); err != nil || !described {
		return err
	}
	return d.answered.check(r.Body, "paths", input.Route.Path, strings.ToLower(input.Route.Method), "responses", strconv.Itoa(r.Status), "content", jsonMedia, "schema")
}

func (a *App) operation(req *http.Request) (found *handlers.Operation, params map[string]string) {
	ops := a.API.Operations()
	for i := range ops {
		if ops[i].Method != req.Method {
			continue
		}
		// Among several that match, the one with fewer parameters is meant.
		if p, ok := ops[i].Match(req.URL.Path); ok && (found == nil || len(p) < len(params)) {
			found, params = &ops[i], p
		}
	}
	return found, params
}

// seen is which operations were answered how, by status and by code, over all tests of a process.
var seen = outcomes{m: map[string]map[string]bool{}}

type outcomes struct {
	mu sync.Mutex
	m  map[string]map[string]bool
}

// add takes down how an operation was answered, and tells whether it was so for the first time.
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

// Seen tells whether a test saw the operation answer the code; "ok" is success.
func Seen(op, code string) bool {
	seen.mu.Lock()
	defer seen.mu.Unlock()
	return seen.m[op][code]
}
