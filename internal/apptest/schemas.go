package apptest

import (
	"bytes"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas are the JSON schemas of a document for one side of it, the bodies asked with or those answered. Each is compiled
// when it is first wanted and kept: kin-openapi compiles a schema for every body, which takes far longer than the request.
type schemas struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler // keeps what it compiled
}

// documentURL names the document to the compiler; nothing is read from there.
const documentURL = "https://prospector.example/openapi.json"

// newSchemas asserts formats, which in OpenAPI 3.1 are annotations: the library's own, but for those given.
func newSchemas(document any, formats ...*jsonschema.Format) (*schemas, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	for _, f := range formats {
		c.RegisterFormat(f)
	}
	return &schemas{compiler: c}, c.AddResource(documentURL, document)
}

// at compiles the schema that the keys lead to in the document. It serves any number of tests at once.
func (s *schemas) at(keys ...string) (*jsonschema.Schema, error) {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	pointer := documentURL + "#"
	for _, key := range keys {
		pointer += "/" + escape.Replace(key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.compiler.Compile(pointer)
}

// check says what the schema refuses of a JSON text.
func (s *schemas) check(body []byte, keys ...string) error {
	schema, err := s.at(keys...)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// inRequests are the formats of requests. Each holds for the empty text too, which there is no value, and an address may
// be an international one.
func inRequests() (formats []*jsonschema.Format) {
	for name, pattern := range map[string]string{
		"date":      openapi3.FormatOfStringDate,
		"date-time": openapi3.FormatOfStringDateTime,
		"uuid":      openapi3.FormatOfStringForUUIDOfRFC9562,
		"email":     openapi3.FormatOfStringForEmail,
	} {
		allowed := regexp.MustCompile("^$|" + pattern)
		formats = append(formats, &jsonschema.Format{Name: name, Validate: func(v any) error {
			if s, ok := v.(string); ok && !allowed.MatchString(s) {
				return errors.New("does not match " + pattern)
			}
			return nil
		}})
	}
	return formats
}

// jsonMedia is the media type of the bodies that schemas check. To kin-openapi all others are texts.
const jsonMedia = "application/json"

func isJSON(h http.Header) bool {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(media), jsonMedia)
}
