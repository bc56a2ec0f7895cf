package sequence

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/address"
	"prospector/internal/outreach"
	"prospector/store"
)

// migrateOrganization converts what the first edition stored: sequences get the names of their
// contacts, the addresses that they have written to and their new keys, and campaigns what they run
// with. It does nothing the next time. It runs before anything is sent, because a sequence that
// claims no address could write to one that another has written to.
func (e *Engine) migrateOrganization(ctx context.Context, org uuid.UUID) error {
	var ids []uuid.UUID
	isConverted := false
	err := e.store.View(org, func(tx *store.Tx) error {
		edition, err := e.parts.Get(tx, org, editionPart)
		if isConverted = err != nil || len(edition) > 0; isConverted { // also if the part is damaged, for then it exists
			return nil
		}
		ids = slices.Collect(tx.RecordIDs(e.sequences.Name()))
		return nil
	})
	if err != nil || isConverted {
		return err
	}
	job := store.Job{Org: org, Kind: "serve"}
	return e.runSweep(ctx, job, sweep{
		find:   func(*store.Tx) ([]uuid.UUID, error) { return ids, nil },
		change: (*engineTx).migrateSequence,
		end: func(tx *store.Tx, _ uuid.UUID) error {
			if err := e.migrateCampaigns(tx); err != nil {
				return err
			}
			e.parts.Put(tx, org, editionPart, []byte{2})
			return nil
		},
	})
}

// migrateSequence claims the addresses that a sequence has written to. If another sequence of the
// campaign has written to one of them, the one that started first keeps it and the other stops.
func (x *engineTx) migrateSequence(id uuid.UUID) error {
	return x.update(id, func(r *sequenceRun) error {
		var claimedBy uuid.NullUUID
		claim := func(address string) error {
			email := r.recipient.Email
			r.recipient.Email = address
			by, err := r.claimAddress()
			r.recipient.Email = email
			if by.Valid {
				claimedBy = by
			}
			return err
		}
		for i := range r.s.History {
			if !r.s.History[i].MessageID.Valid {
				continue
			}
			m, err := x.engine.messages.Get(x.tx, r.s.History[i].MessageID.UUID)
			if store.IsGone(err) { // a repair has removed it
				continue
			}
			if err != nil {
				return err
			}
			if err := claim(m.Record.To); err != nil {
				return err
			}
			r.s.state.ThreadAddress = address.Key(m.Record.To)
		}
		if err := claim(r.recipient.Email); err != nil {
			return err
		}
		if claimedBy.Valid && r.s.isOpen() {
			r.s.DuplicateOf = claimedBy
			return r.stop(StopDuplicateAddress)
		}
		return nil
	})
}

// migrateCampaigns marks the campaigns that have been active, and holds those that a restore paused.
func (e *Engine) migrateCampaigns(tx *store.Tx) error {
	ids, err := e.outreach.CampaignsWith(tx, outreach.CampaignActive, outreach.CampaignPaused)
	if err != nil {
		return err
	}
	for _, id := range ids {
		counters, err := e.counters.Get(tx, id, 0)
		if err := e.outreach.MigrateCampaign(tx, id, err != nil || counters != nil); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return e.scheduleJob(tx, startAllJobPart, startAllJob, e.clock.now(tx))
}

// checkTransports records what the running campaigns of an organization run with. It holds those
// that have captured messages if that has changed.
func (e *Engine) checkTransports(ctx context.Context, org uuid.UUID) error {
	return e.store.Update(ctx, org, store.Actor{Operation: "serve"}, func(tx *store.Tx) error {
		return e.withEngine(tx, (*engineTx).checkTransports)
	})
}

func (x *engineTx) checkTransports() error {
	ids, err := x.engine.outreach.CampaignsWith(x.tx, outreach.CampaignActive, outreach.CampaignPaused)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := x.checkTransport(id); err != nil && !isUnreadable(err) { // a damaged campaign does not send
			return err
		}
	}
	return nil
}

// checkTransport records what a running campaign runs with, and holds it if that has changed and it has
// captured messages.
func (x *engineTx) checkTransport(id uuid.UUID) error {
	c, err := x.campaign(id)
	if err != nil || c == nil {
		return err
	}
	transport := x.engine.TransportName(c.OwnerID.UUID)
	if !c.HasBegun() || string(c.Transport) == transport {
		return nil
	}
	counters, err := x.countersOf(id)
	if err != nil {
		return err
	}
	was := c.Transport
	if err := x.engine.outreach.SetTransport(x.tx, id, transport); err != nil {
		return err
	}
	if was == "" || counters.Captured == 0 {
		return nil
	}
	return x.hold(id, outreach.HeldTransportChanged,
		"The service was started with mail.transport "+transport+". Messages of the campaign were captured before and not sent.")
}
