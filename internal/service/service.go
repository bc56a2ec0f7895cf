// Package service reads the settings and wires the parts of the service together. It decides nothing that a caller of the
// API sees: that is done by the packages that it wires.
package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"prospector/handlers"
	"prospector/index"
	"prospector/internal/catalog"
	"prospector/internal/crm"
	"prospector/internal/identity"
	"prospector/internal/mail"
	"prospector/internal/outreach"
	"prospector/internal/planner"
	"prospector/internal/record"
	"prospector/internal/sequence"
	"prospector/internal/tam"
	"prospector/internal/webhook"
	"prospector/internal/worker"
	"prospector/store"
)

// shutdownTime is how long requests in flight may take to finish.
const shutdownTime = 30 * time.Second

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
	Outreach  *outreach.Outreach
	Sequences *sequence.Engine
	Webhooks  *webhook.Webhooks
	Index     *index.Engine
	API       *handlers.API
	Worker    *worker.Worker

	// LinkBase is the base of the links in emails. It is public_url or, if that is not set, known when the
	// service listens.
	LinkBase string

	Log  *slog.Logger
	mail *mail.SMTP // nil when nothing leaves the machine
}

// preparedAtOnce is how many Previews are prepared at the same time: a large one takes up to a hundred megabytes.
const preparedAtOnce = 2

// researchedAtOnce is how many are at the same time that wait for a model: they take turns in asking it.
const researchedAtOnce = 3

// importedAtOnce is how many Imports go on at the same time: each writes all the time, and others want to write too.
const importedAtOnce = 2

// completedAtOnce is how many organizations have their records rewritten at the same time after the program has gained a
// field. Reads are right without it, so it may take its time.
const completedAtOnce = 1

// gcPercent lets garbage grow to one and a half times what is in use before it is collected: the collector otherwise takes a
// tenth of the time of indexing, and with more a load of many records takes memory for nothing. GOGC in the environment wins.
const gcPercent = 150

// Options are what a Service needs beside its settings.
type Options struct {
	Log   *slog.Logger
	Clock func() time.Time // nil for the system clock
	// Fatal is called after a commit with an unknown outcome and must end the process. If it is nil, the commit panics.
	Fatal func(error)
}

// Open opens the store and wires the service over it.
func Open(cfg Config, opt Options) (*Service, error) {
	log := opt.Log
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	s := &Service{Config: cfg, Kinds: &record.Set{}, Log: log}
	st, err := store.Open(cfg.DataDir, store.Options{
		Clock:  opt.Clock,
		Log:    log,
		Events: func(tx *store.Tx, e store.Event) error { return s.Webhooks.Emit(tx, e) },
		Committed: func(ctx context.Context, org uuid.UUID, changed map[string]uint64) {
			s.Index.Committed(ctx, org, changed)
		},
		Fatal: opt.Fatal,
	})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.declare(st, cfg), os.RemoveAll(cfg.WorkDir())); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	s.Index, err = index.Open(st, s.Lists(), index.Options{Dir: cfg.IndexDir(), CacheBytes: cfg.Index.CacheBytes, Log: log})
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	s.TAM = tam.New(st, s.Index, s.Previews, s.Catalog, s.Identity, s.CRM, tam.Options{
		UnitRate: cfg.Research.UnitRate, Retention: cfg.TAM.Retention,
		Researcher: cfg.researcher(s.Log, st.Now), MaxConcurrentQuestions: cfg.Research.Concurrency,
	})
	if err := s.Sequences.Start(context.Background()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	jobs := s.TAM.Jobs()
	maps.Copy(jobs, s.Outreach.Jobs())
	maps.Copy(jobs, s.Sequences.Jobs())
	maps.Copy(jobs, s.Webhooks.Jobs())
	jobs[record.SweepJob] = func(ctx context.Context, job store.Job) error { return s.Kinds.Sweep(ctx, st, job) }
	jobs[store.CompleteJob] = st.CompleteRecords
	s.Worker = worker.New(st, log, jobs)
	s.Worker.Limit(store.CompleteJob, completedAtOnce)
	s.Worker.Limit(tam.PrepareJob, preparedAtOnce)
	s.Worker.Limit(tam.ResearchJob, researchedAtOnce)
	s.Worker.Limit(tam.ImportJob, importedAtOnce)
	s.API = handlers.New(handlers.Options{
		Store: st, Index: s.Index, Identity: s.Identity, CRM: s.CRM, Catalog: s.Catalog, TAM: s.TAM, Outreach: s.Outreach, Sequences: s.Sequences, Webhooks: s.Webhooks, Worker: s.Worker, Log: log, Version: Version,
		RatePerMinute: cfg.RateLimit.PerMinute, BodyBytes: cfg.Limits.BodyBytes, SeparateMetrics: cfg.MetricsAddr != "",
	})
	return s, nil
}

// IndexDir is the directory of the indexes.
func (c *Config) IndexDir() string { return filepath.Join(c.DataDir, "index") }

// WorkDir is the directory of temporary files. Open empties it.
func (c *Config) WorkDir() string { return filepath.Join(c.DataDir, "tmp") }

// OpenStore opens the store in dir without indexes and workers, which is enough to check it.
func OpenStore(dir string, cfg Config, log *slog.Logger) (*Service, error) {
	s := &Service{Kinds: &record.Set{}, Log: log}
	st, err := store.Open(dir, store.Options{
		Log: log, Events: func(tx *store.Tx, e store.Event) error { return s.Webhooks.Emit(tx, e) },
	})
	if err != nil {
		return nil, err
	}
	if err := s.declare(st, cfg); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return s, nil
}

// declare says what kinds of records there are.
func (s *Service) declare(st *store.Store, cfg Config) (err error) {
	s.Store = st
	s.Identity = identity.New(st, s.Kinds, identity.Hooks{
		OrganizationChanged: func(tx *store.Tx, before, after *identity.Organization) error {
			return s.Sequences.OrganizationChanged(tx, before, after)
		},
	})
	s.CRM = crm.New(s.Kinds, crm.Hooks{
		ContactChanged: func(tx *store.Tx, before, after *crm.Contact) error {
			return s.Sequences.ContactChanged(tx, before, after)
		},
		ContactDeleted: func(tx *store.Tx, contact uuid.UUID) error { return s.Sequences.ContactDeleted(tx, contact) },
		TaskClosed: func(tx *store.Tx, task uuid.UUID, after *crm.Task) error {
			return s.Sequences.TaskClosed(tx, task, after)
		},
		Suppressed: func(tx *store.Tx, sup *crm.Suppression) error { return s.Sequences.Suppressed(tx, sup) },
		Released:   func(tx *store.Tx, sup *crm.Suppression) error { return s.Sequences.Released(tx, sup) },
	})
	s.Catalog, s.Previews = catalog.New(), tam.NewTables()
	s.mail = cfg.smtp()
	s.LinkBase = cfg.PublicURL
	s.Outreach = outreach.New(st, s.Kinds, s.Identity, s.CRM, outreach.Hooks{
		CampaignChanged: func(tx *store.Tx, before, after *outreach.Campaign) error {
			return s.Sequences.CampaignChanged(tx, before, after)
		},
		ContactsAdded: func(tx *store.Tx, contacts []uuid.UUID) error {
			return s.Sequences.ContactsAdded(tx, contacts)
		},
		ContactsRemoved: func(tx *store.Tx, contacts []uuid.UUID) error {
			return s.Sequences.ContactsRemoved(tx, contacts)
		},
		Now: func(tx *store.Tx) time.Time { return s.Sequences.Now(tx) },
		SenderLedger: func(tx *store.Tx, sender uuid.UUID) (*planner.Ledger, error) {
			return s.Sequences.SenderLedger(tx, sender)
		},
	})
	s.Sequences = sequence.New(st, s.Identity, s.CRM, s.Outreach, sequence.Options{
		DailyCap: cfg.Mail.DailyCap, MinGap: cfg.Mail.MinGap, Speed: cfg.Sequences.Speed,
		PublicURL: func() string { return s.LinkBase }, Connections: smtpConnections, Log: s.Log,
		Transport: func(uuid.UUID) sequence.Transport {
			if s.mail == nil {
				return nil
			}
			return s.mail
		},
	})
	hooks := cfg.Webhooks
	s.Webhooks, err = webhook.New(st, s.Kinds, slices.Concat(s.Kinds.Sources(), s.Previews.Sources(), s.Sequences.Sources()), webhook.Options{
		AllowPrivateNetworks: hooks.AllowPrivateNetworks, Timeout: hooks.Timeout, RetrySchedule: hooks.RetrySchedule,
		Retention: hooks.Retention, MaxPending: hooks.MaxPending, Concurrency: hooks.Concurrency,
		Agent: "Prospector/" + Version, Log: s.Log,
	})
	if err != nil {
		return err
	}
	return st.UseShapes(context.Background(), s.shapedTables()...)
}

// shapedTables returns the tables whose records are answered as they are stored.
func (s *Service) shapedTables() []store.ShapedTable {
	var tables []store.ShapedTable
	for _, kind := range s.Lists() {
		tables = append(tables, kind.ShapedTable())
	}
	return tables
}

// Lists returns the kinds of records that can be listed.
func (s *Service) Lists() []*index.Kind {
	return slices.Concat(s.Kinds.Lists(), s.Catalog.Lists(), s.Previews.Lists(), s.Sequences.Lists())
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

// Run serves the API on ln, the metrics on their own address if they have one, and the other endpoints, until ctx ends. Then
// it stops accepting connections, finishes the requests in flight, stops the workers, flushes the index and closes the store.
// ready is called once it listens.
func (s *Service) Run(ctx context.Context, ln net.Listener, ready func(), others ...Endpoint) error {
	metrics, err := s.listenMetrics()
	if err != nil {
		for _, e := range others {
			err = errors.Join(err, e.Listener.Close())
		}
		return errors.Join(err, ln.Close(), s.Close())
	}
	var workers, servers sync.WaitGroup
	workerCtx, stopWorkers := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWorkers()
	workers.Go(func() {
		s.Identity.PersistKeyUses(workerCtx, func(err error) { s.Log.Warn("last uses of keys are not written down", "error", err) })
	})

	workers.Go(func() { s.Sequences.RunClock(workerCtx) })
	workers.Go(func() { s.Worker.Run(workerCtx) })
	workers.Go(func() { s.Webhooks.Sender.Run(workerCtx) })
	workers.Go(func() {
		if err := s.Store.EmptyTrash(workerCtx); err != nil && workerCtx.Err() == nil {
			s.Log.Warn("what is left of deleted organizations is still in the file", "error", err)
		}
	})

	var running []*http.Server
	failed := make(chan error, 2+len(others))
	run := func(h http.Handler, ln net.Listener) {
		server := s.server(h)
		running = append(running, server)
		servers.Go(func() { failed <- server.Serve(ln) })
	}
	run(s.API, ln)
	for _, e := range others {
		run(e.Handler, e.Listener)
	}
	if metrics != nil {
		run(s.API.Metrics(), metrics)
		s.Log.Info("serving metrics", "address", "http://"+metrics.Addr().String()+"/metrics")
	}
	ready()
	s.warn()

	select {
	case <-ctx.Done():
		s.Log.Info("shutting down")
	case err = <-failed:
		s.Log.Error("the server failed", "error", err)
	}
	s.API.Drain()
	for _, server := range running {
		s.shutdown(ctx, server)
	}
	servers.Wait()
	stopWorkers()
	workers.Wait()
	s.Sequences.Wait()
	err = errors.Join(err, s.Close())
	s.Log.Info("stopped")
	return err
}

// aheadMost is how far the sequence clock may be ahead at speed 1 before that is worth a warning.
const aheadMost = time.Minute

// warn says what an operator should know of the data that is served.
func (s *Service) warn() {
	if since, err := s.Store.Held(); err != nil {
		s.Log.Warn("it is not known whether a restored store holds deliveries", "error", err)
	} else if !since.IsZero() {
		s.Log.Warn("a backup was restored: campaigns are paused and deliveries held until 'prospector resume'", "since", since)
	}
	if ahead := s.Sequences.ClockAhead(); s.Config.Sequences.Speed == 1 && ahead > aheadMost {
		s.Log.Warn("the sequence clock is ahead of the wall clock because sequences.speed was above 1; emails are sent early by that much", "ahead", ahead.Round(time.Second))
	}
}

// listenMetrics listens where the metrics are to be; nil when that is beside the API.
func (s *Service) listenMetrics() (net.Listener, error) {
	if s.Config.MetricsAddr == "" {
		return nil, nil
	}
	ln, err := net.Listen("tcp", s.Config.MetricsAddr)
	if err != nil {
		return nil, fmt.Errorf("metrics_addr: cannot listen: %w", err)
	}
	return ln, nil
}

// shutdown lets requests in flight finish, and cuts off those that do not. Whatever they had acknowledged is safe.
func (s *Service) shutdown(ctx context.Context, server *http.Server) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		s.Log.Warn("requests in flight were cut off", "after", shutdownTime)
		_ = server.Close()
	}
}

func (s *Service) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       2 * time.Minute,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
}
