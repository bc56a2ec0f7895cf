package handlers

import (
	"net/http"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/sequence"
	"prospector/store"
)

// stoppedSequences is the result of a reply.
type stoppedSequences struct {
	Stopped int `json:"stopped" doc:"The number of sequences that were stopped."`
}

// presentSequences adds what the steps of sequences wait for.
func (a *API) presentSequences(c *call, records [][]byte) ([][]byte, error) {
	return a.Sequences.Explain(c.request.Context(), c.org(), records)
}

// PlannedQuery selects the days of a plan.
type PlannedQuery struct {
	Days int `json:"days" rule:"min=1,max=31,default=7" doc:"The number of days, beginning with today."`
}

// sequenceOperations returns the operations on the sequences and messages of campaigns.
func (a *API) sequenceOperations() []Operation {
	e := a.Sequences
	const sequences = "/v1/campaigns/{id}/sequences"
	export := a.exportOperation(e.SequenceList, a.presentSequences)
	export.example = []byte(`{"filters": [{"field": "status", "condition": "is", "value": "stopped"}], "format": "csv"}`)
	return append(a.correctionOperations(), []Operation{
		listSome[sequence.Sequence](Operation{
			Name: "list_campaign_sequences", Path: sequences + "/list", present: a.presentSequences,
			Summary: "List the sequences of a campaign with their history, also after the campaign was deleted",
			example: []byte(`{"filters": [{"field": "status", "condition": "is", "value": "stopped"}], "sort": "-started_at", "page_size": 50}`),
		}, e.SequenceList, (*call).org, func(c *call, all index.Query) (index.Query, error) {
			id, err := c.pathID(0)
			if err != nil {
				return nil, err
			}
			err = a.Store.View(c.org(), func(tx *store.Tx) error { return e.CheckCampaign(tx, id) })
			return whereID(all, "campaign_id", id), err
		}),
		write(Operation{
			Name: "stop_campaign_sequence", Method: http.MethodPost, Path: sequences + "/{sequence_id}/stop",
			Access: identity.Write,
			Codes:  []fault.Code{fault.InvalidTransition}, Summary: "Stop a sequence and cancel its open Tasks",
		}, byID(func(c *call, tx *store.Tx, campaign uuid.UUID, in sequence.StopBody) (store.Doc[sequence.Sequence], error) {
			id, err := c.pathID(1)
			if err != nil {
				return store.Doc[sequence.Sequence]{}, err
			}
			return e.StopCampaignSequence(tx, campaign, id, in)
		})),
		write(Operation{
			Name: "reply_contact", Method: http.MethodPost, Path: "/v1/contacts/{id}/replied", Access: identity.Write,
			Summary: "Record that a contact has replied, which stops all sequences of the contact",
		}, byID(func(_ *call, tx *store.Tx, id uuid.UUID, _ nothing) (stoppedSequences, error) {
			n, err := e.Replied(tx, id)
			return stoppedSequences{Stopped: n}, err
		})),
		list[sequence.Sequence](Operation{
			Name: "list_sequences", Path: "/v1/sequences/list", present: a.presentSequences,
			Summary: "List the sequences of all campaigns",
			example: []byte(`{"filters": [{"field": "status", "condition": "is", "value": "active"}], "sort": "next_due_at", "page_size": 50}`),
		}, e.SequenceList),
		export,
		a.exportOperation(e.MessageList, nil),
		read(Operation{
			Name: "get_contact_timeline", Method: http.MethodGet, Path: "/v1/contacts/{id}/timeline", Access: identity.Read,
			Summary: "List what happened to a contact and what is planned, newest first",
		}, byID(func(c *call, tx *store.Tx, id uuid.UUID, in PageQuery) (listSlice[sequence.TimelineEntry], error) {
			entries, err := e.Timeline(c.request.Context(), tx, id)
			return listSlice[sequence.TimelineEntry]{entries, in}, err
		})),
		read(Operation{
			Name: "get_planned_sends", Method: http.MethodGet, Path: "/v1/outbox/planned", Access: identity.Read,
			Summary: "Count the emails and Tasks that are due on each of the next days",
		}, func(c *call, tx *store.Tx, in PlannedQuery) (all[sequence.PlannedDay], error) {
			days, err := e.Planned(c.request.Context(), tx, in.Days)
			return days, err
		}),
		list[sequence.Message](Operation{
			Name: "list_outbox", Path: "/v1/outbox/list", Summary: "List sent and scheduled messages",
		}, e.MessageList),
	}...)
}
