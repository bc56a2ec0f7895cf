package admin

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/sequence"
	"prospector/internal/service"
	"prospector/internal/shape"
	"prospector/store"
)

// ResumeInput decides how held campaigns continue.
type ResumeInput struct {
	Overdue  string // send, skip or empty
	Captured string // restart, keep or empty
	Unknown  string // sent, retry, keep or empty
	Org      string // only this organization, or empty for all but those that have moved
	DryRun   bool
}

// ResumeResult is the output of resume.
type ResumeResult struct {
	Campaigns  []sequence.ReleasedCampaign `json:"campaigns"`
	Deliveries int                         `json:"deliveries"`
}

// Needs returns the options that must be given, because campaigns need a decision. Nothing is resumed without them.
func (r *ResumeResult) Needs() (options []string) {
	for _, c := range r.Campaigns {
		for _, d := range c.Needs {
			if !slices.Contains(options, d.Path) {
				options = append(options, d.Path)
			}
		}
	}
	return options
}

// toResume returns the organizations whose campaigns are released: the given one, or all that have not moved.
func toResume(s *service.Service, idOrName string) (orgs []uuid.UUID, err error) {
	if idOrName != "" {
		org, err := organization(s, idOrName)
		return []uuid.UUID{org.ID}, err
	}
	all, err := s.Store.Organizations()
	for _, org := range all {
		if err == nil {
			err = s.Store.View(org, func(tx *store.Tx) error {
				if tx.OrganizationHold() != store.HeldMoved {
					orgs = append(orgs, org)
				}
				return nil
			})
		}
	}
	return orgs, err
}

// Resume releases all held campaigns and lets deliveries continue after a restore.
var Resume = Operation[ResumeInput, ResumeResult]{
	name: "resume",
	do: func(ctx context.Context, s *service.Service, in ResumeInput) (r ResumeResult, err error) {
		orgs, err := toResume(s, in.Org)
		if err != nil {
			return r, err
		}
		r.Campaigns, err = s.Sequences.ReleaseOrganizations(ctx, orgs, sequence.ReleaseBody{
			Overdue: shape.Text(in.Overdue), Captured: shape.Text(in.Captured), Unknown: shape.Text(in.Unknown), DryRun: in.DryRun,
		})
		if err != nil || len(r.Needs()) > 0 || in.Org != "" {
			return r, err
		}
		held, err := s.Store.Held()
		if err != nil || held.Since.IsZero() {
			return r, err
		}
		if r.Deliveries, err = s.Webhooks.Pending(); err != nil || in.DryRun {
			return r, err
		}
		if err := s.Store.Resume(ctx); err != nil {
			return r, err
		}
		s.Webhooks.Sender.Resume()
		return r, nil
	},
}
