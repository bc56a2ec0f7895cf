package sequence

import (
	"context"

	"github.com/google/uuid"

	"prospector/internal/outreach"
	"prospector/internal/planner"
	"prospector/internal/shape"
	"prospector/store"
)

// PlannedDay counts the steps of sequences that happen on a day.
type PlannedDay struct {
	Date  shape.Date `json:"date" doc:"In the time zone of the organization."`
	Sends int        `json:"sends" doc:"The number of automatic emails that are sent, given the caps and gaps of their senders, the sending window and holidays."`
	Tasks int        `json:"tasks" doc:"The number of other steps, which become Tasks."`
}

// Planned counts what happens on the next days, at most maxForecastDays, in the campaigns that are active and not
// held. What is overdue counts from today on. What follows from a Task counts when the Task is completed.
func (e *Engine) Planned(ctx context.Context, tx *store.Tx, days int) ([]PlannedDay, error) {
	cal, err := e.outreach.Calendar(tx)
	if err != nil {
		return nil, err
	}
	campaigns, err := e.outreach.CampaignsWith(tx, outreach.CampaignActive)
	if err != nil {
		return nil, err
	}
	x := e.newEngineTx(tx)
	today := cal.DayNumber(x.now)
	planned := make([]PlannedDay, days)
	for i := range planned {
		planned[i].Date = shape.Date(planner.DayText(today + i))
	}
	seen := map[uuid.UUID]bool{}
	for _, id := range campaigns {
		c, err := x.campaign(id)
		if err != nil {
			return nil, err
		}
		if c == nil || !c.IsSending() || seen[c.OwnerID.UUID] {
			continue
		}
		seen[c.OwnerID.UUID] = true
		plan, err := x.forecastOf(ctx, c.OwnerID)
		if err != nil {
			return nil, err
		}
		for n, day := range plan.days {
			if n = max(0, n-today); n < days {
				planned[n].Sends += day.Sends
				planned[n].Tasks += day.Tasks
			}
		}
	}
	return planned, nil
}
