package outreach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

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
	ids, _, err := o.index.Select(ctx, org, list, func(tx *store.Tx, cs *filter.CustomFields) (*filter.Plan, error) {
		filters, err := list.WithIDs(tx, a.Filters)
		if err != nil {
			return nil, err
		}
		var p fault.Problems
		plan := filter.Compile(list.Kind, cs, filter.ListBody{Filters: filters, Search: string(a.Search)}, &p)
		return plan, p.Err()
	}, math.MaxInt)
	if fault.CodeOf(err) == fault.InvalidFilter {
		return nil, nil
	}
	return ids, err
}

// AudienceWithNewFilters returns a dynamic audience as an update makes it, or nil if the update does not change its
// filters or is invalid.
func (o *Outreach) AudienceWithNewFilters(tx *store.Tx, id uuid.UUID, body shape.Value) (*Audience, error) {
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

// ApplyNewFilters makes contact_count true after an audience has got new filters: matching are the contacts that were
// found for them. If they are few, they are moved at once, else by the job.
func (o *Outreach) ApplyNewFilters(tx *store.Tx, doc store.Doc[Audience], matching []uuid.UUID) (store.Doc[Audience], error) {
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
		err = o.changeCount(tx, doc, len(matching)-doc.Record.ContactCount)
	} else {
		ids := slices.Concat(matching, members)
		slices.SortFunc(ids, store.CompareIDs)
		var rows []*filter.Row
		if rows, err = o.rows(tx, slices.Compact(ids)); err == nil {
			err = o.move(tx, doc, rows, false, Joining{})
		}
		if err == nil {
			o.recounting.remove(doc.ID)
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
		o.recounting.put(audience, job)
		o.settled.remove(audience)
	}
	return err
}

// isCountAhead reports whether contact_count is the number of members that an audience has when a job has run. A contact
// that joins may have been counted already.
func (o *Outreach) isCountAhead(tx *store.Tx, audience uuid.UUID) bool {
	job, known := o.recounting.get(audience)
	if !known {
		return false
	}
	_, err := tx.Job(job)
	return err == nil // else the job is done, or its transaction was rolled back
}

// runRefreshJob runs a refreshJob.
func (o *Outreach) runRefreshJob(ctx context.Context, job store.Job) error {
	var audience uuid.UUID
	if err := json.Unmarshal(job.Payload, &audience); err != nil {
		return fmt.Errorf("decode job %s: %w", job.ID, err)
	}
	return o.refresh(ctx, job.Org, audience, job.ID)
}

// refresh moves contacts until the members of an audience are those that its filters match, and corrects contact_count.
// The last transaction ends the job, which is also the change of many records that this is.
func (o *Outreach) refresh(ctx context.Context, org, audience, job uuid.UUID) error {
	actor := store.Actor{Operation: refreshJob}
	for isSettled := false; !isSettled; {
		differ, at, err := o.differences(ctx, org, audience)
		if err != nil {
			return err
		}
		for chunk := range slices.Chunk(differ, refreshBatch) {
			if err := o.store.Update(ctx, org, actor, func(tx *store.Tx) error { return o.moveAgain(tx, audience, job, chunk) }); err != nil {
				return err
			}
		}
		err = o.store.Update(ctx, org, actor, func(tx *store.Tx) (err error) {
			if isSettled, err = o.endRefresh(tx, audience, at); err != nil || !isSettled {
				return err
			}
			return errors.Join(tx.Done(job), o.engine.ChangeEnded(tx, job))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// endRefresh corrects contact_count. It reports false if the contacts must be compared with the filters again, because
// something else decides about them now.
func (o *Outreach) endRefresh(tx *store.Tx, audience uuid.UUID, at basis) (isSettled bool, err error) {
	doc, err := o.Audiences.Get(tx, audience)
	if err != nil || !doc.Record.isLive() {
		return true, ignoreNotFound(err)
	}
	now, err := o.basis(tx, &doc)
	if err != nil || !now.follows(at) {
		return false, err
	}
	o.settled.put(audience, at)
	return true, o.recount(tx, doc)
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

// errNotFollowing ends the comparison of an audience that does not follow its filters.
var errNotFollowing = errors.New("the audience does not follow its filters")

// differences returns the contacts that are members of a dynamic audience and do not match its filters, or the
// reverse, and what that was decided by.
func (o *Outreach) differences(ctx context.Context, org, audience uuid.UUID) (differ []uuid.UUID, at basis, err error) {
	var members []uuid.UUID
	matching, _, err := o.index.Select(ctx, org, o.crm.Contacts.List, func(tx *store.Tx, _ *filter.CustomFields) (*filter.Plan, error) {
		doc, err := o.Audiences.Get(tx, audience)
		if fault.CodeOf(err) == fault.NotFound || err == nil && !doc.Record.isLive() {
			return nil, errNotFollowing
		}
		if err != nil {
			return nil, err
		}
		if at, err = o.basis(tx, &doc); err != nil {
			return nil, err
		}
		plan, err := o.plan(tx, &doc)
		if err != nil {
			return nil, err
		}
		if plan == nil {
			return nil, errNotFollowing
		}
		members, err = o.members.All(tx, audience)
		own := *plan // Select sets its page
		return &own, err
	}, math.MaxInt)
	if errors.Is(err, errNotFollowing) {
		return nil, at, nil
	}
	if err != nil {
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

// A dynamic audience is settled when its stored members are the contacts that its filters match. Finish keeps it
// settled when contacts change. New filters, a changed custom field, and a tombstone in the table of contacts unsettle
// it until a job or a sweep has moved the contacts.
//
// An audience that is archived or becomes static keeps its stored members. It must therefore be settled before: see
// requireSettled.

// basis is what decides, besides the contacts themselves, which contacts an audience has.
type basis struct {
	version   string // of the audience
	fields    uint64 // counts the changes of custom fields
	tombstone uint64 // the number of the newest tombstone of contacts, or 0
}

func (o *Outreach) basis(tx *store.Tx, doc *store.Doc[Audience]) (basis, error) {
	b := basis{version: doc.Version(), fields: o.crm.Fields.Table.Counter().Of(tx)}
	tombs, err := tx.Tombstones(o.crm.Contacts.Table.Name())
	for _, t := range tombs {
		b.tombstone = max(b.tombstone, t.Number)
	}
	return b, err
}

// follows reports whether an audience that was settled with an earlier basis still is. A tombstone that has been swept
// since makes no difference.
func (b basis) follows(earlier basis) bool {
	return b.version == earlier.version && b.fields == earlier.fields && b.tombstone <= earlier.tombstone
}

// requireSettled must be called before a dynamic audience stops following its filters. If the audience was not settled
// before the transaction, it returns an error that makes the store refresh it and then retry the transaction.
func (o *Outreach) requireSettled(tx *store.Tx, doc store.Doc[Audience]) error {
	plan, err := o.plan(tx, &doc)
	if err != nil || plan == nil {
		return err
	}
	tx = tx.Before() // what it has written itself would never be settled
	doc, err = o.Audiences.Table.Get(tx, doc.ID)
	if err != nil {
		return ignoreNotFound(err)
	}
	now, err := o.basis(tx, &doc)
	if err != nil {
		return err
	}
	if at, known := o.settled.get(doc.ID); known && now.follows(at) {
		return nil
	}
	org := tx.Org()
	return &store.RetryAfter{Do: func(ctx context.Context) error {
		err := o.refreshNow(ctx, org, doc.ID)
		if store.IsDamagedRecord(err) { // the audience keeps the members that can be read
			o.settled.put(doc.ID, now)
			return nil
		}
		return err
	}}
}

// refreshNow does what a refresh job does. If it is interrupted, a job does the rest.
func (o *Outreach) refreshNow(ctx context.Context, org, audience uuid.UUID) error {
	var job uuid.UUID
	err := o.store.Update(ctx, org, store.Actor{Operation: refreshJob}, func(tx *store.Tx) (err error) {
		job, err = tx.Enqueue(refreshJob, tx.Now().Add(interruptedAfter), audience)
		return err
	})
	if err != nil {
		return err
	}
	return o.refresh(ctx, org, audience, job)
}

// interruptedAfter is when a job looks whether refreshNow was interrupted.
const interruptedAfter = time.Minute
