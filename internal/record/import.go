package record

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// Importer makes records of the rows of a table. A column is a field of the kind, a custom one too; a reference may also be
// named by what its kind is matched by, such as account_website, and tags by their names.
type Importer[T any] struct {
	*rows.Columns[*target]
	kind *Kind[T]
}

// target is what a column is for.
type target struct {
	rows.Target
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
	targets, err := k.importTargets(tx)
	if err != nil {
		return nil, err
	}
	read, err := rows.NewColumns(columns, renamed, rows.Fields[*target]{
		Entity: k.Entity, Targets: targets, Sets: func(name string) bool { return k.shape.Field(name) != nil },
	})
	return &Importer[T]{read, k}, err
}

// importTargets are the fields that a table can have, by the names of their columns.
func (k *Kind[T]) importTargets(tx *store.Tx) (map[string]*target, error) {
	targets := map[string]*target{}
	add := func(column string, t target) {
		t.Column = column
		targets[column] = &t
	}
	if k.matchFields() != nil {
		add("id", target{Target: rows.Target{Member: "id", Field: *k.shape.Field("id")}})
	}
	for _, f := range k.List.Fields {
		if f.ReadOnly || f.Key == sourceField || f.OfObjects() { // objects fit no cell
			continue
		}
		_, ids := f.Get(new(T)).(shape.IDs)
		t := target{Target: rows.Target{Member: f.Key, Field: f.Field, List: ids || f.Type == shape.TypeMulti}, refers: k.set.find(f.Ref)}
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
		fields, err := k.Customs(tx, k.Entity)
		if err != nil {
			return nil, err
		}
		for _, f := range fields.Fields {
			add(f.Key, target{Target: rows.Target{Member: f.Key, Field: f.Field, List: f.Type == shape.TypeMulti}})
		}
	}
	return targets, nil
}

// Items makes items of rows. What is wrong with a row is reported when its item is put.
func (im *Importer[T]) Items(tx *store.Tx, table []rows.Row) ([]Item[T], error) {
	items := make([]Item[T], len(table))
	for i := range table {
		r := importRow{tx: tx, object: im.kind.Object, body: shape.Value{Kind: shape.Object}}
		im.Each(&table[i], &r.problems, r.set)
		if r.err != nil {
			return nil, r.err
		}
		items[i] = im.item(&r)
	}
	return items, nil
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
	if k.NameKey == nil {
		return uuid.Nil, false, nil
	}
	id, found := k.Table.Find(tx, "name", k.NameKey(text, object))
	return id, found, nil
}

func (k *Kind[T]) matchFields() []string {
	if k.shape.Field(externalID) == nil {
		return nil
	}
	return k.MatchFields()
}
