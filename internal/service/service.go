// Package service owns the settings and the wiring of the whole service: TLS, the mail server, the
// researcher, the workers and the HTTP servers. It must not know what a request means: that is up to
// the packages that it wires.
package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"

	"prospector/handlers"
	"prospector/index"
	"prospector/internal/bulk"
	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/erasure"
	"prospector/internal/identity"
	"prospector/internal/imports"
	"prospector/internal/mail"
	"prospector/internal/operation"
	"prospector/internal/outreach"
	"prospector/internal/record"
	"prospector/internal/sequence"
	"prospector/internal/tam"
	"prospector/internal/turn"
	"prospector/internal/undo"
	"prospector/internal/webhook"
	"prospector/internal/worker"
	"prospector/store"
)

// Service is the whole service, wired together.
type Service struct {
	Config    Config
	Store     *store.Store
	Kinds     *record.Set
	Identity  *identity.Identity
	CRM       *crm.CRM
	Catalog   *catalog.Catalog
	Previews  *tam.Tables
	TAM       *tam.TAM
	Files     *imports.Tables
	Imports   *imports.Imports
	Outreach  *outreach.Outreach
	Sequences *sequence.Engine
	Webhooks  *webhook.Webhooks
	Bulk      *bulk.Bulk

	Operations *operation.Operations
	Undos      *undo.Undos
	Erasures   *erasure.Erasures
	Index      *index.Engine
	API        *handlers.API
	Worker     *worker.Worker

	// LinkBase is the base of the links in emails. It is public_url or, if that is not set, known when the
	// service listens.
	LinkBase string

	// Backups is held while a backup is made.
	Backups sync.Mutex

	Log  *slog.Logger
	mail *mail.SMTP // nil if messages stay in the outbox
}

// maxPreparing limits how many Previews are prepared concurrently, because a large one takes up to a
// hundred megabytes.
const maxPreparing = 2

// maxResearching limits how many Previews are researched concurrently. They take turns asking the
// model.
const maxResearching = 3

// maxImporting limits how many Imports, and how many bulk operations, run concurrently, because each writes continuously and other
// requests must be able to write too.
const maxImporting = 2

// maxFileImporting limits how many imports of files run concurrently, for the same reason.
const maxFileImporting = 2

// maxErasing limits how many people are erased concurrently, because each erasure reads all records of an organization.
const maxErasing = 1

// maxCompleting limits for how many organizations records are rewritten concurrently after a field was
// added. Reads are correct without it, so it may take its time.
const maxCompleting = 1

// gcPercent makes the garbage collector run less often. With Go's default it takes a tenth of the time
// of indexing; with a higher value, loading many records takes memory without being faster. GOGC in
// the environment overrides it.
const gcPercent = 150

// Options are what a service needs in addition to its settings.
type Options struct {
	Log   *slog.Logger
	Clock func() time.Time // nil for the system clock
	// Fatal is called after a commit with an unknown outcome and must end the process. If it is nil,
	// the commit panics.
	Fatal func(error)
	// New allows an empty store in a directory that had one before.
	New bool
	// NoSync is that of the store, for tests.
	NoSync bool
}

// Open opens the store and wires the service over it.
func Open(cfg Config, opt Options) (*Service, error) {
	log := opt.Log
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		turn.UseSpareThreads()
	}
	s := &Service{Config: cfg, Log: log}
	s.Kinds = &record.Set{}
	if !opt.New {
		if err := cfg.checkStoreExists(); err != nil {
			return nil, err
		}
	}
	st, err := store.Open(cfg.DataDir, store.Options{
		Clock:  opt.Clock,
		Log:    log,
		Events: func(tx *store.Tx, e store.Event) error { return s.Webhooks.Emit(tx, e) },
		Committed: func(ctx context.Context, org uuid.UUID, changed map[string]uint64) {
			s.Index.Committed(ctx, org, changed)
		},
		Finish: func(tx *store.Tx) error {
			if err := s.Outreach.Finish(tx); err != nil {
				return err
			}
			return s.Sequences.Finish(tx)
		},
		Fatal: opt.Fatal, Rebuild: true, NoSync: opt.NoSync,
	})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.declare(st, cfg), os.RemoveAll(cfg.WorkDir()), os.RemoveAll(cfg.CompactDir())); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	s.Index, err = index.Open(st, s.Kinds.Lists(), index.Options{
		Dir: cfg.IndexDir(), CacheBytes: cfg.Index.CacheBytes, MaxOpen: newHandleBudget().indexes, Log: log,
	})
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	s.Outreach.UseIndex(s.Index)
	if err := s.finishRebuild(context.Background()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := st.AbandonArrivals(context.Background()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.TAM = tam.New(st, s.Index, s.Previews, s.Operations, s.Catalog, s.Identity, s.CRM, tam.Options{
		UnitRate: cfg.Research.UnitRate, Retention: cfg.TAM.Retention,
		Researcher: cfg.researcher(s.Log, st.Now), MaxConcurrentQuestions: cfg.Research.Concurrency,
	})
	s.Imports = imports.New(st, s.Files, s.Operations, s.CRM, imports.Settings{Dir: cfg.ImportDir(), Retention: cfg.Imports.Retention, Log: log})
	if err := s.Imports.Start(context.Background()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.Sequences.Start(context.Background()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := errors.Join(s.CRM.Upgrade(context.Background(), st), s.Webhooks.Upgrade(context.Background())); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := st.RememberFile(context.Background(), s.holdCopy); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Undos = undo.New(st, s.Kinds, s.Operations, undo.Options{
		Steps: map[string]func(*store.Tx, json.RawMessage) error{
			sequence.OwnershipStep: s.Sequences.RestoreOwnership, record.UnmergedStep: s.remerge, crm.DoubtStep: s.CRM.RestoreDoubt,
		},
		Unmerged: func(tx *store.Tx, entity string, records []uuid.UUID) error {
			if entity != s.CRM.Contacts.Entity {
				return nil
			}
			return s.CRM.SpreadOptOut(tx, records)
		},
	})
	s.Erasures = erasure.New(erasure.Options{
		Store: st, Kinds: s.Kinds, Users: s.Identity.Users, CRM: s.CRM, Catalog: s.Catalog, Imports: s.Imports, Sequences: s.Sequences,
		Operations: s.Operations, Index: s.Index, Lists: s.Kinds.Lists,
		ForgetResponses: func(ctx context.Context, org uuid.UUID, matches func([]byte) bool) error {
			return s.API.EraseResponses(ctx, org, matches)
		},
	})
	jobs := s.TAM.Jobs()
	maps.Copy(jobs, s.Imports.Jobs())
	maps.Copy(jobs, s.Outreach.Jobs())
	maps.Copy(jobs, s.Sequences.Jobs())
	maps.Copy(jobs, s.Webhooks.Jobs())
	maps.Copy(jobs, s.Operations.Jobs())
	maps.Copy(jobs, s.Bulk.Jobs())
	maps.Copy(jobs, s.Undos.Jobs())
	maps.Copy(jobs, s.Erasures.Jobs())
	jobs[record.SweepJob] = func(ctx context.Context, job store.Job) error { return s.Kinds.Sweep(ctx, st, job) }
	jobs[record.TrashJob] = func(ctx context.Context, job store.Job) error {
		return s.Kinds.ExpireTrash(ctx, st, cfg.Trash.Retention, job)
	}
	jobs[store.CompleteJob] = st.CompleteRecords
	scheduler := turn.NewScheduler()
	for kind, handle := range jobs {
		jobs[kind] = func(ctx context.Context, job store.Job) error {
			ctx, work := scheduler.Start(ctx, job.Org)
			defer work.End()
			return handle(ctx, job)
		}
	}
	s.Worker = worker.New(st, log, jobs)
	s.Worker.Limit(store.CompleteJob, maxCompleting)
	s.Worker.Limit(tam.PrepareJob, maxPreparing)
	s.Worker.Limit(tam.ResearchJob, maxResearching)
	s.Worker.Limit(tam.ImportJob, maxImporting)
	s.Worker.Limit(bulk.Job, maxImporting)
	s.Worker.Limit(undo.Job, maxImporting)
	s.Worker.Limit(erasure.Job, maxErasing)
	s.Worker.Limit(imports.RunJob, maxFileImporting)
	s.API = handlers.New(handlers.Options{
		Store: st, Index: s.Index, Kinds: s.Kinds, Identity: s.Identity, CRM: s.CRM, Catalog: s.Catalog, TAM: s.TAM, Outreach: s.Outreach,
		Sequences: s.Sequences, Webhooks: s.Webhooks, Bulk: s.Bulk, OperationLog: s.Operations, Undos: s.Undos, Erasures: s.Erasures, Imports: s.Imports, Worker: s.Worker, Scheduler: scheduler, Log: log, Version: Version(),
		LinkBase: s.browserBase, TrustedProxies: cfg.trustedProxies(),
		RatePerMinute: cfg.RateLimit.PerMinute, BodyBytes: cfg.Limits.BodyBytes, ImportBytes: cfg.Limits.ImportBytes, ParseBytes: cfg.Limits.ParseBytes,
		ConcurrentRequests: cfg.Limits.ConcurrentRequests, ListTime: cfg.Limits.ListTime, SeparateMetrics: cfg.MetricsAddr != "",
	})
	return s, nil
}

// Verify checks the data of the transaction's organization. In an Update it corrects what follows from the
// records.
func (s *Service) Verify(tx *store.Tx, report store.Report) error {
	if err := s.Kinds.Verify(tx, report); err != nil {
		return err
	}
	return errors.Join(
		s.Identity.Verify(tx, report), s.Catalog.Verify(tx, report), s.Previews.Verify(tx, report), s.Outreach.Verify(tx, report),
		s.Sequences.Verify(tx, report), s.Webhooks.Verify(tx, report), s.Operations.Verify(tx, report), s.Bulk.Verify(tx, report),
		s.Files.Verify(tx, report), s.CRM.ContactDuplicates.Verify(tx, report), s.CRM.AccountDuplicates.Verify(tx, report),
	)
}

// Restored brings up to date what depends on a record that was restored from a backup. before is the public part that it
// has there. Nobody is written to because of it: a record that would come to match a dynamic audience is refused like one
// from the trash, contacts who come into campaigns again await confirmation, and a campaign is held.
func (s *Service) Restored(tx *store.Tx, table string, id uuid.UUID, before []byte) error {
	if err := s.Kinds.MayRestore(tx, table, id, before); err != nil {
		return err
	}
	switch table {
	case s.CRM.Contacts.Table.Name():
		return s.Sequences.ContactRestored(tx, id, nil)
	case s.Outreach.Audiences.Table.Name():
		return s.Outreach.Restored(tx, id)
	case s.Outreach.Campaigns.Table.Name():
		return s.Sequences.CampaignRestored(tx, id)
	case s.Webhooks.Subscriptions.Table.Name():
		return s.Webhooks.Restored(tx, id)
	case s.CRM.Suppressions.Table.Name():
		return s.CRM.UpgradeRestored(tx, id)
	}
	return nil
}

// finishRebuild corrects keys and counters after the store file was rebuilt. What is damaged stays.
func (s *Service) finishRebuild(ctx context.Context) error {
	if !s.Store.Rebuilt() {
		return nil
	}
	orgs, err := s.Store.Organizations()
	if err != nil {
		return err
	}
	for _, org := range append(orgs, uuid.Nil) {
		err := s.Store.Update(ctx, org, store.Actor{Operation: "rebuild"}, func(tx *store.Tx) error {
			err := s.Verify(tx, func(repaired bool, format string, args ...any) {
				s.Log.Warn("problem in a rebuilt store", "organization", org, "problem", fmt.Sprintf(format, args...), "repaired", repaired)
			})
			if errors.Is(err, store.ErrDamaged) { // the repairs of everything else are kept
				s.Log.Error("cannot verify all of a rebuilt store", "organization", org, "error", err)
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return s.Store.FinishRebuild(ctx)
}

// IndexDir is the directory of the indexes.
func (c *Config) IndexDir() string { return filepath.Join(c.DataDir, "index") }

// WorkDir is the directory of temporary files. Open empties it.
func (c *Config) WorkDir() string { return filepath.Join(c.DataDir, "tmp") }

// CompactDir is the directory in which the store is compacted. Open removes what a killed compaction left there.
func (c *Config) CompactDir() string { return filepath.Join(c.DataDir, "compact.tmp") }

// ImportDir is the directory of the files of unfinished imports.
func (c *Config) ImportDir() string { return filepath.Join(c.DataDir, "imports") }

// BackupMarker is the file that a backup leaves in the data directory.
func (c *Config) BackupMarker() string { return filepath.Join(c.DataDir, "last-backup.json") }

// checkStoreExists returns an error if the data directory shows that it had a store which is no longer there.
// A disk that is not mounted or a file that was moved must not be replaced with an empty store.
func (c *Config) checkStoreExists() error {
	if _, err := os.Lstat(filepath.Join(c.DataDir, store.FileName)); !errors.Is(err, os.ErrNotExist) {
		return nil // store.Open reports other errors
	}
	for _, trace := range []string{c.IndexDir(), c.BackupMarker()} {
		if _, err := os.Lstat(trace); err == nil && !isEmptyDir(trace) {
			return fmt.Errorf("there is no %s in %s, but %s shows that there was one; recover the file or run 'prospector restore', "+
				"or start with an empty store with 'prospector serve --new'", store.FileName, c.DataDir, trace)
		}
	}
	return nil
}

// isEmptyDir reports whether a path is a directory without entries, such as one that was made for a mount.
func isEmptyDir(path string) bool {
	entries, err := os.ReadDir(path)
	return err == nil && len(entries) == 0
}

// OpenStore opens the store in dir without indexes and workers, which is enough to check it. With rebuild, a
// file with damaged pages is rebuilt.
func OpenStore(dir string, cfg Config, log *slog.Logger, rebuild bool) (*Service, error) {
	s := &Service{Log: log}
	s.Kinds = &record.Set{}
	st, err := store.Open(dir, store.Options{
		MustExist: true, Rebuild: rebuild, Log: log, Events: func(tx *store.Tx, e store.Event) error { return s.Webhooks.Emit(tx, e) },
	})
	if err != nil {
		return nil, err
	}
	if err := s.declare(st, cfg); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	if err := s.finishRebuild(context.Background()); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return s, nil
}

// shapedTables returns the tables whose records are answered as they are stored.
func (s *Service) shapedTables() []store.ShapedTable {
	var tables []store.ShapedTable
	for _, kind := range s.Kinds.Lists() {
		tables = append(tables, kind.ShapedTable())
	}
	return tables
}

// Close closes the index and the store of a service that does not run.
func (s *Service) Close() error {
	s.Sequences.StopClock(context.Background())
	s.Index.Close()
	if s.mail != nil {
		_ = s.mail.Close()
	}
	return s.Store.Close()
}

// Endpoint is a handler with the listener that it is served on.
type Endpoint struct {
	Listener net.Listener
	Handler  http.Handler
}
