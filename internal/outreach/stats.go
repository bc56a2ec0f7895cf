package outreach

import (
	"cmp"
	"math"
	"slices"

	"github.com/google/uuid"

	"prospector/store"
)

// CampaignStats are how a campaign fares.
type CampaignStats struct {
	Enrolled        int            `json:"enrolled" doc:"The contacts in its audiences, each counted once."`
	Active          int            `json:"active" doc:"The sequences that go on."`
	Completed       int            `json:"completed"`
	Stopped         int            `json:"stopped"`
	StoppedByReason map[string]int `json:"stopped_by_reason"`
	MessagesSent    int            `json:"messages_sent"`
	MessagesFailed  int            `json:"messages_failed" doc:"Those that are failed or unknown in the outbox."`
	TasksOpen       int            `json:"tasks_open"`
	Steps           []StepStats    `json:"steps"`
}

// StepStats are how many sequences are at a step, and done with it.
type StepStats struct {
	StepIndex int `json:"step_index"`
	Waiting   int `json:"waiting"`
	Done      int `json:"done"`
	Skipped   int `json:"skipped"`
	Failed    int `json:"failed"`
}

// Stats tells how a campaign fares.
func (o *Outreach) Stats(tx *store.Tx, campaign uuid.UUID) (s CampaignStats, err error) {
	doc, err := o.Campaigns.Get(tx, campaign)
	if err != nil {
		return s, err
	}
	t, err := o.tallyOf(tx, campaign)
	if err != nil {
		return s, err
	}
	s = CampaignStats{
		Active: t.Active, Completed: t.Completed, Stopped: t.Stopped, StoppedByReason: t.Reasons,
		MessagesSent: t.Sent, MessagesFailed: t.Failed, TasksOpen: t.Tasks,
	}
	template, err := o.Templates.Get(tx, doc.Record.TemplateID.UUID)
	if err != nil {
		return s, err
	}
	for _, step := range template.Record.Steps { // those of versions that sequences began with are counted too
		if t.Steps[step.Index] == nil {
			t.Steps[step.Index] = &steps{}
		}
	}
	s.Steps = make([]StepStats, 0, len(t.Steps))
	for index, of := range t.Steps {
		s.Steps = append(s.Steps, StepStats{index, of.Waiting, of.Done, of.Skipped, of.Failed})
	}
	slices.SortFunc(s.Steps, func(a, b StepStats) int { return cmp.Compare(a.StepIndex, b.StepIndex) })
	contacts, err := o.contacts(tx, &doc.Record, math.MaxInt)
	s.Enrolled = len(contacts)
	return s, err
}

// contacts gives the first most of those in the audiences of a campaign, each once, in the order of their ids.
func (o *Outreach) contacts(tx *store.Tx, c *Campaign, most int) (all []uuid.UUID, err error) {
	for _, a := range c.Audiences {
		members, err := o.members.After(tx, a.ID, uuid.Nil, most)
		if err != nil {
			return nil, err
		}
		all = append(all, members...)
	}
	if len(c.Audiences) > 1 {
		slices.SortFunc(all, store.CompareIDs)
		all = slices.Compact(all)
	}
	return all[:min(len(all), most)], nil
}
