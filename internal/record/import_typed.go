package record

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// What imports do with records depends on their type here alone, see typed.

func (k *Kind[T]) draft(body shape.Value) (any, *fault.Problems) {
	d := NewDraft[T](body)
	return &d, &d.problems
}

func (k *Kind[T]) record(draft any) any { return &draft.(*Draft[T]).record }

func (k *Kind[T]) refer(draft any, refs shape.Value) any {
	d := *draft.(*Draft[T])
	d.body.Members = append(d.body.Members[:len(d.body.Members):len(d.body.Members)], refs.Members...)
	shape.Decode(refs, &d.record, shape.Update, &d.problems)
	return &d
}

func (k *Kind[T]) add(tx *store.Tx, draft any) (uuid.UUID, bool, error) {
	if k.rules.Import.Add != nil {
		return k.rules.Import.Add(tx, *draft.(*Draft[T]))
	}
	doc, err := k.Create(tx, *draft.(*Draft[T]))
	return doc.ID, true, err
}

func (k *Kind[T]) importKey(rec any) string {
	if k.rules.Import.Key == nil {
		return ""
	}
	return k.rules.Import.Key(rec.(*T))
}

func (k *Kind[T]) isSuppressed(tx *store.Tx, rec any) bool {
	return k.rules.Import.IsSuppressed != nil && k.rules.Import.IsSuppressed(tx, rec.(*T))
}

func (k *Kind[T]) edit(tx *store.Tx, id uuid.UUID, change func(rec any) (shape.Value, error)) ([]rows.Change, error) {
	old, err := k.Get(tx, id)
	if err != nil {
		return nil, err
	}
	body, err := change(&old.Record)
	if err != nil {
		return nil, err
	}
	doc, err := k.update(tx, old, body)
	if err != nil {
		return nil, err
	}
	fields := k.shape.Diff(&old.Record, &doc.Record)
	if len(fields) == 0 {
		return nil, nil
	}
	var from, to map[string]shape.Value
	if err := errors.Join(json.Unmarshal(old.JSON, &from), json.Unmarshal(doc.JSON, &to)); err != nil {
		return nil, err
	}
	changes := make([]rows.Change, len(fields))
	for i, field := range fields {
		changes[i] = rows.Change{Field: field, From: from[field], To: to[field]}
		if f := k.shape.Field(field); f != nil && f.Ref != "" {
			changes[i].From, changes[i].To = k.withNames(tx, f.Ref, from[field]), k.withNames(tx, f.Ref, to[field])
		}
	}
	return changes, nil
}

// withNames returns ids with the names of the records instead, for people to read.
func (k *kind) withNames(tx *store.Tx, entity string, ids shape.Value) shape.Value {
	switch ids.Kind {
	case shape.String:
		id, err := shape.ParseID(ids.Text)
		if err != nil {
			return ids
		}
		referred := k.set.find(entity)
		if referred == nil { // users
			return ids
		}
		public, err := referred.table.Public(tx, id)
		if members := shape.NewMembers(string(public)); err == nil && members.Text("name") != "" {
			ids.Text = members.Text("name")
		}
	case shape.List:
		items := make([]shape.Value, len(ids.Items))
		for i, id := range ids.Items {
			items[i] = k.withNames(tx, entity, id)
		}
		ids.Items = items
	}
	return ids
}
