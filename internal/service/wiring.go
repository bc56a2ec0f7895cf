package service

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/address"
	"prospector/internal/bulk"
	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/imports"
	"prospector/internal/operation"
	"prospector/internal/outreach"
	"prospector/internal/record"
	"prospector/internal/sequence"
	"prospector/internal/tam"
	"prospector/internal/webhook"
	"prospector/store"
)

// declare creates the parts of the service, each with the kinds of records that it owns.
func (s *Service) declare(st *store.Store, cfg Config) (err error) {
	s.Store = st
	s.Identity = identity.New(st, s.Kinds, identity.SessionTimes{Idle: cfg.Sessions.Idle, Lifetime: cfg.Sessions.Lifetime, Invite: cfg.Sessions.Invite})
	s.Operations = operation.New(st, s.Kinds)
	hosts, err := address.NewHosts(cfg.Identity.SharedHosts)
	if err != nil {
		return err
	}
	s.CRM = crm.New(s.Kinds, hosts)
	s.Catalog, s.Previews = catalog.New(hosts), tam.NewTables()
	s.Files = imports.NewTables()
	s.mail = cfg.smtp()
	s.LinkBase = cfg.PublicURL
	s.Outreach = outreach.New(st, s.Kinds, s.Identity, s.CRM)
	s.Sequences = sequence.New(st, s.Identity, s.CRM, s.Outreach, sequence.Options{
		DailyCap: cfg.Mail.DailyCap, MinGap: cfg.Mail.MinGap, RecipientGap: cfg.Mail.RecipientGap, Speed: cfg.Sequences.Speed,
		PublicURL: func() string { return s.LinkBase }, Connections: smtpConnections, Log: s.Log,
		StopGrace: cfg.Limits.ShutdownTime / 5, // requests may take the first three quarters
		IsRunning: s.isRunning,
		Transport: func(uuid.UUID) sequence.Transport {
			if s.mail == nil {
				return nil
			}
			return s.mail
		},
	})
	s.Kinds.AddLists(slices.Concat(s.Catalog.Lists(), s.Previews.Lists(), s.Sequences.Lists(), []*index.Kind{s.Operations.List}, s.Files.Lists())...)
	accounts, contacts := bulk.TargetOf(s.CRM.Accounts), bulk.TargetOf(s.CRM.Contacts)
	accounts.Merge, contacts.Merge = s.CRM.MergeAccountGroup, s.CRM.MergeContactGroup
	s.Bulk = bulk.New(st, s.Operations, accounts, contacts, bulk.TargetOf(s.CRM.Opportunities),
		bulk.TargetOf(s.CRM.Tasks), bulk.TargetOf(s.CRM.Meetings), bulk.TargetOf(s.CRM.Tags), bulk.TargetOf(s.CRM.Fields),
		bulk.TargetOf(s.Outreach.Audiences), bulk.TargetOf(s.Outreach.Templates), bulk.TargetOf(s.Outreach.Campaigns),
		bulk.Target{Entity: "sequences", Update: s.Sequences.CorrectTo})
	hooks := cfg.Webhooks
	s.Webhooks, err = webhook.New(st, s.Kinds, slices.Concat(s.Kinds.Sources(), s.Previews.Sources(), s.Files.Sources(), s.Sequences.Sources()), webhook.Options{
		AllowPrivateNetworks: hooks.AllowPrivateNetworks, Timeout: hooks.Timeout, RetrySchedule: hooks.RetrySchedule,
		Retention: hooks.Retention, MaxPending: hooks.MaxPending, Concurrency: hooks.Concurrency,
		Agent: "Prospector/" + Version(), Log: s.Log,
	})
	if err != nil {
		return err
	}
	s.Kinds.AddLists(s.Webhooks.AttemptList)
	return st.UseShapes(context.Background(), s.shapedTables()...)
}

// isRunning reports whether an operation has not ended. One that cannot be read counts as ended.
func (s *Service) isRunning(tx *store.Tx, operation uuid.UUID) bool {
	running, err := s.Operations.IsRunning(tx, operation)
	return err == nil && running
}

// holdCopy holds the campaigns of a store file that was copied: the other file may be in use too, or was since.
func (s *Service) holdCopy(ctx context.Context) error {
	s.Log.Info("the store file is a copy or was moved from another disk; its campaigns and deliveries are held")
	return s.Outreach.HoldAll(ctx, store.HeldCopied)
}

// remerge merges a record again when the undo of a merge is undone. What belongs to the record was moved before, but for
// what it got since.
func (s *Service) remerge(tx *store.Tx, data json.RawMessage) error {
	var u record.Unmerged
	if err := json.Unmarshal(data, &u); err != nil {
		return err
	}
	isContact := u.Entity == s.CRM.Contacts.Entity
	if isContact {
		if err := s.CRM.SpreadOptOut(tx, []uuid.UUID{u.ID, u.Into}); err != nil {
			return err
		}
	}
	if err := s.Kinds.Remerge(tx, u); err != nil || !isContact {
		return err
	}
	return s.Sequences.ContactDeleted(tx, u.ID)
}
