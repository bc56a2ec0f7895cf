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

// schemas are the JSON schemas of a document, for requests or for responses. Each schema is compiled on
// first use and cached. kin-openapi would compile a schema for every body, which takes far longer than
// the request.
type schemas struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler // caches compiled schemas
}

// documentURL identifies the document to the compiler. Nothing is fetched from it.
const documentURL = "https://prospector.example/openapi.json"

// newSchemas returns schemas that also check formats, which are only annotations in OpenAPI 3.1. The given
// formats replace those of the library.
func newSchemas(document any, formats ...*jsonschema.Format) (*schemas, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	for _, f := range formats {
		c.RegisterFormat(f)
	}
	return &schemas{compiler: c}, c.AddResource(documentURL, document)
}

// at returns the compiled schema at a path of the document. Tests may call it concurrently.
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

// check validates a JSON text against the schema at a path of the document.
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

// requestFormats returns the formats of requests. Each also allows the empty string, which clears a field,
// and email addresses may be international.
func requestFormats() (formats []*jsonschema.Format) {
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

// jsonMedia is the media type of the bodies that are checked against schemas.
const jsonMedia = "application/json"

func isJSON(h http.Header) bool {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(media), jsonMedia)
}
