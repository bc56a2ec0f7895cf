package sequence

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/outreach"
	"prospector/internal/turn"
	"prospector/store"
)

// Newcomers are contacts who join an audience of a campaign without being named: they were imported, tagged or
// restored, or its filters changed. They have no sequence until the change that made them join has ended. A job then
// judges them together: if one change would add too many to a campaign, their sequences do not start but await
// confirmation.
//
// The newcomers of a change are stored by audience, and stay stored until they have their sequences. Whatever else
// starts sequences leaves them alone meanwhile, unless it names them. The decision is stored before it is applied, so
// that an interrupted job goes on with it.

// A change asks if it adds more than maxUnasked people to a campaign, and more than one for each peoplePerNewcomer
// that the campaign had, not counting those who await confirmation.
const (
	maxUnasked        = 50
	peoplePerNewcomer = 5
)

// judgeDelay is when a change that has not ended is looked at again. Its end does not wait for that: see ChangeEnded.
const judgeDelay = time.Minute

// change is what is known of a change that has newcomers.
type change struct {
	Audiences []uuid.UUID `json:"audiences"`        // that contacts have joined
	AskAll    bool        `json:"ask_all,omitzero"` // in every campaign, however few they are
	Decided   bool        `json:"decided,omitzero"`
	Asked     []uuid.UUID `json:"asked,omitzero"`   // the campaigns in which they await confirmation, once decided
	Waiting   []uuid.UUID `json:"waiting,omitzero"` // those in which somebody does
}

// newcomersOf returns the owner of the set of contacts that a change has added to an audience.
func newcomersOf(change, audience uuid.UUID) uuid.UUID { return uuid.NewSHA1(change, audience[:]) }

// readChange reads what is known of a change. It returns nil if the change has no newcomers.
func (e *Engine) readChange(tx *store.Tx, id uuid.UUID) (*change, error) {
	stored, err := e.changes.Get(tx, id, 0)
	if err != nil || stored == nil {
		return nil, err
	}
	c := &change{}
	return c, json.Unmarshal(stored, c)
}

func (e *Engine) writeChange(tx *store.Tx, id uuid.UUID, c *change) error {
	body, err := json.Marshal(c)
	if err == nil {
		e.changes.Put(tx, id, 0, body)
	}
	return err
}

// addNewcomers stores contacts that joined an audience until the change that made them join has ended. If that has been
// judged already, the transaction counts as another one.
func (e *Engine) addNewcomers(tx *store.Tx, audience uuid.UUID, contacts []uuid.UUID, why outreach.Joining) error {
	id := why.Change
	if id == uuid.Nil {
		id = tx.Actor().OperationID
	}
	c, err := e.readChange(tx, id)
	if id == uuid.Nil || c != nil && c.Decided {
		id = e.changeOf(tx)
		c, err = e.readChange(tx, id)
	}
	if err != nil && !store.IsDamagedRecord(err) {
		return err
	}
	if c == nil {
		c = &change{}
		due := tx.Now()
		if e.isRunning(tx, id) {
			due = due.Add(judgeDelay)
		}
		if _, err := tx.Enqueue(judgeJob, due, id); err != nil {
			return err
		}
	}
	if !slices.Contains(c.Audiences, audience) {
		c.Audiences = append(c.Audiences, audience)
	}
	c.AskAll = c.AskAll || why.Ask || tx.Actor().Undo
	if err := e.writeChange(tx, id, c); err != nil {
		return err
	}
	_, err = e.newcomers.Add(tx, newcomersOf(id, audience), contacts)
	return err
}

// changeOf returns the id of the transaction as a change.
func (e *Engine) changeOf(tx *store.Tx) uuid.UUID {
	own, known := e.ownChange.Get(tx)
	if !known {
		own = tx.NewID()
		e.ownChange.Set(tx, own)
	}
	return own
}

// isRunning reports whether a change has not ended: it is a job, or an operation that runs.
func (e *Engine) isRunning(tx *store.Tx, change uuid.UUID) bool {
	_, err := tx.Job(change)
	return err == nil || e.Options.IsRunning(tx, change)
}

// ChangeEnded has the newcomers of a change judged if it has ended.
func (e *Engine) ChangeEnded(tx *store.Tx, id uuid.UUID) error {
	if c, err := e.readChange(tx, id); err == nil && c == nil || e.isRunning(tx, id) {
		return nil
	}
	_, err := tx.Enqueue(judgeJob, tx.Now(), id)
	return err
}

// Finish is called at the end of every transaction.
func (e *Engine) Finish(tx *store.Tx) error {
	if operation := tx.Actor().OperationID; operation != uuid.Nil {
		return e.ChangeEnded(tx, operation)
	}
	return nil
}

// runJudgeJob judges the newcomers of a change that has ended. It is safe to run twice, and with another one of the
// same change.
func (e *Engine) runJudgeJob(ctx context.Context, job store.Job, id uuid.UUID) error {
	decided, err := e.decide(ctx, job, id)
	for err == nil && decided {
		err = e.store.Update(ctx, job.Org, store.Actor{Operation: judgeJob}, func(tx *store.Tx) (err error) {
			decided, err = e.judge(tx, id, job.ID)
			return err
		})
	}
	if errors.Is(err, store.ErrDamaged) {
		return e.askInstead(ctx, job, id)
	}
	return err
}

// decide decides in which campaigns the newcomers of a change await confirmation, and reports whether that is known
// now. Otherwise the job has been removed, or runs again later.
func (e *Engine) decide(ctx context.Context, job store.Job, id uuid.UUID) (decided bool, err error) {
	var asked []uuid.UUID
	counted := false
	err = e.store.View(job.Org, func(tx *store.Tx) error {
		c, err := e.readChange(tx, id)
		if err != nil || c == nil || c.Decided || e.isRunning(tx, id) {
			return err
		}
		counted = true
		asked, err = e.campaignsToAsk(ctx, tx, id, c)
		return err
	})
	if err != nil {
		return false, err
	}
	err = e.store.Update(ctx, job.Org, store.Actor{Operation: judgeJob}, func(tx *store.Tx) error {
		decided = false
		c, err := e.readChange(tx, id)
		switch {
		case err != nil:
			return err
		case c == nil:
			return tx.Done(job.ID)
		case c.Decided:
			decided = true
			return nil
		case e.isRunning(tx, id):
			return tx.Reschedule(job.ID, tx.Now().Add(judgeDelay), 0)
		case !counted: // it has just ended
			return tx.Reschedule(job.ID, tx.Now(), 0)
		}
		decided = true
		c.Decided, c.Asked = true, asked
		return e.writeChange(tx, id, c)
	})
	return decided, err
}

// campaignsToAsk returns the campaigns in which the newcomers of a change await confirmation.
func (e *Engine) campaignsToAsk(ctx context.Context, tx *store.Tx, id uuid.UUID, c *change) (asked []uuid.UUID, err error) {
	campaigns, err := e.campaignsWith(tx, c.Audiences)
	if err != nil {
		return nil, err
	}
	for i := range campaigns {
		ask, err := e.mustAsk(ctx, tx, &campaigns[i], id, c)
		if err != nil {
			return nil, err
		}
		if ask {
			asked = append(asked, campaigns[i].ID)
		}
	}
	return asked, nil
}

// campaignsWith returns the campaigns with one of the audiences that are or have been active.
func (e *Engine) campaignsWith(tx *store.Tx, audiences []uuid.UUID) (campaigns []outreach.Campaign, err error) {
	var ids []uuid.UUID
	for _, audience := range audiences {
		of, err := e.outreach.CampaignsWithAudience(tx, audience, 0)
		if err != nil {
			return nil, err
		}
		ids = append(ids, of...)
	}
	slices.SortFunc(ids, store.CompareIDs)
	ids = e.outreach.Campaigns.Table.Readable(tx, slices.Compact(ids))
	return campaigns, e.outreach.Campaigns.Table.Each(tx, ids, func(doc store.Doc[outreach.Campaign]) error {
		if doc.Record.HasBegun() {
			campaigns = append(campaigns, doc.Record)
		}
		return nil
	})
}

// mustAsk reports whether the newcomers of a change await confirmation in a campaign.
func (e *Engine) mustAsk(
	ctx context.Context, tx *store.Tx, campaign *outreach.Campaign, id uuid.UUID, c *change,
) (bool, error) {
	if c.AskAll || campaign.Admit == outreach.AdmitAutomatic {
		return c.AskAll, nil
	}
	counters, err := e.readCounters(tx, campaign.ID)
	if err != nil && !store.IsDamagedRecord(err) { // as if it had nobody
		return false, err
	}
	enough := max(maxUnasked, (counters.enrolled()-counters.newcomers())/peoplePerNewcomer)
	n := 0
	for i, audience := range c.Audiences {
		if !campaign.HasAudience(audience) {
			continue
		}
		contacts, err := e.newcomers.All(tx, newcomersOf(id, audience))
		if err != nil {
			return false, err
		}
		for _, contact := range contacts {
			turn.Pause(ctx)
			if _, exists := e.sequences.Find(tx, byCampaignAndContact, store.PairKey(campaign.ID, contact)); exists {
				continue
			}
			audiences, err := e.outreach.AudiencesOf(tx, contact)
			if err != nil {
				return false, err
			}
			joinedBefore := func(other uuid.UUID) bool { return campaign.HasAudience(other) && slices.Contains(audiences, other) }
			if !slices.Contains(audiences, audience) || slices.ContainsFunc(c.Audiences[:i], joinedBefore) {
				continue // it has left, or is counted
			}
			if n++; n > enough {
				return true, nil
			}
		}
	}
	return false, nil
}

// judge gives some of the newcomers of a change their sequences, and reports whether there may be more.
func (e *Engine) judge(tx *store.Tx, id, job uuid.UUID) (more bool, err error) {
	c, err := e.readChange(tx, id)
	switch {
	case err != nil:
		return false, err
	case c == nil: // another job has judged them
		return false, tx.Done(job)
	case !c.Decided: // and there are new ones
		return false, tx.Reschedule(job, tx.Now(), 0)
	}
	for _, audience := range c.Audiences {
		set := newcomersOf(id, audience)
		contacts, err := e.newcomers.After(tx, set, uuid.Nil, maxPerTransaction)
		if err != nil {
			return false, err
		}
		if len(contacts) == 0 {
			continue
		}
		if err := e.startNewcomers(tx, audience, contacts, c); err != nil {
			return false, err
		}
		if _, err := e.newcomers.Remove(tx, set, contacts); err != nil {
			return false, err
		}
		return true, e.writeChange(tx, id, c)
	}
	for _, campaign := range c.Waiting {
		if err := e.outreach.EmitNewcomers(tx, campaign); err != nil {
			return false, err
		}
	}
	if _, err := e.changes.Delete(tx, id, 0, 1); err != nil {
		return false, err
	}
	return false, tx.Done(job)
}

// startNewcomers starts the sequences of newcomers of an audience, or makes them await confirmation.
func (e *Engine) startNewcomers(tx *store.Tx, audience uuid.UUID, contacts []uuid.UUID, c *change) error {
	campaigns, err := e.campaignsWith(tx, []uuid.UUID{audience})
	if err != nil {
		return err
	}
	return e.withEngine(tx, func(x *engineTx) error {
		for i := range campaigns {
			campaign := campaigns[i].ID
			how := entryJudged
			if c.AskAll || slices.Contains(c.Asked, campaign) {
				how = entryAsking
			}
			counters, err := x.countersOf(campaign)
			if err != nil {
				return err
			}
			before := counters.newcomers()
			for _, contact := range contacts {
				if err := store.ExceptDamaged(x.startIn(campaign, contact, how)); err != nil { // the others go on
					return err
				}
			}
			if counters.newcomers() > before && !slices.Contains(c.Waiting, campaign) {
				c.Waiting = append(c.Waiting, campaign)
			}
		}
		return nil
	})
}

// askForAll makes everybody in a campaign who has no sequence await confirmation.
func (e *Engine) askForAll(tx *store.Tx, campaign uuid.UUID) error {
	job, err := tx.Enqueue(startJob, tx.Now(), startWork{Campaign: uuid.NullUUID{UUID: campaign, Valid: true}, Ask: true})
	if err != nil {
		return err
	}
	return e.outreach.BeginAsking(tx, campaign, job)
}

// askInstead ends the judging of a change of which something is damaged, so that it is not known who its newcomers
// are: everybody without a sequence awaits confirmation.
func (e *Engine) askInstead(ctx context.Context, job store.Job, id uuid.UUID) error {
	return e.store.Update(ctx, job.Org, store.Actor{Operation: judgeJob}, func(tx *store.Tx) error {
		campaigns, err := e.outreach.CampaignsWith(tx, outreach.CampaignActive, outreach.CampaignPaused)
		if err != nil {
			return err
		}
		for _, campaign := range campaigns {
			if err := e.askForAll(tx, campaign); err != nil && fault.CodeOf(err) != fault.NotFound {
				return err
			}
		}
		if c, err := e.readChange(tx, id); err == nil && c != nil {
			for _, audience := range c.Audiences {
				for more := true; more && err == nil; {
					more, err = e.newcomers.Drop(tx, newcomersOf(id, audience), maxPerTransaction)
				}
				if err != nil {
					return err
				}
			}
		}
		if _, err := e.changes.Delete(tx, id, 0, 1); err != nil {
			return err
		}
		return tx.Done(job.ID)
	})
}
