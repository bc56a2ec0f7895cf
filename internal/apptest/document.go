package apptest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"prospector/handlers"
)

// document is the API document that requests and responses are held against.
type document struct{ spec *openapi3.T }

// To the library a page and a streamed table are texts.
var knowTexts = sync.OnceFunc(func() {
	for _, media := range []string{"text/html", "text/csv", "application/x-ndjson"} {
		openapi3filter.RegisterBodyDecoder(media, openapi3filter.RegisteredBodyDecoder("text/plain"))
	}
})

func loadDocument(t testing.TB, url string) *document {
	t.Helper()
	knowTexts()
	res, err := http.Get(url + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := openapi3.NewLoader().LoadFromData(closed(t, raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := spec.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	return &document{spec}
}

// closed forbids in every schema what it does not name, so that an answer with an undocumented field is found out. An
// answer with custom fields is open only for code generators.
func closed(t testing.TB, raw []byte) []byte {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	for _, s := range doc["components"].(map[string]any)["schemas"].(map[string]any) {
		schema := s.(map[string]any)
		_, named := schema["properties"]
		_, custom := schema["patternProperties"]
		if named && schema["additionalProperties"] == nil || custom && schema["propertyNames"] == nil {
			schema["additionalProperties"] = false
		}
	}
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// hold holds a request and its response against the document: what succeeded must be allowed by it, and whatever is
// answered must be described in it, down to the error code.
func (a *App) hold(req *http.Request, body []byte, r *Response) {
	a.t.Helper()
	op, params := a.operation(req)
	if op == nil {
		return // an unknown path or method, which no document can describe
	}
	item := a.document.spec.Paths.Value(op.Path)
	input := &openapi3filter.RequestValidationInput{
		Request:    req,
		PathParams: params,
		Route:      &routers.Route{Spec: a.document.spec, Path: op.Path, PathItem: item, Method: op.Method, Operation: item.GetOperation(op.Method)},
		Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, MultiError: true, SkipSettingDefaults: true,
		},
	}
	if r.Status < 400 && nesting(body) <= maxNesting {
		req.Body = io.NopCloser(bytes.NewReader(body))
		asked := *input
		options := *input.Options
		options.SchemaValidationOptions = []openapi3.SchemaValidationOption{orEmpty("date"), orEmpty("date-time")}
		asked.Options = &options
		if err := openapi3filter.ValidateRequest(context.Background(), &asked); err != nil {
			a.t.Fatalf("%s\nwas answered %d, but the API document refuses it: %v", r.what, r.Status, err)
		}
	}
	response := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: r.Status, Header: r.Header, Options: input.Options}
	response.SetBodyBytes(r.Body)
	if err := openapi3filter.ValidateResponse(context.Background(), response); err != nil {
		a.t.Fatalf("%s\nwas answered %d %s\nwhich the API document does not describe: %v", r.what, r.Status, r.Body, err)
	}
	code := "ok"
	if r.Status >= 400 {
		code = "unauthorized"
		if r.Status != http.StatusUnauthorized {
			code = r.Text("error.code")
		}
		codes, _ := json.Marshal(item.GetOperation(op.Method).Responses.Status(r.Status).Value.Extensions["x-error-codes"])
		var documented []string
		if err := json.Unmarshal(codes, &documented); err != nil || !slices.Contains(documented, code) {
			a.t.Fatalf("%s\nwas answered %d %s, a code that the API document does not have there", r.what, r.Status, code)
		}
	}
	seen.add(op.Name, code)
}

// orEmpty lets a format hold for the empty text too, which in a request is no value. A format is an annotation in OpenAPI
// 3.1; the library makes a rule of it.
func orEmpty(format string) openapi3.SchemaValidationOption {
	strict := openapi3.SchemaStringFormats[format]
	return openapi3.WithStringFormatValidator(format, openapi3.NewCallbackValidator(func(s string) error {
		if s == "" {
			return nil
		}
		return strict.Validate(s)
	}))
}

// maxNesting bounds the bodies that are held against the document: the library takes each level of a recursive schema
// twice, so that a filter of a hundred levels would never be done.
const maxNesting = 20

func nesting(body []byte) (deepest int) {
	depth := 0
	for _, b := range body {
		switch b {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
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

// seen is which operations were answered how, over all tests of a process.
var seen = outcomes{m: map[string]map[string]bool{}}

type outcomes struct {
	mu sync.Mutex
	m  map[string]map[string]bool
}

func (o *outcomes) add(op, code string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.m[op] == nil {
		o.m[op] = map[string]bool{}
	}
	o.m[op][code] = true
}

// Seen tells whether a test saw the operation answer the code; "ok" is success.
func Seen(op, code string) bool {
	seen.mu.Lock()
	defer seen.mu.Unlock()
	return seen.m[op][code]
}
