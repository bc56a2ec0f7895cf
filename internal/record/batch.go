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

// textField returns a function that reads a text field.
func (k *kind) textField(key string) func(rec any) string {
	f := k.shape.Field(key)
	return func(rec any) string { return string(f.Get(rec).(shape.Text)) }
}

// MatchKey returns the name of the secondary key of a field in MatchRules.Fields.
func MatchKey(field string) string { return "match." + field }

// MatchFields returns the fields by which a batch can find records of the kind, or nil if they have no external_id.
func (k *kind) MatchFields() []string {
	if k.shape.Field(externalID) == nil {
		return nil
	}
	return MatchFields(k.match.Fields)
}

// MatchFields returns the fields by which a batch can find records of a kind that has an
// external_id and the given MatchRules.Fields.
func MatchFields(match map[string]func(string) string) []string {
	return append(slices.Sorted(maps.Keys(match)), externalID)
}

// Matching returns the records that have a value in one of the MatchRules.Fields.
func (k *kind) Matching(tx *store.Tx, field string) (ids []uuid.UUID, err error) {
	err = k.table.Range(tx, MatchKey(field), nil, func(_ []byte, id uuid.UUID) bool {
		ids = append(ids, id)
		return true
	})
	return ids, err
}

// FindAll returns the records that match text in one of the MatchRules.Fields.
func (k *kind) FindAll(tx *store.Tx, field, text string) ([]uuid.UUID, error) {
	return k.table.IDs(tx, MatchKey(field), []byte(k.match.Fields[field](text)), 0)
}

// Find returns the oldest record that matches text in one of the MatchFields.
func (k *kind) Find(tx *store.Tx, field, text string) (uuid.UUID, bool, error) {
	if field == externalID {
		return k.findByID(tx, text)
	}
	if k.table.Count(tx) == 0 {
		return uuid.Nil, false, nil
	}
	folded := k.match.Fields[field](text)
	if folded == "" {
		return uuid.Nil, false, nil
	}
	return k.table.Oldest(tx, MatchKey(field), []byte(folded))
}

// Item is one record of a batch: a new record or, if it has an id, changes to an existing one.
type Item[T any] struct {
	given given
	draft Draft[T]
}

// given is what an item was made of.
type given struct {
	body    shape.Value
	id      shape.Value // of the record to change
	problem error
}

// NewItem decodes one record of a batch. match is the field by which Batch looks for an existing
// record, or "".
func NewItem[T any](body shape.Value, match string) Item[T] {
	if body.Kind != shape.Object {
		return Item[T]{given: given{problem: fault.New(fault.ValidationFailed, "the record must be an object")}}
	}
	item := Item[T]{given: newGiven(body)}
	if item.given.isNew() {
		fresh := item.given.body
		if match != "" { // it may change a record that exists
			fresh = withoutEdits(fresh)
		}
		item.draft = NewDraft[T](fresh)
	}
	return item
}

// newGiven divides the body of an item.
func newGiven(body shape.Value) given {
	g := given{body: body, id: body.Get("id")}
	if g.id.Kind == shape.Null || g.id.Kind == shape.String && g.id.Text == "" { // no id
		g.id = shape.Value{}
		isID := func(m shape.Member) bool { return m.Key == "id" }
		g.body.Members = slices.DeleteFunc(slices.Clone(body.Members), isID)
	}
	return g
}

// isNew reports whether the item has no id.
func (g *given) isNew() bool { return g.id.Kind == shape.Absent }

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
	id, exists, err := k.existing(tx, &item.given, match, &item.draft.record)
	if err != nil {
		return uuid.Nil, false, err
	}
	var doc store.Doc[T]
	body := item.given.body
	if exists && item.given.isNew() && body.Get(externalID).Kind == shape.String {
		var ids []string
		if ids, err = k.storedIDs(tx, id); err == nil {
			body, err = k.withoutKnownID(tx, id, ids, body)
		}
	}
	switch {
	case err != nil:
	case exists:
		doc, err = k.Update(tx, id, nil, body)
	default:
		doc, err = k.Create(tx, item.draft)
	}
	if err != nil {
		return uuid.Nil, false, err
	}
	return doc.ID, !exists, nil
}

// existing returns the id of the record that an item changes. rec is what the item would create.
func (k *kind) existing(tx *store.Tx, g *given, match string, rec any) (id uuid.UUID, exists bool, err error) {
	if g.problem != nil {
		return uuid.Nil, false, g.problem
	}
	if !g.isNew() {
		if id, err = shape.ParseID(g.id.Text); err != nil {
			return uuid.Nil, false, fault.ErrNotFound
		}
		return id, true, nil
	}
	v := g.body.Get(match)
	if v.Kind != shape.String || v.Text == "" {
		return uuid.Nil, false, nil
	}
	if id, exists, err = k.Find(tx, match, v.Text); exists || err != nil || match != externalID {
		return id, exists, err
	}
	return k.findSpelled(tx, v.Text, rec)
}
