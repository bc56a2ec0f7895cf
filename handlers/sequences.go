package handlers

import (
	"net/http"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/outreach"
	"prospector/store"
)

// sequenceOperations returns the operations on the sequences and messages of campaigns.
func (a *API) sequenceOperations() []Operation {
	o := a.Outreach
	const sequences = "/v1/campaigns/{id}/sequences"
	return []Operation{
		listWithin[outreach.Sequence](Operation{
			Name: "list_campaign_sequences", Path: sequences + "/list", Summary: "List the sequences of a campaign with their history, also after the campaign was deleted",
			example: []byte(`{"filters": [{"field": "status", "condition": "is", "value": "stopped"}], "sort": "-started_at", "page_size": 50}`),
		}, o.SequenceList, (*call).org, func(c *call, all index.Compiled) (index.Compiled, error) {
			id, err := c.pathID(0)
			if err != nil {
				return nil, err
			}
			err = a.Store.View(c.org(), func(tx *store.Tx) error { return o.HasSequences(tx, id) })
			return whereID(all, "campaign_id", id), err
		}),
		write(Operation{
			Name: "stop_campaign_sequence", Method: http.MethodPost, Path: sequences + "/{sequence_id}/stop", Access: identity.Write,
			Codes: []fault.Code{fault.InvalidTransition}, Summary: "Stop a sequence and cancel its open Tasks",
		}, byID(func(c *call, tx *store.Tx, campaign uuid.UUID, in outreach.StopBody) (store.Doc[outreach.Sequence], error) {
			id, err := c.pathID(1)
			if err != nil {
				return store.Doc[outreach.Sequence]{}, err
			}
			return o.StopSequence(tx, campaign, id, in)
		})),
		list[outreach.Message](Operation{
			Name: "list_outbox", Path: "/v1/outbox/list", Summary: "List sent and scheduled messages",
		}, o.MessageList),
	}
}
