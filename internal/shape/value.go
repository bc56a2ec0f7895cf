package shape

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"prospector/internal/fault"
)

// MaxDepth is the maximum nesting depth of objects and lists in a body.
const MaxDepth = 512

// MaxValues is the maximum number of values in a body. A parsed value takes much more memory than
// the few bytes that it may have in the body.
const MaxValues = 500_000

// JSONKind is the kind of a JSON value, named by its first character. Numbers are '0', booleans 't'.
type JSONKind byte

const (
	Absent JSONKind = 0
	Null   JSONKind = 'n'
	Bool   JSONKind = 't'
	String JSONKind = '"'
	Num    JSONKind = '0'
	Object JSONKind = '{'
	List   JSONKind = '['
)

// Value is a parsed JSON value. Numbers keep their literal, so that no precision is lost before the
// type of the field is known.
type Value struct {
	Kind    JSONKind
	Text    string // the content of a string, or the literal of a number
	True    bool
	Members []Member
	Items   []Value
}

// Member is one member of an object. Members keep the order of the body.
type Member struct {
	Key   string
	Value Value
}

// Get returns the value of a member of an object, or an absent value.
func (v Value) Get(key string) Value {
	for _, m := range v.Members {
		if m.Key == key {
			return m.Value
		}
	}
	return Value{}
}

// Texts returns the strings in a value.
func (v Value) Texts() (all []string) {
	if v.Kind == String {
		all = append(all, v.Text)
	}
	for _, item := range v.Items {
		all = append(all, item.Texts()...)
	}
	for _, m := range v.Members {
		all = append(all, m.Value.Texts()...)
	}
	return all
}

// UnmarshalJSONFrom and MarshalJSONTo store a Value inside a record unchanged. An absent value is
// null.

func (v *Value) UnmarshalJSONFrom(d *jsontext.Decoder) (err error) {
	if *v, err = read(d, new(int)); v.Kind == Null {
		*v = Value{}
	}
	return err
}

// UnmarshalJSON is UnmarshalJSONFrom for encoding/json.
func (v *Value) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, v) }

// MarshalJSON is MarshalJSONTo for encoding/json.
func (v Value) MarshalJSON() ([]byte, error) { return json.Marshal(v) }

func (v Value) MarshalJSONTo(e *jsontext.Encoder) error {
	switch v.Kind {
	case Bool:
		return e.WriteToken(jsontext.Bool(v.True))
	case String:
		return e.WriteToken(jsontext.String(v.Text))
	case Num:
		return e.WriteValue(jsontext.Value(v.Text))
	case List:
		return v.write(e, jsontext.BeginArray, jsontext.EndArray)
	case Object:
		return v.write(e, jsontext.BeginObject, jsontext.EndObject)
	}
	return e.WriteToken(jsontext.Null)
}

func (v Value) write(e *jsontext.Encoder, begin, end jsontext.Token) error {
	if err := e.WriteToken(begin); err != nil {
		return err
	}
	for _, item := range v.Items {
		if err := item.MarshalJSONTo(e); err != nil {
			return err
		}
	}
	for _, m := range v.Members {
		if err := e.WriteToken(jsontext.String(m.Key)); err != nil {
			return err
		}
		if err := m.Value.MarshalJSONTo(e); err != nil {
			return err
		}
	}
	return e.WriteToken(end)
}

// ParseObject parses a body that must be exactly one JSON object in valid UTF-8, without duplicate
// keys, trailing data or nesting deeper than MaxDepth. Otherwise it returns an error with the code
// invalid_json.
func ParseObject(body []byte) (Value, error) { return ReadObject(bytes.NewReader(body)) }

// ReadObject parses a body as ParseObject does.
func ReadObject(body io.Reader) (Value, error) {
	d := jsontext.NewDecoder(body)
	v, err := read(d, new(int))
	if err == nil {
		if _, end := d.ReadToken(); end != io.EOF {
			err = errors.New("unexpected data after the object")
		}
	}
	if err == nil && v.Kind != Object {
		err = errors.New("not an object")
	}
	if err != nil {
		return Value{}, fault.New(fault.InvalidJSON, "the body must be one JSON object: %s", reason(err))
	}
	return v, nil
}

// read parses a value. count is the number of values before it.
func read(d *jsontext.Decoder, count *int) (Value, error) {
	tok, err := d.ReadToken()
	if err != nil {
		return Value{}, err
	}
	if *count++; *count > MaxValues {
		return Value{}, fmt.Errorf("more than %d values", MaxValues)
	}
	if d.StackDepth() > MaxDepth {
		return Value{}, fmt.Errorf("nested deeper than %d levels", MaxDepth)
	}
	switch k := tok.Kind(); k {
	case jsontext.KindTrue, jsontext.KindFalse:
		return Value{Kind: Bool, True: k == jsontext.KindTrue}, nil
	case jsontext.KindString:
		return Value{Kind: String, Text: tok.String()}, nil
	case jsontext.KindNumber:
		return Value{Kind: Num, Text: tok.String()}, nil
	case jsontext.KindBeginObject:
		v := Value{Kind: Object}
		for d.PeekKind() != jsontext.KindEndObject {
			key, err := d.ReadToken()
			if err != nil {
				return Value{}, err
			}
			name := key.String()
			member, err := read(d, count)
			if err != nil {
				return Value{}, err
			}
			v.Members = append(v.Members, Member{name, member})
		}
		_, err := d.ReadToken()
		return v, err
	case jsontext.KindBeginArray:
		v := Value{Kind: List, Items: []Value{}}
		for d.PeekKind() != jsontext.KindEndArray {
			item, err := read(d, count)
			if err != nil {
				return Value{}, err
			}
			v.Items = append(v.Items, item)
		}
		_, err := d.ReadToken()
		return v, err
	}
	return Value{Kind: Null}, nil
}

// reason returns the message for an error of the JSON decoder.
func reason(err error) string {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "unexpected end"
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return "duplicate key " + Quote(syntax.JSONPointer.LastToken())
	case errors.As(err, &syntax):
		return syntax.Err.Error() + " at byte " + strconv.FormatInt(syntax.ByteOffset, 10)
	}
	return err.Error()
}
