package sequence

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/planner"
	"prospector/internal/shape"
	"prospector/internal/template"
	"prospector/store"
)

// A correction brings the running sequences of a campaign to a newer content of its template. What has happened
// stays, and so do queued messages and open Tasks. Steps that wait get their texts and due times from the newer
// content.

// goneReason is the reason of a step that the newer content lacks.
const goneReason = "the template no longer has this step"

// TemplateToCorrect returns the newest version of the template of a campaign, and the sequences of the campaign that
// are running.
func (e *Engine) TemplateToCorrect(tx *store.Tx, campaign uuid.UUID) (version uint32, running []uuid.UUID, err error) {
	doc, err := e.outreach.Campaigns.Get(tx, campaign)
	if err != nil {
		return 0, nil, err
	}
	if version, err = e.outreach.TemplateVersion(tx, doc.Record.TemplateID.UUID); err != nil {
		return 0, nil, err
	}
	err = eachUnder(tx, e.sequences, byCampaign, campaign[:], func(doc store.Doc[Sequence]) error {
		if doc.Record.isActive() {
			running = append(running, doc.ID)
		}
		return nil
	})
	return version, running, err
}

// CorrectionBody is what an operation applies to each sequence.
func CorrectionBody(version uint32) shape.Value {
	return shape.Value{Kind: shape.Object, Members: []shape.Member{
		{Key: "version", Value: shape.Value{Kind: shape.Num, Text: strconv.FormatUint(uint64(version), 10)}},
	}}
}

// CorrectTo is Correct with the body of an operation.
func (e *Engine) CorrectTo(tx *store.Tx, id uuid.UUID, body shape.Value) (changed bool, kept string, err error) {
	version, err := strconv.ParseUint(body.Get("version").Text, 10, 32)
	if err != nil {
		return false, "", err
	}
	changed, obstacle, err := e.Correct(tx, id, uint32(version), false)
	return changed, string(obstacle), err
}

// Correct brings a running sequence to a version of its template. It reports whether the sequence has changed, and
// why it was kept as it is if what has happened in it does not fit. With dryRun it only says so.
func (e *Engine) Correct(tx *store.Tx, id uuid.UUID, version uint32, dryRun bool) (changed bool, kept template.Obstacle, err error) {
	correct := func(x *engineTx) error {
		r, err := x.load(store.Doc[Sequence]{ID: id})
		if err != nil {
			return err
		}
		c, err := r.correction(version)
		if c == nil || err != nil {
			return err
		}
		kept = c.Obstacle()
		if changed = kept == ""; !changed || dryRun {
			return nil
		}
		if err := r.correct(c, version); err != nil {
			return err
		}
		return r.save()
	}
	if dryRun {
		err = correct(e.newEngineTx(tx))
	} else {
		err = e.withEngine(tx, correct)
	}
	return changed, kept, err
}

// correction returns what brings the sequence to a version of its template. It is nil if the sequence does not run,
// or has this version or a newer one.
func (r *sequenceRun) correction(version uint32) (*template.Correction, error) {
	if r.damage != nil {
		return nil, r.damage
	}
	if r.s.Status != SequenceActive || r.s.state.Version >= version || r.campaign == nil || r.campaign.TemplateID.UUID != r.s.state.Template {
		return nil, nil
	}
	if reason, err := r.stopReason(); reason != "" || err != nil { // it is about to be stopped
		return nil, err
	}
	before, err := r.template()
	if err != nil {
		return nil, err
	}
	after, err := r.x.template(r.s.state.Template, version)
	if err != nil {
		return nil, err
	}
	cal, err := r.x.cal()
	if err != nil {
		return nil, err
	}
	start := r.s.StartedAt.Std()
	return &template.Correction{
		Before: before, After: after, Stage: r.s.stage,
		WasSkipped: func(u *template.CompiledStep) bool {
			for i := range r.s.History {
				if r.s.state.Steps[i].GoneID == u.ID && r.s.History[i].Type == u.Type {
					return true
				}
			}
			return false
		},
		RankBefore: planner.Ranks(before.Plan, cal, start), RankAfter: planner.Ranks(after.Plan, cal, start),
	}, nil
}

// stage returns how far the step with an index is.
func (s *Sequence) stage(index int) template.Stage {
	i := s.position(index)
	switch {
	case i < 0 || s.isReplaceable(i):
		return template.Ahead
	case s.History[i].Status == StepSkipped:
		return template.Skipped
	}
	return template.Happened
}

// isReplaceable reports whether a step of the history only waits: it has neither a message nor a Task.
func (s *Sequence) isReplaceable(i int) bool {
	h := &s.History[i]
	return h.Status == StepHeld || h.Status == StepWaiting && !h.MessageID.Valid
}

// correct brings the sequence to the newer content of a correction without an obstacle.
func (r *sequenceRun) correct(c *template.Correction, version uint32) error {
	for i := range r.s.History { // the steps that the newer content lacks end
		h := &r.s.History[i]
		if state := &r.s.state.Steps[i]; !state.Gone && c.After.Same(c.Before.Step(h.StepIndex)) == nil {
			if h.Status.isFinal() {
				state.GoneID = c.Before.Step(h.StepIndex).ID
			} else {
				r.finishStep(i, StepSkipped, goneReason)
			}
			state.Gone = true
		}
	}
	r.s.state.Thread = r.s.state.Thread.Moved(c.Before, c.After)
	held := r.takeWaiting(c)
	r.s.state.Version, r.compiled = version, c.After
	for more := true; more; {
		var err error
		if more, err = r.schedule(); err != nil {
			return err
		}
	}
	if err := r.delayOverdue("correction of the template"); err != nil {
		return err
	}
	for i := range r.s.History {
		h := &r.s.History[i]
		if missing, wasHeld := held[h.StepIndex]; wasHeld && !r.s.state.Steps[i].Gone {
			h.Status = StepHeld
			h.Reason += heldReason + missing
			r.s.state.Steps[i].Newest = true
		}
	}
	return r.reviewAndAdvance()
}

// takeWaiting gives the steps of the history the indexes of the newer content, and takes those that only wait out of it.
// It returns the missing values of those that were held, by their new indexes.
func (r *sequenceRun) takeWaiting(c *template.Correction) (held map[int]string) {
	held = map[int]string{}
	var history []HistoryStep
	var states []stepState
	for i := range r.s.History {
		h, state := r.s.History[i], r.s.state.Steps[i]
		if !state.Gone {
			h.StepIndex = c.After.Same(c.Before.Step(h.StepIndex)).Index
		} else if back := c.After.StepWithID(state.GoneID, h.Type); back != nil {
			h.StepIndex, state.Gone, state.GoneID = back.Index, false, ""
		}
		if r.s.isReplaceable(i) {
			if _, missing, isHeld := strings.Cut(h.Reason, heldReason); isHeld && h.Status == StepHeld {
				held[h.StepIndex] = missing
			}
			continue
		}
		history, states = append(history, h), append(states, state)
	}
	r.s.History, r.s.state.Steps = slices.Clip(history), slices.Clip(states)
	if r.s.History == nil {
		r.s.History = []HistoryStep{}
	}
	return held
}
