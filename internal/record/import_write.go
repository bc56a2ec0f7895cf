package record

import (
	"cmp"
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
		if err := im.dry.finish(tx, im); err != nil {
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
	o.Suppressed = item.skip == "" && im.isSuppressed != nil && im.isSuppressed(tx, im.record(item.draft))
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
		var damaged *store.DamagedRecord
		switch {
		case err == nil:
			o.ID, o.Added, o.Dropped, o.KeptOptOut = attempt.id, attempt.added, attempt.dropped, attempt.keptOptOut
			o.Changes, o.Updated, o.Unchanged = attempt.changes, len(attempt.changes) > 0, !attempt.added && len(attempt.changes) == 0
			return nil
		case errors.As(err, &damaged):
			refused = damaged.Fault()
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
	return im.isErased != nil && (im.isErased(tx, row.Raw) || slices.ContainsFunc(row.Cells, func(cell string) bool { return im.isErased(tx, cell) }))
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
	ownID      string // see ownID, if the row has an id that does not exist here
	added      bool
	changes    []rows.Change
	keptOptOut bool
	// fillsOnly says that the record was found by another address of it, or by the id of a record that was merged into it, so
	// that the row may have older values.
	fillsOnly bool
}

func (a *attempt) run() error {
	a.dropped = a.dropped[:len(a.dropped):len(a.dropped)]
	before := len(a.dropped)
	report := func(d rows.Dropped) { a.dropped = append(a.dropped, d) }
	refs, links, err := a.resolve(a.tx, a.item, a.known, report)
	if err != nil {
		return err
	}
	draft := a.item.draft
	if len(refs.Members) > 0 {
		draft = a.refer(draft, withoutEdits(refs))
	}
	id, exists, err := a.findGiven(report)
	if err == nil && !exists && a.ownID != "" {
		body := shape.Value{Kind: shape.Object}
		a.kind.withOwnID(a.record(draft), &body, a.ownID)
		a.kind.accumulate(a.record(draft), &body, report)
		draft = a.refer(draft, body)
	}
	if err == nil && !exists {
		id, exists, err = a.find(draft, links, report)
	}
	if err != nil {
		return err
	}
	if why := badValue(a.dropped[before:]); why != "" && a.options.OnBadValue == SkipRow {
		return fault.New(fault.ValidationFailed, "%s", why)
	}
	if a.id = id; exists {
		a.changes, err = a.change(a.tx, id, func(rec any) (shape.Value, error) { return a.edit(rec, refs) })
	} else {
		a.id, a.added, err = a.create(a.tx, draft)
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
		a.kind.withOwnID(rec, &body, a.ownID)
	}
	if a.keptOptOut = a.keepsOptOut(rec, body); a.keptOptOut {
		take(&body, a.optOut.Field)
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
		a.kind.accumulate(rec, &body, func(d rows.Dropped) { a.dropped = append(a.dropped, d) })
		return body, nil
	}
	if a.optOut.Field != "" && body.Get(a.optOut.Field).True && !a.hasOptedOut(rec) {
		return shape.Value{Kind: shape.Object, Members: []shape.Member{{Key: a.optOut.Field, Value: body.Get(a.optOut.Field)}}}, nil
	}
	return body, fault.New(fault.ValidationFailed, "there is such a %s already, and on_existing is skip", strings.ReplaceAll(a.kind.Object, "_", " "))
}

// keepFurther adds the values of match fields that a record keeps its own of, such as the address of a row that found it by another
// one, to its further ones.
func (a *attempt) keepFurther(rec any, body *shape.Value) {
	for field, fold := range a.kind.match {
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

// keepsOptOut reports whether a body would take back that a record has opted out, and must not.
func (a *attempt) keepsOptOut(rec any, body shape.Value) bool {
	if a.optOut.Field == "" || a.options.OptOuts == ReplaceOptOuts {
		return false
	}
	if v := body.Get(a.optOut.Field); v.Kind == shape.Absent || v.Kind == shape.Bool && v.True {
		return false
	}
	return a.hasOptedOut(rec)
}

func (a *attempt) hasOptedOut(rec any) bool {
	has, _ := a.kind.shape.Field(a.optOut.Field).Get(rec).(bool)
	return has
}

// optOutSkipped takes what a skipped row says about opting out.
func (im *Importer) optOutSkipped(tx *store.Tx, item *importItem) error {
	if im.optOut.Skipped == nil {
		return nil
	}
	says, by := item.body.Get(im.optOut.Field), item.body.Get(im.optOut.By)
	if says.Kind != shape.Bool || !says.True {
		return nil
	}
	if by.Kind == shape.String && by.Text != "" {
		return im.optOut.Skipped(tx, by.Text, im.isDoubtful(item))
	}
	ids, err := im.meant(tx, item)
	for _, id := range ids {
		if err == nil {
			err = im.optOut.Record(tx, id, im.isDoubtful(item))
		}
	}
	return err
}

// meant returns the records that a skipped row means by its id, or else by its match fields but for external ids, which may be those
// of somebody else.
func (im *Importer) meant(tx *store.Tx, item *importItem) ([]uuid.UUID, error) {
	if id, err := shape.ParseID(item.body.Get("id").Text); err == nil {
		if im.kind.table.Has(tx, id) {
			return []uuid.UUID{id}, nil
		}
		if survivor, merged, err := im.kind.Survivor(tx, id); merged || err != nil {
			return []uuid.UUID{survivor}, err
		}
	}
	var all []uuid.UUID
	for field, fold := range im.kind.match {
		v := item.body.Get(field)
		if field == externalID || v.Kind != shape.String || fold(v.Text) == "" || im.kind.identifies != nil && !im.kind.identifies(field, v.Text) {
			continue
		}
		ids, err := im.kind.table.IDs(tx, MatchKey(field), []byte(fold(v.Text)), maxAlike)
		if err != nil {
			return nil, err
		}
		all = append(all, ids...)
	}
	return all, nil
}

// isDoubtful reports whether what an item says about opting out could not be read.
func (im *Importer) isDoubtful(item *importItem) bool {
	return slices.ContainsFunc(item.cells, func(c rows.Cell[*target]) bool { return c.Doubtful && c.Target.Member == im.optOut.Field })
}

// noteDoubt notes how sure the opt-out of the record is.
func (a *attempt) noteDoubt() error {
	says := a.item.body.Get(a.optOut.Field)
	if a.optOut.Doubt == nil || says.Kind != shape.Bool || !says.True {
		return nil
	}
	isNew := a.added || slices.ContainsFunc(a.changes, func(c rows.Change) bool { return c.Field == a.optOut.Field })
	isDoubtful := a.isDoubtful(a.item)
	if isDoubtful && !isNew {
		return nil // somebody else has opted it out
	}
	return a.optOut.Doubt(a.tx, a.id, isDoubtful)
}

// findGiven returns the record with the id of the row.
func (a *attempt) findGiven(report func(rows.Dropped)) (id uuid.UUID, exists bool, err error) {
	given := a.item.body.Get("id")
	if given.Kind == shape.Absent {
		return uuid.Nil, false, nil
	}
	if id, err := shape.ParseID(given.Text); err == nil {
		if a.kind.table.Has(a.tx, id) {
			return id, true, nil
		}
		if survivor, merged, err := a.kind.Survivor(a.tx, id); merged || err != nil {
			return id, false, cmp.Or(err, error(fault.New(fault.NotFound, "id: %s was merged into %s", id, survivor)))
		}
		if a.columns.IsOwn() && a.kind.shape.Field(otherIDs) != nil {
			a.ownID = ownID(given.Text)
			return a.kind.findByID(a.tx, a.ownID)
		}
	}
	for _, c := range a.item.cells {
		if c.Target.Member == "id" {
			report(rows.Dropped{Column: c.Column, Value: c.Text, Message: "does not exist"})
		}
	}
	return uuid.Nil, false, nil
}

// find returns the record that the row means by its other values.
func (a *attempt) find(draft any, links []linked, report func(rows.Dropped)) (id uuid.UUID, exists bool, err error) {
	for _, field := range a.match {
		for i, v := range append([]shape.Value{a.item.body.Get(field)}, a.item.body.Get(rows.Further(field)).Items...) {
			if v.Kind != shape.String || v.Text == "" || !a.mayFind(field, v.Text) || i > 0 && a.identity != nil && a.identity.IsShared(v.Text) {
				continue
			}
			if field == externalID {
				id, exists, err = a.findByExternalID(v.Text, draft)
			} else {
				id, exists, err = a.findBy(field, v.Text, draft)
				a.fillsOnly = a.fillsOnly || exists && i > 0
			}
			if exists || err != nil {
				return id, exists, err
			}
		}
	}
	if a.alike == nil || a.item.namesUnknown(links) {
		return uuid.Nil, false, nil
	}
	id, of, err := a.alike(a.tx, a.record(draft))
	if of > 1 {
		for _, c := range a.item.cells {
			if nameFields[c.Target.Member] {
				report(severalAlike(a.kind, c, of))
				break
			}
		}
	}
	return id, of > 0, err
}

// nameFields are the fields with names by which Rules.Alike compares records.
var nameFields = map[string]bool{"name": true, "last_name": true}

// severalAlike says that more than one record has the name of a row.
func severalAlike(k *kind, c rows.Cell[*target], of int) rows.Dropped {
	message := fmt.Sprintf("is the name of %d %s; the one that has most in common with the row was taken", of, strings.ReplaceAll(k.Entity, "_", " "))
	return rows.Dropped{Column: c.Column, Value: c.Text, Message: message, Notice: true}
}

// isSure reports whether the caller has said by which field records are found, so that what it finds is believed.
func (a *attempt) isSure() bool { return len(a.match) == 1 || a.identity == nil }

// findByExternalID finds the record with an external id. One that is about somebody else is an error. An id with the name of a
// system also finds the one without it, and the other way round, if the rest agrees.
func (a *attempt) findByExternalID(text string, draft any) (uuid.UUID, bool, error) {
	id, exists, err := a.kind.findByID(a.tx, text)
	if exists {
		_, isOwn := a.kind.table.Find(a.tx, externalID, []byte(shape.Fold(text)))
		a.fillsOnly = !isOwn
	}
	if err != nil || exists && a.isSure() {
		return id, exists, err
	}
	if !exists {
		return a.kind.findSpelled(a.tx, text, a.record(draft))
	}
	agrees, differs, stored, err := a.kind.agrees(a.tx, id, a.record(draft))
	if err == nil && !agrees && differs {
		err = fault.New(fault.ValidationFailed, "%s", a.identity.conflict(text, stored, a.identity.Of(a.record(draft))))
	}
	return id, true, err
}

// findBy finds the record with a value in a match field that the row may be about. Of several it is the oldest one that fits, or
// else the oldest of which too little is known.
func (a *attempt) findBy(field, text string, draft any) (best uuid.UUID, found bool, err error) {
	if a.kind.table.Count(a.tx) == 0 || a.kind.match[field](text) == "" {
		return uuid.Nil, false, nil
	}
	ids, others, err := a.withValue(field, []byte(a.kind.match[field](text)))
	if err != nil {
		return uuid.Nil, false, err
	}
	defer func() { a.fillsOnly = found && slices.Contains(others, best) }()
	if a.isSure() {
		for _, id := range append(ids, others...) {
			if may, err := a.mayBe(id, field); may || err != nil {
				return id, may, err
			}
		}
		return uuid.Nil, false, nil
	}
	row, most := a.identity.Of(a.record(draft)), Apart
	for _, id := range append(ids, others...) {
		may, err := a.mayBe(id, field)
		if err != nil {
			return uuid.Nil, false, err
		}
		if !may {
			continue
		}
		stored, err := a.kind.describe(a.tx, id)
		if err != nil {
			return uuid.Nil, false, err
		}
		if fit := a.identity.Fit(field, text, stored, row); fit > most {
			best, most = id, fit
		}
	}
	return best, most > Apart, nil
}

// withValue returns the records with a value in a match field, the oldest first, and those that merely have it as a further one.
func (a *attempt) withValue(field string, value []byte) (ids, others []uuid.UUID, err error) {
	table := a.kind.table
	if ids, err = table.IDs(a.tx, MatchKey(field), value, maxAlike); err != nil || a.kind.matchesToo[field] == "" {
		return ids, nil, err
	}
	others, err = table.IDs(a.tx, a.kind.matchesToo[field], value, maxAlike)
	return ids, slices.DeleteFunc(others, func(id uuid.UUID) bool { return slices.Contains(ids, id) }), err
}

// further returns the further values of a match field that a record has.
func (k *kind) further(field string, rec any) []string {
	f := k.shape.Field(rows.Further(field))
	if f == nil {
		return nil
	}
	values, _ := f.Get(rec).([]string)
	return values
}

// namesUnknown reports whether a row names a record that it refers to, such as its account, which does not exist. Records of
// the same name without one are then not the same.
func (item *importItem) namesUnknown(links []linked) bool {
	for i, l := range links {
		named := item.links[i].id != nil || slices.ContainsFunc(item.links[i].by, func(c rows.Cell[*target]) bool { return c.Target.by == "name" || c.Target.by == externalID })
		if l.id == uuid.Nil && named {
			return true
		}
	}
	return false
}

// mayBe reports whether a record that was found by a field may be the one that the row means. With MatchAuto it is not
// if both have external ids that tell them apart.
func (a *attempt) mayBe(id uuid.UUID, field string) (bool, error) {
	own := append(a.item.body.Get(otherIDs).Texts(), a.item.body.Get(externalID).Text, a.ownID)
	if field == externalID || len(a.match) == 1 || !slices.ContainsFunc(own, func(id string) bool { return id != "" }) {
		return true, nil
	}
	stored, err := a.kind.storedIDs(a.tx, id)
	return err == nil && !AreApart(stored, own), err
}

// mayFind reports whether a row finds records by a text.
func (a *attempt) mayFind(field, text string) bool {
	return a.kind.identifies == nil || a.options.MatchOn == field || a.kind.identifies(field, text)
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
