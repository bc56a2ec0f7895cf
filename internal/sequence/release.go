package sequence

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/outreach"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/store"
)

// ReleaseBody decides how a held campaign continues.
type ReleaseBody struct {
	Overdue  shape.Text `json:"overdue" rule:"enum=send|skip" doc:"What becomes of the steps whose time has passed. Required if there are any."`
	Captured shape.Text `json:"captured" rule:"enum=restart|keep" doc:"What becomes of captured messages: restart begins their sequences again, keep treats them as sent. Required if there are any and messages are sent now."`
	Unknown  shape.Text `json:"unknown" rule:"enum=sent|retry|keep" doc:"What becomes of messages that the mail server did not confirm: sent counts them as sent, retry sends them again, keep leaves them unknown, and the next emails to their recipients start new threads. Required if the campaign is held because of them."`
	Sender   bool       `json:"sender" doc:"Release all campaigns of the same owner that are held for the same reason, or none of them."`
	DryRun   bool       `json:"dry_run" doc:"Only return what would happen."`
}

const (
	overdueSkip     = "skip"
	capturedRestart = "restart"
)

// Released is the result of a release. With sender it counts those of all campaigns.
type Released struct {
	Campaign outreach.Campaign `json:"campaign"`
	ReleaseCounts
	Campaigns []CampaignCounts `json:"campaigns" doc:"What happens in each campaign that is released, the oldest first."`

	open openDecisions
}

// ReleaseCounts are what a release does.
type ReleaseCounts struct {
	ToSend       int `json:"to_send" doc:"The number of overdue steps that happen now."`
	ToSkip       int `json:"to_skip" doc:"The number of overdue steps that are skipped."`
	ToRestart    int `json:"to_restart" doc:"The number of sequences that begin again."`
	MayDuplicate int `json:"may_duplicate" doc:"The number of unknown messages that are sent again. They may have been delivered."`
}

// CampaignCounts are what a release does in one campaign.
type CampaignCounts struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
	ReleaseCounts
}

// releaseWork is what a release job applies.
type releaseWork struct {
	Campaign      uuid.UUID
	Before        shape.Time // steps that were due by then are overdue
	Skip, Restart bool
	Unknown       shape.Text
}

// Release continues a held campaign. It fails with campaign_not_held if the campaign is not held, and
// with campaign_held if the reason still holds. Nothing is sent until a job has applied the release
// to the sequences.
func (e *Engine) Release(tx *store.Tx, id uuid.UUID, d record.Draft[ReleaseBody]) (out Released, err error) {
	body, p := d.Open()
	return e.releaseIfDecided(tx, id, body, p)
}

// releaseIfDecided releases a held campaign with a body of which the problems p are known. It fails if the body lacks a decision.
func (e *Engine) releaseIfDecided(
	tx *store.Tx, id uuid.UUID, body ReleaseBody, p fault.Problems,
) (out Released, err error) {
	doc, err := e.outreach.Campaigns.Get(tx, id)
	if err != nil {
		return out, err
	}
	if err := p.Err(); err != nil {
		return out, err
	}
	if doc.Record.Held == nil {
		return out, fault.New(fault.CampaignNotHeld, "the campaign is not held")
	}
	campaigns := []outreach.Campaign{doc.Record}
	if body.Sender {
		if campaigns, err = e.outreach.HeldWith(tx, &doc.Record); err != nil {
			return out, err
		}
	}
	for i := range campaigns {
		if err := out.add(e, tx, &campaigns[i], body); err != nil {
			return out, err
		}
	}
	e.askForDecisions(&p, &doc.Record, body, out.open)
	if err := p.Err(); err != nil {
		return out, err
	}
	if !body.DryRun {
		for i := range campaigns {
			if err := e.enqueueRelease(tx, &campaigns[i], body); err != nil {
				return out, err
			}
		}
		if doc, err = e.outreach.Campaigns.Get(tx, id); err != nil {
			return out, err
		}
	}
	out.Campaign = doc.Record
	return out, nil
}

// add adds what the release of a campaign does. It fails if the campaign cannot be released.
func (out *Released) add(e *Engine, tx *store.Tx, c *outreach.Campaign, body ReleaseBody) error {
	if err := e.checkReleasable(tx, c); err != nil {
		return err
	}
	if c.IsReopening() { // its figures are not known before its sequences continue
		return fault.New(fault.CampaignHeld, "the campaign %q is being reopened: try again in a moment", c.Name)
	}
	open, err := e.countOpenDecisions(tx, c, body)
	if err != nil {
		return err
	}
	out.open.add(open)
	out.ReleaseCounts = out.open.result(body)
	out.Campaigns = append(out.Campaigns, CampaignCounts{ID: c.ID, Name: string(c.Name), ReleaseCounts: open.result(body)})
	return nil
}

// askForDecisions adds a problem for each decision that the release of campaigns lacks, which are held like this one.
func (e *Engine) askForDecisions(p *fault.Problems, c *outreach.Campaign, body ReleaseBody, f openDecisions) {
	if f.overdue > 0 && body.Overdue == "" && (body.Captured != capturedRestart || f.overdueKept > 0) {
		p.Invalid("overdue", "required, because %d steps are overdue: send or skip", f.overdue)
	}
	if f.captured > 0 && body.Captured == "" && e.TransportName(c.OwnerID.UUID) != "outbox" {
		p.Invalid("captured", "required, because %d sequences have captured messages: restart or keep", f.captured)
	}
	if f.unknown > 0 && body.Unknown == "" && c.Held.Reason == outreach.HeldDeliveryUnknown {
		p.Invalid("unknown", "required, because the mail server did not confirm %d messages: sent, retry or keep", f.unknown)
	}
}

// checkReleasable fails with campaign_held if the reason for which a campaign is held still holds.
func (e *Engine) checkReleasable(tx *store.Tx, c *outreach.Campaign) error {
	if !c.OwnerID.Valid {
		return nil
	}
	owner, err := e.identity.Users.Get(tx, c.OwnerID.UUID)
	if err != nil {
		return err
	}
	if !owner.Record.Active {
		return fault.New(fault.CampaignHeld, "the owner of the campaign, %s, is inactive: choose another owner or activate this one",
			owner.Record.Email)
	}
	problem, err := e.identity.SenderProblem(tx, owner.ID)
	if err != nil || problem == "" {
		return err
	}
	return fault.New(fault.CampaignHeld, "the owner of the campaign cannot send: %s: choose another owner", problem)
}

// enqueueRelease releases a campaign. A job then applies what was decided to its sequences.
func (e *Engine) enqueueRelease(tx *store.Tx, c *outreach.Campaign, body ReleaseBody) error {
	if c.Held.Reason == outreach.HeldSenderRefused {
		if err := e.resumeSender(tx, c.OwnerID.UUID); err != nil {
			return err
		}
	}
	if err := e.outreach.Release(tx, c.ID); err != nil {
		return err
	}
	_, err := tx.Enqueue(releaseJob, tx.Now(), releaseWork{
		Campaign: c.ID, Before: shape.At(e.clock.now(tx)),
		Skip: body.Overdue == overdueSkip, Restart: body.Captured == capturedRestart, Unknown: body.Unknown,
	})
	return err
}

func (e *Engine) runReleaseJob(ctx context.Context, job store.Job, work releaseWork) error {
	return e.runSweep(ctx, job, sweep{
		find: func(tx *store.Tx) ([]uuid.UUID, error) {
			s, err := e.sequencesToRelease(tx, work.Campaign, work.Before.Std())
			ids := s.captured
			if work.Skip {
				ids = append(ids, s.overdue...)
			}
			if work.Unknown != "" {
				ids = append(ids, s.unknown...)
			}
			slices.SortFunc(ids, store.CompareIDs)
			return slices.Compact(ids), err // what begins again must not be skipped
		},
		change: func(x *engineTx, id uuid.UUID) error {
			return x.update(id, func(r *sequenceRun) error { return r.applyRelease(work) })
		},
		end: func(tx *store.Tx, job uuid.UUID) error {
			err := e.outreach.EndRelease(tx, work.Campaign)
			if err != nil && fault.CodeOf(err) != fault.NotFound {
				return err
			}
			if err := e.advanceNow(tx); err != nil {
				return err
			}
			return tx.Done(job)
		},
	})
}

// applyRelease applies a release to the sequence. It is idempotent.
func (r *sequenceRun) applyRelease(work releaseWork) error {
	if err := r.decideUnknown(work); err != nil {
		return err
	}
	if r.s.canRestart() {
		if work.Restart {
			return r.restartCaptured()
		}
		r.s.state.Thread.Restart() // nobody has received what the next email would reply to
	}
	if !r.s.isOpen() {
		return nil
	}
	if !work.Skip {
		return r.advance()
	}
	const reason = "overdue when the campaign was released"
	for _, i := range r.s.overdueSteps(work.Before.Std()) {
		if err := r.skipStep(i, reason); err != nil {
			return err
		}
	}
	return r.advance()
}

// restartCaptured begins a sequence with captured messages again. What it did before stays in the outbox and in the Tasks. If the
// recipient may have received emails, only the captured steps are repeated.
func (r *sequenceRun) restartCaptured() error {
	if r.s.hasStep(StepSent, StepUnknown) {
		r.reopenEmails(r.s.capturedSteps(), "; sent again, because it was captured", shape.Time{})
		return r.advance()
	}
	for i := range r.s.History {
		switch h := &r.s.History[i]; {
		case h.Status == StepTaskOpen:
			r.cancelTasks = append(r.cancelTasks, h.TaskID.UUID)
		case h.Status == StepWaiting && h.MessageID.Valid:
			if err := r.failMessage(i, "its sequence began again"); err != nil {
				return err
			}
		}
	}
	return r.repeat()
}
