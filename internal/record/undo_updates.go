package record

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/shape"
	"prospector/store"
)

// undoable is a change that an operation made to a record, with the values before and after it.
type undoable struct {
	number uint64
	op     store.Op
	fields []undoableField
}

type undoableField struct {
	name     string
	from, to jsontext.Value
	known    bool // false if the values were erased
}

// undoables returns the changes that an operation made to a record, the newest first: its own, and those that were made by the
// tombstones of what it deleted or merged.
func (k *kind) undoables(tx *store.Tx, id uuid.UUID, u *Undoing) (direct, swept []undoable, err error) {
	values, err := k.presentValues(tx, id)
	if err != nil {
		return nil, nil, err
	}
	err = tx.History(k.table.Name(), id, func(c store.Change) (more bool, err error) {
		if c.At.Before(u.Since) {
			return false, nil
		}
		change := undoable{number: c.Number, op: c.Op}
		for i, name := range c.Fields {
			f := undoableField{name: name}
			f.from, f.to, f.known = values.goBack(&c, i)
			change.fields = append(change.fields, f)
		}
		switch {
		case c.Actor.OperationID != u.Operation:
		case c.Swept:
			swept = append(swept, change)
		default:
			direct = append(direct, change)
		}
		return true, nil
	})
	return direct, swept, err
}

// fieldValues are values of a record by field, as JSON.
type fieldValues map[string]jsontext.Value

// undoUpdates gives the fields of a record the values that they had before the updates, the newest of which is first. If it is
// guarded, TrashRules.MayRestore may refuse that.
func (k *Kind[T]) undoUpdates(
	tx *store.Tx, u *Undoing, id uuid.UUID, updates []undoable, guarded bool,
) (r Reversal, err error) {
	old, found, err := k.Lookup(tx, id)
	switch {
	case store.IsDamagedRecord(err):
		return Reversal{NotPossible: true}, nil
	case err == nil && !found:
		return k.lost(tx, id), nil
	}
	present := fieldValues{}
	if err == nil {
		err = json.Unmarshal(old.JSON, &present)
	}
	if err != nil {
		return r, err
	}
	wanted := goBackFrom(present, updates, &r)
	if err := k.leaveOut(tx, u, &old.Record, wanted, &r); err != nil {
		return r, err
	}
	for len(wanted) > 0 {
		err := tx.Try(func() error {
			doc, err := k.setFields(tx, old, present, wanted)
			if err == nil && guarded && k.mayRestore != nil {
				err = k.mayRestore(tx, id, old.JSON, doc.JSON, u.Force)
			}
			return err
		})
		if err == nil {
			r.Undone = true
			break
		}
		if guarded && u.Strict && fault.CodeOf(err) == fault.InUse {
			return r, err
		}
		refused := fault.Refusal(err)
		if refused == nil {
			return r, err
		}
		// What is refused stays as it is. A refusal that names no field concerns all of them.
		r.NotPossible = true
		before := len(wanted)
		for _, d := range refused.Details {
			field, _, _ := strings.Cut(d.Path, "[")
			delete(wanted, field)
		}
		if len(wanted) == before {
			break
		}
	}
	return r, nil
}

// goBackFrom returns the fields that have other values if updates are taken back, the newest first. A field goes back
// if it still has the value that the update gave it, a list entry by entry.
func goBackFrom(present fieldValues, updates []undoable, r *Reversal) (wanted fieldValues) {
	wanted = fieldValues{}
	for _, c := range updates {
		for _, f := range c.fields {
			if !f.known {
				r.Gone = true
				continue
			}
			now, again := wanted[f.name]
			if !again {
				now = orNullValue(present[f.name])
			}
			next, complete := goBackOne(now, f.from, f.to)
			if !complete {
				r.ChangedSince = true
			}
			wanted[f.name] = next
		}
	}
	maps.DeleteFunc(wanted, func(name string, value jsontext.Value) bool {
		return bytes.Equal(value, orNullValue(present[name]))
	})
	return wanted
}

// goBackOne returns the value of a field without a change, and whether all of the change could be taken back.
func goBackOne(now, from, to jsontext.Value) (next jsontext.Value, complete bool) {
	if bytes.Equal(now, to) {
		return from, true
	}
	values, before, after := entriesOf(now), entriesOf(from), entriesOf(to)
	if values == nil || before == nil || after == nil {
		return now, false
	}
	complete = true
	for _, entry := range after {
		if slices.Contains(before, entry) {
			continue
		}
		if at := slices.Index(values, entry); at >= 0 {
			values = slices.Delete(values, at, at+1)
		} else {
			complete = false
		}
	}
	for _, entry := range before {
		if slices.Contains(after, entry) {
			continue
		}
		if slices.Contains(values, entry) {
			complete = false
		} else {
			values = append(values, entry)
		}
	}
	return jsontext.Value("[" + strings.Join(values, ",") + "]"), complete
}

// entriesOf returns the entries of a list, and nil for anything else. Null is a list without entries if the field is one,
// as a custom field without a value.
func entriesOf(v jsontext.Value) []string {
	entries := []string{}
	var list []jsontext.Value
	if v.Kind() == jsontext.KindNull {
		return entries
	}
	if v.Kind() != jsontext.KindBeginArray || json.Unmarshal(v, &list) != nil {
		return nil
	}
	for _, entry := range list {
		entries = append(entries, string(entry))
	}
	return entries
}

// leaveOut removes the fields from wanted that cannot go back, and the references to records that do not exist.
func (k *Kind[T]) leaveOut(tx *store.Tx, u *Undoing, rec *T, wanted fieldValues, r *Reversal) error {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if u.Dry != nil && u.Dry.fields[lostField{k.Entity, name}] {
			delete(wanted, name) // the field has come back in another transaction of the dry run
			r.Undone = true
			continue
		}
		if f := k.shape.Field(name); f != nil && f.ReadOnly {
			delete(wanted, name) // it follows from the others
			continue
		}
		if k.rules.Undo != nil && k.rules.Undo.MaySet != nil {
			may, err := k.rules.Undo.MaySet(tx, u.Operation, rec, name, wanted[name])
			if err != nil {
				return err
			}
			if !may {
				delete(wanted, name)
				r.OptedOut = true
				continue
			}
		}
		if err := k.leaveOutReferences(tx, u, name, wanted, r); err != nil {
			return err
		}
	}
	return nil
}

func (k *Kind[T]) leaveOutReferences(tx *store.Tx, u *Undoing, name string, wanted fieldValues, r *Reversal) error {
	at := slices.IndexFunc(k.refs, func(f shape.Field) bool { return f.Key == name && !f.Input })
	if at < 0 {
		return nil
	}
	value := wanted[name]
	isList := value.Kind() == jsontext.KindBeginArray
	entries, kept := entriesOf(value), []string{}
	if value.Kind() == jsontext.KindString {
		entries = []string{string(value)}
	}
	for _, entry := range entries {
		id, _ := uuid.Parse(strings.Trim(entry, `"`))
		why, err := k.set.referenceProblem(tx, k.refs[at].Ref, id, k.Object)
		if err != nil {
			return err
		}
		if why == "" {
			kept = append(kept, entry)
			continue
		}
		isBack := u.Dry != nil && u.Dry.back[id]
		r.Undone, r.NotPossible = r.Undone || isBack, r.NotPossible || !isBack
	}
	switch {
	case len(kept) == len(entries):
	case isList:
		wanted[name] = jsontext.Value("[" + strings.Join(kept, ",") + "]")
	default:
		delete(wanted, name)
	}
	return nil
}

// setFields gives fields of a record other values.
func (k *Kind[T]) setFields(tx *store.Tx, old store.Doc[T], present, wanted fieldValues) (doc store.Doc[T], err error) {
	values := maps.Clone(present)
	for name, value := range wanted {
		if values[name] = value; value.Kind() == jsontext.KindNull && strings.HasPrefix(name, shape.CustomPrefix) {
			delete(values, name)
		}
	}
	public, err := json.Marshal(values)
	if err != nil {
		return doc, err
	}
	private, err := privateOf(&old.Record)
	if err != nil {
		return doc, err
	}
	var rec T
	if err := decode(public, private, &rec); err != nil {
		return doc, err
	}
	body, p := shape.Value{Kind: shape.Object}, fault.Problems{}
	for name, value := range wanted {
		if strings.HasPrefix(name, shape.CustomPrefix) { // its definition may have changed
			var v shape.Value
			if err := json.Unmarshal(value, &v); err != nil {
				return doc, err
			}
			if v.Kind == shape.Absent {
				v.Kind = shape.Null
			}
			body.Members = append(body.Members, shape.Member{Key: name, Value: v})
		}
	}
	if err := k.check(tx, &old.Record, &rec, body, &p); err != nil {
		return doc, err
	}
	return k.Replace(tx, old, rec)
}
