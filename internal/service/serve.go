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
)

// Hooks are what a command adds to a service that Serve runs. All of them may be nil.
type Hooks struct {
	// Admin opens the admin endpoint.
	Admin func(context.Context, *Service) (Endpoint, error)
	// Prepare writes to the service before it serves at url.
	Prepare func(ctx context.Context, s *Service, url string) error
	// Ready is called once the service listens.
	Ready func()
	// Fatal is Options.Fatal.
	Fatal func(error)
}

// Serve opens the service and runs it until ctx ends.
func Serve(ctx context.Context, cfg Config, log *slog.Logger, hooks Hooks) error {
	setDefaultLog(log)
	cfg.warn(log, os.Environ())
	secure, err := loadCertificate(cfg, log)
	if err != nil {
		return err
	}
	if err := cfg.checkMail(); err != nil {
		return err
	}
	s, err := Open(cfg, Options{Log: log, Fatal: hooks.Fatal})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		_ = s.Close()
		return fmt.Errorf("cannot listen: %w (--addr names another address)", err)
	}
	url := "http://" + ln.Addr().String()
	if secure != nil {
		url = "https://" + ln.Addr().String()
		ln = secure.listen(ln)
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
	return s.Run(ctx, ln, func() {
		log.Info("listening", "address", url, "data_dir", cfg.DataDir, "version", Version)
		if hooks.Ready != nil {
			hooks.Ready()
		}
	}, others...)
}

// setDefaultLog makes log the one of libraries that have no other way to say something.
func setDefaultLog(log *slog.Logger) {
	slog.SetDefault(log)
	stdlog.SetOutput(discreet{stdlog.Writer()})
}

// discreet passes on all but what net/http says of an answer that came unasked for: those are a webhook endpoint's own words.
type discreet struct{ to io.Writer }

func (d discreet) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("Unsolicited response received")) {
		return len(line), nil
	}
	return d.to.Write(line)
}
