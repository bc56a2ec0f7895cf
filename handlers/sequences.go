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

// sequenceOperations are those of what campaigns do: sequences and messages.
func (a *API) sequenceOperations() []Operation {
	o := a.Outreach
	const sequences = "/v1/campaigns/{id}/sequences"
	return []Operation{
		listingSome[outreach.Sequence](Operation{
			Name: "list_campaign_sequences", Path: sequences + "/list", Summary: "List the sequences of a campaign, also of one that was deleted, with the history of each",
			example: []byte(`{"filters": [{"field": "status", "condition": "is", "value": "stopped"}], "sort": "-started_at", "page_size": 50}`),
		}, o.SequenceList, (*call).org, func(c *call, all index.Compiled) (index.Compiled, error) {
			id, err := c.pathID(0)
			if err != nil {
				return nil, err
			}
			err = a.Store.View(c.org(), func(tx *store.Tx) error { return o.HasSequences(tx, id) })
			return where(all, "campaign_id", id), err
		}),
		write(Operation{
			Name: "stop_campaign_sequence", Method: http.MethodPost, Path: sequences + "/{sequence_id}/stop", Access: identity.Write,
			Codes: []fault.Code{fault.InvalidTransition}, Summary: "Stop a sequence: nothing more of it happens, and its open Tasks are cancelled",
		}, byID(func(c *call, tx *store.Tx, campaign uuid.UUID, in outreach.StopBody) (store.Doc[outreach.Sequence], error) {
			id, err := c.pathID(1)
			if err != nil {
				return store.Doc[outreach.Sequence]{}, err
			}
			return o.StopSequence(tx, campaign, id, in)
		})),
		listing[outreach.Message](Operation{
			Name: "list_outbox", Path: "/v1/outbox/list", Summary: "List the messages that were sent, or are to be",
		}, o.MessageList),
	}
}
