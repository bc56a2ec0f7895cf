package outreach

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/planner"
	"prospector/store"
)

// engine is what takes the sequences of an organization further, in one transaction.
type engine struct {
	*Outreach
	tx  *store.Tx
	now time.Time

	read      *crm.Recipients
	cal       *planner.Calendar       // when it was needed
	campaigns map[uuid.UUID]*Campaign // nil for one that is gone
	versionOf map[uuid.UUID]uint32    // of templates
	senders   map[uuid.UUID]*sender
	tallies   map[uuid.UUID]*tally
	room      int         // how many messages may still be claimed for a transport
	starved   bool        // some wait for room alone
	out       []*outgoing // messages to hand to their transports once the transaction is on the disk
	woken     bool        // something is to be looked at again
}

// engage does something with the engine of a transaction. There is one: what a hook does in the middle of something belongs to it too.
func (o *Outreach) engage(tx *store.Tx, do func(*engine) error) error {
	if o.engaged != nil && o.engaged.tx == tx {
		return do(o.engaged)
	}
	e := &engine{
		Outreach: o, tx: tx, now: o.now(tx), read: o.crm.Recipients(tx), versionOf: map[uuid.UUID]uint32{},
		campaigns: map[uuid.UUID]*Campaign{}, senders: map[uuid.UUID]*sender{}, tallies: map[uuid.UUID]*tally{},
	}
	o.engaged = e // transactions that write run one at a time
	defer func() { o.engaged = nil }()
	if err := do(e); err != nil {
		return err
	}
	return e.close()
}

// close writes down what was counted, and has the engine look again where that is needed.
func (e *engine) close() error {
	if len(e.out) > 0 {
		seen := e.stirred(e.tx)
		for _, m := range e.out {
			m.seen = seen
		}
	}
	if err := e.closeTallies(); err != nil {
		return err
	}
	if err := e.closeSenders(); err != nil {
		return err
	}
	if !e.woken {
		return nil
	}
	return e.promise(e.tx, advancePart, advanceJob, e.now)
}

// wake has the sequences of the organization be looked at as soon as possible.
func (o *Outreach) wake(tx *store.Tx) error { return o.promise(tx, advancePart, advanceJob, o.now(tx)) }

func (e *engine) calendar() (_ *planner.Calendar, err error) {
	if e.cal == nil {
		e.cal, err = e.Outreach.calendar(e.tx)
	}
	return e.cal, err
}

// campaign gives a campaign; nil when it is gone.
func (e *engine) campaign(id uuid.UUID) (*Campaign, error) {
	if c, known := e.campaigns[id]; known {
		return c, nil
	}
	doc, err := e.Campaigns.Get(e.tx, id)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		e.campaigns[id] = nil
	case err != nil:
		return nil, err
	default:
		e.campaigns[id] = &doc.Record
	}
	return e.campaigns[id], nil
}

// advanceJob is the kind of the job that takes the sequences of an organization further. It is due when the first of them is.
const advanceJob = "sequences.advance"

// passMost is how much is done in one transaction: more would keep other writers waiting for longer than they notice.
const passMost = 500

var engineActor = store.Actor{Operation: advanceJob}

// advance does all that is due in an organization, and puts its job off until something is.
func (o *Outreach) advance(ctx context.Context, job store.Job) error {
	for more := true; more; {
		err := o.pass(ctx, job.Org, nil, func(tx *store.Tx, left bool, next time.Time) error {
			if more = left; more {
				return nil
			}
			return o.rest(tx, job, next)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rest puts the job off until then; when there is nothing to wait for it is done.
func (o *Outreach) rest(tx *store.Tx, job store.Job, next time.Time) error {
	if !next.IsZero() {
		return tx.Reschedule(job.ID, o.wallAt(tx, next), 0)
	}
	o.redeem(tx, advancePart)
	return tx.Done(job.ID)
}

// pass does what is due in an organization, as much as fits into a transaction, after what came of messages was written down.
// then is called in it with whether there is more, and else when there is. What came is written down also when ctx has ended; nothing
// is sent after that.
func (o *Outreach) pass(ctx context.Context, org uuid.UUID, came []result, then func(tx *store.Tx, more bool, next time.Time) error) error {
	var done *engine
	writing := ctx
	if len(came) > 0 {
		writing = context.WithoutCancel(ctx)
	}
	err := o.store.Update(writing, org, engineActor, func(tx *store.Tx) error {
		var more bool
		var next time.Time
		err := o.engage(tx, func(e *engine) (err error) {
			if done != nil { // the transaction is tried once more
				o.post.release(done.out)
			}
			done, e.room = e, o.post.room(ctx)
			if err = e.record(came); err == nil {
				more, next, err = e.run()
			}
			return err
		})
		if err != nil {
			return err
		}
		return then(tx, more, next)
	})
	if err != nil {
		if done != nil {
			o.post.disown(ctx, done.out)
		}
		return err
	}
	o.post.hand(ctx, done.out)
	if done.starved && ctx.Err() == nil {
		o.post.starve(ctx, org)
	}
	return nil
}

// entry is something of a sequence that is due.
type entry struct {
	due      time.Time
	sequence uuid.UUID
	campaign *Campaign
}

// agenda is what a round finds to do, and when there is more.
type agenda struct {
	wakes []entry
	mails map[uuid.UUID][]entry // by sender
	next  time.Time
}

// later notes that something is to be done then.
func (a *agenda) later(at time.Time) {
	if a.next.IsZero() || at.Before(a.next) {
		a.next = at
	}
}

// run does what is due, one thing after the other, until there is nothing or enough was done. next is when something is due again;
// zero when nothing will be.
func (e *engine) run() (more bool, next time.Time, err error) {
	for left := passMost; left > 0; {
		a, err := e.agenda(left)
		if err != nil {
			return false, next, err
		}
		done, err := e.perform(a, left)
		if err != nil {
			return false, next, err
		}
		if done == 0 {
			return false, a.next, nil
		}
		left -= done
	}
	return true, next, nil
}

// agenda finds what is due in the campaigns that go on, at most so much of each, and ends those whose end_date has passed.
func (e *engine) agenda(most int) (*agenda, error) {
	a := &agenda{mails: map[uuid.UUID][]entry{}}
	for _, status := range []CampaignStatus{CampaignActive, CampaignPaused} {
		ids, err := e.Campaigns.Table.IDs(e.tx, byStatus, []byte(status), 0)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if err := e.look(a, id, most); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(a.wakes, compareEntries)
	return a, nil
}

// look finds what is due in a campaign.
func (e *engine) look(a *agenda, id uuid.UUID, most int) error {
	c, err := e.campaign(id)
	if err != nil || c == nil {
		return err
	}
	end, err := e.end(c)
	if err != nil {
		return err
	}
	switch {
	case !end.IsZero() && !end.After(e.now):
		return e.completeCampaign(id)
	case !end.IsZero():
		a.later(end)
	}
	if c.Status != CampaignActive {
		return nil
	}
	wakes, err := e.due(a, byWake, c, most)
	if err != nil {
		return err
	}
	a.wakes = append(a.wakes, wakes...)
	if e.Transport(c.OwnerID.UUID) != nil {
		most = min(most, max(1, e.room)) // no more can go now
	}
	mails, err := e.due(a, byMail, c, most)
	if len(mails) > 0 {
		a.mails[c.OwnerID.UUID] = append(a.mails[c.OwnerID.UUID], mails...)
	}
	return err
}

// due gives what stands under a key of a campaign and is due, and notes when the rest is.
func (e *engine) due(a *agenda, key string, c *Campaign, most int) (due []entry, err error) {
	err = e.sequences.Range(e.tx, key, c.ID[:], func(k []byte, id uuid.UUID) bool {
		if !bytes.HasPrefix(k, c.ID[:]) {
			return false
		}
		at := dueOf(k)
		if at.After(e.now) {
			a.later(at)
			return false
		}
		due = append(due, entry{at, id, c})
		return len(due) < most
	})
	return due, err
}

func compareEntries(a, b entry) int {
	return cmp.Or(a.due.Compare(b.due), store.CompareIDs(a.sequence, b.sequence))
}

// perform does what is on the agenda, as far as senders may send and at most so much, and tells how much it did.
func (e *engine) perform(a *agenda, most int) (done int, err error) {
	for _, at := range a.wakes[:min(most, len(a.wakes))] {
		if err := e.visit(at.sequence, (*walk).advance); err != nil {
			return done, err
		}
		done++
	}
	if done > 0 {
		return done, nil // what it has led to may be due, and come before any message
	}
	for _, owner := range slices.SortedFunc(maps.Keys(a.mails), store.CompareIDs) {
		n, err := e.send(a, owner, a.mails[owner], most-done)
		if done += n; err != nil || done >= most {
			return done, err
		}
	}
	return done, nil
}

// visit lets a sequence take steps, and writes down what has become of it.
func (e *engine) visit(id uuid.UUID, step func(*walk) error) error {
	return e.visitAgain(store.Doc[Sequence]{ID: id}, step)
}

// visitAgain is visit for a sequence that was written before.
func (e *engine) visitAgain(doc store.Doc[Sequence], step func(*walk) error) error {
	w, err := e.walk(doc)
	if err != nil {
		return err
	}
	if err := step(w); err != nil {
		return err
	}
	return w.put()
}

// end is the moment from which on nothing goes out for a campaign; zero when it has no end.
func (e *engine) end(c *Campaign) (time.Time, error) {
	if c.EndDate == "" {
		return time.Time{}, nil
	}
	cal, err := e.calendar()
	if err != nil {
		return time.Time{}, err
	}
	return cal.DayAfter(string(c.EndDate))
}

// completeCampaign completes a campaign whose end_date has passed.
func (e *engine) completeCampaign(id uuid.UUID) error {
	doc, err := e.Campaigns.Get(e.tx, id)
	if err != nil {
		return err
	}
	rec := doc.Record
	rec.Status, rec.held.Restored = CampaignCompleted, false
	delete(e.campaigns, id)
	_, err = e.Campaigns.Replace(e.tx, doc, rec)
	return err
}

// OrganizationChanged looks at everything again when the days or the hours of the organization are others.
func (o *Outreach) OrganizationChanged(tx *store.Tx, _, _ *identity.Organization) error {
	running, err := o.Campaigns.Table.IDs(tx, byStatus, []byte(CampaignActive), 1)
	if err == nil && len(running) == 0 {
		running, err = o.Campaigns.Table.IDs(tx, byStatus, []byte(CampaignPaused), 1)
	}
	if err != nil || len(running) == 0 {
		return err
	}
	return o.wake(tx)
}
