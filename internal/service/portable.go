package service

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/operation"
	"prospector/internal/record"
	"prospector/internal/sequence"
	"prospector/store"
)

// Portions returns everything that an organization may have in the store, in the order in which an export has it. The
// organization comes first, and then what the keys of other records depend on.
func (s *Service) Portions() []store.Portion {
	steps := map[string]func() any{
		record.UnmergedStep: func() any { return new(record.Unmerged) }, crm.DoubtStep: func() any { return new(crm.Doubt) },
	}
	maps.Copy(steps, operation.Steps())
	maps.Copy(steps, sequence.Steps())
	portions := slices.Concat(
		s.Kinds.Portions(), s.Identity.Portions(), s.CRM.Portions(), s.Outreach.Portions(), s.Sequences.Portions(),
		s.Operations.Portions(), s.Bulk.Portions(), s.Files.Portions(), s.Previews.Portions(), s.Webhooks.Portions(),
		s.Catalog.Portions(), store.OwnPortions(steps),
	)
	if s.API != nil { // which only a service that may run has
		portions = append(portions, s.API.Portions()...)
	}
	for i := range portions {
		switch portions[i].Name() {
		case s.Identity.Keys.Table.Name():
			portions[i].WhyLeft = "nobody else may use them"
		case s.Webhooks.Subscriptions.Table.Name():
			portions[i].Secret = true
		}
	}
	first := []string{s.Identity.Organizations.Table.Name(), s.CRM.Fields.Table.Name()}
	place := func(p store.Portion) int {
		if at := slices.Index(first, p.Name()); at >= 0 {
			return at
		}
		return len(first)
	}
	slices.SortStableFunc(portions, func(a, b store.Portion) int { return place(a) - place(b) })
	return portions
}

// Payloads returns the types of the payloads of the jobs that exports of an organization take along, by kind. A payload
// without a type has no ids.
func (s *Service) Payloads() map[string]func() any {
	all := map[string]func() any{}
	for _, part := range []interface{ Payloads() map[string]func() any }{
		s.Kinds, s.Outreach, s.Sequences, s.Operations, s.Bulk, s.Undos, s.Imports,
	} {
		maps.Copy(all, part.Payloads())
	}
	return all
}

// Arrive makes an organization that was imported ready, before it can be seen: nothing is sent for it, and what was running
// has failed.
func (s *Service) Arrive(tx *store.Tx) error {
	return errors.Join(
		s.Webhooks.Arrived(tx), s.Identity.Arrived(tx), s.Imports.Arrived(tx), s.TAM.Arrived(tx),
		s.Outreach.HoldOrganization(tx, store.HeldImported),
	)
}

// Arrived makes the service run an organization that was imported.
func (s *Service) Arrived(ctx context.Context, org uuid.UUID) error {
	return s.Sequences.Arrived(ctx, org)
}
