package cmd

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

	log      *slog.Logger
	mail     *mail.SMTP      // nil when nothing leaves the machine
	stopping context.Context // ends when the service begins to shut down
}

// preparedAtOnce is how many Previews are prepared at the same time: a large one takes up to a hundred megabytes.
const preparedAtOnce = 2

// researchedAtOnce is how many are at the same time that wait for a model: they take turns in asking it.
const researchedAtOnce = 3

// importedAtOnce is how many Imports go on at the same time: each writes all the time, and others want to write too.
const importedAtOnce = 2

// gcPercent lets garbage grow to one and a half times what is in use before it is collected: the collector otherwise takes a
// tenth of the time of indexing, and with more a load of many records takes memory for nothing. GOGC in the environment wins.
const gcPercent = 150

// Open opens the store and wires the service over it. A nil clock is the real one.
func Open(cfg Config, log *slog.Logger, clock func() time.Time) (*Service, error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	s := &Service{Config: cfg, Kinds: &record.Set{}, log: log}
	st, err := store.Open(cfg.DataDir, store.Options{
		Clock:  clock,
		Log:    log,
		Events: func(tx *store.Tx, e store.Event) error { return s.Webhooks.Emit(tx, e) },
		Committed: func(ctx context.Context, org uuid.UUID, changed map[string]uint64) {
			s.Index.Committed(ctx, org, changed)
		},
		Fatal: func(err error) {
			log.Error("the service ends: " + err.Error())
			os.Exit(exitFailure)
		},
	})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.declare(st, cfg), os.RemoveAll(workPath(cfg.DataDir))); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	s.Index, err = index.Open(st, s.lists(), index.Options{Dir: indexPath(cfg.DataDir), CacheBytes: cfg.Index.CacheBytes, Log: log})
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	s.TAM = tam.New(st, s.Index, s.Previews, s.Catalog, s.Identity, s.CRM, tam.Options{
		UnitRate: cfg.Research.UnitRate, Retention: cfg.TAM.Retention,
		Researcher: cfg.researcher(s.log, st.Now), MaxConcurrentQuestions: cfg.Research.Concurrency,
	})
	if err := s.Sequences.Start(context.Background()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	jobs := s.TAM.Jobs()
	maps.Copy(jobs, s.Outreach.Jobs())
	maps.Copy(jobs, s.Sequences.Jobs())
	maps.Copy(jobs, s.Webhooks.Jobs())
	jobs[record.SweepJob] = func(ctx context.Context, job store.Job) error { return s.Kinds.Sweep(ctx, st, job) }
	s.Worker = worker.New(st, log, jobs)
	s.Worker.Limit(tam.PrepareJob, preparedAtOnce)
	s.Worker.Limit(tam.ResearchJob, researchedAtOnce)
	s.Worker.Limit(tam.ImportJob, importedAtOnce)
	s.API = handlers.New(handlers.Options{
		Store: st, Index: s.Index, Identity: s.Identity, CRM: s.CRM, Catalog: s.Catalog, TAM: s.TAM, Outreach: s.Outreach, Sequences: s.Sequences, Webhooks: s.Webhooks, Worker: s.Worker, Log: log, Version: Version,
		RatePerMinute: cfg.RateLimit.PerMinute, BodyBytes: cfg.Limits.BodyBytes, SeparateMetrics: cfg.MetricsAddr != "",
	})
	return s, nil
}

func indexPath(dataDir string) string { return filepath.Join(dataDir, "index") }

// openStore opens a store in another directory than the service's, as far as checking it needs.
func openStore(dir string, cfg Config, log *slog.Logger) (*Service, error) {
	s := &Service{Kinds: &record.Set{}, log: log}
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
		PublicURL: func() string { return s.LinkBase }, Connections: smtpConnections, Log: s.log,
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
		Agent: "Prospector/" + Version, Log: s.log,
	})
	return err
}

// lists gives what the lists of each kind need to know.
func (s *Service) lists() []*index.Kind {
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

// Run serves on the listener, on the admin socket and on the address of the metrics, if they have one, until ctx ends; then it
// stops accepting, finishes what is in flight, stops the workers, writes the index down and closes the store. ready is called
// once it listens.
func (s *Service) Run(ctx context.Context, ln net.Listener, ready func()) error {
	metrics, err := s.listenMetrics()
	if err != nil {
		return errors.Join(err, ln.Close(), s.Close())
	}
	admin, err := listenAdmin(s.Config.DataDir)
	if err != nil {
		return errors.Join(fmt.Errorf("admin socket: %w", err), s.Close())
	}
	s.stopping = ctx
	var workers, servers sync.WaitGroup
	workerCtx, stopWorkers := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWorkers()
	workers.Go(func() {
		s.Identity.PersistKeyUses(workerCtx, func(err error) { s.log.Warn("last uses of keys are not written down", "error", err) })
	})

	workers.Go(func() { s.Sequences.RunClock(workerCtx) })
	workers.Go(func() { s.Worker.Run(workerCtx) })
	workers.Go(func() { s.Webhooks.Sender.Run(workerCtx) })
	workers.Go(func() {
		if err := s.Store.EmptyTrash(workerCtx); err != nil && workerCtx.Err() == nil {
			s.log.Warn("what is left of deleted organizations is still in the file", "error", err)
		}
	})

	var running []*http.Server
	failed := make(chan error, 3)
	run := func(h http.Handler, ln net.Listener) {
		server := s.server(h)
		running = append(running, server)
		servers.Go(func() { failed <- server.Serve(ln) })
	}
	run(s.API, ln)
	run(s.adminHandler(), admin)
	if metrics != nil {
		run(s.API.Metrics(), metrics)
		s.log.Info("serving metrics", "address", "http://"+metrics.Addr().String()+"/metrics")
	}
	ready()
	s.warn()

	select {
	case <-ctx.Done():
		s.log.Info("shutting down")
	case err = <-failed:
		s.log.Error("the server failed", "error", err)
	}
	s.API.Drain()
	for _, server := range running {
		s.shutdown(ctx, server)
	}
	servers.Wait()
	stopWorkers()
	workers.Wait()
	s.Sequences.Wait()
	err = errors.Join(err, s.Close(), removeAdmin(s.Config.DataDir))
	s.log.Info("stopped")
	return err
}

// aheadMost is how far the clock of sequences may be ahead at the wall's speed before that is worth a warning.
const aheadMost = time.Minute

// warn says what an operator should know of the data that is served.
func (s *Service) warn() {
	if since, err := s.Store.Held(); err != nil {
		s.log.Warn("it is not known whether a restored store holds deliveries", "error", err)
	} else if !since.IsZero() {
		s.log.Warn("a backup was restored: campaigns are paused and deliveries held until 'prospector resume'", "since", since)
	}
	if ahead := s.Sequences.ClockAhead(); s.Config.Sequences.Speed == 1 && ahead > aheadMost {
		s.log.Warn("the clock of sequences is ahead of the wall's, and stays so: it has run faster on this data, and never goes back. Emails go out that much before their hour", "ahead", ahead.Round(time.Second))
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
		s.log.Warn("requests in flight were cut off", "after", shutdownTime)
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
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}
