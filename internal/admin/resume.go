package admin

import (
	"context"

	"prospector/internal/service"
)

// ResumeResult is the output of resume.
type ResumeResult struct {
	Campaigns  int `json:"campaigns"`
	Deliveries int `json:"deliveries"`
}

var Resume = Operation[struct{}, ResumeResult]{
	name: "resume",
	do: func(ctx context.Context, s *service.Service, _ struct{}) (r ResumeResult, err error) {
		since, err := s.Store.Held()
		if err != nil || since.IsZero() {
			return r, err
		}
		if r.Campaigns, err = s.Outreach.ResumeRestored(ctx); err != nil {
			return r, err
		}
		if r.Deliveries, err = s.Webhooks.Pending(); err != nil {
			return r, err
		}
		if err := s.Store.Resume(ctx); err != nil {
			return r, err
		}
		s.Webhooks.Sender.Resume()
		return r, nil
	},
}
