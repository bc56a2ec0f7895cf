package record

import (
	"cmp"
	"errors"
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
			if err := im.write(tx, &b.items[i], &o, known, b); err != nil {
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
	im.dry.begin(b)
	err = tx.Try(func() error {
		if err := write(); err != nil {
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
func (im *Importer) write(tx *store.Tx, item *importItem, o *rows.Outcome, known *found, b *ImportBatch) error {
	o.Dropped = item.dropped
	if o.Skipped = item.skip; item.skip != "" {
		return im.optOutSkipped(tx, item)
	}
	for again := false; ; again = true {
		attempt := &attempt{Importer: im, tx: tx, item: item, known: known, dropped: o.Dropped, seen: b.seen}
		err := tx.Try(attempt.run)
		var refused *fault.Error
		var damaged *store.DamagedRecord
		switch {
		case err == nil:
			o.ID, o.Added, o.Updated, o.Dropped = attempt.id, attempt.added, !attempt.added, attempt.dropped
			o.KeptOptOut = attempt.keptOptOut
			return nil
		case errors.As(err, &damaged):
			refused = damaged.Fault()
		case !errors.As(err, &refused):
			return err
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
	seen    *dryKeys
	dropped []rows.Dropped

	id         uuid.UUID
	added      bool
	keptOptOut bool
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
	id, exists, err := a.find(draft, report)
	if err != nil {
		return err
	}
	if why := badValue(a.dropped[before:]); why != "" && a.options.OnBadValue == SkipRow {
		return fault.New(fault.ValidationFailed, "%s", why)
	}
	if !exists && a.seen != nil && a.seen.has(a, draft, links) {
		a.seen.add(a, draft, links)
		return nil // a row before it would have been added
	}
	if exists {
		var body shape.Value
		if body, err = a.kind.withoutMergedID(a.tx, id, withoutID(a.item.body)); err != nil {
			return err
		}
		if a.keptOptOut, err = a.keepsOptOut(id, body); err != nil {
			return err
		}
		if a.keptOptOut {
			_, _ = take(&body, a.optOut.Field)
		}
		body.Members = append(body.Members, refs.Members...)
		a.id = id
		err = a.update(a.tx, id, body)
	} else {
		a.id, a.added, err = a.create(a.tx, draft)
	}
	if err == nil && a.seen != nil {
		a.seen.add(a, draft, links)
	}
	return err
}

// keepsOptOut reports whether a body would take back that a record has opted out, and must not.
func (a *attempt) keepsOptOut(id uuid.UUID, body shape.Value) (bool, error) {
	if a.optOut.Field == "" || a.options.OptOuts == ReplaceOptOuts {
		return false, nil
	}
	if v := body.Get(a.optOut.Field); v.Kind == shape.Absent || v.Kind == shape.Bool && v.True {
		return false, nil
	}
	return a.optedOut(a.tx, id)
}

// optOutSkipped takes what a skipped row says about opting out.
func (im *Importer) optOutSkipped(tx *store.Tx, item *importItem) error {
	if im.optOut.Skipped == nil {
		return nil
	}
	says, by := item.body.Get(im.optOut.Field), item.body.Get(im.optOut.By)
	if says.Kind != shape.Bool || !says.True || by.Kind != shape.String || by.Text == "" {
		return nil
	}
	return im.optOut.Skipped(tx, by.Text)
}

// find returns the record that the item updates.
func (a *attempt) find(draft any, report func(rows.Dropped)) (id uuid.UUID, exists bool, err error) {
	if given := a.item.body.Get("id"); given.Kind != shape.Absent {
		if id, err := shape.ParseID(given.Text); err == nil {
			if a.kind.table.Has(a.tx, id) {
				return id, true, nil
			}
			if survivor, merged, err := a.kind.Survivor(a.tx, id); merged || err != nil {
				return id, false, cmp.Or(err, error(fault.New(fault.NotFound, "id: %s was merged into %s", id, survivor)))
			}
		}
		for _, c := range a.item.cells {
			if c.Target.Member == "id" {
				report(rows.Dropped{Column: c.Column, Value: c.Text, Message: "does not exist"})
			}
		}
	}
	for _, field := range a.match {
		if v := a.item.body.Get(field); v.Kind == shape.String && v.Text != "" && a.mayFind(field, v.Text) {
			if id, exists, err = a.kind.Find(a.tx, field, v.Text); err != nil {
				return id, exists, err
			}
			if exists {
				if exists, err = a.mayBe(id, field); exists || err != nil {
					return id, exists, err
				}
			}
		}
	}
	if a.alike == nil {
		return uuid.Nil, false, nil
	}
	return a.alike(a.tx, a.record(draft))
}

// mayBe reports whether a record that was found by a field may be the one that the row means. With MatchAuto it is not
// if both have external ids that differ.
func (a *attempt) mayBe(id uuid.UUID, field string) (bool, error) {
	own := a.item.body.Get(externalID)
	if field == externalID || len(a.match) == 1 || own.Kind != shape.String || own.Text == "" {
		return true, nil
	}
	stored, err := a.externalID(a.tx, id)
	return err == nil && (stored == "" || shape.Fold(stored) == shape.Fold(own.Text)), err
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
