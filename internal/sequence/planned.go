package sequence

import (
	"bytes"
	"context"
	"time"

	"github.com/google/uuid"

	"prospector/internal/outreach"
	"prospector/internal/planner"
	"prospector/internal/shape"
	"prospector/store"
)

// PlannedDay counts the steps of sequences that are due on a day.
type PlannedDay struct {
	Date  shape.Date `json:"date" doc:"In the time zone of the organization."`
	Sends int        `json:"sends" doc:"The number of automatic emails. An email can be sent later because of its sender's cap and gap."`
	Tasks int        `json:"tasks" doc:"The number of other steps, which become Tasks."`
}

// Planned counts the steps that are due on the next days, for the campaigns that are active and not held.
// What is overdue counts as today. A step without a due time does not count, because an earlier step of its
// sequence has not ended yet.
func (e *Engine) Planned(ctx context.Context, tx *store.Tx, days int) ([]PlannedDay, error) {
	cal, err := e.outreach.Calendar(tx)
	if err != nil {
		return nil, err
	}
	campaigns, err := e.outreach.CampaignsWith(tx, outreach.CampaignActive)
	if err != nil {
		return nil, err
	}
	today := cal.DayNumber(e.clock.now(tx))
	planned := make([]PlannedDay, days)
	for i := range planned {
		planned[i].Date = shape.Date(planner.DayText(today + i))
	}
	end, err := cal.DayAfter(string(planned[days-1].Date))
	if err != nil {
		return nil, err
	}
	for _, campaign := range campaigns {
		doc, err := e.outreach.Campaigns.Get(tx, campaign)
		if err != nil {
			return nil, err
		}
		if doc.Record.Held != nil {
			continue
		}
		on := func(at time.Time) *PlannedDay { return &planned[max(0, cal.DayNumber(at)-today)] }
		if err := e.eachDue(ctx, tx, byEmail, campaign, end, func(at time.Time) { on(at).Sends++ }); err != nil {
			return nil, err
		}
		if err := e.eachDue(ctx, tx, byImmediate, campaign, end, func(at time.Time) { on(at).Tasks++ }); err != nil {
			return nil, err
		}
	}
	return planned, nil
}

// eachDue calls fn with the due times of a campaign in a key that are before end.
func (e *Engine) eachDue(ctx context.Context, tx *store.Tx, key string, campaign uuid.UUID, end time.Time, fn func(time.Time)) error {
	seen := 0
	err := e.sequences.Range(tx, key, campaign[:], func(k []byte, _ uuid.UUID) bool {
		if !bytes.HasPrefix(k, campaign[:]) || !timeOfDueKey(k).Before(end) {
			return false
		}
		fn(timeOfDueKey(k))
		seen++
		return seen%1000 != 0 || ctx.Err() == nil
	})
	if err != nil {
		return err
	}
	return context.Cause(ctx)
}
