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

// sequenceOperations returns the operations on the sequences and messages of campaigns.
func (a *API) sequenceOperations() []Operation {
	e := a.Sequences
	const sequences = "/v1/campaigns/{id}/sequences"
	return []Operation{
		listWithin[sequence.Sequence](Operation{
			Name: "list_campaign_sequences", Path: sequences + "/list",
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
			return e.StopSequence(tx, campaign, id, in)
		})),
		list[sequence.Message](Operation{
			Name: "list_outbox", Path: "/v1/outbox/list", Summary: "List sent and scheduled messages",
		}, e.MessageList),
	}
}
