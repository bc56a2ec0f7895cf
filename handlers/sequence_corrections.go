package handlers

import (
	"encoding/json"
	"math"
	"net/http"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/sequence"
	"prospector/internal/shape"
	"prospector/store"
)

// correctionOperations returns the operations that correct the sequence of one contact.
func (a *API) correctionOperations() []Operation {
	e := a.Sequences
	const path = "/v1/sequences/{id}"
	return []Operation{
		write(Operation{
			Name: "stop_sequence", Method: http.MethodPost, Path: path + "/stop", Access: identity.Write,
			Codes: []fault.Code{fault.InvalidTransition}, Summary: "Stop a sequence and cancel its open Tasks",
			example: []byte(`{"reason": "manual"}`),
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in sequence.StopBody) (store.Doc[sequence.Sequence], error) {
			return e.StopSequence(tx, id, in)
		})),
		write(Operation{
			Name: "skip_sequence_step", Method: http.MethodPost, Path: path + "/skip", Access: identity.Write,
			Codes:   []fault.Code{fault.InvalidTransition},
			Summary: "Skip a waiting step of an active sequence; the steps that count from its end follow",
			example: []byte(`{"step_index": 1}`),
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in createBody[sequence.SkipBody]) (store.Doc[sequence.Sequence], error) {
			return e.SkipStep(tx, id, in.Draft)
		})),
		write(Operation{
			Name: "postpone_sequence", Method: http.MethodPost, Path: path + "/postpone", Access: identity.Write,
			Codes:   []fault.Code{fault.InvalidTransition},
			Summary: "Postpone the steps of an active sequence to a time in the future",
			example: []byte(`{"until": "2027-01-11T09:00:00.000Z"}`),
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in createBody[sequence.PostponeBody]) (store.Doc[sequence.Sequence], error) {
			return e.Postpone(tx, id, in.Draft)
		})),
		write(Operation{
			Name: "restart_sequence", Method: http.MethodPost, Path: path + "/restart", Access: identity.Write,
			Codes:   []fault.Code{fault.InvalidTransition, fault.CampaignNotEnrollable},
			Summary: "Restart a stopped sequence whose reason no longer holds or, from its start, a completed one",
			example: []byte(`{"from": "next"}`),
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in createBody[sequence.RestartBody]) (store.Doc[sequence.Sequence], error) {
			return e.RestartSequence(tx, id, in.Draft)
		})),
	}
}

// restartCampaignOperation restarts many sequences of the campaign at a path.
func (a *API) restartCampaignOperation(path string) Operation {
	e := a.Sequences
	return writeWithLookup(Operation{
		Name: "restart_campaign", Method: http.MethodPost, Path: path + "/restart", Access: identity.Write,
		Codes:   []fault.Code{fault.CampaignNotEnrollable, fault.CountChanged},
		Summary: "Continue the stopped sequences of a campaign whose reasons no longer hold",
		example: []byte(`{"reasons": ["suppressed", "left_audience"], "dry_run": true}`),
	}, func(c *call, in createBody[sequence.RestartManyBody]) (plan sequence.RestartPlan, err error) {
		campaign, err := c.pathID(0)
		if err != nil {
			return plan, err
		}
		if err := a.Sequences.AwaitStops(c.request.Context(), c.org()); err != nil {
			return plan, err
		}
		body, p := in.Open()
		if (len(body.Reasons) > 0) == (len(body.SequenceIDs) > 0) && !p.Has("reasons") && !p.Has("sequence_ids") {
			p.Invalid("reasons", "required, unless sequence_ids is given; both cannot be combined")
		}
		ids := body.SequenceIDs
		if len(body.Reasons) > 0 && p.Err() == nil {
			filters, err := stoppedFor(campaign, body.Reasons)
			if err != nil {
				return plan, err
			}
			if ids, err = c.selectAll(e.SequenceList, filters, "", math.MaxInt); err != nil {
				return plan, err
			}
		}
		err = a.Store.View(c.org(), func(tx *store.Tx) error {
			if plan, err = e.PlanRestart(tx, campaign, ids); err != nil {
				return err
			}
			return p.Err()
		})
		if err == nil && body.Expect != nil && *body.Expect != plan.Restarted.Restarted {
			err = fault.New(fault.CountChanged, "%d sequences can be restarted, not %d", plan.Restarted.Restarted, *body.Expect)
		}
		return plan, err
	}, func(_ *call, tx *store.Tx, in createBody[sequence.RestartManyBody], plan sequence.RestartPlan) (sequence.Restarted, error) {
		if body, _ := in.Open(); body.DryRun {
			return plan.Restarted, nil
		}
		return e.RestartMany(tx, plan)
	})
}

// stoppedFor returns the filters that select the sequences of a campaign that were stopped for reasons.
func stoppedFor(campaign uuid.UUID, reasons []sequence.StopReason) (shape.Value, error) {
	type rule struct {
		Field     string `json:"field"`
		Condition string `json:"condition"`
		Value     any    `json:"value"`
	}
	body, err := json.Marshal(map[string]any{"filters": []rule{
		{"campaign_id", "is", campaign}, {"status", "is", sequence.SequenceStopped}, {"reason", "is", reasons},
	}})
	if err != nil {
		return shape.Value{}, err
	}
	filters, err := shape.ParseObject(body)
	return filters.Get("filters"), err
}
