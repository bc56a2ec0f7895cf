// Package index answers lists: it filters, sorts, searches and pages the records of any kind that has fields. It knows
// no business kind; a Kind is a value that a feature makes from its record's shape.
//
// What a list answers is defined by a plain predicate over every record (match.go). The Engine says the same faster: it
// keeps a bleve index for each kind of an organization that has many records, and follows the store's change log.
package index

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"strings"
	"unsafe"

	bleve "github.com/blevesearch/bleve_index_api"
	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// Field is a field that lists filter and sort by.
type Field struct {
	shape.Field
	Sortable bool
	Custom   bool

	at     int    // its place among the values of a row; of a custom field nothing
	name   string // its name in an index
	column string // its name in the cache
}

// Kind is what the lists of one entity need to know.
type Kind struct {
	Entity      string
	DefaultSort string
	Fields      []Field
	ReadOnly    bool // callers can change none of it

	table   string
	pace    pace
	byKey   map[string]int
	tie     *Field // the id, where that is a text: what ties are ordered by before the store's own id
	shape   *shape.Struct
	decode  func(public []byte) (any, error)
	customs func(*store.Tx) (*Customs, error) // nil for a kind that has none
}

// isNumeric tells the fields whose values are numbers to filters and sorts.
func (f *Field) isNumeric() bool {
	switch f.Type {
	case shape.TypeNumber, shape.TypeBoolean, shape.TypeDate, shape.TypeDateTime:
		return true
	}
	return false
}

// NewKind makes the kind of the records T of a table. customs gives the custom fields of a transaction's organization; nil
// when the kind has none.
func NewKind[T any](entity, defaultSort string, table *store.Table[T], customs func(*store.Tx) (*Customs, error)) *Kind {
	k := &Kind{Entity: entity, DefaultSort: defaultSort, table: table.Name(), byKey: map[string]int{}, shape: shape.Of[T](), customs: customs}
	if k.pace = usualPace; table.HasShortHistory() {
		k.pace = restlessPace
	}
	for _, f := range k.shape.Flat() {
		valueOf(f.Listed(new(T))) // a type that has no value panics here, at the start, and not in a list
		at := len(k.Fields)
		k.byKey[f.Key] = at
		k.Fields = append(k.Fields, Field{Field: f, Sortable: f.Type != shape.TypeMulti && !f.Long, at: at, name: f.Key, column: columnName + f.Key})
		if f.Searched && f.Type != shape.TypeText && (f.Type != shape.TypeMulti || f.HasUUIDs()) {
			panic(fmt.Sprintf("index: %s of %s has no words to be searched", f.Key, entity))
		}
	}
	if id := k.field("id"); id != nil && id.Type == shape.TypeText {
		k.tie = id
	}
	k.decode = func(public []byte) (any, error) {
		rec := new(T)
		return rec, json.Unmarshal(public, rec)
	}
	return k
}

// Table is the name of the table that has its records.
func (k *Kind) Table() string { return k.table }

// signature tells the indexes of this kind from those of other fields or another form.
func (k *Kind) signature() uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, termsFormat)
	for _, f := range k.Fields {
		fmt.Fprintf(h, "|%s %s %t %t", f.Key, f.Type, f.Long, f.Grams)
		if f.Searched {
			fmt.Fprint(h, " searched")
		}
	}
	return h.Sum64()
}

// ListBody is the body of a list request.
type ListBody struct {
	Filters  shape.Value `json:"filters" rule:"component=Filters"`
	Sort     string      `json:"sort" doc:"A field key, - before it for descending; several with commas."`
	Search   string      `json:"search" doc:"Words; each must begin some word of the record's text fields, without case."`
	Page     int         `json:"page" rule:"min=1,default=1"`
	PageSize int         `json:"page_size" rule:"min=1,max=500,default=50"`
}

// Page is one page of a list: the public JSON of its records, and how many there are in all. The bytes are those of the
// store itself, and valid only while the page is given out.
type Page struct {
	Records [][]byte
	Total   int
}

// row reads a record as filters and sorts see it.
func (k *Kind) row(cs *Customs, id uuid.UUID, public []byte) (*row, error) {
	rec, custom, err := k.Decode(public)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.Entity, id, err)
	}
	r := &row{id: id, values: make([]value, len(k.Fields))}
	for i := range k.Fields {
		r.values[i] = valueOf(k.Fields[i].Listed(rec))
	}
	if custom != nil {
		r.custom = cs.customValues(custom)
	}
	return r, nil
}

// Decode reads a record: a pointer to it, and its custom fields.
func (k *Kind) Decode(public []byte) (rec any, custom shape.Custom, err error) {
	if rec, err = k.decode(public); err != nil {
		return nil, nil, err
	}
	if c := k.shape.Custom(rec); c != nil {
		custom = *c
	}
	return rec, custom, nil
}

// row is a record as filters and sorts see it.
type row struct {
	id     uuid.UUID
	values []value // by the kind's fields
	custom []customValue
}

// value gives the value of a field.
func (r *row) value(f *Field) *value {
	if !f.Custom {
		return &r.values[f.at]
	}
	for i := range r.custom {
		if r.custom[i].field.name == f.name {
			return &r.custom[i].value
		}
	}
	return &noValue
}

// noValue is what a record has of a custom field that it does not have.
var noValue value

// bytes is about how much memory a row takes.
func (r *row) bytes() int {
	n := int(unsafe.Sizeof(*r)) + len(r.values)*int(unsafe.Sizeof(value{})) + len(r.custom)*int(unsafe.Sizeof(customValue{}))
	for i := range r.values {
		n += r.values[i].bytes()
	}
	for i := range r.custom {
		n += r.custom[i].value.bytes()
	}
	return n
}

// value is a field's value. Numbers, booleans and times are num (a date is the start of its day), texts, keys and
// references are text, and a multi is list.
type value struct {
	has  bool
	num  float64
	text string
	fold string // text without case
	list *[]string
}

// words are those of a text, or of each entry of a multi.
func (v *value) words() (all []string) {
	if v.list == nil {
		return splitWords(v.fold)
	}
	for _, s := range *v.list {
		all = append(all, shape.Words(s)...)
	}
	return all
}

func (v *value) bytes() int {
	n := 2 * len(v.text)
	if v.list != nil {
		n += 64 * len(*v.list)
	}
	return n
}

func textValue(s string) value { return value{has: s != "", text: s, fold: shape.Fold(s)} }

func boolValue(b bool) value {
	if b {
		return value{has: true, num: 1}
	}
	return value{has: true}
}

func valueOf(v any) value {
	switch v := v.(type) {
	case shape.Number:
		return value{has: v.Valid, num: v.Float}
	case int:
		return value{has: true, num: float64(v)}
	case bool:
		return boolValue(v)
	case shape.Date:
		if v == "" {
			return value{}
		}
		day, err := dayStart(string(v))
		return value{has: err == nil, num: day}
	case shape.Time:
		return value{has: v.Valid(), num: float64(v.Milli())}
	case uuid.UUID:
		return textValue(v.String())
	case uuid.NullUUID:
		if !v.Valid {
			return value{}
		}
		return textValue(v.UUID.String())
	case []string:
		return value{has: len(v) > 0, list: &v}
	case shape.IDs:
		list := make([]string, len(v))
		for i, id := range v {
			list[i] = id.String()
		}
		return value{has: len(list) > 0, list: &list}
	}
	if typed := reflect.ValueOf(v); typed.Kind() == reflect.String { // a status and the like
		return textValue(typed.String())
	}
	panic(fmt.Sprintf("index: no value of %T", v))
}

// splitWords is shape.Words for a text that is folded already.
func splitWords(folded string) []string { return strings.FieldsFunc(folded, notInWord) }

// Document gives a record as bleve takes it, for measuring bleve alone.
func (k *Kind) Document(id uuid.UUID, public []byte) (bleve.Document, error) {
	r, err := k.row(NoCustoms, id, public)
	if err != nil {
		return nil, err
	}
	return k.document(r, scratch{}), nil
}
