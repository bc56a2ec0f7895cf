package record

import (
	"errors"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/rows"
	"prospector/internal/shape"
	"prospector/store"
)

// keepsOptOut reports whether a body would take back that a record has opted out, and must not.
func (a *attempt) keepsOptOut(rec any, body shape.Value) bool {
	if a.kind.optOut.Field == "" || a.options.OptOuts == ReplaceOptOuts {
		return false
	}
	if v := body.Get(a.kind.optOut.Field); v.Kind == shape.Absent || v.Kind == shape.Bool && v.True {
		return false
	}
	return a.hasOptedOut(rec)
}

func (a *attempt) hasOptedOut(rec any) bool {
	has, _ := a.kind.shape.Field(a.kind.optOut.Field).Get(rec).(bool)
	return has
}

// optOutSkipped takes what a skipped row says about opting out.
func (im *Importer) optOutSkipped(tx *store.Tx, item *importItem) error {
	if im.kind.optOut.Skipped == nil {
		return nil
	}
	says, by := item.body.Get(im.kind.optOut.Field), item.body.Get(im.kind.optOut.By)
	if says.Kind != shape.Bool || !says.True {
		return nil
	}
	if by.Kind == shape.String && by.Text != "" {
		return im.kind.optOut.Skipped(tx, by.Text, im.isDoubtful(item))
	}
	id, exists, err := im.meant(tx, item)
	if exists && err == nil {
		err = im.kind.optOut.Record(tx, id, im.isDoubtful(item))
	}
	if store.IsDamagedRecord(err) { // the row is skipped, but the import goes on
		return nil
	}
	return err
}

// meant returns the record that a skipped row means: by its id, or by a match field if the rest of the row does not contradict.
func (im *Importer) meant(tx *store.Tx, item *importItem) (id uuid.UUID, exists bool, err error) {
	if id, err := shape.ParseID(item.body.Get("id").Text); err == nil {
		if im.kind.table.Has(tx, id) {
			return id, true, nil
		}
		if survivor, merged, err := im.kind.Survivor(tx, id); merged || err != nil {
			return survivor, merged, err
		}
	}
	a, rec := &attempt{Importer: im, tx: tx, item: item}, im.kind.typed.record(item.draft)
	for _, field := range im.match {
		v := item.body.Get(field)
		if v.Kind != shape.String || v.Text == "" || !a.mayFind(field, v.Text) {
			continue
		}
		if field != externalID {
			id, exists, err = a.findBy(field, v.Text, rec)
		} else if id, exists, err = a.findByExternalID(v.Text, rec); isRefusal(err) { // it is somebody else's
			exists, err = false, nil
		}
		if exists || err != nil {
			return id, exists, err
		}
	}
	return uuid.Nil, false, nil
}

func isRefusal(err error) bool {
	var refused *fault.Error
	return errors.As(err, &refused)
}

// isDoubtful reports whether what an item says about opting out could not be read.
func (im *Importer) isDoubtful(item *importItem) bool {
	return slices.ContainsFunc(item.cells, func(c rows.Cell[*target]) bool { return c.Doubtful && c.Target.Member == im.kind.optOut.Field })
}

// noteDoubt notes how sure the opt-out of the record is.
func (a *attempt) noteDoubt() error {
	says := a.item.body.Get(a.kind.optOut.Field)
	if a.kind.optOut.Doubt == nil || says.Kind != shape.Bool || !says.True {
		return nil
	}
	isNew := a.added || slices.ContainsFunc(a.changes, func(c rows.Change) bool { return c.Field == a.kind.optOut.Field })
	isDoubtful := a.isDoubtful(a.item)
	if isDoubtful && !isNew {
		return nil // somebody else has opted it out
	}
	return a.kind.optOut.Doubt(a.tx, a.id, isDoubtful)
}
