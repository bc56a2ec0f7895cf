package handlers

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/shape"
)

// The parts of an OpenAPI 3.1 document that this service uses.
type (
	apiDocument struct {
		OpenAPI    string                           `json:"openapi"`
		Info       apiInfo                          `json:"info"`
		Servers    []apiServer                      `json:"servers"`
		Security   []map[string][]string            `json:"security"`
		Tags       []apiTag                         `json:"tags"`
		Paths      map[string]map[string]*apiMethod `json:"paths"`
		Webhooks   map[string]map[string]*apiMethod `json:"webhooks"`
		Components apiComponents                    `json:"components"`
	}
	apiInfo struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Description string `json:"description"`
	}
	apiServer struct {
		URL string `json:"url"`
	}
	apiTag struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	apiMethod struct {
		OperationID string                  `json:"operationId"`
		Summary     string                  `json:"summary"`
		Description string                  `json:"description"`
		Tags        []string                `json:"tags"`
		Security    *[]map[string][]string  `json:"security,omitempty"`
		Parameters  []apiParameter          `json:"parameters,omitempty"`
		Body        *apiBody                `json:"requestBody,omitempty"`
		Responses   map[string]*apiResponse `json:"responses"`
	}
	apiParameter struct {
		Name        string        `json:"name"`
		In          string        `json:"in"`
		Required    bool          `json:"required,omitempty"`
		Description string        `json:"description,omitempty"`
		Schema      *shape.Schema `json:"schema"`
	}
	apiBody struct {
		Required bool                `json:"required,omitempty"`
		Content  map[string]apiMedia `json:"content"`
	}
	apiMedia struct {
		Schema   *shape.Schema          `json:"schema"`
		Example  json.RawMessage        `json:"example,omitempty"`
		Encoding map[string]apiEncoding `json:"encoding,omitempty"`
	}
	apiEncoding struct {
		ContentType string `json:"contentType"`
	}
	apiResponse struct {
		Description string               `json:"description"`
		Headers     map[string]apiHeader `json:"headers,omitempty"`
		Content     map[string]apiMedia  `json:"content,omitempty"`
		Codes       []fault.Code         `json:"x-error-codes,omitempty"`
	}
	apiHeader struct {
		Description string        `json:"description"`
		Schema      *shape.Schema `json:"schema"`
	}
	apiComponents struct {
		Schemas  shape.Components     `json:"schemas"`
		Security map[string]apiScheme `json:"securitySchemes"`
	}
	apiScheme struct {
		Type   string `json:"type"`
		Scheme string `json:"scheme,omitempty"`
		In     string `json:"in,omitempty"`
		Name   string `json:"name,omitempty"`
	}
)

// openAPI generates the API document from the table of operations.
func (a *API) openAPI() []byte {
	d := apiDocument{
		OpenAPI: "3.1.0",
		Info: apiInfo{
			Title: "Prospector", Version: "1.0.0",
			Description: "Self-hosted sales prospecting and outreach. Request bodies are strict: unknown properties are refused. " +
				"A session acts like an API key with the access of its user. An empty string clears a field, as null does. Every POST that changes data honors Idempotency-Key. " +
				"A method that a path does not support returns 405 `method_not_allowed` with an Allow header. " +
				"Responses of more than 1 KB are compressed with gzip for clients that accept it.",
		},
		Servers:  []apiServer{{URL: "/"}},
		Security: []map[string][]string{{"bearer": {}}, {"key": {}}, {"session": {}}},
		Tags:     groups,
		Paths:    map[string]map[string]*apiMethod{},
		Components: apiComponents{
			Schemas: shape.Components{},
			Security: map[string]apiScheme{
				"bearer":  {Type: "http", Scheme: "bearer"},
				"key":     {Type: "apiKey", In: "header", Name: "X-Prospector-Api-Key"},
				"session": {Type: "apiKey", In: "cookie", Name: sessionCookieName(a.isHTTPS())},
			},
		},
	}
	schemas := d.Components.Schemas
	addFilterSchemas(schemas)
	for i := range a.operations {
		o := &a.operations[i]
		if d.Paths[o.Path] == nil {
			d.Paths[o.Path] = map[string]*apiMethod{}
		}
		d.Paths[o.Path][strings.ToLower(o.Method)] = o.document(schemas)
	}
	d.Webhooks = a.events(schemas)
	body := schemas["ErrorBody"]
	body.Properties = body.Properties.Set("code", text(shape.Schema{Description: errorCodesInWords()}))
	return mustJSON(d)
}

// errorCodesInWords lists all codes. They are no enum, so that a client accepts those of later versions.
func errorCodesInWords() string {
	var codes []string
	for _, row := range errorTable {
		if row.code != fault.Unauthorized { // a 401 has another body
			codes = append(codes, "`"+string(row.code)+"`")
		}
	}
	return "The kind of error, for programs. One of " + strings.Join(codes, ", ") + "; later versions may add others."
}

func (o *Operation) document(schemas shape.Components) *apiMethod {
	m := &apiMethod{OperationID: o.Name, Summary: o.Summary, Tags: []string{o.group()}, Parameters: o.parameters()}
	switch o.Access {
	case Public:
		m.Description = "Requires no API key."
		m.Security = &[]map[string][]string{}
	case SignedIn:
		m.Description = "Requires a session. An API key cannot perform it."
		m.Security = &[]map[string][]string{{"session": {}}}
	default:
		m.Description = "Requires an API key with " + string(o.Access) + " access."
	}
	if o.input.typ != nil {
		schema := schemas.Of(o.input.typ, o.input.view)
		required := o.Method == http.MethodPatch || len(schemas[strings.TrimPrefix(schema.Ref, "#/components/schemas/")].Required) > 0
		m.Body = &apiBody{Required: required, Content: map[string]apiMedia{"application/json": {Schema: schema, Example: o.example}}}
	}
	if o.form != nil {
		m.Body = o.form.document(schemas)
	}
	m.Responses = map[string]*apiResponse{strconv.Itoa(o.Status): o.success(schemas)}
	if o.mayExist {
		m.Responses["200"] = o.success(schemas)
		m.Responses["200"].Description = "It already existed."
	}
	if o.output.cached {
		m.Responses["304"] = &apiResponse{Description: "The version in If-None-Match is the current one.", Headers: o.headers()}
	}
	for _, code := range o.ErrorCodes() {
		row := errorRowOf(code)
		status := strconv.Itoa(row.status)
		r := m.Responses[status]
		if r == nil {
			body := schemas.Of(reflect.TypeFor[Error](), shape.Answer)
			if code == fault.Unauthorized {
				body = schemas.Of(reflect.TypeFor[Unauthorized](), shape.Answer)
			}
			r = &apiResponse{Content: map[string]apiMedia{"application/json": {Schema: body}}}
			if code == fault.RateLimited {
				r.Headers = rateHeaders
			}
			if row.status == http.StatusServiceUnavailable {
				r.Headers = retryHeader
			}
			if isRecipientPage(o.Path) {
				r.Content["text/html"] = apiMedia{Schema: text(shape.Schema{})}
			}
			m.Responses[status] = r
		}
		r.Description = strings.TrimSpace(r.Description + " `" + string(code) + "`: " + row.when)
		r.Codes = append(r.Codes, code)
	}
	return m
}

func text(schema shape.Schema) *shape.Schema {
	schema.Type = shape.Types{"string"}
	return &schema
}

func (o *Operation) parameters() []apiParameter {
	var ps []apiParameter
	for _, name := range o.params {
		p := apiParameter{Name: name, In: "path", Required: true, Description: "The id of the record.", Schema: text(shape.Schema{Format: "uuid"})}
		switch name {
		case "entity":
			p.Description, p.Schema = "The entity to describe.", text(shape.Schema{Enum: o.Entities})
		case "page":
			p.Description, p.Schema = "A page of the documentation.", text(shape.Schema{Enum: docsPages()})
		case "token":
			p.Description, p.Schema = "The token of the unsubscribe link in a message.", text(shape.Schema{})
		}
		ps = append(ps, p)
	}
	if o.query != nil {
		for _, f := range shape.OfType(o.query).Fields {
			schema := shape.Components{}.OfField(&f)
			ps = append(ps, apiParameter{Name: f.Key, In: "query", Schema: schema, Description: f.Doc})
		}
	}
	if o.idempotent() {
		ps = append(ps, apiParameter{Name: "Idempotency-Key", In: "header", Schema: text(shape.Schema{MinLength: 1, MaxLength: 255}),
			Description: "Makes the request safe to retry. For 24 hours, the same request with the same key " +
				"returns the same response and has no further effect."})
	}
	if o.output.cached {
		ps = append(ps, apiParameter{Name: "If-None-Match", In: "header", Schema: text(shape.Schema{}),
			Description: "The ETag of the version that the client has. If it is the current one, the response is 304 without a body."})
	}
	if o.honorsIfMatch {
		ps = append(ps, apiParameter{Name: "If-Match", In: "header", Schema: text(shape.Schema{}),
			Description: "The ETag of the version to change. If the record has another version, the request " +
				"fails with 412."})
	}
	return ps
}

func (o *Operation) success(schemas shape.Components) *apiResponse {
	r := &apiResponse{Description: "Success.", Headers: o.headers()}
	switch {
	case o.output.raw != "":
		schema := &shape.Schema{Type: shape.Types{"object"}}
		if o.output.raw != "application/json" {
			schema = text(shape.Schema{})
		}
		r.Content = map[string]apiMedia{o.output.raw: {Schema: schema}}
	case o.output.streams != nil:
		r.Content = map[string]apiMedia{}
		for _, media := range o.output.streams {
			r.Content[media] = apiMedia{Schema: text(shape.Schema{})}
		}
	case o.output.typ != nil:
		r.Content = map[string]apiMedia{"application/json": {Schema: o.envelope(schemas)}}
	}
	return r
}

// headers returns the headers of a successful response.
func (o *Operation) headers() map[string]apiHeader {
	h := map[string]apiHeader{"X-Request-Id": {"The request id given by the caller, or a new one. The server log contains it.", text(shape.Schema{})}}
	if o.Access != Public {
		for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
			h[name] = rateHeaders[name]
		}
	}
	if o.output.cached {
		h["ETag"] = apiHeader{"The version of the response, for If-None-Match.", text(shape.Schema{})}
	}
	if o.isVersioned {
		h["ETag"] = apiHeader{"The version of the record, for If-Match.", text(shape.Schema{})}
	}
	if o.idempotent() {
		h["Idempotent-Replayed"] = apiHeader{"true if this is the stored response of an earlier request with the same Idempotency-Key.", text(shape.Schema{})}
	}
	return h
}

func (o *Operation) envelope(schemas shape.Components) *shape.Schema {
	data := schemas.Of(o.output.typ, shape.Answer)
	name := shape.TypeName(o.output.typ) + "Item"
	s := &shape.Schema{Type: shape.Types{"object"}, Required: []string{"data", "meta"}}
	if o.output.list {
		name = shape.TypeName(o.output.typ) + "List"
		s.Required = []string{"data", "pagination", "meta"}
		s.Properties = s.Properties.Set("data", &shape.Schema{Type: shape.Types{"array"}, Items: data}).
			Set("pagination", schemas.Of(reflect.TypeFor[Pagination](), shape.Answer))
		if o.output.summary != nil {
			s.Required = append(s.Required, "summary")
			s.Properties = s.Properties.Set("summary", schemas.Of(o.output.summary, shape.Answer))
		}
	} else {
		s.Properties = s.Properties.Set("data", data)
	}
	s.Properties = s.Properties.Set("meta", schemas.Of(reflect.TypeFor[Meta](), shape.Answer))
	schemas[name] = s
	return shape.RefTo(name)
}

var retryHeader = map[string]apiHeader{
	"Retry-After": {"Seconds after which to repeat the request.", &shape.Schema{Type: shape.Types{"integer"}}},
}

var rateHeaders = map[string]apiHeader{
	"X-RateLimit-Limit":     {"The maximum number of requests in a window of one minute.", &shape.Schema{Type: shape.Types{"integer"}}},
	"X-RateLimit-Remaining": {"The number of requests left in the window.", &shape.Schema{Type: shape.Types{"integer"}}},
	"X-RateLimit-Reset":     {"The end of the window as a Unix timestamp.", &shape.Schema{Type: shape.Types{"integer"}}},
	"Retry-After":           {"Seconds after which to repeat the request.", &shape.Schema{Type: shape.Types{"integer"}}},
}

const conditionsInWords = "is and is_not take a value or a list of values and compare exactly, but email, website, linkedin_url and country in any spelling. equals takes one value. On text, contains and " +
	"not_contains look for a substring, ignoring case. On a list of ids, is matches any of the given ids, is_not none of them, contains all of them, " +
	"and not_contains matches if at least one is missing. greater_than, less_than, at_least and at_most are for numbers and dates, is_before and is_after for dates. " +
	"between takes a list of two numbers or dates, which it includes. A date compared with a time means the whole day in UTC: is_after matches from the " +
	"next day on, at_most until the end of the day. Tags can be given by name. A record without a value matches only is_not, " +
	"not_contains and is_empty."

// addFilterSchemas adds the schemas of the recursive filter expression.
func addFilterSchemas(schemas shape.Components) {
	var names []string
	for _, c := range filter.AllConditions {
		names = append(names, string(c))
	}
	closed := func(properties *shape.Properties, required ...string) *shape.Schema {
		return &shape.Schema{Type: shape.Types{"object"}, Properties: properties, Required: required, Additional: shape.Nothing}
	}
	var rule, expression *shape.Properties
	schemas["FilterRule"] = closed(rule.
		Set("field", text(shape.Schema{Description: "A key of the entity's schema."})).
		Set("condition", text(shape.Schema{Enum: slices.Sorted(slices.Values(names)), Description: conditionsInWords})).
		Set("value", &shape.Schema{Description: "A value. is and is_not also take a list, as do contains and not_contains for a list field. between takes a list of two values. Absent for is_empty and is_not_empty."}),
		"field", "condition")
	// Enums with a default are components of their own: code generators make a property required if it has
	// a default itself.
	schemas["FilterOperator"] = text(shape.Schema{Enum: []string{"and", "or"}, Default: "and"})
	schemas["SortDirection"] = text(shape.Schema{Enum: []string{"asc", "desc"}, Default: "asc"})
	schemas["FilterExpression"] = closed(expression.
		Set("operator", shape.RefTo("FilterOperator")).
		Set("filters", shape.RefTo("FilterList")), "filters")
	schemas["FilterList"] = &shape.Schema{Type: shape.Types{"array"}, Items: shape.RefTo("Filter")}
	schemas["Filter"] = &shape.Schema{OneOf: []*shape.Schema{shape.RefTo("FilterRule"), shape.RefTo("FilterExpression")}}
	schemas["MemberData"] = &shape.Schema{Type: shape.Types{"object"}}
	schemas["BulkChanges"] = &shape.Schema{Type: shape.Types{"object"}}
	schemas["PreferenceValues"] = &shape.Schema{Type: shape.Types{"object"}}
	var sorting *shape.Properties
	schemas["SortingRule"] = closed(sorting.
		Set("field", text(shape.Schema{Description: "A key of the entity's schema."})).
		Set("direction", shape.RefTo("SortDirection")), "field")
	var grouping *shape.Properties
	schemas["GroupingRule"] = closed(grouping.Set("field", text(shape.Schema{Description: "A key of the entity's schema."})), "field")
	schemas["SortingRules"] = &shape.Schema{
		Description: "Field keys, each with a leading - for descending order, or objects.", Type: shape.Types{"array"},
		Items: &shape.Schema{OneOf: []*shape.Schema{text(shape.Schema{}), shape.RefTo("SortingRule")}},
	}
	schemas["Filters"] = &shape.Schema{
		Description: "A list of rules that must all match, or an expression that combines rules and " +
			"expressions. At most 200 levels deep, with at most 1000 rules.",
		OneOf: []*shape.Schema{shape.RefTo("FilterList"), shape.RefTo("FilterExpression")},
	}
}
