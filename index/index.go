// Package index answers lists: it filters, sorts, searches and pages the records of any kind that has fields. It knows
// no business kind; a Kind is a value that a feature makes from its record's shape.
//
// A list is decided by a plain predicate over every record: exact, simple, and slow in large organizations.
package index

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// Field is a field that lists filter and sort by.
type Field struct {
	shape.Field
	Sortable bool
}

// Kind is what the lists of one entity need to know.
type Kind struct {
	Entity      string
	DefaultSort string
	Fields      []Field

	table  string
	byKey  map[string]int
	decode func(public []byte) (any, error)
}

// NewKind makes the kind of the records T of a table.
func NewKind[T any](entity, defaultSort string, table *store.Table[T]) *Kind {
	k := &Kind{Entity: entity, DefaultSort: defaultSort, table: table.Name(), byKey: map[string]int{}}
	for _, f := range shape.Of[T]().Flat() {
		valueOf(f.Get(new(T))) // a type that has no value panics here, at the start, and not in a list
		k.byKey[f.Key] = len(k.Fields)
		k.Fields = append(k.Fields, Field{Field: f, Sortable: f.Type != shape.TypeMulti && !f.Long})
	}
	k.decode = func(public []byte) (any, error) {
		rec := new(T)
		return rec, json.Unmarshal(public, rec)
	}
	return k
}

// ListBody is the body of a list request.
type ListBody struct {
	Filters  shape.Value `json:"filters" rule:"component=Filters"`
	Sort     string      `json:"sort" doc:"A field key, - before it for descending; several with commas."`
	Search   string      `json:"search" doc:"Words; each must begin some word of the record's text fields, without case."`
	Page     int         `json:"page" rule:"from=1,default=1"`
	PageSize int         `json:"page_size" rule:"from=1,to=500,default=50"`
}

// Page is one page of a list: the public JSON of its records, and how many there are in all.
type Page struct {
	Records [][]byte
	Total   int
}

// Engine answers the lists of a store.
type Engine struct{ store *store.Store }

// New makes an engine over a store.
func New(s *store.Store) *Engine { return &Engine{store: s} }

// List gives one page of the organization's records. It sees every write that was answered before it began.
func (e *Engine) List(org uuid.UUID, plan *Plan) (Page, error) {
	var page Page
	err := e.store.View(org, func(tx *store.Tx) error {
		rows, err := plan.rows(tx)
		if err != nil {
			return err
		}
		slices.SortFunc(rows, plan.compare)
		page.Total = len(rows)
		// Compared before it is multiplied: a page number may be as large as a number can be.
		if plan.Page-1 > len(rows)/plan.PageSize {
			return nil
		}
		from := min((plan.Page-1)*plan.PageSize, len(rows))
		to := min(from+plan.PageSize, len(rows))
		for _, r := range rows[from:to] {
			page.Records = append(page.Records, bytes.Clone(r.public))
		}
		return nil
	})
	return page, err
}

func (p *Plan) rows(tx *store.Tx) ([]*row, error) {
	var rows []*row
	err := tx.Records(p.kind.table, func(id uuid.UUID, _ uint64, public []byte) error {
		rec, err := p.kind.decode(public)
		if err != nil {
			return fmt.Errorf("%s %s: %w", p.kind.Entity, id, err)
		}
		r := &row{id: id, public: public, values: make([]value, len(p.kind.Fields))}
		for i := range p.kind.Fields {
			r.values[i] = valueOf(p.kind.Fields[i].Get(rec))
		}
		if p.Match(r) {
			rows = append(rows, r)
		}
		return nil
	})
	return rows, err
}

// row is a record as filters and sorts see it.
type row struct {
	id     uuid.UUID
	public []byte
	values []value // by the kind's fields
}

// value is a field's value. Numbers, booleans and times are num (a date is the start of its day), texts, keys and
// references are text, and a multi is list.
type value struct {
	has  bool
	num  float64
	text string
	list []string
}

func textValue(s string) value { return value{has: s != "", text: s} }

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
		return value{has: len(v) > 0, list: v}
	case shape.IDs:
		list := make([]string, len(v))
		for i, id := range v {
			list[i] = id.String()
		}
		return value{has: len(list) > 0, list: list}
	}
	if typed := reflect.ValueOf(v); typed.Kind() == reflect.String { // a status and the like
		return textValue(typed.String())
	}
	panic(fmt.Sprintf("index: no value of %T", v))
}

// words are the runs of letters and digits of a text, folded.
func words(s string) []string { return strings.FieldsFunc(shape.Fold(s), notInWord) }
