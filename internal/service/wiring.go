package service

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"prospector/index"
	"prospector/internal/address"
	"prospector/internal/bulk"
	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/fault"
	"prospector/internal/identity"
	"prospector/internal/imports"
	"prospector/internal/operation"
	"prospector/internal/outreach"
	"prospector/internal/planner"
	"prospector/internal/record"
	"prospector/internal/sequence"
	"prospector/internal/tam"
	"prospector/internal/webhook"
	"prospector/store"
)

// declare creates the parts of the service, each with the kinds of records that it owns.
func (s *Service) declare(st *store.Store, cfg Config) (err error) {
	s.Store = st
	s.Identity = identity.New(st, s.Kinds, identity.Options{
		Sessions: identity.SessionTimes{Idle: cfg.Sessions.Idle, Lifetime: cfg.Sessions.Lifetime, Invite: cfg.Sessions.Invite},
		OrganizationChanged: func(tx *store.Tx, before, after *identity.Organization) error {
			return s.Sequences.OrganizationChanged(tx, before, after)
		},
		UserChanged: func(tx *store.Tx, before, after *identity.User) error {
			return s.Sequences.UserChanged(tx, before, after)
		},
		CheckFooter: func(tx *store.Tx, footer string, p *fault.Problems) error {
			return s.Outreach.CheckFooter(tx, footer, p)
		},
	})
	s.Operations = operation.New(st, s.Kinds)
	hosts, err := address.NewHosts(cfg.Identity.SharedHosts)
	if err != nil {
		return err
	}
	s.CRM = crm.New(s.Kinds, hosts, crm.Hooks{
		ContactChanged: func(tx *store.Tx, before, after *crm.Contact) error {
			return s.Sequences.ContactChanged(tx, before, after)
		},
		AccountChanged: func(tx *store.Tx, account uuid.UUID) error { return s.Sequences.AccountChanged(tx, account) },
		ContactDeleted: func(tx *store.Tx, contact uuid.UUID) error { return s.Sequences.ContactDeleted(tx, contact) },
		AudiencesOf: func(tx *store.Tx, contact uuid.UUID) ([]uuid.UUID, error) {
			return s.Outreach.AudiencesOf(tx, contact)
		},
		ContactRestored: func(tx *store.Tx, contact uuid.UUID, audiences []uuid.UUID) error {
			return s.Sequences.ContactRestored(tx, contact, audiences)
		},
		IsInSequence: func(tx *store.Tx, contact uuid.UUID) (bool, error) { return s.Sequences.IsRunning(tx, contact) },
		HasMessages: func(tx *store.Tx, contact, since uuid.UUID) (bool, error) {
			return s.Sequences.HasMessages(tx, contact, since)
		},
		ContactsMerging: func(tx *store.Tx, into uuid.UUID, contacts []uuid.UUID) error {
			return s.Sequences.ContactsMerging(tx, into, contacts)
		},
		ContactsMerged: func(tx *store.Tx, into uuid.UUID, contacts []uuid.UUID) error {
			return s.Sequences.ContactsMerged(tx, into, contacts)
		},
		ContactJoining: func(tx *store.Tx, contact uuid.UUID, change crm.ContactChange) error {
			return s.Outreach.ContactJoining(tx, contact, change)
		},
		FieldChanging: func(tx *store.Tx, key string, removed []string) error {
			return s.Outreach.FieldChanging(tx, key, removed)
		},
		FieldCreated: func(tx *store.Tx, key string) error { return s.Outreach.FieldCreated(tx, key) },
		TaskClosed: func(tx *store.Tx, task uuid.UUID, after *crm.Task) error {
			return s.Sequences.TaskClosed(tx, task, after)
		},
		Suppressed: func(tx *store.Tx, sup *crm.Suppression) error { return s.Sequences.Suppressed(tx, sup) },
		Released:   func(tx *store.Tx, sup *crm.Suppression) error { return s.Sequences.Released(tx, sup) },
		ListOf:     s.ListNamed,
	})
	s.Catalog, s.Previews = catalog.New(hosts), tam.NewTables()
	s.Files = imports.NewTables()
	s.mail = cfg.smtp()
	s.LinkBase = cfg.PublicURL
	s.Outreach = outreach.New(st, s.Kinds, s.Identity, s.CRM, outreach.Hooks{
		CampaignChanged: func(tx *store.Tx, before, after *outreach.Campaign) error {
			return s.Sequences.CampaignChanged(tx, before, after)
		},
		ContactsAdded: func(tx *store.Tx, audience uuid.UUID, contacts []uuid.UUID, why outreach.Joining) error {
			return s.Sequences.ContactsAdded(tx, audience, contacts, why)
		},
		ChangeEnded: func(tx *store.Tx, change uuid.UUID) error { return s.Sequences.ChangeEnded(tx, change) },
		ContactsRemoved: func(tx *store.Tx, contacts []uuid.UUID) error {
			return s.Sequences.ContactsRemoved(tx, contacts)
		},
		Select: func(ctx context.Context, org uuid.UUID, k *index.Kind, query index.Query) ([]uuid.UUID, error) {
			ids, _, err := s.Index.Select(ctx, org, k, query, math.MaxInt)
			return ids, err
		},
		TemplateChanged: func(tx *store.Tx, template uuid.UUID) error { return s.Sequences.TemplateChanged(tx, template) },
		Transport:       func(sender uuid.UUID) string { return s.Sequences.TransportName(sender) },
		Now:             func(tx *store.Tx) time.Time { return s.Sequences.Now(tx) },
		RecipientFree: func(tx *store.Tx, email string, id uuid.UUID) (time.Time, error) {
			return s.Sequences.RecipientFree(tx, email, id)
		},
		HiddenLink: func() string { return s.Sequences.HiddenLink() },
		SenderLedger: func(tx *store.Tx, sender uuid.UUID) (*planner.Ledger, error) {
			return s.Sequences.SenderLedger(tx, sender)
		},
		Progress: func(tx *store.Tx, campaign uuid.UUID) func(uuid.UUID) (*outreach.Progress, error) {
			return s.Sequences.Progress(tx, campaign)
		},
		Running: func(tx *store.Tx, campaign uuid.UUID, visit func(outreach.Progress) error) error {
			return s.Sequences.Running(tx, campaign, visit)
		},
	})
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
		if err := s.CRM.ShareOptOut(tx, []uuid.UUID{u.ID, u.Into}); err != nil {
			return err
		}
	}
	if err := s.Kinds.Remerge(tx, u); err != nil || !isContact {
		return err
	}
	return s.Sequences.ContactDeleted(tx, u.ID)
}

// deleting is called for the deletion of a record from which others lose values.
func (s *Service) deleting(tx *store.Tx, entity string, id uuid.UUID, remove func() error) error {
	return s.Operations.Delete(tx, entity, id, remove)
}

// restoring is called when a record is restored that an operation has deleted.
func (s *Service) restoring(tx *store.Tx, deletion, id uuid.UUID, force bool, restore func() error) error {
	return s.Undos.Restore(tx, deletion, id, force, restore)
}

// losing is called before records lose a value that was deleted.
func (s *Service) losing(tx *store.Tx, loss record.Loss, c record.Consent) error {
	return s.Outreach.Losing(tx, loss, c)
}
