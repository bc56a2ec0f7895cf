package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"prospector/internal/catalog"
	"prospector/store"
)

// backedUp is a backup that is to be handed over.
type backedUp struct {
	made
	Records int `json:"records"`
}

// backup makes a backup inside the data directory: a copy of one moment, without what was deleted, which is checked and then
// packed.
var backup = adminOp[struct{}, backedUp]{
	name: "backup", unit: inBytes,
	long: func(ctx context.Context, s *Service, _ struct{}, report progress) (b backedUp, err error) {
		work, err := s.workDir()
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
		if err := errors.Join(store.Compact(copied, compact), os.RemoveAll(copied)); err != nil {
			return b, err
		}
		m, err := checkCopy(ctx, compact, s.Config, s.log, nil)
		if err != nil {
			return b, fmt.Errorf("no backup was made: %w ('prospector check' tells more)", err)
		}
		m.CreatedAt = s.Store.Now()
		b.Records = m.Records
		b.made, err = makeFile(work, func(w io.Writer) error { return store.Pack(ctx, w, compact, m, half(1)) })
		return b, errors.Join(err, os.RemoveAll(compact))
	},
}

// checkCopy opens a copy of a store, finds it without fault or tells what is wrong, and lets prepare write to it.
func checkCopy(ctx context.Context, dir string, cfg Config, log *slog.Logger, prepare func(*Service) error) (m store.Manifest, err error) {
	s, err := openStore(dir, cfg, log)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.Store.Close()) }()
	problems, first := 0, ""
	err = s.checkStore(ctx, false, func(what string, _ bool) {
		if problems++; problems == 1 {
			first = what
		}
	})
	if err != nil {
		return m, err
	}
	if problems > 0 {
		return m, fmt.Errorf("%d problems were found in the store: %s", problems, first)
	}
	m = store.Manifest{Version: Version, Epoch: s.Store.Epoch()}
	if m.Organizations, m.Records, err = s.count(); err != nil || prepare == nil {
		return m, err
	}
	return m, prepare(s)
}

// count tells how many organizations there are, and how many records they and the catalogue have.
func (s *Service) count() (orgs, records int, err error) {
	ids, err := s.Store.Organizations()
	for _, org := range ids {
		if err == nil {
			err = s.Store.View(org, func(tx *store.Tx) error {
				records += s.recordsOf(tx)
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

// recordsOf tells how many records the organization of a transaction has.
func (s *Service) recordsOf(tx *store.Tx) (records int) {
	for _, k := range s.lists() {
		records += tx.RecordCount(k.Table())
	}
	return records
}

func backupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Write a backup of everything to a file", Args: oneArg("the file to write"),
		Long: "Write a backup of everything, as it is at one moment, to a file that does not exist yet. The server goes on meanwhile. The\n" +
			"backup is made and checked inside the data directory, which needs room for two more copies of the store, and then handed over.",
		Example: "  prospector backup prospector-$(date +%F).backup",
		RunE: func(c *cobra.Command, args []string) error {
			to, err := newTarget(c, args[0])
			if err != nil {
				return err
			}
			defer to.drop()
			b, err := backup.run(c, struct{}{})
			if err != nil {
				return err
			}
			if err := to.take(b.made); err != nil {
				return err
			}
			result := struct {
				File    string `json:"file"`
				Bytes   int64  `json:"bytes"`
				SHA256  string `json:"sha256"`
				Records int    `json:"records"`
			}{args[0], b.Bytes, b.SHA256, b.Records}
			return show(c, result, func(w io.Writer) {
				fmt.Fprintf(w, "Wrote %s: %d records, %d bytes, SHA-256 %s\n", result.File, result.Records, result.Bytes, result.SHA256)
			})
		},
	}
}
