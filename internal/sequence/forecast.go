package sequence

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"prospector/internal/outreach"
	"prospector/internal/planner"
	"prospector/store"
)

// forecast is the plan for the sequences of a sender: when their steps happen, given the cap and the gap of the
// sender, the sending window, holidays, the ends of campaigns and everybody else who waits. It is a simulation
// of all running sequences of the sender in which Tasks stay open.
type forecast struct {
	settings forecastSettings
	progress forecastProgress
	made     time.Time // by the wall clock

	first     map[uuid.UUID]int32 // by sequence: its first step in steps; the others follow, by position
	steps     []forecastStep
	reasons   []string // what delays steps, each once
	days      map[int]PlannedDay
	campaigns map[uuid.UUID]*campaignForecast
}

// forecastStep is a step of a forecast.
type forecastStep struct {
	at     int64 // in milliseconds since 1970; 0 if it does not happen
	reason uint32
}

// campaignForecast is when the first and the last email or Task of a campaign are planned.
type campaignForecast struct{ first, last time.Time }

const (
	// maxForecast is how many sequences of a sender are planned. The others have no forecast.
	maxForecast = 200_000
	// maxExact is up to how many sequences a forecast is made again whenever one of them has changed. Planning
	// them takes about as long as listing them. A larger forecast is kept for forecastTime then.
	maxExact = 1000
	// forecastTime is how long a forecast may be kept, by the wall clock.
	forecastTime = 10 * time.Second
	// maxForecastDays is the number of days on which a forecast counts what happens.
	maxForecastDays = 31
)

// forecastSettings identify what a forecast depends on besides the sequences. It is made again when they change.
type forecastSettings struct {
	changes uint64 // of campaigns, users and the organization
	cap     int
	gap     time.Duration
	resumes int64 // when the mail server is tried again, in milliseconds; 0 if it has no problems
}

// forecastProgress identifies the sequences and what their sender has sent.
type forecastProgress struct {
	sequences uint64 // the last change
	ledger    string // as stored
}

// senderForecast is a forecast that a transaction uses.
type senderForecast struct {
	*forecast
	isCurrent bool // nothing has changed since it was made
}

// forecastOf returns the forecast of a sender, which may have been made up to forecastTime ago.
func (x *engineTx) forecastOf(ctx context.Context, owner uuid.NullUUID) (senderForecast, error) {
	if f, known := x.forecasts[owner.UUID]; known {
		return f, nil
	}
	f, err := x.engine.forecasts.get(ctx, x, owner, false)
	if err == nil {
		x.forecasts[owner.UUID] = f
	}
	return f, err
}

// forecastFor is forecastOf for a sequence: a forecast that lacks it because it began later is made again.
func (x *engineTx) forecastFor(ctx context.Context, owner uuid.NullUUID, sequence uuid.UUID) (senderForecast, error) {
	f, err := x.forecastOf(ctx, owner)
	if err != nil || f.isCurrent {
		return f, err
	}
	if _, has := f.first[sequence]; has || len(f.first) >= maxForecast {
		return f, nil
	}
	if f, err = x.engine.forecasts.get(ctx, x, owner, true); err == nil {
		x.forecasts[owner.UUID] = f
	}
	return f, err
}

func (x *engineTx) forecastSettings(owner uuid.UUID) forecastSettings {
	e := x.engine
	s := forecastSettings{
		changes: x.tx.LastChange(e.outreach.Campaigns.Table.Name()) + x.tx.LastChange(e.identity.Users.Table.Name()) +
			x.tx.LastChange(e.identity.Organizations.Table.Name()),
		cap: e.Options.DailyCap, gap: e.Options.MinGap,
	}
	s.resumes = unixMilli(x.mailResumes(owner))
	return s
}

// mailResumes returns when the mail server of a sender is tried again. It is zero if it has no problems.
func (x *engineTx) mailResumes(owner uuid.UUID) time.Time {
	if x.engine.Options.Transport(owner) == nil {
		return time.Time{}
	}
	until := x.engine.dispatcher.backoffUntil(x.tx.Now())
	if until.IsZero() {
		return until
	}
	return x.engine.clock.scale.at(until)
}

func (x *engineTx) forecastProgress(owner uuid.UUID) (p forecastProgress, err error) {
	ledger, err := x.engine.ledgers.Get(x.tx, owner, 0)
	if store.IsDamagedRecord(err) {
		err = nil
	}
	return forecastProgress{x.tx.LastChange(x.engine.sequences.Name()), string(ledger)}, err
}

// makeForecast plans the running sequences of a sender. It fails if ctx ends.
func (x *engineTx) makeForecast(ctx context.Context, owner uuid.NullUUID) (*forecast, error) {
	ledger, err := x.engine.SenderLedger(x.tx, owner.UUID)
	if err != nil {
		return nil, err
	}
	plans := &forecastPlans{engineTx: x, hasUser: x.engine.identity.Users.Table.Has(x.tx, owner.UUID)}
	err = x.engine.outreach.SenderSequences(ctx, x.tx, owner, plans.add)
	if err != nil && !errors.Is(err, errForecastFull) {
		return nil, err
	}
	slices.SortFunc(plans.all, func(a, b plannedSequence) int { return store.CompareIDs(a.id, b.id) })
	sequences := make([]planner.Sequence, len(plans.all))
	for i := range plans.all {
		sequences[i] = plans.all[i].Sequence
	}
	now := x.now
	if until := x.mailResumes(owner.UUID); until.After(now) {
		now = until
	}
	planned, err := planner.Simulate(ctx, ledger, now, sequences)
	if err != nil {
		return nil, err
	}
	return plans.forecast(planned)
}

// forecastPlans collects the sequences of a forecast.
type forecastPlans struct {
	*engineTx
	hasUser bool // the sender
	all     []plannedSequence
	steps   int
}

type plannedSequence struct {
	planner.Sequence
	id, campaign uuid.UUID
	hasTask      []bool // by position: the step has become a Task
}

// isTask reports whether the step at a position has become a Task.
func (s *plannedSequence) isTask(position int) bool { return s.hasTask != nil && s.hasTask[position] }

// errForecastFull ends the collection of sequences.
var errForecastFull = errors.New("the forecast has no room for more sequences")

func (p *forecastPlans) add(c *outreach.Campaign, progress *outreach.Progress, s planner.Sequence) error {
	if len(p.all) == maxForecast {
		return errForecastFull
	}
	s.AwaitsTasks = true
	if !p.hasUser {
		s.SkipMail = cmp.Or(s.SkipMail, outreach.NoOwner)
	}
	for i := range s.History {
		s.History[i].Reason = "" // the plan shows what it adds
	}
	p.steps += len(s.History)
	p.all = append(p.all, plannedSequence{s, progress.ID, c.ID, progress.HasTask})
	return nil
}

// forecast returns the forecast with the plans of the sequences.
func (p *forecastPlans) forecast(planned [][]planner.Planned) (*forecast, error) {
	f := &forecast{
		first: make(map[uuid.UUID]int32, len(p.all)), steps: make([]forecastStep, 0, p.steps), reasons: []string{""},
		days: map[int]PlannedDay{}, campaigns: map[uuid.UUID]*campaignForecast{},
	}
	cal, err := p.cal()
	if err != nil {
		return nil, err
	}
	known := map[string]uint32{"": 0}
	last := cal.DayNumber(p.now) + maxForecastDays
	for i, plan := range planned {
		s := &p.all[i]
		f.first[s.id] = int32(len(f.steps))
		for j := range plan {
			step := &plan[j]
			text := strings.TrimPrefix(step.Reason, planner.ScheduledEarlier)
			if j >= len(s.History) || s.History[j].Due.IsZero() {
				text = "" // the step has no reason to which this could be added
			}
			reason, isKnown := known[text]
			if !isKnown {
				reason = uint32(len(f.reasons))
				known[text], f.reasons = reason, append(f.reasons, text)
			}
			at := later(step.At, p.now)
			if step.At.IsZero() || step.Action == planner.Hold || step.Why == planner.CampaignEnds {
				at = time.Time{}
			}
			f.steps = append(f.steps, forecastStep{unixMilli(at), reason})
			if !step.Done && (step.Action == planner.Send || step.Action == planner.Task && !s.isTask(j)) {
				f.count(cal, s.campaign, at, step.Action, last)
			}
		}
	}
	return f, nil
}

// count counts a step that happens on the day of its time, and notes it for its campaign.
func (f *forecast) count(cal *planner.Calendar, campaign uuid.UUID, at time.Time, action planner.Action, lastDay int) {
	c := f.campaigns[campaign]
	if c == nil {
		c = &campaignForecast{first: at}
		f.campaigns[campaign] = c
	}
	if at.Before(c.first) {
		c.first = at
	}
	c.last = later(c.last, at)
	n := cal.DayNumber(at)
	if n > lastDay {
		return
	}
	day := f.days[n]
	if action == planner.Send {
		day.Sends++
	} else {
		day.Tasks++
	}
	f.days[n] = day
}

// step returns when a step of a sequence happens and what delays it. The time is zero if it does not happen.
// found is false if the forecast does not have the sequence.
func (f *forecast) step(sequence uuid.UUID, position int) (at time.Time, reason string, found bool) {
	first, found := f.first[sequence]
	if !found || int(first)+position >= len(f.steps) {
		return at, "", false
	}
	step := f.steps[int(first)+position]
	if step.at != 0 {
		at = time.UnixMilli(step.at).UTC()
	}
	return at, f.reasons[step.reason], true
}

// later returns the later one of two times.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// unixMilli returns a time in milliseconds since 1970, where zero is 0.
func unixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
