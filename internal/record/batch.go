package record

import (
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// externalID is the field by which callers that sync from another system find their records.
const externalID = "external_id"

// textField returns a function that reads a text field.
func (k *Kind[T]) textField(key string) func(*T) string {
	f := k.shape.Field(key)
	return func(rec *T) string { return string(f.Get(rec).(shape.Text)) }
}

func externalIDs[T any](text func(*T) string) store.Unique[T] {
	return store.Unique[T]{
		Name: externalID,
		Of:   func(rec *T) []byte { return []byte(shape.Fold(text(rec))) },
		Taken: func(rec *T, other uuid.UUID) error {
			return fault.Taken(fault.ExternalIDTaken, externalID, other.String(),
				"%s is used by another record", shape.Quote(text(rec)))
		},
	}
}

func matchKey[T any](text func(*T) string, name string, fold func(string) string) store.Key[T] {
	return store.TextKey(matchName(name), func(rec *T) string { return fold(text(rec)) })
}

func matchName(field string) string { return "match." + field }

// MatchFields returns the fields by which a batch can find records of the kind.
func (k *Kind[T]) MatchFields() []string { return MatchFields(k.Match) }

// MatchFields returns the fields by which a batch can find records of a kind that has an
// external_id and the given Rules.Match.
func MatchFields(match map[string]func(string) string) []string {
	return append(slices.Sorted(maps.Keys(match)), externalID)
}

// FindAll returns the records that match text in one of the fields in Match.
func (k *Kind[T]) FindAll(tx *store.Tx, field, text string) ([]uuid.UUID, error) {
	return k.Table.IDs(tx, matchName(field), []byte(k.Match[field](text)), 0)
}

// Find returns the oldest record that matches text in one of the MatchFields.
func (k *Kind[T]) Find(tx *store.Tx, field, text string) (uuid.UUID, bool, error) {
	if field == externalID {
		id, found := k.Table.Find(tx, externalID, []byte(shape.Fold(text)))
		return id, found, nil
	}
	if k.Table.Count(tx) == 0 {
		return uuid.Nil, false, nil
	}
	folded := k.Match[field](text)
	if folded == "" {
		return uuid.Nil, false, nil
	}
	return k.Table.Oldest(tx, matchName(field), []byte(folded))
}

// Item is one record of a batch: a new record or, if it has an id, changes to an existing one.
type Item[T any] struct {
	body    shape.Value
	id      shape.Value
	draft   Draft[T]
	problem error
}

// NewItem decodes one record of a batch. match is the field by which Batch looks for an existing
// record, or "".
func NewItem[T any](body shape.Value, match string) Item[T] {
	if body.Kind != shape.Object {
		return Item[T]{problem: fault.New(fault.ValidationFailed, "the record must be an object")}
	}
	item := newItem[T](body)
	if item.isNew() {
		fresh := item.body
		if match != "" {
			fresh = withoutEdits(fresh)
		}
		item.draft = NewDraft[T](fresh)
	}
	return item
}

// newItem returns an item without a draft.
func newItem[T any](body shape.Value) Item[T] {
	item := Item[T]{body: body, id: body.Get("id")}
	if item.id.Kind == shape.Null || item.id.Kind == shape.String && item.id.Text == "" { // no id
		item.id = shape.Value{}
		isID := func(m shape.Member) bool { return m.Key == "id" }
		item.body.Members = slices.DeleteFunc(slices.Clone(body.Members), isID)
	}
	return item
}

// isNew reports whether the item has no id.
func (item *Item[T]) isNew() bool { return item.id.Kind == shape.Absent }

// withoutEdits returns the body for the case that it creates a record: add_tags becomes part of
// tags, and remove_tags is dropped.
func withoutEdits(body shape.Value) shape.Value {
	add, tags := body.Get("add_tags"), body.Get("tags")
	if add.Kind == shape.Absent && body.Get("remove_tags").Kind == shape.Absent {
		return body
	}
	out := shape.Value{Kind: shape.Object}
	for _, m := range body.Members {
		if m.Key != "add_tags" && m.Key != "remove_tags" && m.Key != "tags" {
			out.Members = append(out.Members, m)
		}
	}
	if tags.Kind == shape.List && add.Kind == shape.List {
		tags.Items = slices.Concat(tags.Items, add.Items)
	} else if tags.Kind == shape.Absent || tags.Kind == shape.Null {
		tags = add
	}
	if tags.Kind != shape.Absent {
		out.Members = append(out.Members, shape.Member{Key: "tags", Value: tags})
	}
	return out
}

// Draft returns the draft of an item without an id.
func (item *Item[T]) Draft() (Draft[T], error) { return item.draft, item.problem }

// Outcome is the result for one record of a batch.
type Outcome struct {
	ID      uuid.UUID
	Created bool
	Err     *fault.Error // why the record was refused, or nil
}

// Batch creates or updates each record independently: a refused record does not stop the others. If
// match is not empty, an item without an id updates the oldest record with the same value in that
// field instead of creating another one.
func (k *Kind[T]) Batch(tx *store.Tx, items []Item[T], match string) ([]Outcome, error) {
	outcomes := make([]Outcome, len(items))
	for i := range items {
		o := &outcomes[i]
		err := tx.Try(func() (err error) {
			o.ID, o.Created, err = k.put(tx, &items[i], match)
			return err
		})
		if err != nil && !errors.As(err, &o.Err) {
			return nil, err
		}
	}
	return outcomes, nil
}

func (k *Kind[T]) put(tx *store.Tx, item *Item[T], match string) (id uuid.UUID, created bool, err error) {
	if item.problem != nil {
		return uuid.Nil, false, item.problem
	}
	found := !item.isNew()
	if found {
		if id, err = shape.ParseID(item.id.Text); err != nil {
			err = fault.ErrNotFound
		}
	} else if v := item.body.Get(match); v.Kind == shape.String && v.Text != "" {
		id, found, err = k.Find(tx, match, v.Text)
	}
	if err != nil {
		return uuid.Nil, false, err
	}
	var doc store.Doc[T]
	if found {
		doc, err = k.Update(tx, id, nil, item.body)
	} else {
		doc, err = k.Create(tx, item.draft)
	}
	if err != nil {
		return uuid.Nil, false, err
	}
	return doc.ID, !found, nil
}
