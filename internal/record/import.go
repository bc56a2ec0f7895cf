package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// Importer makes records of the rows of a table. A column is a field of the kind, a custom one too; a reference may also be
// named by what its kind is matched by, such as account_website, and tags by their names.
type Importer[T any] struct {
	kind    *Kind[T]
	renamed map[string]string // the names of fields by those of columns
	mapped  map[string]bool   // the members that are set by those
	targets map[string]*target
	objects map[string]bool // the paths that have fields within
	columns []*target       // those of the columns of a CSV file; nil is ignored
	ignored map[string]bool
	warned  []string // the first that were ignored
}

// warnMost is how many ignored columns are told by name.
const warnMost = 50

// target is what a column is for.
type target struct {
	column string // how the column is called
	member string // what it sets of a body
	field  shape.Field
	list   bool
	refers related // what it refers to, if anything
	by     string  // the field by which that is named; empty: the id, or a name
}

// sourceField says where a record came from: of one from a table, that it did.
const (
	sourceField = "source"
	fromTable   = "csv"
)

// NewImporter makes the importer of a table with these columns; nil for JSON lines, which have their columns in each row.
// renamed gives other columns the names of fields. Columns that are for no field are ignored, and Warnings tells of them.
func (k *Kind[T]) NewImporter(tx *store.Tx, columns []string, renamed map[string]string) (*Importer[T], error) {
	im := &Importer[T]{kind: k, renamed: renamed, mapped: map[string]bool{}, objects: map[string]bool{}, ignored: map[string]bool{}}
	var err error
	if im.targets, err = k.importTargets(tx); err != nil {
		return nil, err
	}
	for _, column := range slices.Sorted(maps.Keys(renamed)) {
		if name := renamed[column]; im.targets[name] == nil {
			return nil, fmt.Errorf("%q is mapped to %q, which is no field of %s that can be imported; there are %s",
				column, name, k.Entity, strings.Join(slices.Sorted(maps.Keys(im.targets)), ", "))
		}
		if columns != nil && !slices.Contains(columns, column) {
			return nil, fmt.Errorf("%q is mapped, but the file has no such column; it has %s", column, listed(columns))
		}
		im.mapped[im.targets[renamed[column]].member] = true
	}
	for _, t := range im.targets {
		if object, _, nested := strings.Cut(t.member, "."); nested {
			im.objects[object] = true
		}
	}
	taken := map[string]string{}
	for _, column := range columns {
		t := im.target(column)
		im.columns = append(im.columns, t)
		if t == nil {
			continue
		}
		if other, twice := taken[t.member]; twice {
			return nil, fmt.Errorf("the columns %q and %q are both for %s", other, column, t.member)
		}
		taken[t.member] = column
	}
	if columns != nil && len(taken) == 0 {
		return nil, fmt.Errorf("none of its columns is a field of %s: %s (--map names those that are called otherwise)", k.Entity, listed(columns))
	}
	return im, nil
}

// listed is names from a file, as they can be printed anywhere.
func listed(names []string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return '\ufffd'
		}
		return r
	}, strings.Join(names, ", "))
}

// Warnings tells what was ignored so far.
func (im *Importer[T]) Warnings() []string {
	list := []string{}
	for _, column := range im.warned {
		switch f := im.kind.shape.Field(fieldName(column)); {
		case column == "":
			list = append(list, "a column without a name is ignored")
		case im.targets[fieldName(column)] != nil:
			list = append(list, fmt.Sprintf("the column %q is ignored: another is mapped to it", column))
		case f != nil:
			list = append(list, fmt.Sprintf("the column %q is ignored: the service sets it", column))
		default:
			list = append(list, fmt.Sprintf("the column %q is ignored: %s have no such field", column, im.kind.Entity))
		}
	}
	if more := len(im.ignored) - len(im.warned); more > 0 {
		list = append(list, fmt.Sprintf("%d more columns are ignored", more))
	}
	return list
}

// importTargets are the fields that a table can have, by the names of their columns.
func (k *Kind[T]) importTargets(tx *store.Tx) (map[string]*target, error) {
	targets := map[string]*target{}
	add := func(column string, t target) {
		t.column = column
		targets[column] = &t
	}
	if k.matchFields() != nil {
		add("id", target{member: "id", field: *k.shape.Field("id")})
	}
	for _, f := range k.List.Fields {
		if f.ReadOnly || f.Key == sourceField {
			continue
		}
		_, ids := f.Get(new(T)).(shape.IDs)
		t := target{member: f.Key, field: f.Field, list: ids || f.Type == shape.TypeMulti, refers: k.set.find(f.Ref)}
		add(f.Key, t)
		if t.refers != nil && !ids {
			for _, by := range t.refers.matchFields() {
				t.by = by
				add(strings.TrimSuffix(f.Key, "id")+by, t)
			}
		}
		if f.Edits {
			for _, verb := range []string{"add_", "remove_"} {
				t.member = verb + f.Key
				add(t.member, t)
			}
		}
	}
	if k.shape.HasCustom() {
		fields, err := k.set.Customs(tx, k.Entity)
		if err != nil {
			return nil, err
		}
		for _, f := range fields.Fields {
			add(f.Key, target{member: f.Key, field: f.Field, list: f.Type == shape.TypeMulti})
		}
	}
	return targets, nil
}

// fieldName is the name of a field as a column may have it: "First Name" is first_name.
func fieldName(column string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(strings.ToLower(column)), "_"), "-", "_")
}

// target finds what a column is for, and notes one that is for nothing. One that is mapped wins over one that has the name.
func (im *Importer[T]) target(column string) *target {
	if name, mapped := im.renamed[column]; mapped {
		return im.targets[name]
	}
	t := im.targets[column]
	if t == nil {
		t = im.targets[fieldName(column)]
	}
	if t != nil && !im.mapped[t.member] {
		return t
	}
	if !im.ignored[column] {
		im.ignored[column] = true
		if len(im.warned) < warnMost {
			im.warned = append(im.warned, column)
		}
	}
	return nil
}

// Items makes items of rows. What is wrong with a row is reported when its item is put.
func (im *Importer[T]) Items(tx *store.Tx, table []rows.Row) ([]Item[T], error) {
	items := make([]Item[T], len(table))
	for i, row := range table {
		r := importRow{tx: tx, object: im.kind.Object, body: shape.Value{Kind: shape.Object}}
		if im.columns != nil {
			for c, t := range im.columns {
				if t != nil {
					r.cell(t, row.Cells[c])
				}
			}
		} else {
			im.members(&r, "", row.Object)
		}
		if r.err != nil {
			return nil, r.err
		}
		items[i] = im.item(&r)
	}
	return items, nil
}

// members takes in the members of a JSON object, those of objects in it under their path.
func (im *Importer[T]) members(r *importRow, path string, object shape.Value) {
	for _, m := range object.Members {
		at := path + m.Key
		switch isObject := m.Value.Kind == shape.Object; {
		case !im.objects[at]:
			if t := im.target(at); t != nil {
				r.value(t, m.Value)
			}
		case isObject:
			im.members(r, at+".", m.Value)
		case m.Value.Kind != shape.Null:
			r.problems.Invalid(at, "must be an object")
		}
	}
}

func (im *Importer[T]) item(r *importRow) Item[T] {
	if err := r.problems.Err(); err != nil {
		return Item[T]{problem: err}
	}
	item := newItem[T](r.body)
	if item.isNew() {
		fresh := withoutEdits(item.body)
		if im.kind.shape.Field(sourceField) != nil {
			fresh.Members = append(slices.Clip(fresh.Members), shape.Member{Key: sourceField, Value: shape.Value{Kind: shape.String, Text: fromTable}})
		}
		item.draft = NewDraft[T](fresh)
	}
	return item
}

// named finds the record that has the text in one of the fields by which the kind is matched or, when by is empty, as its name.
func (k *Kind[T]) named(tx *store.Tx, by, text, object string) (uuid.UUID, bool, error) {
	if by != "" {
		return k.Find(tx, by, text)
	}
	if k.Named == nil {
		return uuid.Nil, false, nil
	}
	id, found := k.Table.Find(tx, "name", k.Named(text, object))
	return id, found, nil
}

func (k *Kind[T]) matchFields() []string {
	if k.shape.Field(externalID) == nil {
		return nil
	}
	return k.MatchFields()
}
