package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Run serves the API on ln, with TLS if secure is not nil, the metrics on their own address if they have
// one, and the other endpoints, until ctx ends. It calls ready once it listens, and starts the workers when
// ready has returned. In the end it answers the requests on connections that were accepted, stops the
// workers, flushes the index and closes the store.
func (s *Service) Run(
	ctx context.Context, ln *net.TCPListener, secure *tls.Config, ready func(context.Context) error, others ...Endpoint,
) error {
	metrics, err := s.listenMetrics()
	if err != nil {
		for _, e := range others {
			err = errors.Join(err, e.Listener.Close())
		}
		return errors.Join(err, ln.Close(), s.Close())
	}
	var running []*http.Server
	var servers sync.WaitGroup
	failed := make(chan error, 2+len(others))
	run := func(server *http.Server, ln net.Listener) {
		running = append(running, server)
		servers.Go(func() { failed <- server.Serve(&acceptReport{ln, sparseLog{log: s.Log, now: time.Now}}) })
	}
	draining := newDrainListener(ln, newHandleBudget().connections, s.Log)
	api := s.server(s.API)
	api.ConnState = draining.connState
	if secure != nil {
		run(api, tls.NewListener(draining, secure))
	} else {
		run(api, draining)
	}
	for _, e := range others {
		run(s.server(e.Handler), e.Listener)
	}
	if metrics != nil {
		run(s.server(s.API.Metrics()), metrics)
		s.Log.Info("serving metrics", "address", "http://"+metrics.Addr().String()+"/metrics")
	}
	stopWorkers := func() {}
	if err = ready(ctx); err == nil {
		stopWorkers = s.startWorkers(ctx)
		s.warn()
		select {
		case <-ctx.Done():
		case err = <-failed:
			s.Log.Error("server failed", "error", err)
		}
	} else if ctx.Err() != nil { // it was interrupted
		err = nil
	}
	s.Log.Info("shutting down")
	s.API.Drain()
	s.shutdown(ctx, draining, running)
	servers.Wait()
	stopWorkers()
	s.Sequences.Wait()
	err = errors.Join(err, s.Close())
	s.Log.Info("stopped")
	return err
}

// startWorkers starts what works in the background. It goes on after ctx has ended, until stop is called.
func (s *Service) startWorkers(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var workers sync.WaitGroup
	workers.Go(func() {
		s.Identity.PersistKeyUses(ctx, func(err error) { s.Log.Warn("last uses of API keys could not be stored", "error", err) })
	})
	workers.Go(func() { s.Sequences.RunClock(ctx) })
	workers.Go(func() { s.Worker.Run(ctx) })
	workers.Go(func() { s.watchStore(ctx) })
	workers.Go(func() { s.Webhooks.Sender.Run(ctx) })
	workers.Go(func() {
		if err := s.Store.EmptyTrash(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("space of deleted organizations could not be freed", "error", err)
		}
	})
	return func() {
		cancel()
		workers.Wait()
	}
}

// maxClockAhead is how far the sequence clock may be ahead at normal speed without a warning.
const maxClockAhead = time.Minute

// warn logs what the operator should know about the data.
func (s *Service) warn() {
	if hold, err := s.Store.Held(); err != nil {
		s.Log.Warn("the outbound hold of the store could not be read", "error", err)
	} else if !hold.Since.IsZero() {
		s.Log.Warn("the store was restored or copied: campaigns and deliveries are held until you run 'prospector resume'",
			"reason", hold.Reason, "since", hold.Since)
	}
	if ahead := s.Sequences.ClockAhead(); s.Config.Sequences.Speed == 1 && ahead > maxClockAhead {
		s.Log.Warn("the sequence clock is ahead of the wall clock because sequences.speed was above 1; "+
			"emails are sent early by that much", "ahead", ahead.Round(time.Second))
	}
}

// listenMetrics listens on metrics_addr. It returns nil if the API serves the metrics.
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

// shutdown answers the requests on connections that were accepted, and closes the connections of those that
// take too long. The servers stop one after the other, so that commands reach the service while it finishes
// requests.
func (s *Service) shutdown(ctx context.Context, api *drainListener, servers []*http.Server) {
	limit := s.Config.Limits.ShutdownTime * 3 / 4 // the rest is for the workers and the index
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	api.drain(ctx)
	for _, server := range servers {
		if err := server.Shutdown(ctx); err != nil {
			s.Log.Warn("requests in flight were canceled at shutdown", "after", limit)
			_ = server.Close()
		}
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
