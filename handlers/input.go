package handlers

import (
	"reflect"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/record"
	"prospector/internal/shape"
)

// schemaSource is the type and view that the schema of a body is generated from. The zero value means no body.
type schemaSource struct {
	typ  reflect.Type
	view shape.View
}

// nothing is the input of an operation without a body, and the output of an operation that responds with 204.
type nothing struct{}

// NoBody is the body of a POST without fields. It may be omitted.
type NoBody struct{}

// createBody and updateBody are bodies for the record T. listBody and exportBody are the bodies of a list
// and an export. They stay undecoded: an update is decoded over the record that it changes, and a list
// with the fields of its kind.
type (
	createBody[T any] struct{ record.Draft[T] }
	updateBody[T any] struct{ body shape.Value }
	listBody          struct{ shape.Value }
	exportBody        struct{ shape.Value }
)

func (createBody[T]) source() schemaSource {
	return schemaSource{reflect.TypeFor[T](), shape.CreateInput}
}
func (updateBody[T]) source() schemaSource {
	return schemaSource{reflect.TypeFor[T](), shape.UpdateInput}
}
func (listBody) source() schemaSource   { return inputOf[filter.ListBody]() }
func (exportBody) source() schemaSource { return inputOf[ExportBody]() }

// decode decodes the body as In.
func decode[In any](c *call) (in In, err error) {
	err = decodeInto(c, &in)
	return in, err
}

func decodeInto(c *call, in any) error {
	if v, keeps := in.(interface{ set(shape.Value) }); keeps {
		v.set(c.body)
		return nil
	}
	var p fault.Problems
	shape.Decode(c.body, in, shape.Create, &p)
	return p.Err()
}

func (b *createBody[T]) set(v shape.Value) { b.Draft = record.NewDraft[T](v) }
func (b *updateBody[T]) set(v shape.Value) { b.body = v }
func (b *listBody) set(v shape.Value)      { b.Value = v }
func (b *exportBody) set(v shape.Value)    { b.Value = v }
