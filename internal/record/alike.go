package record

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// AlikeKey is the secondary key of Alike.
const AlikeKey = "name"

// AlikeEnd separates the name in a key of Alike from the rest. No folded text contains it.
const AlikeEnd = "\x1f"

// Alike compares records by something that does not identify them for certain, such as their name.
type Alike[T any] struct {
	// Key returns the value of the secondary key AlikeKey: a name, AlikeEnd, and what else tells records apart, or "". It
	// contains no zero byte.
	Key     func(*T) string
	Version string // of Key, see store.Key
	// Prefix is how the keys of the records begin that may be the same as rec.
	Prefix func(rec *T) string
	// Common returns how much two records with the same prefix have in common, or -1 if something tells them apart. It reads
	// only a few members of the stored one, because an import compares many that have the same name.
	Common func(stored *shape.Members, rec *T) int
}

// maxAlike is the number of records that alike compares. Other writers wait meanwhile.
const maxAlike = 20

// alike returns the record that has most in common with rec of those that may be the same, the oldest of several, preferably
// one with the same key, and how many may be the same.
func (k *Kind[T]) alike(tx *store.Tx, a *Alike[T], rec *T) (best uuid.UUID, of int, err error) {
	key, prefix := []byte(a.Key(rec)), []byte(a.Prefix(rec))
	if len(key) == 0 || k.table.Count(tx) == 0 {
		return uuid.Nil, 0, nil
	}
	ids, err := k.withKey(tx, key, prefix)
	if err != nil {
		return uuid.Nil, 0, err
	}
	tombs, err := tx.Tombstones(k.Entity)
	if err != nil {
		return uuid.Nil, 0, err
	}
	for i := range tombs {
		// Until the sweep of a merge rewrites a record, its key has the id of the record that was merged.
		if by := []byte(tombs[i].By); len(by) > 0 && bytes.Contains(key, by) {
			of := []byte(tombs[i].Value)
			others, err := k.withKey(tx, bytes.ReplaceAll(key, by, of), bytes.ReplaceAll(prefix, by, of))
			if err != nil {
				return uuid.Nil, 0, err
			}
			ids = append(ids, others...)
		}
	}
	reader, most := tx.Reader(k.table.Name()), -1
	for _, id := range ids {
		_, public, err := reader.Public(id)
		if err != nil && !store.IsDamagedRecord(err) {
			return uuid.Nil, 0, err
		}
		if public == nil {
			continue
		}
		stored := shape.NewMembers(string(public))
		common := a.Common(&stored, rec)
		if common >= 0 {
			of++
		}
		if common > most {
			best, most = id, common
		}
	}
	return best, of, nil
}

// withKey returns the records with the key, and then those whose keys have the prefix, up to maxAlike.
func (k *kind) withKey(tx *store.Tx, key, prefix []byte) ([]uuid.UUID, error) {
	var equal, others []uuid.UUID
	err := k.table.Range(tx, AlikeKey, prefix, func(found []byte, id uuid.UUID) bool {
		if !bytes.HasPrefix(found, prefix) {
			return false
		}
		if bytes.Equal(found, key) {
			equal = append(equal, id)
		} else {
			others = append(others, id)
		}
		return len(equal)+len(others) < maxAlike
	})
	return append(equal, others...), err
}

// importingOf returns the operations by which imports use a kind.
func importingOf[T any](k *Kind[T], r ImportRules[T]) importing {
	add := r.Add
	if add == nil {
		add = func(tx *store.Tx, d Draft[T]) (uuid.UUID, bool, error) {
			doc, err := k.Create(tx, d)
			return doc.ID, true, err
		}
	}
	ops := importing{
		draft:  func(body shape.Value) (any, *fault.Problems) { d := NewDraft[T](body); return &d, &d.problems },
		record: func(draft any) any { return &draft.(*Draft[T]).record },
		refer: func(draft any, refs shape.Value) any {
			d := *draft.(*Draft[T])
			d.body.Members = append(d.body.Members[:len(d.body.Members):len(d.body.Members)], refs.Members...)
			shape.Decode(refs, &d.record, shape.Update, &d.problems)
			return &d
		},
		create: func(tx *store.Tx, draft any) (uuid.UUID, bool, error) { return add(tx, *draft.(*Draft[T])) },
		change: k.importChange, form: k.form, bring: k.bring,
		alike: k.ops.alike, nameOf: k.ops.nameOf, identity: k.ops.identity,
	}
	if k.shape.Field(r.OptOut.Field) != nil {
		ops.optOut = r.OptOut
	}
	ops.isErased = r.IsErased
	if r.IsSuppressed != nil {
		ops.isSuppressed = func(tx *store.Tx, rec any) bool { return r.IsSuppressed(tx, rec.(*T)) }
	}
	if r.Key != nil {
		ops.key = func(rec any) string { return r.Key(rec.(*T)) }
	}
	return ops
}

// importChange updates a record with the body that edit makes for it, and returns what that changed.
func (k *Kind[T]) importChange(tx *store.Tx, id uuid.UUID, edit func(rec any) (shape.Value, error)) ([]rows.Change, error) {
	old, err := k.Get(tx, id)
	if err != nil {
		return nil, err
	}
	body, err := edit(&old.Record)
	if err != nil {
		return nil, err
	}
	doc, err := k.change(tx, old, body)
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
		if members := shape.NewMembers(string(public)); err == nil && members.Text(`"name":"`) != "" {
			ids.Text = members.Text(`"name":"`)
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
