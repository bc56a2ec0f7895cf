package record

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// errDryRun reverts what a dry run wrote.
var errDryRun = errors.New("dry run")

// Write writes rows of a batch in the transaction and returns what became of them. It ends early when others wait for the
// transaction; ImportBatch.After has the rest. A row that is refused does not stop the others. A dry run reverts what it
// has written, but what the caller writes in the transaction stays. Write may be called again for a batch if the
// transaction is repeated.
func (im *Importer) Write(tx *store.Tx, b *ImportBatch) (outcomes []rows.Outcome, err error) {
	write := func() error {
		known := &found{links: map[string]linked{}, names: map[string]uuid.UUID{}}
		for i := range b.items {
			if i > 0 && tx.MustYield() {
				return nil
			}
			var o rows.Outcome
			if err := im.write(tx, &b.items[i], &b.Rows[i], &o, known); err != nil {
				return err
			}
			outcomes = append(outcomes, o)
		}
		return nil
	}
	outcomes = make([]rows.Outcome, 0, len(b.items))
	if im.dry == nil {
		err = write()
		return outcomes, err
	}
	if err := im.dry.begin(b); err != nil {
		return nil, err
	}
	err = tx.Try(func() error {
		if err := write(); err != nil {
			return err
		}
		if err := im.dry.keepWritten(tx, im); err != nil {
			return err
		}
		return errDryRun
	})
	if errors.Is(err, errDryRun) {
		err = nil
	}
	return outcomes, err
}

// write writes one item. A value that is refused is dropped, and the item tried once more.
func (im *Importer) write(tx *store.Tx, item *importItem, row *rows.Row, o *rows.Outcome, known *found) error {
	if o.Erased = im.namesErased(tx, row); o.Erased {
		return nil
	}
	o.Suppressed = item.skip == "" && im.kind.typed.isSuppressed(tx, im.kind.typed.record(item.draft))
	o.Dropped = item.dropped
	if o.Skipped = item.skip; item.skip != "" {
		return im.optOutSkipped(tx, item)
	}
	if err := im.dry.bringFor(tx, im, item); err != nil {
		return err
	}
	for again := false; ; again = true {
		attempt := &attempt{Importer: im, tx: tx, item: item, known: known, dropped: o.Dropped}
		err := tx.Try(attempt.run)
		var refused *fault.Error
		switch {
		case err == nil:
			o.ID, o.Added, o.Dropped, o.KeptOptOut = attempt.id, attempt.added, attempt.dropped, attempt.keptOptOut
			o.Changes, o.Updated, o.Unchanged = attempt.changes, len(attempt.changes) > 0, !attempt.added && len(attempt.changes) == 0
			return nil
		case !errors.As(err, &refused):
			return err
		}
		if refused.Code == fault.Erased {
			*o = rows.Outcome{Erased: true}
			return nil
		}
		// What the attempt created is gone.
		known.links, known.names = map[string]linked{}, map[string]uuid.UUID{}
		if again || im.options.OnBadValue == SkipRow || !item.withoutRefused(im, refused) {
			o.Skipped = rowMessage(refused)
			return im.optOutSkipped(tx, item)
		}
		o.Dropped = item.dropped
	}
}

// namesErased reports whether a row names a person who was erased.
func (im *Importer) namesErased(tx *store.Tx, row *rows.Row) bool {
	return im.kind.isErased != nil && (im.kind.isErased(tx, row.Raw) || slices.ContainsFunc(row.Cells, func(cell string) bool { return im.kind.isErased(tx, cell) }))
}

// withoutRefused drops the values of an item that were refused, and reports whether there were any.
func (item *importItem) withoutRefused(im *Importer, refused *fault.Error) bool {
	if !item.dropAll(refused.Details) {
		return false
	}
	im.decode(item, nil)
	return true
}

// attempt is an attempt to write an item.
type attempt struct {
	*Importer
	tx      *store.Tx
	item    *importItem
	known   *found
	dropped []rows.Dropped

	id         uuid.UUID
	exportedID string // see the function of this name, if the row has an id that does not exist here
	added      bool
	changes    []rows.Change
	keptOptOut bool
	// fillsOnly says that the record was found by another address of it, or by the id of a record that was merged into it, so
	// that the row may have older values.
	fillsOnly bool
}

func (a *attempt) report(d rows.Dropped) { a.dropped = append(a.dropped, d) }

func (a *attempt) run() error {
	a.dropped = a.dropped[:len(a.dropped):len(a.dropped)]
	before := len(a.dropped)
	refs, links, err := a.resolve()
	if err != nil {
		return err
	}
	draft := a.item.draft
	if len(refs.Members) > 0 {
		draft = a.kind.typed.refer(draft, withoutEdits(refs))
	}
	id, exists, err := a.findGiven()
	if err == nil && !exists && a.exportedID != "" {
		body := shape.Value{Kind: shape.Object}
		rec := a.kind.typed.record(draft)
		a.kind.withExportedID(rec, &body, a.exportedID)
		a.kind.accumulate(rec, &body, a.report)
		draft = a.kind.typed.refer(draft, body)
	}
	if err == nil && !exists {
		id, exists, err = a.find(a.kind.typed.record(draft), links)
	}
	if err != nil {
		return err
	}
	if why := badValue(a.dropped[before:]); why != "" && a.options.OnBadValue == SkipRow {
		return fault.New(fault.ValidationFailed, "%s", why)
	}
	if a.id = id; exists {
		a.changes, err = a.kind.typed.edit(a.tx, id, func(rec any) (shape.Value, error) { return a.edit(rec, refs) })
	} else {
		a.id, a.added, err = a.kind.typed.add(a.tx, draft)
	}
	if err == nil {
		err = a.noteDoubt()
	}
	if err == nil && (a.added || len(a.changes) > 0) {
		a.dry.touch(a.kind, a.id)
	}
	if a.dry != nil && !a.kind.table.Has(a.tx.Before(), a.id) {
		a.id = uuid.Nil // an earlier row would have added it
	}
	return err
}

// edit returns what the row changes in a record.
func (a *attempt) edit(rec any, refs shape.Value) (shape.Value, error) {
	body := withoutID(a.item.body)
	if a.kind.shape.Field(externalID) != nil {
		var err error
		if body, err = a.kind.withoutKnownID(a.tx, headOf(rec).ID, a.kind.idsOf(rec), body); err != nil {
			return body, err
		}
		a.kind.withFurtherID(rec, &body)
		a.kind.withExportedID(rec, &body, a.exportedID)
	}
	if a.keptOptOut = a.keepsOptOut(rec, body); a.keptOptOut {
		take(&body, a.kind.optOut.Field)
	}
	for _, m := range refs.Members {
		if added := "add_" + m.Key; a.options.ExistingTags != ReplaceTags && a.columns.Target(added) != nil {
			m.Key = added
		}
		body.Members = append(body.Members, m)
	}
	if a.options.OnExisting != SkipExisting {
		if a.options.OnExisting == FillEmpty || a.fillsOnly {
			a.keepFurther(rec, &body)
			body = a.kind.onlyEmpty(rec, body)
		}
		a.kind.accumulate(rec, &body, a.report)
		return body, nil
	}
	if a.kind.optOut.Field != "" && body.Get(a.kind.optOut.Field).True && !a.hasOptedOut(rec) {
		return shape.Value{Kind: shape.Object, Members: []shape.Member{{Key: a.kind.optOut.Field, Value: body.Get(a.kind.optOut.Field)}}}, nil
	}
	return body, fault.New(fault.ValidationFailed, "there is such a %s already, and "+rows.SkipsExisting, strings.ReplaceAll(a.kind.Object, "_", " "))
}

// keepFurther adds the values of match fields that a record keeps its own of, such as the address of a row that found it by another
// one, to its further ones.
func (a *attempt) keepFurther(rec any, body *shape.Value) {
	for field, fold := range a.kind.match.Fields {
		further, v := rows.Further(field), body.Get(field)
		own := a.kind.textField(field)(rec)
		if a.kind.shape.Field(further) == nil || v.Kind != shape.String || own == "" || fold(own) == fold(v.Text) {
			continue
		}
		a.kind.addFurther(body, further, v)
	}
}

// accumulate adds the entries that a record has in a list of texts to those of the row: an import removes none.
func (k *kind) accumulate(rec any, body *shape.Value, report func(rows.Dropped)) {
	body.Members = slices.Clone(body.Members)
	for i := range body.Members {
		m := &body.Members[i]
		f := k.shape.Field(m.Key)
		if f == nil || !f.Accumulates() || m.Value.Kind != shape.List {
			continue
		}
		own, _ := f.Get(rec).([]string)
		all := make([]shape.Value, len(own))
		for i, v := range own {
			all[i] = text(v)
		}
		for _, v := range m.Value.Items {
			isKnown := slices.ContainsFunc(own, func(o string) bool { return strings.EqualFold(o, v.Text) })
			switch {
			case isKnown:
			case len(all) >= f.MaxLen:
				report(rows.Dropped{Column: m.Key, Value: v.Text, Message: fmt.Sprintf("is too many: at most %d are kept", f.MaxLen)})
			default:
				all = append(all, v)
			}
		}
		m.Value.Items = all
		if len(own) > f.MaxLen { // after a merge; what nobody may write is not written again
			m.Value = shape.Value{}
		}
	}
	body.Members = slices.DeleteFunc(body.Members, func(m shape.Member) bool { return m.Value.Kind == shape.Absent })
}

// onlyEmpty returns a body without the fields in which a record has a value. What adds to lists stays, and so do flags that are
// true.
func (k *kind) onlyEmpty(rec any, body shape.Value) shape.Value {
	within := func(prefix string, members []shape.Member) (kept []shape.Member) {
		for _, m := range members {
			if f := k.flat[prefix+m.Key]; f != nil && f.Type != shape.TypeBoolean && !f.Accumulates() && hasValue(f.Get(rec)) || m.Value.Kind == shape.Bool && !m.Value.True {
				continue
			}
			kept = append(kept, m)
		}
		return kept
	}
	custom := k.shape.Custom(rec)
	out := shape.Value{Kind: shape.Object}
	for _, m := range within("", body.Members) {
		if m.Value.Kind == shape.Object {
			m.Value.Members = within(m.Key+".", m.Value.Members)
		}
		if custom != nil && (*custom)[m.Key] != nil {
			continue
		}
		out.Members = append(out.Members, m)
	}
	return out
}

// rowMessage returns all problems of a row in one line, without the error code.
func rowMessage(err *fault.Error) string {
	if len(err.Details) == 0 {
		return err.Message
	}
	var all []string
	for _, d := range err.Details {
		all = append(all, d.Path+": "+d.Message)
	}
	return strings.Join(all, "; ")
}
