package handlers

import (
	"net/http"
	"reflect"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/outreach"
	"prospector/internal/sequence"
	"prospector/store"
)

// maxSimulations limits the simulations of an organization that run at the same time. Each takes a few kilobytes of
// memory for each contact.
const maxSimulations = 2

// simulations is a page of a simulation, with its summary.
type simulations outreach.SimulationPage

func (simulations) output() outputSource {
	return outputSource{
		typ: reflect.TypeFor[outreach.Simulation](), list: true,
		summary: reflect.TypeFor[outreach.SimulationSummary](),
	}
}

func (s simulations) list(a *API) ([]byte, error) {
	summary, err := marshal(s.Summary)
	if err != nil {
		return nil, err
	}
	b := append(append([]byte(openList), s.JSON...), `],"summary":`...)
	b = append(append(b, summary...), `,"pagination":`...)
	return a.closeEnvelope(append(b, mustJSON(paginate(s.Page, s.PageSize, s.Total))...)), nil
}

// campaignOperations returns the operations on campaigns.
func (a *API) campaignOperations() []Operation {
	o := a.Outreach
	k := o.Campaigns
	const path = "/v1/campaigns/{id}"
	return append([]Operation{
		createOperation(k),
		getOperation(k),
		updateWith(k, o.UpdateCampaign, "update_campaign", path, fault.InvalidTransition, fault.CampaignHeld),
		listOperation(k),
		historyOperation(k),
		write(Operation{
			Name: "enroll_campaign", Method: http.MethodPost, Path: path + "/enroll", Access: identity.Write,
			Codes:   []fault.Code{fault.CampaignNotEnrollable, fault.AudienceNameTaken},
			Summary: "Create an audience of contacts and attach it to an active or paused campaign",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in createBody[outreach.EnrollBody]) (outreach.Enrolled, error) {
			return a.Sequences.Enroll(tx, id, in.Draft)
		})),
		write(Operation{
			Name: "add_campaign_audiences", Method: http.MethodPost, Path: path + "/audiences/add",
			Access:  identity.Write,
			Codes:   []fault.Code{fault.CampaignNotEnrollable},
			Summary: "Attach audiences to a campaign; audiences that are already attached are ignored",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in createBody[outreach.AudiencesBody]) (store.Doc[outreach.Campaign], error) {
			return o.AttachAudiences(tx, id, in.Draft)
		})),
		write(Operation{
			Name: "remove_campaign_audiences", Method: http.MethodPost, Path: path + "/audiences/remove",
			Access:  identity.Write,
			Codes:   []fault.Code{fault.LastAudience},
			Summary: "Detach audiences from a campaign, which must keep at least one; others are ignored",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in outreach.AudiencesBody) (store.Doc[outreach.Campaign], error) {
			return o.DetachAudiences(tx, id, in)
		})),
		write(Operation{
			Name: "release_campaign", Method: http.MethodPost, Path: path + "/release", Access: identity.Write,
			Codes:   []fault.Code{fault.CampaignHeld, fault.CampaignNotHeld},
			Summary: "Continue a held campaign, and decide what becomes of overdue steps and captured messages",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in createBody[sequence.ReleaseBody]) (sequence.Released, error) {
			return a.Sequences.Release(tx, id, in.Draft)
		})),
		write(Operation{
			Name: "retry_campaign", Method: http.MethodPost, Path: path + "/retry", Access: identity.Write,
			Codes:   []fault.Code{fault.InvalidTransition},
			Summary: "Try messages again that have failed or may not have been delivered",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in createBody[sequence.RetryBody]) (sequence.Retried, error) {
			return a.Sequences.Retry(tx, id, in.Draft)
		})),
		a.restartCampaignOperation(path),
		a.correctTemplateOperation(path),
		write(Operation{
			Name: "admit_campaign", Method: http.MethodPost, Path: path + "/admit", Access: identity.Write,
			Codes:   []fault.Code{fault.CountChanged, fault.CampaignNotEnrollable},
			Summary: "Start the sequences of the people who await confirmation",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in createBody[sequence.AdmitBody]) (sequence.Admitted, error) {
			return a.Sequences.Admit(tx, id, in.Draft)
		})),
		write(Operation{
			Name: "reopen_campaign", Method: http.MethodPost, Path: path + "/reopen", Access: identity.Write,
			Codes:   []fault.Code{fault.InvalidTransition},
			Summary: "Make a completed or archived campaign paused, and let the sequences continue that its end has stopped",
			example: []byte(`{"end_date": null}`),
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in createBody[outreach.ReopenBody]) (store.Doc[outreach.Campaign], error) {
			return a.Sequences.Reopen(tx, id, in.Draft)
		})),
		write(Operation{
			Name: "clone_campaign", Method: http.MethodPost, Path: path + "/clone", Access: identity.Write, Status: http.StatusCreated,
			Summary: "Create a draft with the template, the owner and the settings of a campaign, and with other audiences",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in createBody[outreach.CloneBody]) (store.Doc[outreach.Campaign], error) {
			return o.Clone(tx, id, in.Draft)
		})),
		read(Operation{
			Name: "get_campaign_stats", Method: http.MethodGet, Path: path + "/stats", Access: identity.Read,
			Summary: "Get the statistics of a campaign",
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, _ nothing) (sequence.CampaignStats, error) {
			return a.Sequences.StatsWithForecast(c.request.Context(), tx, id)
		})),
		read(Operation{
			Name: "simulate_campaign", Method: http.MethodPost, Path: path + "/simulate", Access: identity.Read,
			limiter: newConcurrencyLimiter(maxSimulations, "simulations"),
			Summary: "Simulate a campaign: what each contact receives, when and why; nothing is sent or changed",
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, in createBody[outreach.SimulateBody]) (simulations, error) {
			page, err := o.Simulate(c.request.Context(), tx, id, in.Draft)
			return simulations(page), err
		})),
	}, trashOperations(a, k, []fault.Code{fault.InvalidTransition}, nil)...)
}
