package handlers

import (
	"reflect"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/record"
	"prospector/internal/shape"
)

// schemaSource tells where the schema of a body comes from; the zero value is no body.
type schemaSource struct {
	typ  reflect.Type
	view shape.View
}

// nothing is the input of an operation without a body and the output of one that answers 204.
type nothing struct{}

// NoBody is the body of a POST that needs none: it may be left out, and has no fields.
type NoBody struct{}

// creates and updates are bodies of the record T, queries is that of a list and exports that of an export. An update is
// decoded over the record that it changes, and a list against its kind.
type (
	creates[T any] struct{ record.Draft[T] }
	updates[T any] struct{ shape.Value }
	queries        struct{ shape.Value }
	exports        struct{ shape.Value }
)

func (creates[T]) source() schemaSource {
	return schemaSource{reflect.TypeFor[T](), shape.CreateInput}
}
func (updates[T]) source() schemaSource {
	return schemaSource{reflect.TypeFor[T](), shape.UpdateInput}
}
func (queries) source() schemaSource { return inputOf[index.ListBody]() }
func (exports) source() schemaSource { return inputOf[ExportBody]() }

// decode reads the body as In. A body that the operation has no use for is not looked at.
func decode[In any](c *call) (in In, err error) {
	switch v := any(&in).(type) {
	case interface{ set(shape.Value) }:
		v.set(c.body)
	default:
		var p fault.Problems
		shape.Decode(c.body, &in, shape.Create, &p)
		err = p.Err()
	}
	return in, err
}

func (b *creates[T]) set(v shape.Value) { b.Draft = record.NewDraft[T](v) }
func (b *updates[T]) set(v shape.Value) { b.Value = v }
func (b *queries) set(v shape.Value)    { b.Value = v }
func (b *exports) set(v shape.Value)    { b.Value = v }
