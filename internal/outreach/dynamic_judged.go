package outreach

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/internal/turn"
	"prospector/store"
)

// Whether contacts join an audience when they lose a value can only be told from the contacts that have it. A transaction
// looks at a few. Many are judged before the transaction, which then looks at those that have changed since.

// maxJudged is the number of contacts that a transaction looks at.
const maxJudged = 1000

// judgement is the result of looking at all contacts that have a value.
type judgement struct {
	of     string                  // the audiences and custom fields that it is about
	change uint64                  // the last change of contacts that it includes
	found  map[uuid.UUID]uuid.UUID // by audience: a contact that joins it
}

// judgements holds the latest judgements. It is only a cache.
type judgements struct {
	mu    sync.Mutex
	known map[lostValue]judgement
}

type lostValue struct {
	org              uuid.UUID
	field, value, by string
}

func (j *judgements) get(v lostValue) (judgement, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	known, has := j.known[v]
	return known, has
}

func (j *judgements) put(v lostValue, result judgement) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.known == nil || len(j.known) >= maxPlans {
		j.known = map[lostValue]judgement{}
	}
	j.known[v] = result
}

// joined returns the candidates that contacts join when they lose a value.
func (o *Outreach) joined(tx *store.Tx, lost *store.Tombstone, candidates []candidate) ([]concern, error) {
	if len(candidates) == 0 {
		return nil, nil
	}
	ids, err := o.crm.Contacts.Table.IDs(tx, lost.Key, lost.Prefix, maxJudged+1)
	if err != nil {
		return nil, err
	}
	var before judgement
	if len(ids) > maxJudged {
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
			return nil, o.judgeFirst(tx, lost)
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

// changedSince returns the judgement about a lost value, and the contacts to look at again. If there is no judgement, it
// returns an error that makes the store call judge and then retry the transaction.
func (o *Outreach) changedSince(tx *store.Tx, lost *store.Tombstone, candidates []candidate) (judgement, []uuid.UUID, error) {
	known, has := o.judged.get(lostOf(tx, lost))
	if !has || known.of != o.judgedOf(tx, candidates) {
		return known, nil, o.judgeFirst(tx, lost)
	}
	var ids []uuid.UUID
	for _, contact := range known.found {
		ids = append(ids, contact)
	}
	err := tx.Changes(o.crm.Contacts.Table.Name(), known.change, func(c store.Change) (bool, error) {
		ids = append(ids, c.ID)
		return len(ids) <= 2*maxJudged, nil
	})
	if err == nil && len(ids) > 2*maxJudged {
		err = o.judgeFirst(tx, lost)
	}
	return known, ids, err
}

func (o *Outreach) judgeFirst(tx *store.Tx, lost *store.Tombstone) error {
	org, value := tx.Org(), *lost
	return &store.RetryAfter{Do: func(ctx context.Context) error { return o.judge(ctx, org, &value) }}
}

// judge looks at all contacts that have a value.
func (o *Outreach) judge(ctx context.Context, org uuid.UUID, lost *store.Tombstone) error {
	return o.store.View(org, func(tx *store.Tx) error {
		_, candidates, err := o.concerned(tx, lost)
		if err != nil {
			return err
		}
		ids, err := o.crm.Contacts.Table.IDs(tx, lost.Key, lost.Prefix, 0)
		if err != nil {
			return err
		}
		result := judgement{of: o.judgedOf(tx, candidates), change: tx.LastChange(o.crm.Contacts.Table.Name())}
		result.found, err = o.joinedBy(tx, lost, candidates, ids, func() error {
			turn.Pause(ctx)
			return ctx.Err()
		})
		if err == nil {
			o.judged.put(lostOf(tx, lost), result)
		}
		return err
	})
}

func lostOf(tx *store.Tx, lost *store.Tombstone) lostValue {
	return lostValue{tx.Org(), lost.Field, lost.Value, lost.By}
}

// judgedOf returns a text that changes whenever the filters of the audiences or the custom fields do.
func (o *Outreach) judgedOf(tx *store.Tx, candidates []candidate) string {
	all := slices.SortedFunc(slices.Values(candidates), func(a, b candidate) int {
		return cmp.Compare(a.audience.ID.String(), b.audience.ID.String())
	})
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintln(&b, c.audience.ID, c.audience.Version())
	}
	fmt.Fprintln(&b, o.crm.Fields.Table.Counter().Of(tx))
	return b.String()
}
