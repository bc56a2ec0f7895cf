package handlers

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/shape"
)

// PageQuery selects a page of a list that is read with GET.
type PageQuery struct {
	Page int `json:"page" rule:"min=1,default=1" doc:"The number of the page, starting at 1."`
	filter.PageLimit
}

// readQuery converts the query parameters to an object, from which the input is then decoded. An operation that has a body, too,
// decodes it itself.
func (c *call) readQuery() error {
	query, err := url.ParseQuery(c.request.URL.RawQuery)
	var p fault.Problems
	if err != nil {
		p.Invalid("query", "malformed")
	}
	c.query = shape.Value{Kind: shape.Object}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		f := c.op.queryField(name)
		switch {
		case f == nil:
			p.Invalid(name, "unknown query parameter")
		case len(query[name]) > 1:
			p.Invalid(name, "given more than once")
		default:
			c.query.Members = append(c.query.Members, shape.Member{Key: name, Value: queryValue(f, query[name][0])})
		}
	}
	if c.op.query != nil && c.op.input.typ == nil {
		c.body = c.query
	}
	return p.Err()
}

func (o *Operation) queryField(name string) *shape.Field {
	if o.query == nil {
		return nil
	}
	return shape.OfType(o.query).Field(name)
}

// queryValue converts a query parameter to the JSON value that the field expects.
func queryValue(f *shape.Field, text string) shape.Value {
	if _, err := strconv.Atoi(text); err == nil && f.Type == shape.TypeNumber {
		return shape.Value{Kind: shape.Num, Text: text}
	}
	if f.IsBool() && (text == "true" || text == "false") {
		return shape.Value{Kind: shape.Bool, True: text == "true"}
	}
	return shape.Value{Kind: shape.String, Text: text}
}

// inputOf returns the source of the schema of an input that is an ordinary struct.
func inputOf[In any]() schemaSource { return schemaSource{reflect.TypeFor[In](), shape.CreateInput} }
