package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prospector/internal/crm"
	"prospector/internal/record"
	"prospector/internal/service"
	"prospector/store"
)

// RestoreRecordInput names a record of a backup.
type RestoreRecordInput struct {
	Kind string    `json:"kind"`
	ID   uuid.UUID `json:"id"`
}

// RestoreRecordResult is the output of restore --record.
type RestoreRecordResult struct {
	Organization uuid.UUID `json:"organization"`
	Kind         string    `json:"kind"`
	ID           uuid.UUID `json:"id"`
	// Cleared lists the fields that referred to records which no longer exist.
	Cleared []string `json:"cleared,omitempty"`
}

// RestoreRecord brings one record of a backup back. The record must be missing, damaged or
// one that dropping has put in the place of a damaged one. It must not be in the trash, merged into another, or a
// contact who was erased since.
var RestoreRecord = Operation[RestoreRecordInput, RestoreRecordResult]{
	name: "restore-record", Unit: Bytes,
	doFile: func(ctx context.Context, s *service.Service, in RestoreRecordInput, file io.Reader, _ Progress) (r RestoreRecordResult, err error) {
		table, shaped := tableNamed(s, in.Kind)
		if shaped == nil {
			return r, fmt.Errorf("%q is not a kind of record that can be restored; these are: %s",
				in.Kind, strings.Join(slices.Sorted(maps.Keys(restorable(s))), ", "))
		}
		work, err := workDir(s)
		if err != nil {
			return r, err
		}
		defer os.RemoveAll(work)
		if _, err := store.Unpack(ctx, file, work); err != nil {
			return r, fmt.Errorf("nothing was changed: %w", err)
		}
		backup, err := service.OpenStore(work, s.Config, slog.New(slog.DiscardHandler), false)
		if err != nil {
			return r, fmt.Errorf("nothing was changed: %w", err)
		}
		defer func() { err = errors.Join(err, backup.Store.Close()) }()
		r = RestoreRecordResult{Kind: in.Kind, ID: in.ID}
		if r.Organization, err = organizationOf(backup.Store, table, in.ID); err != nil {
			return r, err
		}
		err = backup.Store.View(r.Organization, func(from *store.Tx) error {
			return s.Store.Update(ctx, r.Organization, store.Actor{Operation: "restore"}, func(tx *store.Tx) error {
				if s.Identity.IsStandIn(tx, table, in.ID) || s.CRM.IsStandIn(tx, table, in.ID) {
					if err := tx.DeleteDamaged(table, in.ID); err != nil {
						return err
					}
				}
				if err := s.Kinds.MayReturn(tx, table, in.ID); err != nil {
					return err
				}
				err := store.RestoreRecord(tx, shaped, from, in.ID, func(rec any) (err error) {
					if email := emailOf(rec); email != "" && s.CRM.IsErased(tx, email) {
						return fmt.Errorf("%s %s was erased", in.Kind, in.ID)
					}
					r.Cleared, err = s.Kinds.DropReferences(tx, table, rec)
					return err
				})
				if err != nil {
					return err
				}
				_, before, err := from.Reader(table).Public(in.ID)
				if err != nil {
					return err
				}
				return s.Restored(tx, table, in.ID, before)
			})
		})
		if err == nil && in.Kind == s.CRM.Fields.Entity {
			err = s.Index.RebuildCustomized(r.Organization)
		}
		return r, err
	},
}

// emailOf returns the address of a contact, also of one in the trash.
func emailOf(rec any) string {
	switch c := rec.(type) {
	case *crm.Contact:
		return string(c.Email)
	case *record.Trashed[crm.Contact]:
		return string(c.Record.Email)
	}
	return ""
}

// tableNamed returns the table of a kind of records, which may be given by the name of its list or, as check
// prints it, of its table. It returns nil if there is none.
func tableNamed(s *service.Service, name string) (string, store.ShapedTable) {
	for _, k := range s.Kinds.Lists() {
		if k.Entity == name {
			name = k.Table()
			break
		}
	}
	return name, restorable(s)[name]
}

// restorable returns the tables whose records can be restored, by name.
func restorable(s *service.Service) map[string]store.ShapedTable {
	tables := map[string]store.ShapedTable{}
	for _, k := range s.Kinds.Lists() {
		tables[k.Table()] = k.ShapedTable()
	}
	for _, t := range s.Identity.UnlistedTables() {
		tables[t.(interface{ Name() string }).Name()] = t
	}
	return tables
}

// organizationOf returns the organization that has a record.
func organizationOf(st *store.Store, table string, id uuid.UUID) (of uuid.UUID, err error) {
	orgs, err := st.Organizations()
	if err != nil {
		return of, err
	}
	for _, org := range append(orgs, uuid.Nil) {
		found := false
		err := st.View(org, func(tx *store.Tx) error {
			value, _ := tx.Raw(table, id)
			found = value != nil
			return nil
		})
		if err != nil || found {
			return org, err
		}
	}
	return of, fmt.Errorf("the backup has no %s %s", table, id)
}
