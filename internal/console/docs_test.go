package console

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEscaping puts hostile text wherever a document can contain text.
func TestEscaping(t *testing.T) {
	const hostile = `</code></style></script><script>alert("x")</script><img src=x onerror='alert(1)'>{{.}}`
	text, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	doc := strings.ReplaceAll(`{
		"info": {"title": H, "version": H, "description": H}, "tags": [{"name": H, "description": H}],
		"paths": {H: {"post": {"operationId": H, "summary": H, "description": H, "tags": [H],
			"parameters": [{"name": H, "in": H, "description": H, "schema": {"enum": [H], "pattern": H, "default": H}}],
			"requestBody": {"content": {"application/json": {"schema": {"$ref": H}}}},
			"responses": {
				H: {"description": H, "headers": {H: {"description": H}}, "content": {H: {"schema": {"type": H, "format": H}}}},
				"400": {"description": H, "x-error-codes": [H]}}}}},
		"webhooks": {H: {"post": {"operationId": H, "summary": H, "description": H, "parameters": [{"name": H, "in": "header", "description": H}],
			"requestBody": {"content": {"application/json": {"schema": {"anyOf": [{"$ref": H}, {"$ref": H}]}, "example": {H: H}}}}, "responses": {H: {"description": H}}}}},
		"components": {"schemas": {H: {"description": H, "properties": {H: {"const": H, "examples": [H]}, "x": {"$ref": H}}, "required": [H], "patternProperties": {H: {}}}}}
	}`, "H", string(text))
	pages, err := Docs([]byte(doc), hostile)
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) != 4 {
		t.Errorf("%d pages, want the overview, the group, the events and the types", len(pages))
	}
	attribute := regexp.MustCompile(`<[a-z0-9]+( [a-z-]+(="[^"<>]*")?)*>`)
	for name, page := range pages {
		shown := string(page.HTML)
		if n := strings.Count(shown, "<script"); n != 1 {
			t.Errorf("the page %q has %d scripts, want 1", name, n)
		}
		if strings.Contains(shown, "<img") || strings.Count(shown, "</style>") != 1 || !strings.Contains(shown, "&lt;img src=x") {
			t.Errorf("the text of the document is not escaped on the page %q", name)
		}
		for _, tag := range regexp.MustCompile(`<[a-z][^>]*>`).FindAllString(strings.ReplaceAll(shown, docsScript, ""), -1) {
			if attribute.FindString(tag) != tag {
				t.Errorf("the page %q contains the tag %s", name, tag)
			}
		}
	}
}

func TestDescribe(t *testing.T) {
	var d document
	if err := json.Unmarshal([]byte(`{"components": {"schemas": {
		"Pair": {"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "string"}}, "required": ["a"]},
		"Tree": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}}},
		"Trees": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
		"Color": {"type": "string", "enum": ["red", "blue"]}}}}`), &d); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ schema, want string }{
		{`{}`, "anything"},
		{`true`, "anything"},
		{`{"type": "string", "format": "uuid"}`, "string <uuid>"},
		{`{"type": ["string", "null"], "minLength": 1, "maxLength": 255}`, "string or null (1 to 255 characters)"},
		{`{"type": "integer", "minimum": 0, "maximum": 9007199254740992, "default": 5}`, "integer (0 to 2⁵³) (default 5)"},
		{`{"type": "number", "minimum": 1.5}`, "number (at least 1.5)"},
		{`{"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}, {"type": "string", "enum": [""]}], "default": "a"}`, "string or null (default a) = a"},
		{`{"anyOf": [{"type": "string", "enum": ["a", "b", ""]}, {"type": "null"}]}`, "string or null = a b"},
		{`{"type": "string", "enum": ["a", ""]}`, "string = a "},
		{`{"const": 7}`, "anything = 7"},
		{`{"anyOf": [{"$ref": "#/components/schemas/Pair"}, {"type": "null"}], "description": "Two."}`, "Pair or null [Pair: 2 properties] {b integer, a! string}"},
		{`{"type": "array", "items": {"$ref": "#/components/schemas/Pair"}, "minItems": 1}`, "array of Pair (at least 1 item) [Pair: 2 properties] {b integer, a! string}"},
		{`{"type": "array", "items": {"type": "string", "maxLength": 3}}`, "array of string (each at most 3 characters)"},
		{`{"$ref": "#/components/schemas/Tree"}`, "Tree [Tree: 1 property] {children array of Tree}"},
		{`{"$ref": "#/components/schemas/Trees"}`, "Trees [Trees: array of Tree: 1 property] {children array of Tree}"},
		{`{"$ref": "#/components/schemas/Color"}`, "Color = red blue"},
		{`{"type": "object", "additionalProperties": {"type": "integer"}}`, "object of integer"},
		{`{"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Pair"}, "propertyNames": {"pattern": "^[a-z]+$"}, "minProperties": 1, "maxProperties": 9}`,
			"object of Pair (1 to 9 members) (each key matches ^[a-z]+$) [Pair: 2 properties] {b integer, a! string}"},
		{`{"type": "object", "properties": {"a": {}}, "patternProperties": {"^x_": {"type": "string"}}, "additionalProperties": false}`, "object [2 properties] {a anything, ^x_ string}"},
		{`{"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]}`, "string or number or null"},
		{`{"oneOf": [{"$ref": "#/components/schemas/Color"}, {"type": "integer"}]}`, "one of [2 forms] <Color = red blue| integer>"},
	} {
		var s schema
		if err := json.Unmarshal([]byte(c.schema), &s); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(inOneLine(describer{document: &d}.describe(&s))); got != strings.TrimSpace(c.want) {
			t.Errorf("describe(%s)\n= %s\nwant %s", c.schema, got, c.want)
		}
	}
	s := schema{Ref: "#/components/schemas/Pair"}
	if got := inOneLine(describer{document: &d, links: true}.describe(&s)); strings.TrimSpace(got) != "Pair" {
		t.Errorf("a link is described as %s, want Pair", got)
	}
	s = *d.Components.Schemas["Pair"]
	if got := inOneLine(describer{document: &d, responses: true}.describe(&s)); !strings.Contains(got, "{b? integer, a string}") {
		t.Errorf("a response is described as %s", got)
	}
}

// inOneLine formats a value for comparison.
func inOneLine(v value) string {
	line := " " + strings.TrimSpace(v.Type+" "+v.Link)
	if v.Nullable {
		line += " or null"
	}
	for _, n := range v.Notes {
		line += " (" + n + ")"
	}
	if v.Inside != "" {
		line += " [" + v.Inside + "]"
	}
	if v.Enum != nil {
		line += " = " + strings.Join(v.Enum, " ")
	}
	var fields, forms []string
	for _, f := range v.Fields {
		mark := map[string]string{"required": "!", "may be absent": "?"}[f.Presence]
		fields = append(fields, f.Name+mark+inOneLine(f.value))
	}
	if fields != nil {
		line += " {" + strings.Join(fields, ", ") + "}"
	}
	for _, f := range v.Forms {
		forms = append(forms, inOneLine(f))
	}
	if forms != nil {
		line += " <" + strings.TrimSpace(strings.Join(forms, "|")) + ">"
	}
	return line
}

// TestReferences reads a document whose parameters, bodies, responses and headers are components.
func TestReferences(t *testing.T) {
	var d document
	if err := json.Unmarshal([]byte(`{"paths": {"/v1/things/{id}": {
			"parameters": [{"$ref": "#/components/parameters/ID"}],
			"patch": {"operationId": "update_thing", "description": "Requires an API key with write access. More.", "requestBody": {"$ref": "#/components/requestBodies/Thing"},
				"responses": {"200": {"$ref": "#/components/responses/Done"}, "409": {"$ref": "#/components/responses/Taken"}}}}},
		"components": {
			"parameters": {"ID": {"name": "id", "in": "path", "required": true, "description": "Which.", "schema": {"type": "string"}}},
			"requestBodies": {"Thing": {"required": true, "content": {"application/json": {"schema": {"type": "object", "required": ["a", "owner_id"],
				"properties": {"a": {"type": "string", "examples": ["it's"]}, "owner_id": {"type": "string", "format": "uuid"}}}}}}},
			"headers": {"Count": {"description": "How many.", "schema": {"type": "integer"}}},
			"responses": {
				"Done": {"description": "Done.", "headers": {"X-Count": {"$ref": "#/components/headers/Count"}}},
				"Taken": {"description": "`+"`a_taken`: First. `b_taken`: Second."+`", "x-error-codes": ["a_taken", "b_taken"]}}}}`), &d); err != nil {
		t.Fatal(err)
	}
	o := d.groups()[0].Operations[0]
	if o.Access != "write" || o.Text != "More." || o.Parameters[0].Text != "Which." || !o.Body.Required || o.Responses[0].Headers[0].Text != "How many." {
		t.Errorf("%+v", o)
	}
	failures := []failure{{"409", "a_taken", "First."}, {"409", "b_taken", "Second."}}
	if !slices.Equal(o.Failures, failures) {
		t.Errorf("failures = %v, want %v", o.Failures, failures)
	}
	const want = `curl -X PATCH "|/v1/things/$ID" \
  -H "Authorization: Bearer $KEY" \
  -H 'Content-Type: application/json' \
  -d '{
    "a": "it'\''s",
    "owner_id": "'$OWNER_ID'"
  }'`
	if got := o.Curl.Before + "|" + o.Curl.After; got != want {
		t.Errorf("request\n%s\nwant\n%s", got, want)
	}
}

// TestSamples checks that a sample request has its required members and some optional ones, but no
// read-only members, and that a sample response has all members.
func TestSamples(t *testing.T) {
	var s schema
	if err := json.Unmarshal([]byte(`{"type": "object", "required": ["kind", "email"], "properties": {
		"id": {"type": "string", "format": "uuid"},
		"name": {"type": "string", "description": "Read-only. Accepted if it equals the current value."},
		"label": {"type": "string", "readOnly": true},
		"kind": {"type": "string", "enum": ["a", "b"]},
		"first_name": {"type": ["string", "null"]},
		"email": {"type": ["string", "null"]},
		"title": {"type": "integer"},
		"last_name": {"type": "string"}}}`), &s); err != nil {
		t.Fatal(err)
	}
	for maxMembers, want := range map[int]string{
		1: `{"kind":"a","email":"ada@acme.example"}`,
		3: `{"kind":"a","first_name":"Ada","email":"ada@acme.example"}`,
		4: `{"kind":"a","first_name":"Ada","email":"ada@acme.example","title":1}`,
		0: `{"name":"Acme","label":"Tier","kind":"a","first_name":"Ada","email":"ada@acme.example","title":1,"last_name":"Marsh"}`,
	} {
		if got := string(sampler{doc: &document{}, maxMembers: maxMembers}.sample(&s, "", "", nil)); got != want {
			t.Errorf("sample with %d members = %s, want %s", maxMembers, got, want)
		}
	}
}

// TestSamplesOfMany checks that lists and maps have one entry, in responses only if it is an object.
func TestSamplesOfMany(t *testing.T) {
	var d document
	if err := json.Unmarshal([]byte(`{"components": {"schemas": {
		"Block": {"type": "object", "required": ["content"], "properties": {"content": {"type": "string"}}},
		"Tree": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Tree"}}}}}`), &d); err != nil {
		t.Fatal(err)
	}
	for entry, want := range map[string][2]string{ // in a request and in a response
		`{"$ref": "#/components/schemas/Block"}`: {`{"content":"Content"}`, `{"content":"Content"}`},
		`{"$ref": "#/components/schemas/Tree"}`:  {`{}`, `{}`},
		`{"type": "integer"}`:                    {`1`, ``},
	} {
		for i, maxMembers := range []int{3, 0} {
			for form, around := range map[string][2]string{`{"type": "array", "items": `: {`[`, `]`}, `{"type": "object", "additionalProperties": `: {`{"block_1":`, `}`}} {
				var s schema
				if err := json.Unmarshal([]byte(form+entry+`}`), &s); err != nil {
					t.Fatal(err)
				}
				whole := around[0] + want[i] + around[1]
				if want[i] == "" {
					whole = around[0][:1] + around[1]
				}
				if got := string(sampler{doc: &d, maxMembers: maxMembers}.sample(&s, "", "blocks", nil)); got != whole {
					t.Errorf("sample of %s%s} with %d members = %s, want %s", form, entry, maxMembers, got, whole)
				}
			}
		}
	}
}
