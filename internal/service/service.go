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

// Open opens the store, wires the service over it and brings its data up to date.
func Open(cfg Config, opt Options) (*Service, error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		turn.UseSpareThreads()
	}
	if !opt.New {
		if err := cfg.checkStoreExists(); err != nil {
			return nil, err
		}
	}
	s := &Service{Config: cfg, Kinds: &record.Set{}, Log: opt.Log}
	if err := s.openStore(opt); err != nil {
		return nil, err
	}
	s.addFeatures()
	for _, step := range []func(context.Context) error{
		s.finishRebuild, s.Store.AbandonArrivals, s.Imports.Start, s.Sequences.Start, s.upgrade,
		func(ctx context.Context) error { return s.Store.RememberFile(ctx, s.holdCopy) },
	} {
		if err := step(context.Background()); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	s.addAPI()
	return s, nil
}

// openStore opens the store, declares what it contains and opens the index of that.
func (s *Service) openStore(opt Options) error {
	cfg := s.Config
	st, err := store.Open(cfg.DataDir, store.Options{
		Clock:  opt.Clock,
		Log:    opt.Log,
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
		return err
	}
	err = errors.Join(s.declare(st, cfg), os.RemoveAll(cfg.WorkDir()), os.RemoveAll(cfg.CompactDir()))
	if err == nil {
		s.Index, err = index.Open(st, s.Kinds.Lists(), index.Options{
			Dir: cfg.IndexDir(), CacheBytes: cfg.Index.CacheBytes, MaxOpen: newHandleBudget().indexes, Log: opt.Log,
		})
	}
	if err != nil {
		return errors.Join(err, st.Close())
	}
	s.Outreach.UseIndex(s.Index)
	return nil
}

// upgrade makes the changes of format that need the rules of records.
func (s *Service) upgrade(ctx context.Context) error {
	return errors.Join(s.CRM.Upgrade(ctx, s.Store), s.Webhooks.Upgrade(ctx))
}

// addFeatures creates the parts that declare no records of their own or need the index.
func (s *Service) addFeatures() {
	cfg, st := s.Config, s.Store
	s.TAM = tam.New(st, s.Index, s.Previews, s.Operations, s.Catalog, s.Identity, s.CRM, tam.Options{
		UnitRate: cfg.Research.UnitRate, Retention: cfg.TAM.Retention,
		Researcher: cfg.researcher(s.Log, st.Now), MaxConcurrentQuestions: cfg.Research.Concurrency,
	})
	s.Imports = imports.New(st, s.Files, s.Operations, s.CRM, imports.Settings{Dir: cfg.ImportDir(), Retention: cfg.Imports.Retention, Log: s.Log})
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
		Operations: s.Operations, Index: s.Index, Lists: s.Kinds.Lists, Portions: append(s.Previews.Portions(), s.Webhooks.Portions()...),
		ForgetResponses: func(ctx context.Context, org uuid.UUID, matches func([]byte) bool) error {
			return s.API.EraseResponses(ctx, org, matches)
		},
	})
}

// addAPI creates the worker, which runs the jobs of all parts, and the API.
func (s *Service) addAPI() {
	cfg, scheduler := s.Config, turn.NewScheduler()
	s.Worker = worker.New(s.Store, s.Log, s.jobs(scheduler))
	for kind, limit := range map[string]int{
		store.CompleteJob: maxCompleting, tam.PrepareJob: maxPreparing, tam.ResearchJob: maxResearching, tam.ImportJob: maxImporting,
		bulk.Job: maxImporting, undo.Job: maxImporting, erasure.Job: maxErasing, imports.RunJob: maxFileImporting,
	} {
		s.Worker.Limit(kind, limit)
	}
	s.API = handlers.New(handlers.Options{
		Store: s.Store, Index: s.Index, Kinds: s.Kinds, Identity: s.Identity, CRM: s.CRM, Catalog: s.Catalog, TAM: s.TAM, Outreach: s.Outreach,
		Sequences: s.Sequences, Webhooks: s.Webhooks, Bulk: s.Bulk, OperationLog: s.Operations, Undos: s.Undos, Erasures: s.Erasures,
		Imports: s.Imports, Worker: s.Worker, Scheduler: scheduler, Log: s.Log, Version: Version(),
		LinkBase: s.browserBase, TrustedProxies: cfg.trustedProxies(),
		RatePerMinute: cfg.RateLimit.PerMinute, BodyBytes: cfg.Limits.BodyBytes, ImportBytes: cfg.Limits.ImportBytes, ParseBytes: cfg.Limits.ParseBytes,
		ConcurrentRequests: cfg.Limits.ConcurrentRequests, ListTime: cfg.Limits.ListTime, SeparateMetrics: cfg.MetricsAddr != "",
	})
}

// jobs returns what runs the jobs of all parts, each in the turn of its organization.
func (s *Service) jobs(scheduler *turn.Scheduler) map[string]worker.Handler {
	jobs := map[string]worker.Handler{
		record.SweepJob: func(ctx context.Context, job store.Job) error { return s.Kinds.Sweep(ctx, s.Store, job) },
		record.TrashJob: func(ctx context.Context, job store.Job) error {
			return s.Kinds.ExpireTrash(ctx, s.Store, s.Config.Trash.Retention, job)
		},
		store.CompleteJob: s.Store.CompleteRecords,
	}
	for _, part := range []interface {
		Jobs() map[string]worker.Handler
	}{
		s.TAM, s.Imports, s.Outreach, s.Sequences, s.Webhooks, s.Operations, s.Bulk, s.Undos, s.Erasures,
	} {
		maps.Copy(jobs, part.Jobs())
	}
	for kind, handle := range jobs {
		jobs[kind] = func(ctx context.Context, job store.Job) error {
			ctx, work := scheduler.Start(ctx, job.Org)
			defer work.End()
			return handle(ctx, job)
		}
	}
	return jobs
}

// Verify checks the data of the transaction's organization. In an Update it corrects what follows from the
// records.
func (s *Service) Verify(tx *store.Tx, report store.Report) error {
	return store.VerifyPortions(tx, report, s.Portions()...)
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
