package handlers

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"

	"prospector/internal/fault"
	"prospector/internal/shape"
)

// PageQuery is which part of a long answer is asked for.
type PageQuery struct {
	Page     int `json:"page" rule:"min=1,default=1" doc:"Which page, from 1."`
	PageSize int `json:"page_size" rule:"min=1,max=500,default=50" doc:"How many entries a page has."`
}

// readQuery reads the query of an operation as an object, which its input is then decoded from. An operation whose input
// is a body, or nothing, has no query.
func (c *call) readQuery() error {
	query, err := url.ParseQuery(c.request.URL.RawQuery)
	var p fault.Problems
	if err != nil {
		p.Invalid("query", "is malformed")
	}
	if c.op.query != nil {
		c.body = shape.Value{Kind: shape.Object}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		f := c.op.queryField(name)
		switch {
		case f == nil:
			p.Invalid(name, "is not a known query parameter")
		case len(query[name]) > 1:
			p.Invalid(name, "is given more than once")
		default:
			c.body.Members = append(c.body.Members, shape.Member{Key: name, Value: queryValue(f, query[name][0])})
		}
	}
	return p.Err()
}

func (o *Operation) queryField(name string) *shape.Field {
	if o.query == nil {
		return nil
	}
	return shape.OfType(o.query).Field(name)
}

// queryValue is a text of the query as JSON would have it.
func queryValue(f *shape.Field, text string) shape.Value {
	if _, err := strconv.Atoi(text); err == nil && f.Type == shape.TypeNumber {
		return shape.Value{Kind: shape.Num, Text: text}
	}
	if f.IsBool() && (text == "true" || text == "false") {
		return shape.Value{Kind: shape.Bool, True: text == "true"}
	}
	return shape.Value{Kind: shape.String, Text: text}
}

// inputOf is where the schema of a plain input comes from.
func inputOf[In any]() schemaSource { return schemaSource{reflect.TypeFor[In](), shape.CreateInput} }
