package sequence

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/outreach"
	"prospector/internal/record"
	"prospector/internal/shape"
	"prospector/internal/template"
	"prospector/store"
)

// ReleaseBody decides how a held campaign continues.
type ReleaseBody struct {
	Overdue  shape.Text `json:"overdue" rule:"enum=send|skip" doc:"What becomes of the steps whose time has passed. Required if there are any."`
	Captured shape.Text `json:"captured" rule:"enum=restart|keep" doc:"What becomes of captured messages: restart begins their sequences again, keep treats them as sent. Required if there are any and messages are sent now."`
	DryRun   bool       `json:"dry_run" doc:"Only return what would happen."`
}

const (
	overdueSkip     = "skip"
	capturedRestart = "restart"
)

// Released is the result of a release.
type Released struct {
	Campaign  outreach.Campaign `json:"campaign"`
	ToSend    int               `json:"to_send" doc:"The number of overdue steps that happen now."`
	ToSkip    int               `json:"to_skip" doc:"The number of overdue steps that are skipped."`
	ToRestart int               `json:"to_restart" doc:"The number of sequences that begin again."`
}

// releaseJob is the kind of job that applies a release to the sequences of a campaign.
const releaseJob = "sequences.release"

// releaseWork is what a release job applies.
type releaseWork struct {
	Campaign      uuid.UUID
	Before        shape.Time // steps that were due by then are overdue
	Skip, Restart bool
}

// Release continues a held campaign. It fails with campaign_not_held if the campaign is not held, and
// with campaign_held if the reason still holds. Nothing is sent until a job has applied the release
// to the sequences.
func (e *Engine) Release(tx *store.Tx, id uuid.UUID, d record.Draft[ReleaseBody]) (out Released, err error) {
	body, p := d.Open()
	return e.releaseCampaign(tx, id, body, p)
}

func (e *Engine) releaseCampaign(
	tx *store.Tx, id uuid.UUID, body ReleaseBody, p fault.Problems,
) (out Released, err error) {
	doc, err := e.outreach.Campaigns.Get(tx, id)
	if err != nil {
		return out, err
	}
	c := &doc.Record
	if err := p.Err(); err != nil {
		return out, err
	}
	if c.Held == nil {
		return out, fault.New(fault.CampaignNotHeld, "the campaign is not held")
	}
	if err := e.checkReleasable(tx, c); err != nil {
		return out, err
	}
	figures, err := e.releaseFigures(tx, c)
	if err != nil {
		return out, err
	}
	if figures.overdue > 0 && body.Overdue == "" && (body.Captured != capturedRestart || figures.overdueKept > 0) {
		p.Invalid("overdue", "required, because %d steps are overdue: send or skip", figures.overdue)
	}
	if figures.captured > 0 && body.Captured == "" && e.TransportName(c.OwnerID.UUID) != "outbox" {
		p.Invalid("captured", "required, because %d sequences have captured messages: restart or keep", figures.captured)
	}
	if err := p.Err(); err != nil {
		return out, err
	}
	out = figures.result(body)
	if !body.DryRun {
		if err := e.release(tx, c, body); err != nil {
			return out, err
		}
		if doc, err = e.outreach.Campaigns.Get(tx, id); err != nil {
			return out, err
		}
	}
	out.Campaign = doc.Record
	return out, nil
}

// checkReleasable fails with campaign_held if the reason for which a campaign is held still holds.
func (e *Engine) checkReleasable(tx *store.Tx, c *outreach.Campaign) error {
	if !c.OwnerID.Valid {
		return nil
	}
	owner, err := e.identity.Users.Get(tx, c.OwnerID.UUID)
	if err != nil || owner.Record.Active {
		return err
	}
	return fault.New(fault.CampaignHeld, "the owner of the campaign, %s, is inactive: choose another owner or activate this one",
		owner.Record.Email)
}

// releaseFigures count what a release decides about.
type releaseFigures struct {
	overdue     int // steps
	overdueKept int // those of sequences without captured messages
	captured    int // sequences
}

func (f releaseFigures) result(body ReleaseBody) (out Released) {
	overdue := f.overdue
	if body.Captured == capturedRestart {
		overdue, out.ToRestart = f.overdueKept, f.captured
	}
	if body.Overdue == overdueSkip {
		out.ToSkip = overdue
	} else {
		out.ToSend = overdue
	}
	return out
}

func (e *Engine) releaseFigures(tx *store.Tx, c *outreach.Campaign) (f releaseFigures, err error) {
	overdue, captured, err := e.sequencesToRelease(tx, c.ID, e.clock.now(tx))
	if err != nil {
		return f, err
	}
	f.captured = len(captured)
	for _, id := range overdue {
		doc, err := e.sequences.Get(tx, id)
		if err != nil {
			return f, err
		}
		steps := len(doc.Record.overdueSteps(e.clock.now(tx)))
		f.overdue += steps
		if !doc.Record.canRestart() {
			f.overdueKept += steps
		}
	}
	return f, nil
}

// sequencesToRelease returns the sequences of a campaign with overdue steps, and those with captured
// messages that can begin again.
func (e *Engine) sequencesToRelease(
	tx *store.Tx, campaign uuid.UUID, now time.Time,
) (overdue, captured []uuid.UUID, err error) {
	for _, key := range []string{byImmediate, byEmail} {
		err := e.sequences.Range(tx, key, campaign[:], func(k []byte, id uuid.UUID) bool {
			if !slices.Equal(k[:16], campaign[:]) || timeOfDueKey(k).After(now) {
				return false
			}
			overdue = append(overdue, id)
			return true
		})
		if err != nil {
			return nil, nil, err
		}
	}
	slices.SortFunc(overdue, store.CompareIDs)
	overdue = slices.Compact(overdue)
	all, err := e.sequences.IDs(tx, byCaptured, campaign[:], 0)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range all {
		doc, err := e.sequences.Get(tx, id)
		if err != nil {
			return nil, nil, err
		}
		if doc.Record.canRestart() {
			captured = append(captured, id)
		}
	}
	return overdue, captured, nil
}

// overdueSteps returns the positions of the steps that are due.
func (s *Sequence) overdueSteps(now time.Time) (steps []int) {
	for i := range s.History {
		if at, _, waits := s.due(i); waits && !at.After(now) {
			steps = append(steps, i)
		}
	}
	return steps
}

// canRestart reports whether the sequence has captured messages that can still be sent, and was not
// stopped.
func (s *Sequence) canRestart() bool {
	return s.Status != SequenceStopped && len(s.capturedSteps()) > 0
}

// capturedSteps returns the positions of the captured steps, except those before an email that the
// recipient may have received. There are none while an email is in flight.
func (s *Sequence) capturedSteps() (steps []int) {
	var received time.Time
	for i := range s.History {
		switch h := &s.History[i]; h.Status {
		case StepSent, StepUnknown:
			received = h.At.Std()
			steps = slices.DeleteFunc(steps, func(j int) bool { return !s.History[j].At.Std().After(received) })
		case StepCaptured:
			if h.At.Std().After(received) {
				steps = append(steps, i)
			}
		case StepWaiting:
			if s.inFlight(i) {
				return nil
			}
		}
	}
	return steps
}

func (e *Engine) release(tx *store.Tx, c *outreach.Campaign, body ReleaseBody) error {
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
		Skip: body.Overdue == overdueSkip, Restart: body.Captured == capturedRestart,
	})
	return err
}

func (e *Engine) runReleaseJob(ctx context.Context, job store.Job) error {
	var work releaseWork
	if err := json.Unmarshal(job.Payload, &work); err != nil {
		return err
	}
	var ids []uuid.UUID
	err := e.store.View(job.Org, func(tx *store.Tx) error {
		overdue, captured, err := e.sequencesToRelease(tx, work.Campaign, work.Before.Std())
		if !work.Skip {
			overdue = nil
		}
		ids = append(overdue, captured...)
		slices.SortFunc(ids, store.CompareIDs)
		ids = slices.Compact(ids) // what begins again must not be skipped
		return err
	})
	if err != nil {
		return err
	}
	return e.forEach(ctx, job, ids, func(x *engineTx, id uuid.UUID) error {
		return x.update(id, func(r *sequenceRun) error { return r.release(work) })
	}, func(tx *store.Tx, job uuid.UUID) error {
		err := e.outreach.EndRelease(tx, work.Campaign)
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return err
		}
		if err := e.advanceNow(tx); err != nil {
			return err
		}
		return tx.Done(job)
	})
}

// release applies a release to the sequence. It is idempotent.
func (r *sequenceRun) release(work releaseWork) error {
	if r.s.canRestart() {
		if work.Restart {
			return r.restart()
		}
		r.s.state.Thread.Restart() // nobody has received what the next email would reply to
	}
	if !work.Skip || !r.s.isOpen() {
		return nil
	}
	const reason = "overdue when the campaign was released"
	for _, i := range r.s.overdueSteps(work.Before.Std()) {
		if r.s.History[i].MessageID.Valid {
			if err := r.failMessage(i, reason); err != nil {
				return err
			}
		}
		r.finishStep(i, StepSkipped, reason)
	}
	return r.advance()
}

// restart begins the sequence again. What it did before stays in the outbox and in the Tasks. If the
// recipient may have received emails, only the captured steps are repeated.
func (r *sequenceRun) restart() error {
	if r.s.hasStep(StepSent, StepUnknown) {
		return r.repeatCaptured()
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
	r.s.Status, r.s.Reason, r.s.StartedAt, r.s.History = SequenceNotStarted, "", shape.Time{}, []HistoryStep{}
	r.s.state.Steps, r.s.state.Thread, r.s.state.ThreadAddress = nil, template.Thread{}, ""
	r.compiled = nil
	return r.begin()
}

// repeatCaptured lets the captured steps wait again.
func (r *sequenceRun) repeatCaptured() error {
	for _, i := range slices.Backward(r.s.capturedSteps()) { // a step removes those that followed from it
		r.s.state.MarkUnsent(r.s.History[i].StepIndex, r.s.History[i].MessageID)
		r.reopenStep(i)
		h := &r.s.History[i]
		h.MessageID = uuid.NullUUID{}
		h.Reason += "; sent again, because it was captured"
	}
	return r.advance()
}
