package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"prospector/internal/catalog"
	"prospector/internal/service"
	"prospector/store"
)

// BackupResult is a backup in the work directory.
type BackupResult struct {
	File
	Records int `json:"records"`
	// Missing lists the damaged records and history entries that the backup does not contain.
	Missing []Dropped `json:"missing,omitempty"`
}

// BackupInput are the options of a backup.
type BackupInput struct {
	// AcceptDamage makes a backup without the records that cannot be read.
	AcceptDamage bool `json:"accept_damage"`
}

// Backup makes a backup inside the data directory. It copies a snapshot of the store, removes free
// space, checks the copy and packs it.
var Backup = Operation[BackupInput, BackupResult]{
	name: "backup", Unit: Bytes,
	doLong: func(ctx context.Context, s *service.Service, in BackupInput, report Progress) (b BackupResult, err error) {
		if !s.Backups.TryLock() {
			return b, errors.New("another backup is being made; wait until it is complete")
		}
		defer s.Backups.Unlock()
		work, err := workDir(s)
		if err != nil {
			return b, err
		}
		defer func() {
			if err != nil {
				_ = os.RemoveAll(work)
			}
		}()
		copied, compact := filepath.Join(work, "copy"), filepath.Join(work, "compact")
		half := func(before int64) func(done, total int64) {
			return func(done, total int64) { report(int(before*total+done), int(2*total)) }
		}
		if err := s.Store.Snapshot(ctx, copied, half(0)); err != nil {
			return b, err
		}
		if in.AcceptDamage {
			if b.Missing, err = dropFromCopy(ctx, copied, s.Config, s.Log); err != nil {
				return b, fmt.Errorf("no backup was made: %w", err)
			}
		}
		if err := errors.Join(store.Compact(copied, compact), os.RemoveAll(copied)); err != nil {
			return b, err
		}
		for _, damaged := range store.Asides(copied) { // kept when the copy was rebuilt
			if err := os.RemoveAll(damaged); err != nil {
				return b, err
			}
		}
		m, err := checkCopy(ctx, compact, s.Config, nil)
		if err != nil {
			return b, fmt.Errorf("no backup was made: %w (run 'prospector check' for details)", err)
		}
		m.CreatedAt = s.Store.Now()
		b.Records = m.Records
		b.File, err = makeFile(work, func(w io.Writer) error { return store.Pack(ctx, w, compact, m, half(1)) })
		if err == nil {
			err = markBackup(s, m)
		}
		return b, errors.Join(err, os.RemoveAll(compact))
	},
}

// dropFromCopy takes damaged records out of a copy of a store, so that the backup can be restored.
func dropFromCopy(ctx context.Context, dir string, cfg service.Config, log *slog.Logger) (dropped []Dropped, err error) {
	s, err := service.OpenStore(dir, cfg, log, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Store.Close()) }()
	dropped, err = dropDamaged(ctx, s, func([]salvage) error { return nil })
	if err != nil || len(dropped) == 0 {
		return dropped, err
	}
	return dropped, checkStore(ctx, s, true, func(string, bool) {})
}

// markBackup records in the data directory that a backup was made. If the store is lost, the marker
// keeps the server from starting with an empty one.
func markBackup(s *service.Service, m store.Manifest) error {
	marker, err := json.Marshal(struct {
		CreatedAt time.Time `json:"created_at"`
		Records   int       `json:"records"`
	}{m.CreatedAt, m.Records})
	if err != nil {
		return err
	}
	return os.WriteFile(s.Config.BackupMarker(), append(marker, '\n'), 0o600)
}

// checkCopy opens a copy of a store and fails if it has problems. If prepare is not nil, it then
// writes to the copy.
func checkCopy(ctx context.Context, dir string, cfg service.Config, prepare func(*service.Service) error) (m store.Manifest, err error) {
	s, err := service.OpenStore(dir, cfg, slog.New(slog.DiscardHandler), false) // the error says what is wrong with it
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.Store.Close()) }()
	problems, first := 0, ""
	err = checkStore(ctx, s, false, func(what string, _ bool) {
		if problems++; problems == 1 {
			first = what
		}
	})
	if err != nil {
		return m, err
	}
	if problems > 0 {
		return m, fmt.Errorf("the store has %d problems, the first is: %s", problems, first)
	}
	m = store.Manifest{Version: service.Version(), Epoch: s.Store.Epoch()}
	if m.Organizations, m.Records, err = count(s); err != nil || prepare == nil {
		return m, err
	}
	return m, prepare(s)
}

// count returns the number of organizations, and of records including the catalog.
func count(s *service.Service) (orgs, records int, err error) {
	ids, err := s.Store.Organizations()
	for _, org := range ids {
		if err == nil {
			err = s.Store.View(org, func(tx *store.Tx) error {
				records += recordsOf(s, tx)
				return nil
			})
		}
	}
	if err == nil {
		err = s.Store.View(catalog.Org, func(tx *store.Tx) error {
			records += s.Catalog.Companies.Count(tx) + s.Catalog.People.Count(tx)
			return nil
		})
	}
	return len(ids), records, err
}

// recordsOf returns the number of records of the organization of a transaction.
func recordsOf(s *service.Service, tx *store.Tx) (records int) {
	for _, k := range s.Kinds.Lists() {
		records += tx.RecordCount(k.Table())
	}
	return records
}
