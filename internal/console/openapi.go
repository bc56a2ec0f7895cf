package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The parts of an OpenAPI 3.1 document that the page shows.
type (
	document struct {
		Info       info
		Tags       []tag
		Paths      map[string]*pathItem
		Webhooks   map[string]*pathItem
		Components components
	}
	info struct {
		Title, Version, Description string
	}
	tag struct {
		Name, Description string
	}
	pathItem struct {
		Parameters                    []*parameter
		Get, Post, Put, Patch, Delete *method
	}
	method struct {
		OperationID string
		Summary     string
		Description string
		Deprecated  bool
		Tags        []string
		Security    *[]map[string][]string
		Parameters  []*parameter
		RequestBody *content
		Responses   map[string]*content
	}
	parameter struct {
		Ref         string `json:"$ref"`
		Name, In    string
		Required    bool
		Description string
		Schema      *schema
	}
	// content is a request body, a response or a header.
	content struct {
		Ref         string `json:"$ref"`
		Description string
		Required    bool
		Headers     map[string]*content
		Content     map[string]media
		Schema      *schema
		Codes       []string `json:"x-error-codes"`
	}
	media struct {
		Schema  *schema
		Example json.RawMessage
	}
	components struct {
		SecuritySchemes map[string]struct{ Name string }
		Schemas         map[string]*schema
		Parameters      map[string]*parameter
		RequestBodies   map[string]*content
		Responses       map[string]*content
		Headers         map[string]*content
	}
	schema struct {
		Ref         string `json:"$ref"`
		Type        types
		Format      string
		Description string
		Enum        []any
		Const       any
		Default     json.RawMessage
		Examples    []json.RawMessage
		Pattern     string
		MinLength   int
		MaxLength   int
		Minimum     *float64
		Maximum     *float64
		Items       *schema
		MinItems    int
		MaxItems    int
		Properties  members
		Required    []string
		AnyOf       []*schema
		OneOf       []*schema
		AllOf       []*schema
		Patterns    members `json:"patternProperties"`
		Additional  *schema `json:"additionalProperties"`
		Names       *schema `json:"propertyNames"`
		MinMembers  int     `json:"minProperties"`
		MaxMembers  int     `json:"maxProperties"`
		ReadOnly    bool
		Deprecated  bool

		isFalse bool // the schema false, which allows no value
	}
	types   []string
	members []member
	member  struct {
		name   string
		schema *schema
	}
)

func (t *types) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

func (s *schema) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true", "false":
		s.isFalse = string(b) == "false"
		return nil
	}
	type plain schema
	return json.Unmarshal(b, (*plain)(s))
}

// UnmarshalJSON keeps the order of the members in the document.
func (m *members) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		s := &schema{}
		if err := d.Decode(s); err != nil {
			return fmt.Errorf("%v: %w", name, err)
		}
		*m = append(*m, member{fmt.Sprint(name), s})
	}
	return nil
}

// resolve returns the component that ref refers to, or v if there is no such component.
func resolve[T any](v *T, ref string, named map[string]*T) *T {
	if found := named[component(ref)]; ref != "" && found != nil {
		return found
	}
	return v
}

// component returns the name of the component that a reference points to.
func component(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// simplified returns the schema without its alternatives for "no value", which are null and the empty
// string, and whether null was one of them. A choice with one remaining alternative becomes that one.
func (s *schema) simplified() (out *schema, nullable bool) {
	c := *s
	if len(c.Type) > 1 && slices.Contains(c.Type, "null") {
		c.Type = slices.DeleteFunc(slices.Clone(c.Type), func(t string) bool { return t == "null" })
		nullable = true
	}
	for _, choice := range []*[]*schema{&c.AnyOf, &c.OneOf, &c.AllOf} {
		var left []*schema
		for _, form := range *choice {
			switch {
			case slices.Equal(form.Type, types{"null"}):
				nullable = true
			case len(form.Enum) == 1 && form.Enum[0] == "":
			default:
				left = append(left, form)
			}
		}
		*choice = left
		if len(left) == 1 && c.Ref == "" && c.Type == nil {
			only, also := left[0].simplified()
			if c.Description != "" {
				only.Description = c.Description
			}
			if c.Default != nil {
				only.Default = c.Default
			}
			return only, nullable || also
		}
	}
	return &c, nullable
}

// choice returns the alternatives of a schema and how they are combined.
func (s *schema) choice() (forms []*schema, words string) {
	switch {
	case s.OneOf != nil:
		return s.OneOf, "one of"
	case s.AnyOf != nil:
		return s.AnyOf, "any of"
	}
	return s.AllOf, "all of"
}

// isMap reports whether the schema is an object with arbitrary keys.
func (s *schema) isMap() bool {
	return s.Properties == nil && s.Additional != nil && !s.Additional.isFalse
}

// isReadOnly reports whether a request cannot change the member, although it may contain it.
func (s *schema) isReadOnly() bool {
	return s.ReadOnly || strings.Contains(s.Description, "Read-only.")
}
