package record

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// Change is one entry in the history of a record.
type Change struct {
	At        shape.Time   `json:"at" rule:"required"`
	Change    string       `json:"change" rule:"enum=created|updated|deleted"`
	Fields    []string     `json:"fields" doc:"The fields that the update changed."`
	Changes   FieldChanges `json:"changes" doc:"The values before and after the update, by field. Fields whose values are not known are missing: those of changes that an earlier version made, and of persons who were erased."`
	Operation string       `json:"operation" doc:"The operation that caused the change: update_contact, or delete_tag if the deletion of a tag changed the record."`
	// OperationID is not Operation, which is the name of an API operation.
	OperationID uuid.NullUUID `json:"operation_id" label:"Operation ID" doc:"The bulk operation, import, merge or undo that caused the change. Null for a change of a single record."`
	UserID      uuid.NullUUID `json:"user_id"`
	KeyID       uuid.NullUUID `json:"key_id"`
	RequestID   shape.Text    `json:"request_id"`
	Lost        []LostValue   `json:"lost" doc:"The values of the records that this change merged into the record which it did not take."`
	// MergedFrom is the record whose change this was.
	MergedFrom uuid.NullUUID `json:"merged_from" doc:"Set if this was a change of another record, which was merged into this one later: its id."`
}

// FieldChanges are the changes of an update by field.
type FieldChanges map[string]FieldChange

// FieldChange is the value of a field before and after an update.
type FieldChange struct {
	From shape.Value `json:"from"`
	To   shape.Value `json:"to"`
}

// LostValue is a value that a merge did not take.
type LostValue struct {
	ID    uuid.UUID   `json:"id" doc:"The record that had the value."`
	Field string      `json:"field" rule:"required"`
	Value shape.Value `json:"value"`
}

var changeNames = map[store.Op]string{store.Created: "created", store.Updated: "updated", store.Deleted: "deleted"}

// History returns the retained changes of a record and of those that were merged into it, newest first. It also
// works for a deleted record.
func (k *kind) History(tx *store.Tx, id uuid.UUID) ([]Change, error) {
	changes, err := k.changesOf(tx, id)
	if err != nil {
		return nil, err
	}
	others, err := k.MergedInto(tx, id)
	if err != nil || len(others) == 0 {
		return changes, err
	}
	for _, other := range others {
		more, err := k.changesOf(tx, other)
		if err != nil && fault.CodeOf(err) != fault.NotFound { // its changes have expired
			return nil, err
		}
		for i := range more {
			more[i].MergedFrom = orNull(other)
		}
		changes = append(changes, more...)
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return b.At.Std().Compare(a.At.Std()) })
	return changes, nil
}

func (k *kind) changesOf(tx *store.Tx, id uuid.UUID) ([]Change, error) {
	var changes []Change
	values, err := k.presentValues(tx, id)
	if err != nil {
		return nil, err
	}
	merged, err := k.originals(tx, id)
	if err != nil {
		return nil, err
	}
	err = tx.History(k.table.Name(), id, func(c store.Change) (bool, error) {
		entry := Change{
			At: shape.At(c.At), Change: changeNames[c.Op], Fields: c.Fields, Operation: c.Actor.Operation,
			UserID: orNull(c.Actor.User), KeyID: orNull(c.Actor.Key), RequestID: shape.Text(c.Actor.RequestID),
			OperationID: orNull(c.Actor.OperationID), Changes: FieldChanges{}, Lost: []LostValue{},
		}
		if c.Op == store.Updated && !c.Swept {
			for _, m := range merged[c.Actor.OperationID] {
				lost, err := k.lostValues(m, values)
				if err != nil {
					return false, err
				}
				entry.Lost = append(entry.Lost, lost...)
			}
			delete(merged, c.Actor.OperationID)
		}
		if entry.Fields == nil || c.Op != store.Updated {
			entry.Fields = []string{}
		}
		for i, field := range c.Fields {
			from, to, known := values.goBack(&c, i)
			if !known || c.Op != store.Updated {
				continue
			}
			var change FieldChange
			if err := errors.Join(json.Unmarshal(from, &change.From), json.Unmarshal(to, &change.To)); err != nil {
				return false, err
			}
			entry.Changes[field] = change
		}
		if k.isMinor == nil || !k.isMinor(&c) {
			changes = append(changes, entry)
		}
		return true, nil
	})
	return changes, err
}

// originals returns the records that were merged into a record, by the operation that did so.
func (k *kind) originals(tx *store.Tx, id uuid.UUID) (map[uuid.UUID][]store.Doc[merged], error) {
	if k.merged == nil || k.merged.Count(tx) == 0 {
		return nil, nil
	}
	const most = 1000
	ids, err := k.merged.IDs(tx, mergedInto, id[:], most)
	if err != nil {
		return nil, err
	}
	all := map[uuid.UUID][]store.Doc[merged]{}
	err = k.merged.Each(tx, ids, func(m store.Doc[merged]) error {
		if m.Record.Original != nil {
			all[m.Record.Kept.Operation] = append(all[m.Record.Kept.Operation], m)
		}
		return nil
	})
	return all, err
}

// lostValues returns the values of a merged record that the surviving one, whose values after the merge are given, did not
// take. Lists are united, and addresses, numbers and external ids stay with the record in another field.
func (k *kind) lostValues(m store.Doc[merged], after *pastValues) (lost []LostValue, err error) {
	var had map[string]jsontext.Value
	if err := json.Unmarshal(m.Record.Original, &had); err != nil {
		return nil, err
	}
	for _, field := range slices.Sorted(maps.Keys(had)) {
		f, value, now := k.shape.Field(field), had[field], orNullValue(after.values[field])
		isKept := f != nil && (f.ReadOnly || f.Fixed || f.IsBool() || k.shape.Field(rows.Further(field)) != nil)
		isUnknown := after.values[field] == nil && (!after.known || after.unknown[field])
		if isKept || isUnknown || bytes.Equal(value, now) {
			continue
		}
		one := LostValue{ID: m.ID, Field: field}
		if err := json.Unmarshal(value, &one.Value); err != nil {
			return nil, err
		}
		if !isSingle(one.Value) {
			continue
		}
		var text string
		if field == "notes" && json.Unmarshal(now, &text) == nil && strings.Contains(text, one.Value.Text) {
			continue // they are joined
		}
		lost = append(lost, one)
	}
	return lost, nil
}

// isSingle reports whether a value is neither a list nor empty.
func isSingle(v shape.Value) bool {
	switch v.Kind {
	case shape.Absent, shape.Null, shape.List:
		return false
	case shape.Object:
		return slices.ContainsFunc(v.Members, func(m shape.Member) bool { return isSingle(m.Value) })
	}
	return true
}

// pastValues are the values of the fields of a record at some time.
type pastValues struct {
	values  map[string]jsontext.Value
	known   bool            // a field that is not in values has no value; otherwise its value is not known
	unknown map[string]bool // fields whose values are not known although known is set
}

// presentValues returns the values of a record, or those that it had when it was deleted or merged.
func (k *kind) presentValues(tx *store.Tx, id uuid.UUID) (*pastValues, error) {
	v := &pastValues{values: map[string]jsontext.Value{}, unknown: map[string]bool{}}
	public, err := k.lastForm(tx, id)
	if err != nil || public == nil {
		return v, err
	}
	v.known = true
	return v, json.Unmarshal(public, &v.values)
}

// goBack returns the values of a field before and after a change, and makes the former the present one. It must be
// called for the fields of all changes of a record, the newest first.
func (v *pastValues) goBack(c *store.Change, field int) (from, to jsontext.Value, known bool) {
	name := c.Fields[field]
	to, has := v.values[name]
	known = has || v.known && !v.unknown[name]
	if c.Values == nil {
		delete(v.values, name)
		v.unknown[name] = true
		return nil, nil, false
	}
	from = orNullValue(c.Values[field])
	v.values[name] = from
	return from, orNullValue(to), known
}

// orNullValue returns null for a member that a record does not have, such as a custom field without a value.
func orNullValue(v jsontext.Value) jsontext.Value {
	if len(v) == 0 {
		return jsontext.Value("null")
	}
	return v
}

// lastForm returns the public part of a record, or that which it had when it was deleted or merged. It returns nil if it
// is not known.
func (k *kind) lastForm(tx *store.Tx, id uuid.UUID) ([]byte, error) {
	tables := []*store.AnyTable{k.table}
	if trash := k.set.find(k.Entity + trashSuffix); trash != nil {
		tables = append(tables, trash.table)
	}
	for _, table := range tables {
		public, err := table.Public(tx, id)
		if fault.CodeOf(err) != fault.NotFound {
			if store.IsDamagedRecord(err) {
				err = nil
			}
			return public, err
		}
	}
	if k.merged == nil {
		return nil, nil
	}
	doc, err := k.merged.Get(tx, id)
	if store.IsGone(err) {
		err = nil
	}
	return doc.Record.Original, err
}

// ForgetValues removes the values from the history of a record, of those that were merged into it, and of the records
// that refer to it.
func (s *Set) ForgetValues(tx *store.Tx, entity string, id uuid.UUID) error {
	k := s.find(entity)
	ids, err := k.MergedInto(tx, id)
	if err != nil {
		return err
	}
	for _, id := range append(ids, id) {
		if err := tx.ForgetValues(k.table.Name(), id); err != nil {
			return err
		}
	}
	for other, f := range s.referencesTo(entity) {
		referrers, err := other.table.IDs(tx, f.Key, id[:], 0)
		if err != nil {
			return err
		}
		for _, referrer := range referrers {
			if err := tx.ForgetValues(other.table.Name(), referrer); err != nil {
				return err
			}
		}
	}
	return nil
}

func orNull(id uuid.UUID) uuid.NullUUID { return uuid.NullUUID{UUID: id, Valid: id != uuid.Nil} }
