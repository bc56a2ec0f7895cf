package sequence

import (
	"context"

	"github.com/google/uuid"

	"prospector/internal/mail"
	"prospector/store"
)

// recoverAll settles what the previous process left unfinished in all organizations.
func (e *Engine) recoverAll(ctx context.Context) error {
	orgs, err := e.store.Organizations()
	if err != nil {
		return err
	}
	for _, org := range orgs {
		if err := e.recoverOrganization(ctx, org); err != nil {
			return err
		}
	}
	return nil
}

// recoverOrganization marks messages that were in flight as unknown, because they may have been
// delivered. It then schedules the advance job: the clock may have changed, and messages that
// waited for capacity have no job.
func (e *Engine) recoverOrganization(ctx context.Context, org uuid.UUID) error {
	return e.store.Update(ctx, org, store.Actor{Operation: "serve"}, func(tx *store.Tx) error {
		results, err := e.interruptedMessages(tx)
		if err != nil {
			return err
		}
		if len(results) > 0 {
			e.Options.Log.Warn("messages were in flight when the service stopped, not sending them again",
				"organization", org, "messages", len(results))
			err := e.withEngine(tx, func(x *engineTx) error { return x.storeResults(results) })
			if err != nil {
				return err
			}
		}
		return e.OrganizationChanged(tx, nil, nil)
	})
}

// interruptedMessages returns the result unknown for every message that is stored as being in
// flight.
func (e *Engine) interruptedMessages(tx *store.Tx) ([]result, error) {
	ids, err := e.messages.IDs(tx, bySending, []byte(bySending), 0)
	if err != nil {
		return nil, err
	}
	results := make([]result, len(ids))
	for i, id := range ids {
		doc, err := e.messages.Get(tx, id)
		if err != nil {
			return nil, err
		}
		results[i] = result{
			&outgoing{message: doc, sequence: store.Doc[Sequence]{ID: doc.Record.SequenceID}},
			mail.Result{Status: mail.Unknown, Text: "the service stopped while the message was in flight"},
		}
	}
	return results, nil
}
