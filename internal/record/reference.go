package record

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// doesNotExist is why a reference to what is not there is refused.
const doesNotExist = "does not exist"

// referenceKeys finds the fields that refer to other records, and makes the keys that find who refers to one.
func (k *Kind[T]) referenceKeys() []store.Key[T] {
	var keys []store.Key[T]
	for _, f := range k.shape.Fields {
		if f.Ref == "" {
			continue
		}
		switch f.Get(new(T)).(type) {
		case uuid.NullUUID, shape.IDs:
		default:
			panic("record: " + k.Entity + "." + f.Key + " is a reference of a type that is not looked after")
		}
		k.refs = append(k.refs, f)
		if f.Input { // no record holds it
			continue
		}
		keys = append(keys, store.Key[T]{Name: f.Key, Of: func(_ *store.Tx, rec *T) ([][]byte, error) { return idKeys(&f, rec), nil }})
	}
	return keys
}

// refIDs are the ids that a reference field names.
func refIDs(f *shape.Field, rec any) []uuid.UUID {
	switch v := f.Get(rec).(type) {
	case uuid.NullUUID:
		if v.Valid {
			return []uuid.UUID{v.UUID}
		}
	case shape.IDs:
		return v
	}
	return nil
}

func idKeys(f *shape.Field, rec any) [][]byte {
	var keys [][]byte
	for _, id := range refIDs(f, rec) {
		keys = append(keys, id[:])
	}
	return keys
}

// check notes references to what is not there and what the kind's own rules find.
func (k *Kind[T]) check(tx *store.Tx, before, after *T, body shape.Value, p *fault.Problems) error {
	for _, f := range k.refs {
		var held []uuid.UUID
		if before != nil {
			held = refIDs(&f, before)
		}
		kept := make(map[uuid.UUID]bool, len(held))
		for _, id := range held {
			kept[id] = true
		}
		var places map[uuid.UUID]string
		for _, id := range refIDs(&f, after) {
			if kept[id] {
				continue
			}
			why, err := k.set.referenceProblem(tx, f.Ref, id, k.Object)
			if err != nil {
				return err
			}
			if why != "" {
				if places == nil {
					places = placesOf(&f, body)
				}
				p.Invalid(cmp.Or(places[id], f.Key), "%s", why)
			}
		}
	}
	if before != nil {
		k.checkTogether(body, p)
	}
	if k.CheckEntry != nil {
		for i, entry := range body.Get(k.Entries).Items {
			if entry.Kind == shape.String && entry.Text != "" {
				k.CheckEntry(after, fmt.Sprintf("%s[%d]", k.Entries, i), entry.Text, p)
			}
		}
	}
	if k.Check != nil {
		if err := k.Check(tx, before, after, p); err != nil {
			return err
		}
	}
	return p.Err()
}

// checkTogether notes the fields that a body lacks though it gives others that they belong to.
func (k *Kind[T]) checkTogether(body shape.Value, p *fault.Problems) {
	var given string
	for _, key := range k.UpdateTogether {
		if body.Get(key).Kind != shape.Absent {
			given = key
		}
	}
	for _, key := range k.UpdateTogether {
		if given != "" && body.Get(key).Kind == shape.Absent {
			p.Invalid(key, "required together with %s", given)
		}
	}
}

// placesOf is where in the body each reference of a field stands.
func placesOf(f *shape.Field, body shape.Value) map[uuid.UUID]string {
	places := map[uuid.UUID]string{}
	for _, key := range []string{"add_" + f.Key, f.Key} {
		given := body.Get(key)
		if id, err := shape.ParseID(given.Text); err == nil {
			places[id] = key
		}
		for i, item := range slices.Backward(given.Items) { // one that stands twice is where it stands first
			if id, err := shape.ParseID(item.Text); err == nil {
				places[id] = fmt.Sprintf("%s[%d]", key, i)
			}
		}
	}
	return places
}

func (s *Set) referenceProblem(tx *store.Tx, entity string, id uuid.UUID, object string) (string, error) {
	if k := s.find(entity); k != nil {
		return k.ReferenceProblem(tx, id, object)
	}
	return doesNotExist, nil // a kind that the service does not have yet
}

func (k *Kind[T]) entity() string { return k.Entity }

func (k *Kind[T]) list() *index.Kind { return k.List }

func (k *Kind[T]) verify(tx *store.Tx, report store.Report) error {
	return k.Table.Verify(tx, report)
}

// Misfit says why id cannot be referred to from records of the object; empty when it can.
func (k *Kind[T]) ReferenceProblem(tx *store.Tx, id uuid.UUID, object string) (string, error) {
	if k.CheckReference == nil {
		if !k.Table.Has(tx, id) {
			return doesNotExist, nil
		}
		return "", nil
	}
	doc, err := k.Table.Get(tx, id)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return doesNotExist, nil
	case err != nil:
		return "", err
	}
	return k.CheckReference(&doc.Record, object), nil
}

// Needed tells whether other records may need one of this kind, so that it is in_use.
func (k *Kind[T]) MayBeInUse() bool {
	return slices.ContainsFunc(k.set.kinds, func(other related) bool { return other.needs(k.Entity) })
}

func (k *Kind[T]) needs(entity string) bool {
	return slices.ContainsFunc(k.refs, func(f shape.Field) bool { return f.Ref == entity && f.Required && !f.Input })
}

// release nulls the references of this kind's records to one that is going. It is a clean-up: the records keep their
// updated_at and emit nothing, but the change log has it. A reference that a record needs keeps the other from going.
func (k *Kind[T]) release(tx *store.Tx, entity string, id uuid.UUID) error {
	for _, f := range k.refs {
		if f.Ref != entity || f.Input {
			continue
		}
		bearers, err := k.Table.IDs(tx, f.Key, id[:], 1)
		if err != nil {
			return err
		}
		switch {
		case len(bearers) == 0:
		case f.Required:
			return fault.Taken(fault.InUse, f.Key, bearers[0].String(), "%s refers to this record", k.WithArticle())
		default:
			if err := k.bury(tx, store.Tombstone{Field: f.Key, Value: id.String(), Key: f.Key, Prefix: id[:]}); err != nil {
				return err
			}
		}
	}
	return nil
}
