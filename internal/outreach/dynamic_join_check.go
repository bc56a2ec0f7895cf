package outreach

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/internal/turn"
	"prospector/store"
)

// Whether contacts join an audience when they lose a value can only be told from the contacts that have it. A transaction
// looks at a few. Many are checked before the transaction, which then looks at those that have changed since.

// maxCheckedAtOnce is the number of contacts that a transaction looks at.
const maxCheckedAtOnce = 1000

// joinCheck is the result of looking at all contacts that have a value.
type joinCheck struct {
	basis  string                  // the audiences and custom fields that it is about
	change uint64                  // the last change of contacts that it includes
	found  map[uuid.UUID]uuid.UUID // by audience: a contact that joins it
}

// lostValue is a value that contacts of an organization lose.
type lostValue struct {
	org              uuid.UUID
	field, value, by string
}

// joined returns the candidates that contacts join when they lose a value.
func (o *Outreach) joined(tx *store.Tx, lost *store.Tombstone, candidates []candidate) ([]concern, error) {
	if len(candidates) == 0 {
		return nil, nil
	}
	ids, err := o.crm.Contacts.Table.IDs(tx, lost.Key, lost.Prefix, maxCheckedAtOnce+1)
	if err != nil {
		return nil, err
	}
	var before joinCheck
	if len(ids) > maxCheckedAtOnce {
		if before, ids, err = o.changedSince(tx, lost, candidates); err != nil {
			return nil, err
		}
	}
	found, err := o.joinedBy(tx, lost, candidates, ids, func() error { return nil })
	if err != nil {
		return nil, err
	}
	for audience := range before.found {
		if found[audience] == uuid.Nil { // the contact has changed, and others may join
			return nil, o.checkAllFirst(tx, lost)
		}
	}
	var all []concern
	for _, c := range candidates {
		if contact, joins := found[c.audience.ID]; joins {
			all = append(all, concern{c.audience, fmt.Sprintf("contacts would join the dynamic audience %s, among them %s",
				shape.Quote(c.audience.Record.Name), contact)})
		}
	}
	return all, nil
}

// changedSince returns the latest check of a lost value, and the contacts to look at again. If there is none, it returns an
// error that makes the store call checkAll and then retry the transaction.
func (o *Outreach) changedSince(tx *store.Tx, lost *store.Tombstone, candidates []candidate) (joinCheck, []uuid.UUID, error) {
	known, has := o.joinChecks.get(lostOf(tx, lost))
	if !has || known.basis != o.joinCheckBasis(tx, candidates) {
		return known, nil, o.checkAllFirst(tx, lost)
	}
	var ids []uuid.UUID
	for _, contact := range known.found {
		ids = append(ids, contact)
	}
	err := tx.Changes(o.crm.Contacts.Table.Name(), known.change, func(c store.Change) (bool, error) {
		ids = append(ids, c.ID)
		return len(ids) <= 2*maxCheckedAtOnce, nil
	})
	if err == nil && len(ids) > 2*maxCheckedAtOnce {
		err = o.checkAllFirst(tx, lost)
	}
	return known, ids, err
}

func (o *Outreach) checkAllFirst(tx *store.Tx, lost *store.Tombstone) error {
	org, value := tx.Org(), *lost
	return &store.RetryAfter{Do: func(ctx context.Context) error { return o.checkAll(ctx, org, &value) }}
}

// checkAll looks at all contacts that have a value.
func (o *Outreach) checkAll(ctx context.Context, org uuid.UUID, lost *store.Tombstone) error {
	return o.store.View(org, func(tx *store.Tx) error {
		_, candidates, err := o.concerned(tx, lost)
		if err != nil {
			return err
		}
		ids, err := o.crm.Contacts.Table.IDs(tx, lost.Key, lost.Prefix, 0)
		if err != nil {
			return err
		}
		result := joinCheck{basis: o.joinCheckBasis(tx, candidates), change: tx.LastChange(o.crm.Contacts.Table.Name())}
		result.found, err = o.joinedBy(tx, lost, candidates, ids, func() error { return turn.Continue(ctx) })
		if err == nil {
			o.joinChecks.put(lostOf(tx, lost), result)
		}
		return err
	})
}

func lostOf(tx *store.Tx, lost *store.Tombstone) lostValue {
	return lostValue{tx.Org(), lost.Field, lost.Value, lost.By}
}

// joinCheckBasis returns a text that changes whenever the filters of the audiences or the custom fields do.
func (o *Outreach) joinCheckBasis(tx *store.Tx, candidates []candidate) string {
	text := fmt.Sprintln(o.crm.Fields.Table.Counter().Of(tx))
	for _, c := range candidates {
		text += fmt.Sprintln(c.audience.ID, c.audience.Version())
	}
	return text
}
