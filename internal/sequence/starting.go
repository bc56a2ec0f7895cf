package sequence

import (
	"context"

	"github.com/google/uuid"

	"prospector/internal/mail"
	"prospector/store"
)

// startOrganizations makes the engine run the organizations that are there.
func (e *Engine) startOrganizations(ctx context.Context) error {
	orgs, err := e.store.Organizations()
	if err != nil {
		return err
	}
	for _, org := range orgs {
		for _, do := range e.starting() {
			err := do(ctx, org)
			if isUnreadable(err) { // the other organizations go on
				e.Options.Log.Error("sequences of an organization were not recovered, because a record is damaged or missing",
					"organization", org, "error", err)
				continue
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Arrived makes the engine run an organization that was imported, as Start does for those that are there.
func (e *Engine) Arrived(ctx context.Context, org uuid.UUID) error {
	for _, do := range e.starting() {
		if err := do(ctx, org); err != nil {
			return err
		}
	}
	return nil
}

// starting returns what is done for each organization before the engine runs.
func (e *Engine) starting() []func(context.Context, uuid.UUID) error {
	return []func(context.Context, uuid.UUID) error{e.readLinkKey, e.migrateOrganization, e.recoverOrganization, e.checkTransports}
}

// recoverOrganization marks messages whose content was being handed over as unknown, because they
// may have been delivered, and queues the others again. It then schedules the advance job: the
// clock may have changed, and messages that waited for capacity have no job.
func (e *Engine) recoverOrganization(ctx context.Context, org uuid.UUID) error {
	return e.store.Update(ctx, org, store.Actor{Operation: "serve"}, func(tx *store.Tx) error {
		results, err := e.interruptedMessages(tx)
		if err != nil {
			return err
		}
		if len(results) > 0 {
			err := e.withEngine(tx, func(x *engineTx) error { return x.storeResults(results) })
			if err != nil {
				return err
			}
		}
		return e.adjustOrganization(tx)
	})
}

// interruptedMessages returns the results of the messages that were claimed: unknown for those that
// were being handed over, canceled for the others.
func (e *Engine) interruptedMessages(tx *store.Tx) (results []result, err error) {
	for key, res := range map[string]mail.Result{
		bySending: {Status: mail.Unknown, Text: "the service stopped while the message was handed over"},
		byQueued:  {Status: mail.Canceled},
	} {
		ids, err := e.messages.IDs(tx, key, []byte(key), 0)
		if err != nil {
			return nil, err
		}
		if res.Status == mail.Unknown && len(ids) > 0 {
			e.Options.Log.Warn("messages were handed over when the service stopped, not sending them again",
				"organization", tx.Org(), "messages", len(ids))
		}
		for _, id := range ids {
			doc, err := e.messages.Get(tx, id)
			if isUnreadable(err) {
				continue // it is not sent either
			}
			if err != nil {
				return nil, err
			}
			results = append(results, result{
				outgoing: &outgoing{message: doc, sequence: store.Doc[Sequence]{ID: doc.Record.SequenceID}}, Result: res, byService: true,
			})
		}
	}
	return results, nil
}
