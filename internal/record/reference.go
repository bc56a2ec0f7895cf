package record

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// doesNotExist is the problem of a reference to a record that does not exist.
const doesNotExist = "does not exist"

// references collects the fields that refer to other records. It returns those that are part of the
// record: each becomes a secondary key, which finds the records that refer to a given one.
func (k *kind) references(rec any) (stored []shape.Field) {
	for _, f := range k.shape.Fields {
		if f.Ref == "" {
			continue
		}
		switch f.Get(rec).(type) {
		case uuid.NullUUID, shape.IDs:
		default:
			panic("record: " + k.Entity + "." + f.Key + " has the rule ref, but is neither a uuid.NullUUID nor shape.IDs")
		}
		k.refs = append(k.refs, f)
		if !f.Input {
			stored = append(stored, f)
		}
	}
	return stored
}

// NameColumn returns the key under which exports show the names of the records in a reference field.
func NameColumn(f *shape.Field) string {
	one := strings.TrimSuffix(f.Key, "_id")
	switch {
	case f.Ref == "users":
		return one + "_email"
	case f.Type == shape.TypeMulti:
		return strings.TrimSuffix(one, "s") + "_names"
	}
	return one + "_name"
}

// isNameColumn reports whether exports of the kind have a column of names that is called so.
func (k *kind) isNameColumn(name string) bool {
	return slices.ContainsFunc(k.refs, func(f shape.Field) bool { return NameColumn(&f) == name })
}

// refIDs returns the ids in a reference field.
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

// check sets the custom fields of after that the body has. It adds invalid references and the
// problems found by the rules of the kind to p, and returns all problems as one error. before is
// nil for a new record.
func (k *Kind[T]) check(tx *store.Tx, before, after *T, body shape.Value, p *fault.Problems) error {
	if err := k.decodeCustom(tx, body, after, p); err != nil {
		return err
	}
	var known []uuid.UUID // which need not exist any more
	for i := range k.refs {
		f := &k.refs[i]
		if before != nil {
			known = refIDs(f, before)
		}
		if err := k.checkReferences(tx, f, refIDs(f, after), known, body, p); err != nil {
			return err
		}
	}
	if before != nil {
		k.checkTogether(body, p)
	}
	if k.rules.CheckEntry != nil {
		for i, entry := range body.Get(k.rules.Entries).Items {
			if entry.Kind == shape.String && entry.Text != "" {
				k.rules.CheckEntry(after, fmt.Sprintf("%s[%d]", k.rules.Entries, i), entry.Text, p)
			}
		}
	}
	for _, check := range k.checks {
		if err := check(tx, before, after, p); err != nil {
			return err
		}
	}
	return p.Err()
}

// checkReferences reports the ids in a field that the records cannot refer to, but for those that the field had.
func (k *kind) checkReferences(tx *store.Tx, f *shape.Field, ids, known []uuid.UUID, body shape.Value, p *fault.Problems) error {
	kept := make(map[uuid.UUID]bool, len(known))
	for _, id := range known {
		kept[id] = true
	}
	var places map[uuid.UUID]string
	for _, id := range ids {
		if kept[id] {
			continue
		}
		why, err := k.set.referenceProblem(tx, f.Ref, id, k.Object)
		if err != nil {
			return err
		}
		if why != "" {
			if places == nil {
				places = pathsOf(f, body)
			}
			p.Invalid(cmp.Or(places[id], f.Key), "%s", why)
		}
	}
	return nil
}

// withIDs returns a body in which the names of referred records are replaced by their ids. Names that no
// record has stay and are reported when the body is decoded. The body itself is returned if it has no names.
func (k *kind) withIDs(tx *store.Tx, body shape.Value) (shape.Value, error) {
	changed := false
	for i := range k.refs {
		f := &k.refs[i]
		if !f.Named {
			continue
		}
		for j, m := range body.Members {
			if m.Key != f.Key && !(f.Edits && (m.Key == "add_"+f.Key || m.Key == "remove_"+f.Key)) || !hasNames(m.Value) {
				continue
			}
			v, err := filter.NamesToIDs(m.Value, func(name string) (uuid.UUID, bool, error) {
				return k.set.find(f.Ref).FindNamed(tx, name, k.Object)
			})
			if err != nil {
				return body, err
			}
			if !changed {
				body.Members, changed = slices.Clone(body.Members), true
			}
			body.Members[j].Value = v
		}
	}
	return body, nil
}

// CheckUpdate checks a body that is to change several records: its fields, values and references, but not what the
// rules of the kind say about a record as a whole. It returns the body with names replaced by ids.
func (k *Kind[T]) CheckUpdate(tx *store.Tx, body shape.Value) (shape.Value, error) {
	rec := k.rules.Example // any valid record
	body, err := k.withIDs(tx, body)
	if err != nil {
		return body, err
	}
	var p fault.Problems
	shape.Decode(body, &rec, shape.Update, &p)
	return body, k.checkUpdate(tx, body, &rec, &p)
}

func (k *kind) checkUpdate(tx *store.Tx, body shape.Value, rec any, p *fault.Problems) error {
	if err := k.decodeCustom(tx, body, rec, p); err != nil {
		return err
	}
	for i := range k.refs {
		for id, path := range pathsOf(&k.refs[i], body) {
			why, err := k.set.referenceProblem(tx, k.refs[i].Ref, id, k.Object)
			if err != nil {
				return err
			}
			if why != "" {
				p.Invalid(path, "%s", why)
			}
		}
	}
	k.checkTogether(body, p)
	return p.Err()
}

// hasNames reports whether a list has a string that is not an id.
func hasNames(v shape.Value) bool {
	return slices.ContainsFunc(v.Items, func(item shape.Value) bool {
		_, err := shape.ParseID(item.Text)
		return item.Kind == shape.String && err != nil
	})
}

// checkTogether reports the fields in Rules.UpdateTogether that a body lacks although it has others.
func (k *kind) checkTogether(body shape.Value, p *fault.Problems) {
	var given string
	for _, key := range k.together {
		if body.Get(key).Kind != shape.Absent {
			given = key
		}
	}
	for _, key := range k.together {
		if given != "" && body.Get(key).Kind == shape.Absent {
			p.Invalid(key, "required together with %s", given)
		}
	}
}

// pathsOf returns the path in the body of each reference in a field.
func pathsOf(f *shape.Field, body shape.Value) map[uuid.UUID]string {
	places := map[uuid.UUID]string{}
	for _, key := range []string{"add_" + f.Key, f.Key} {
		given := body.Get(key)
		if id, err := shape.ParseID(given.Text); err == nil {
			places[id] = key
		}
		for i, item := range slices.Backward(given.Items) { // the first occurrence of a duplicate wins
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
	return doesNotExist, nil // no kind has this entity
}

// ReferenceProblem returns why records of the object cannot refer to id, or "" if they can.
func (k *kind) ReferenceProblem(tx *store.Tx, id uuid.UUID, object string) (string, error) {
	why, err := k.typed.checkReference(tx, id, object)
	if fault.CodeOf(err) != fault.NotFound {
		return why, err
	}
	survivor, merged, err := k.Survivor(tx, id)
	if err != nil || !merged {
		return doesNotExist, err
	}
	return "was merged into " + survivor.String(), nil
}

func (k *Kind[T]) checkReference(tx *store.Tx, id uuid.UUID, object string) (string, error) {
	if k.rules.CheckReference == nil {
		if !k.Table.Has(tx, id) {
			return "", fault.ErrNotFound
		}
		return "", nil
	}
	doc, err := k.Table.Get(tx, id)
	if err != nil {
		return "", err
	}
	return k.rules.CheckReference(&doc.Record, object), nil
}

// MayBeInUse reports whether another kind has a required reference to this one, so that deleting a
// record can fail with in_use.
func (k *kind) MayBeInUse() bool {
	for _, f := range k.set.referencesTo(k.Entity) {
		if f.Required {
			return true
		}
	}
	return false
}

// referencesTo returns the fields that refer to records of an entity and are part of the record, with their kinds.
func (s *Set) referencesTo(entity string) iter.Seq2[*kind, *shape.Field] {
	return func(yield func(*kind, *shape.Field) bool) {
		for _, k := range s.kinds {
			for i := range k.refs {
				if f := &k.refs[i]; f.Ref == entity && !f.Input && !yield(k, f) {
					return
				}
			}
		}
	}
}

// removeReferences removes the references in a field of this kind's records to a record that is being deleted. The
// records keep their updated_at and emit no events, but the change log has an entry for each. A
// required reference refuses the deletion. If the record is damaged, the reference stays instead.
func (k *kind) removeReferences(tx *store.Tx, f *shape.Field, id uuid.UUID, isDamaged bool) error {
	referrers, err := k.table.IDs(tx, f.Key, id[:], 1)
	switch {
	case err != nil || len(referrers) == 0 || f.Required && isDamaged:
		return err
	case f.Required:
		return fault.Taken(fault.InUse, f.Key, referrers[0].String(), "%s refers to this record", k.WithArticle())
	}
	return k.dropValue(tx, lostReference(f, id, uuid.NullUUID{}), sweepBatch)
}
