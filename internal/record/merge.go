package record

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// Merge folds other records into the record id. Empty fields of the record are filled from the others in order, lists
// are united, true wins over false, and differing long texts are joined. fields names for each field the record whose
// value is taken instead. References to the others become references to the record. The others are deleted without
// the trash; their ids are not_found, with the id of the record that they live on in.
//
// move moves what else belongs to the others, after they were deleted and before the record gets its new values, so
// that nothing that belongs to the record has to compete with what belonged to them.
func (k *Kind[T]) Merge(
	tx *store.Tx, id uuid.UUID, ids []uuid.UUID, fields map[string]uuid.UUID, move func() error,
) (doc store.Doc[T], err error) {
	old, err := k.Get(tx, id)
	if err != nil {
		return doc, err
	}
	var p fault.Problems
	others, err := k.readOthers(tx, id, ids, &p)
	if err != nil {
		return doc, err
	}
	records := []*T{&old.Record}
	for i := range others {
		records = append(records, &others[i].Record)
	}
	rec := old.Record
	if p.Count() == 0 {
		k.fold(&rec, records, fields, &p)
	}
	if err := p.Err(); err != nil {
		return doc, err
	}
	for i := range others {
		losses := k.losses(&others[i].Record, uuid.NullUUID{UUID: id, Valid: true})
		if err := k.set.lose(tx, losses, Refuse); err != nil {
			return doc, err
		}
	}
	budget := mergeBudget
	for i := range others {
		other := &others[i]
		if err := k.redirect(tx, other.ID, id, &budget); err != nil {
			return doc, err
		}
		if err := k.toMerged(tx, other, id); err != nil {
			return doc, err
		}
	}
	if err := move(); err != nil {
		return doc, err
	}
	if old, err = k.Table.Get(tx, id); err != nil { // the others may have been references of the record
		return doc, err
	}
	headOf(&rec).UpdatedAt = shape.At(tx.Now())
	changed := k.shape.Diff(&old.Record, &rec)
	if doc, err = k.Table.Update(tx, old, rec, changed); err != nil {
		return doc, err
	}
	return doc, k.updated(tx, &old.Record, &rec, changed, doc.JSON)
}

// readOthers reads the records that are merged into the record id.
func (k *Kind[T]) readOthers(tx *store.Tx, id uuid.UUID, ids []uuid.UUID, p *fault.Problems) (others []store.Doc[T], err error) {
	for i, other := range ids {
		path := fmt.Sprintf("ids[%d]", i)
		if other == id {
			p.Invalid(path, "is the record that the others are merged into")
			continue
		}
		d, found, err := k.Lookup(tx, other)
		if err != nil {
			return nil, err
		}
		if !found {
			p.Invalid(path, "%s %s", other, doesNotExist)
			continue
		}
		others = append(others, d)
	}
	return others, nil
}

// fold fills the record into, a copy of the first record, with the values of all records.
func (k *Kind[T]) fold(into *T, records []*T, fields map[string]uuid.UUID, p *fault.Problems) {
	all := make([]any, len(records))
	for i := range records {
		all[i] = records[i]
	}
	k.foldFields(into, all, fields, p)
	if k.rules.Merge.Fold != nil {
		k.rules.Merge.Fold(into, records)
	}
}

func (k *kind) foldFields(into any, records []any, fields map[string]uuid.UUID, p *fault.Problems) {
	chosen := map[string]any{} // by field: the record whose value is taken
	for field, id := range fields {
		at := slices.IndexFunc(records, func(rec any) bool { return headOf(rec).ID == id })
		f := k.shape.Field(field)
		isCustom := strings.HasPrefix(field, shape.CustomPrefix)
		switch {
		case f == nil && !isCustom || f != nil && (f.ReadOnly || f.Input):
			p.Invalid("fields."+field, "is not a field that can be chosen")
		case at < 0:
			p.Invalid("fields."+field, "%s is neither the record nor one of ids", id)
		default:
			chosen[field] = records[at]
		}
	}
	for i := range k.shape.Fields {
		f := &k.shape.Fields[i]
		switch {
		case f.ReadOnly || f.Input:
		case chosen[f.Key] != nil:
			f.Set(into, f.Get(chosen[f.Key]))
		case f.Fixed: // how the record was created
		default:
			f.Set(into, folded(f, records, p))
		}
	}
	if custom := k.shape.Custom(into); custom != nil {
		*custom = foldedCustom(k.shape, records, chosen)
	}
}

// folded returns the value of a field that is made of those of all records.
func folded(f *shape.Field, records []any, p *fault.Problems) any {
	first := f.Get(records[0])
	switch first.(type) {
	case shape.IDs:
		var united shape.IDs
		for _, rec := range records {
			for _, id := range f.Get(rec).(shape.IDs) {
				if !slices.Contains(united, id) {
					united = append(united, id)
				}
			}
		}
		if f.MaxLen > 0 && len(united) > f.MaxLen {
			p.Invalid("fields."+f.Key, "required: together the records have %d entries, and at most %d are allowed", len(united), f.MaxLen)
		}
		if united == nil {
			return first
		}
		return united
	case []string:
		var united []string
		for _, rec := range records {
			united = append(united, f.Get(rec).([]string)...)
		}
		return slices.Compact(united)
	case bool:
		return slices.ContainsFunc(records, func(rec any) bool { return f.Get(rec).(bool) })
	case shape.Text:
		if f.Key != "notes" {
			break
		}
		var texts []string
		for _, rec := range records {
			if text := string(f.Get(rec).(shape.Text)); text != "" && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
		joined := strings.Join(texts, "\n\n")
		if n := utf8.RuneCountInString(joined); n > f.MaxLen {
			p.Invalid("fields."+f.Key, "required: the joined texts have %d characters, and at most %d are allowed", n, f.MaxLen)
		}
		return shape.Text(joined)
	}
	for _, rec := range records {
		if v := f.Get(rec); !reflect.ValueOf(v).IsZero() {
			return v
		}
	}
	return first
}

// foldedCustom returns the custom fields of all records. The first record that has a field wins, and lists are united.
func foldedCustom(s *shape.Struct, records []any, chosen map[string]any) shape.Custom {
	out := shape.Custom{}
	for _, rec := range slices.Backward(records) {
		for key, value := range *s.Custom(rec) {
			out[key] = united(value, out[key])
		}
	}
	for key, rec := range chosen {
		if !strings.HasPrefix(key, shape.CustomPrefix) {
			continue
		}
		if value, has := (*s.Custom(rec))[key]; has {
			out[key] = value
		} else {
			delete(out, key)
		}
	}
	return out
}

// united returns the entries of two lists, or the first value if they are no lists.
func united(first, second any) any {
	list, isList := first.([]any)
	more, both := second.([]any)
	if !isList || !both {
		return first
	}
	list = slices.Clone(list)
	for _, entry := range more {
		if !slices.Contains(list, entry) {
			list = append(list, entry)
		}
	}
	return list
}

// mergeBudget is the number of referring records that a merge rewrites in its own transaction. Jobs rewrite the others.
const mergeBudget = 1000

// redirect makes references to one record references to another. The records keep their
// updated_at and emit no events. budget is what is left of the mergeBudget.
func (k *kind) redirect(tx *store.Tx, from, to uuid.UUID, budget *int) error {
	for other, f := range k.set.referencesTo(k.Entity) {
		referrers, err := other.table.IDs(tx, f.Key, from[:], sweepBatch)
		if err != nil {
			return err
		}
		if len(referrers) == 0 {
			continue
		}
		tomb := lostReference(f, from, uuid.NullUUID{UUID: to, Valid: true})
		if err := other.dropValue(tx, tomb, max(1, min(sweepBatch, *budget))); err != nil {
			return err
		}
		*budget -= len(referrers)
	}
	return nil
}

// Filled returns how many fields of a record have a value.
func (k *Kind[T]) Filled(rec *T) (n int) {
	for i := range k.shape.Fields {
		f := &k.shape.Fields[i]
		if !f.ReadOnly && !f.Input && hasValue(f.Get(rec)) {
			n++
		}
	}
	if custom := k.shape.Custom(rec); custom != nil {
		n += len(*custom)
	}
	return n
}

func hasValue(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0)
}
