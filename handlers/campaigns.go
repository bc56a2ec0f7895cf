package handlers

import (
	"net/http"
	"reflect"

	"github.com/google/uuid"

	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/outreach"
	"prospector/store"
)

// simulations are those of some contacts: a List of them, as far as its records go.
type simulations struct {
	json []byte
	n    int
}

func (simulations) output() outputSource {
	return outputSource{typ: reflect.TypeFor[outreach.Simulation](), list: true}
}

func (s simulations) list(a *API) ([]byte, error) { return a.closeList(s.json, onePage(s.n)), nil }

// campaignOperations are those of campaigns.
func (a *API) campaignOperations() []Operation {
	o := a.Outreach
	k := o.Campaigns
	const path = "/v1/campaigns/{id}"
	return []Operation{
		createOperation(k),
		getOperation(k),
		updateOperation(k, "update_campaign", path, fault.InvalidTransition),
		deleteOperation(k, fault.InvalidTransition),
		listOperation(k),
		write(Operation{
			Name: "enroll_campaign", Method: http.MethodPost, Path: path + "/enroll", Access: identity.Write,
			Codes:   []fault.Code{fault.CampaignNotEnrollable, fault.AudienceNameTaken},
			Summary: "Make a new audience of contacts and attach it to a campaign that is active or paused",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in creates[outreach.EnrollBody]) (outreach.Enrolled, error) {
			return o.Enroll(tx, id, in.Draft)
		})),
		write(Operation{
			Name: "add_campaign_audiences", Method: http.MethodPost, Path: path + "/audiences/add", Access: identity.Write,
			Codes: []fault.Code{fault.CampaignNotEnrollable}, Summary: "Attach audiences to a campaign; those that it has are ignored",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in creates[outreach.AudiencesBody]) (store.Doc[outreach.Campaign], error) {
			return o.AttachAudiences(tx, id, in.Draft)
		})),
		write(Operation{
			Name: "remove_campaign_audiences", Method: http.MethodPost, Path: path + "/audiences/remove", Access: identity.Write,
			Codes: []fault.Code{fault.LastAudience}, Summary: "Detach audiences from a campaign, which keeps at least one; those that it has not are ignored",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in outreach.AudiencesBody) (store.Doc[outreach.Campaign], error) {
			return o.DetachAudiences(tx, id, in)
		})),
		read(Operation{
			Name: "get_campaign_stats", Method: http.MethodGet, Path: path + "/stats", Access: identity.Read,
			Summary: "Read how a campaign fares",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (outreach.CampaignStats, error) {
			return o.Stats(tx, id)
		})),
		read(Operation{
			Name: "simulate_campaign", Method: http.MethodPost, Path: path + "/simulate", Access: identity.Read,
			Summary: "Show who would get what and when if a campaign began now, and why; nothing is sent or changed",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, in creates[outreach.SimulateBody]) (simulations, error) {
			json, n, err := o.Simulate(tx, []byte(openList), id, in.Draft)
			return simulations{json, n}, err
		})),
	}
}
