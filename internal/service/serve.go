package service

import (
	"bytes"
	"context"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
)

// Hooks are what a command adds to Serve. Each may be nil.
type Hooks struct {
	// Admin opens the admin endpoint.
	Admin func(context.Context, *Service) (Endpoint, error)
	// Prepare writes to the service before it serves at url.
	Prepare func(ctx context.Context, s *Service, url string) error
	// Ready is called once the service listens. The workers start when it has returned. If it fails, the
	// service stops.
	Ready func(context.Context) error
	// Fatal and New are those of Options.
	Fatal func(error)
	New   bool
}

// Serve opens the service and runs it until ctx ends.
func Serve(ctx context.Context, cfg Config, log *slog.Logger, hooks Hooks) error {
	setDefaultLog(log)
	cfg.warn(log, os.Environ())
	limitMemory(log)
	cfg.Limits.ParseBytes = min(cfg.Limits.ParseBytes, debug.SetMemoryLimit(-1)/4)
	secure, err := loadCertificate(cfg, log)
	if err != nil {
		return err
	}
	if err := cfg.checkMail(); err != nil {
		return err
	}
	s, err := Open(cfg, Options{Log: log, Fatal: hooks.Fatal, New: hooks.New})
	if err != nil {
		return err
	}
	cfg.warnOfAccess(log)
	ln, err := listen(cfg.Addr)
	if err != nil {
		_ = s.Close()
		return fmt.Errorf("cannot listen: %w (choose another address with --addr)", err)
	}
	url := "http://" + ln.Addr().String()
	if secure != nil {
		url = "https://" + ln.Addr().String()
	}
	if cfg.PublicURL == "" {
		s.LinkBase = linkBase(url)
		cfg.warnOfLinks(log, s.LinkBase)
	}
	fail := func(err error) error {
		ln.Close()
		_ = s.Close()
		return err
	}
	if hooks.Prepare != nil {
		if err := hooks.Prepare(ctx, s, url); err != nil {
			return fail(err)
		}
	}
	var others []Endpoint
	if hooks.Admin != nil {
		admin, err := hooks.Admin(ctx, s)
		if err != nil {
			return fail(fmt.Errorf("admin socket: %w", err))
		}
		others = append(others, admin)
	}
	return s.Run(ctx, ln, secure.config(), func(ctx context.Context) error {
		log.Info("listening", "address", url, "data_dir", cfg.DataDir, "version", Version())
		if hooks.Ready == nil {
			return nil
		}
		return hooks.Ready(ctx)
	}, others...)
}

func listen(address string) (*net.TCPListener, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return ln.(*net.TCPListener), nil
}

// setDefaultLog makes libraries that use the default loggers write to log.
func setDefaultLog(log *slog.Logger) {
	slog.SetDefault(log)
	stdlog.SetOutput(discreetWriter{stdlog.Writer()})
}

// discreetWriter drops the messages of net/http about unsolicited responses, which quote what a webhook
// endpoint sent.
type discreetWriter struct{ to io.Writer }

func (d discreetWriter) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("Unsolicited response received")) {
		return len(line), nil
	}
	return d.to.Write(line)
}
