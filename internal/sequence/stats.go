package sequence

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/shape"
	"prospector/store"
)

// CampaignStats are the statistics of a campaign.
type CampaignStats struct {
	Enrolled           int            `json:"enrolled" doc:"The number of sequences: the sum over all statuses."`
	NotStarted         int            `json:"not_started" doc:"The number of sequences whose contacts cannot be written to or await confirmation."`
	NotStartedByReason map[string]int `json:"not_started_by_reason"`
	Active             int            `json:"active" doc:"The number of sequences that have started and not ended."`
	Completed          int            `json:"completed"`
	Stopped            int            `json:"stopped"`
	StoppedByReason    map[string]int `json:"stopped_by_reason"`
	MessagesSent       int            `json:"messages_sent"`
	MessagesCaptured   int            `json:"messages_captured" doc:"The number of messages that stay in the outbox. They were not sent."`
	MessagesFailed     int            `json:"messages_failed" doc:"The number of messages with status failed or unknown."`
	TasksOpen          int            `json:"tasks_open"`
	NextDueAt          shape.Time     `json:"next_due_at" doc:"When the next email is sent or the next step becomes a Task, given the cap and gap of the sender. Null if nothing is planned, or while the campaign is paused or held."`
	LastDueAt          shape.Time     `json:"last_due_at" doc:"When the last email is sent or the last step becomes a Task, as far as that can be planned. What follows from a Task can be planned when the Task is completed."`
	Steps              []StepStats    `json:"steps"`
}

// StepStats are the numbers of sequences by the status of a step.
type StepStats struct {
	StepIndex int `json:"step_index"`
	Waiting   int `json:"waiting"`
	Done      int `json:"done"`
	Skipped   int `json:"skipped"`
	Failed    int `json:"failed"`
	Held      int `json:"held" doc:"Emails that are held because a value is missing."`
}

// Stats returns the statistics of a campaign, without what is planned.
func (e *Engine) Stats(tx *store.Tx, campaign uuid.UUID) (s CampaignStats, err error) {
	doc, err := e.outreach.Campaigns.Get(tx, campaign)
	if err != nil {
		return s, err
	}
	c, err := e.readCounters(tx, campaign)
	if err != nil {
		return s, err
	}
	s = CampaignStats{
		Enrolled: c.enrolled(), NotStarted: c.NotStarted, Active: c.Active,
		Completed: c.Completed, Stopped: c.Stopped, NotStartedByReason: c.NotStartedReasons, StoppedByReason: c.Reasons,
		MessagesSent: c.Sent, MessagesCaptured: c.Captured, MessagesFailed: c.Failed, TasksOpen: c.OpenTasks,
	}
	t, err := e.outreach.Templates.Get(tx, doc.Record.TemplateID.UUID)
	if err != nil && !isUnreadable(err) {
		return s, err
	}
	for _, step := range t.Record.Steps { // in addition to the steps of versions that sequences started with
		c.step(step.Index)
	}
	s.Steps = make([]StepStats, 0, len(c.Steps))
	for index, step := range c.Steps {
		s.Steps = append(s.Steps, StepStats{index, step.Waiting, step.Done, step.Skipped, step.Failed, step.Held})
	}
	slices.SortFunc(s.Steps, func(a, b StepStats) int { return cmp.Compare(a.StepIndex, b.StepIndex) })
	return s, nil
}

// StatsWithForecast returns the statistics of a campaign with what is planned. It fails if ctx ends.
func (e *Engine) StatsWithForecast(ctx context.Context, tx *store.Tx, campaign uuid.UUID) (s CampaignStats, err error) {
	if s, err = e.Stats(tx, campaign); err != nil {
		return s, err
	}
	x := e.newEngineTx(tx)
	c, err := x.campaign(campaign)
	if err != nil || c == nil || !c.IsSending() {
		return s, err
	}
	plan, err := x.forecastOf(ctx, c.OwnerID)
	if err != nil {
		return s, err
	}
	if of := plan.campaigns[campaign]; of != nil {
		s.NextDueAt, s.LastDueAt = shape.At(later(of.first, x.now)), shape.At(later(of.last, x.now))
	}
	return s, nil
}
