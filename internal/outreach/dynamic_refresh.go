package outreach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/filter"
	"prospector/internal/shape"
	"prospector/store"
)

// maxMovedAtOnce is how many contacts join and leave an audience in the transaction that changes its filters. A job
// moves more.
const maxMovedAtOnce = 1000

// Matching returns the contacts that filters match. It returns none if the filters are invalid, which the
// transaction that stores them reports.
func (o *Outreach) Matching(ctx context.Context, org uuid.UUID, a *Audience) ([]uuid.UUID, error) {
	list := o.crm.Contacts.List
	ids, err := o.selected(ctx, org, list, func(tx *store.Tx, cs *filter.CustomFields) (*filter.Plan, error) {
		filters, err := list.WithIDs(tx, a.Filters)
		if err != nil {
			return nil, err
		}
		var p fault.Problems
		plan := filter.Compile(list.Kind, cs, filter.ListBody{Filters: filters, Search: string(a.Search)}, &p)
		return plan, p.Err()
	})
	if fault.CodeOf(err) == fault.InvalidFilter {
		return nil, nil
	}
	return ids, err
}

// selected returns the records that a query matches, outside of transactions.
func (o *Outreach) selected(ctx context.Context, org uuid.UUID, k *index.Kind, query index.Query) ([]uuid.UUID, error) {
	ids, _, err := o.index.Select(ctx, org, k, query, math.MaxInt)
	return ids, err
}

// Changed returns the audience that an update makes dynamic filters of, or nil if the update does not change them.
func (o *Outreach) Changed(tx *store.Tx, id uuid.UUID, body shape.Value) (*Audience, error) {
	doc, err := o.Audiences.Get(tx, id)
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	rec := doc.Record
	var p fault.Problems
	shape.Decode(body, &rec, shape.Update, &p)
	if p.Err() != nil || !rec.isLive() || sameFilters(&doc.Record, &rec) && doc.Record.isLive() {
		return nil, nil
	}
	return &rec, nil
}

// Settle makes contact_count true after the filters of an audience have changed: matching are the contacts that
// were found for them. If they are few, they are moved at once.
func (o *Outreach) Settle(tx *store.Tx, doc store.Doc[Audience], matching []uuid.UUID) (store.Doc[Audience], error) {
	if !doc.Record.isLive() {
		return doc, nil
	}
	if plan, err := o.plan(tx, &doc); err != nil || plan == nil { // a field of the filters was deleted
		return doc, err
	}
	members, err := o.members.After(tx, doc.ID, uuid.Nil, maxMovedAtOnce+1)
	if err != nil {
		return doc, err
	}
	if len(matching)+len(members) > maxMovedAtOnce {
		rec := doc.Record
		rec.ContactCount = len(matching)
		err = o.Audiences.Table.Touch(tx, doc, rec, []string{"contact_count"})
	} else {
		ids := slices.Concat(matching, members)
		slices.SortFunc(ids, store.CompareIDs)
		var rows []*filter.Row
		if rows, err = o.rows(tx, slices.Compact(ids)); err == nil {
			err = o.move(tx, doc, rows, false, Joining{})
		}
		if err == nil {
			o.refreshes.counted(doc.ID)
			err = o.recount(tx, doc)
		}
	}
	if err != nil {
		return doc, err
	}
	return o.Audiences.Get(tx, doc.ID)
}

// OnlyMembers narrows a plan of contacts to the members of an audience. It fails with not_found if the audience
// does not exist.
func (o *Outreach) OnlyMembers(tx *store.Tx, audience uuid.UUID, plan *filter.Plan) (*filter.Plan, error) {
	doc, err := o.Audiences.Get(tx, audience)
	if err != nil {
		return nil, err
	}
	if doc.Record.isLive() {
		own, err := o.plan(tx, &doc)
		if err != nil {
			return nil, err
		}
		if own != nil {
			return plan.And(own), nil
		}
	}
	members, err := o.members.All(tx, audience)
	return plan.Only(members), err
}

// refreshJob is the kind of job that compares the members of a dynamic audience with its filters.
const refreshJob = "audience.refresh"

// refreshBatch is how many contacts one transaction moves.
const refreshBatch = 500

// enqueueRefresh adds a job that makes the members and contact_count of an audience true.
func (o *Outreach) enqueueRefresh(tx *store.Tx, audience uuid.UUID) error {
	job, err := tx.Enqueue(refreshJob, tx.Now(), audience)
	if err == nil {
		o.refreshes.await(audience, job)
	}
	return err
}

// refresh runs a refreshJob.
func (o *Outreach) refresh(ctx context.Context, job store.Job) error {
	var audience uuid.UUID
	if err := json.Unmarshal(job.Payload, &audience); err != nil {
		return fmt.Errorf("decode job %s: %w", job.ID, err)
	}
	return o.settle(ctx, job.Org, audience, job.ID, func(tx *store.Tx) error { return tx.Done(job.ID) })
}

// settle moves contacts until the members of an audience are those that its filters match, and corrects contact_count.
// It calls done in the last transaction. change is the change of many records that this is.
func (o *Outreach) settle(ctx context.Context, org, audience, change uuid.UUID, done func(*store.Tx) error) error {
	actor := store.Actor{Operation: refreshJob}
	for isSettled := false; !isSettled; {
		differ, at, err := o.differences(ctx, org, audience)
		if err != nil {
			return err
		}
		for chunk := range slices.Chunk(differ, refreshBatch) {
			if err := o.store.Update(ctx, org, actor, func(tx *store.Tx) error { return o.moveAgain(tx, audience, change, chunk) }); err != nil {
				return err
			}
		}
		err = o.store.Update(ctx, org, actor, func(tx *store.Tx) error {
			isSettled = true
			doc, err := o.Audiences.Get(tx, audience)
			if err != nil || !doc.Record.isLive() {
				return errors.Join(ignoreNotFound(err), done(tx), o.engine.ChangeEnded(tx, change))
			}
			now, err := o.basis(tx, &doc)
			if err != nil {
				return err
			}
			if isSettled = now.follows(at); !isSettled {
				return nil
			}
			o.refreshes.settle(audience, at)
			return errors.Join(o.recount(tx, doc), done(tx), o.engine.ChangeEnded(tx, change))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// moveAgain moves contacts of an audience as its filters say now.
func (o *Outreach) moveAgain(tx *store.Tx, audience, change uuid.UUID, contacts []uuid.UUID) error {
	doc, err := o.Audiences.Get(tx, audience)
	if err != nil || !doc.Record.isLive() {
		return ignoreNotFound(err)
	}
	rows, err := o.rows(tx, contacts)
	if err != nil {
		return err
	}
	return o.move(tx, doc, rows, false, Joining{Change: change})
}

// differences returns the contacts that are members of a dynamic audience and do not match its filters, or the
// reverse, and what that was decided by.
func (o *Outreach) differences(ctx context.Context, org, audience uuid.UUID) (differ []uuid.UUID, at basis, err error) {
	live := false
	var members []uuid.UUID
	matching, err := o.selected(ctx, org, o.crm.Contacts.List, func(tx *store.Tx, _ *filter.CustomFields) (*filter.Plan, error) {
		live = false
		none := (&filter.Plan{Kind: o.crm.Contacts.List.Kind, Custom: filter.NoCustomFields, Sort: defaultSort(o)}).Only(nil)
		doc, err := o.Audiences.Get(tx, audience)
		if err != nil || !doc.Record.isLive() {
			return none, ignoreNotFound(err)
		}
		if at, err = o.basis(tx, &doc); err != nil {
			return none, err
		}
		plan, err := o.plan(tx, &doc)
		if err != nil || plan == nil {
			return none, err
		}
		live = true
		members, err = o.members.All(tx, audience)
		own := *plan // Select sets its page
		return &own, err
	})
	if err != nil || !live {
		return nil, at, err
	}
	slices.SortFunc(matching, store.CompareIDs)
	for len(matching) > 0 || len(members) > 0 {
		switch {
		case len(members) == 0 || len(matching) > 0 && store.CompareIDs(matching[0], members[0]) < 0:
			differ, matching = append(differ, matching[0]), matching[1:]
		case len(matching) == 0 || store.CompareIDs(matching[0], members[0]) > 0:
			differ, members = append(differ, members[0]), members[1:]
		default:
			matching, members = matching[1:], members[1:]
		}
	}
	return differ, at, nil
}

func defaultSort(o *Outreach) []filter.SortKey {
	keys, _ := o.crm.Contacts.List.ParseSort(o.crm.Contacts.List.DefaultSort)
	return keys
}

// recount sets contact_count to the number of stored members.
func (o *Outreach) recount(tx *store.Tx, doc store.Doc[Audience]) error {
	return o.correctCount(tx, doc, func(bool, string, ...any) {})
}

func ignoreNotFound(err error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	return err
}
