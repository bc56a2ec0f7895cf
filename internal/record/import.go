package record

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// Importer converts the rows of a table to records. Columns are fields of the kind, including
// custom fields. A reference can also be given by a match field of the other kind, such as
// account_website, and tags by their names.
type Importer[T any] struct {
	importer importer
}

type importer struct {
	columns *rows.Columns[*target]
	kind    *kind
}

// target is the field that a column sets.
type target struct {
	rows.Target
	refers *kind  // the kind that the field refers to, or nil
	by     string // the match field that identifies the referred record; "" for its id or name
}

// sourceField records how a record was created. An import sets it to fromTable.
const (
	sourceField = "source"
	fromTable   = "csv"
)

// NewImporter returns an importer for a table with the given columns, or nil for JSON lines, where
// each row has its own keys. renamed maps names of columns to names of fields. Columns that match
// no field are ignored and reported by Warnings.
func (k *Kind[T]) NewImporter(tx *store.Tx, columns []string, renamed map[string]string) (*Importer[T], error) {
	im, err := k.newImporter(tx, columns, renamed)
	return &Importer[T]{im}, err
}

func (k *kind) newImporter(tx *store.Tx, columns []string, renamed map[string]string) (importer, error) {
	targets, err := k.importTargets(tx)
	if err != nil {
		return importer{}, err
	}
	read, err := rows.NewColumns(columns, renamed, rows.Fields[*target]{
		Entity: k.Entity, Targets: targets, ReadOnly: func(name string) bool { return k.shape.Field(name) != nil },
	})
	return importer{read, k}, err
}

// Warnings describes the columns ignored so far.
func (im *Importer[T]) Warnings() []string { return im.importer.columns.Warnings() }

// importTargets returns the fields that a table can set, by column name.
func (k *kind) importTargets(tx *store.Tx) (map[string]*target, error) {
	targets := map[string]*target{}
	add := func(column string, t target) {
		t.Column = column
		targets[column] = &t
	}
	if k.matchFields() != nil {
		add("id", target{Target: rows.Target{Member: "id", Field: *k.shape.Field("id")}})
	}
	for _, f := range k.List.Fields {
		if f.ReadOnly || f.Key == sourceField || f.OfObjects() { // a cell cannot hold objects
			continue
		}
		_, ids := f.Get(k.example).(shape.IDs)
		t := target{
			Target: rows.Target{Member: f.Key, Field: f.Field, List: ids || f.Type == shape.TypeMulti},
			refers: k.set.find(f.Ref),
		}
		add(f.Key, t)
		if t.refers != nil && !ids {
			for _, by := range t.refers.matchFields() {
				t.by = by
				add(strings.TrimSuffix(f.Key, "id")+by, t)
			}
		}
		if f.Edits {
			for _, verb := range []string{"add_", "remove_"} {
				t.Member = verb + f.Key
				add(t.Member, t)
			}
		}
	}
	if k.shape.HasCustom() {
		fields, err := k.customs(tx, k.Entity)
		if err != nil {
			return nil, err
		}
		for _, f := range fields.Fields {
			add(f.Key, target{Target: rows.Target{Member: f.Key, Field: f.Field, List: f.Type == shape.TypeMulti}})
		}
	}
	return targets, nil
}

// Items converts rows to items. Batch reports the problems of a row.
func (im *Importer[T]) Items(tx *store.Tx, table []rows.Row) ([]Item[T], error) {
	items := make([]Item[T], len(table))
	for i := range table {
		g, err := im.importer.read(tx, &table[i])
		if err != nil {
			return nil, err
		}
		items[i] = newItem[T](g)
	}
	return items, nil
}

func (im *importer) read(tx *store.Tx, row *rows.Row) (given, error) {
	r := importRow{tx: tx, object: im.kind.Object, body: shape.Value{Kind: shape.Object}}
	im.columns.Each(row, &r.problems, r.set)
	if r.err != nil {
		return given{}, r.err
	}
	if err := r.problems.Err(); err != nil {
		return given{problem: err}, nil
	}
	g := newGiven(r.body, true)
	if im.kind.shape.Field(sourceField) != nil {
		source := shape.Member{Key: sourceField, Value: shape.Value{Kind: shape.String, Text: fromTable}}
		g.fresh.Members = append(slices.Clip(g.fresh.Members), source)
	}
	return g, nil
}

// named finds the record that has the text in the match field by, or as its name if by is empty.
func (k *kind) named(tx *store.Tx, by, text, object string) (uuid.UUID, bool, error) {
	if by != "" {
		return k.Find(tx, by, text)
	}
	if k.nameKey == nil {
		return uuid.Nil, false, nil
	}
	id, found := k.table.Find(tx, "name", k.nameKey(text, object))
	return id, found, nil
}

func (k *kind) matchFields() []string {
	if k.shape.Field(externalID) == nil {
		return nil
	}
	return k.MatchFields()
}
