package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func serveCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "Serve the API", Args: noArgs,
		Example: "  prospector serve --addr 127.0.0.1:8080 --data-dir ./data",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := loadConfig(c, nil)
			if err != nil {
				return err
			}
			return serve(cfg, nil)
		},
	}
	c.Flags().String("addr", "", "`address` to listen on (default 127.0.0.1:8080)")
	return c
}

// serve opens the service, lets prepare put into it what it needs, and runs it until a signal. prepare gives what is
// to be said once the service listens.
func serve(cfg Config, prepare func(ctx context.Context, s *Service, url string) (say string, err error)) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(exitFailure)
	}()
	log := cfg.logger()
	setDefaultLog(log)
	cfg.warn(log, os.Environ())
	secure, err := loadCertificate(cfg, log)
	if err != nil {
		return err
	}
	if err := cfg.checkMail(); err != nil {
		return err
	}
	s, err := Open(cfg, log, nil)
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
	var say string
	if prepare != nil {
		if say, err = prepare(ctx, s, url); err != nil {
			ln.Close()
			_ = s.Close()
			return err
		}
	}
	return s.Run(ctx, ln, func() {
		log.Info("listening", "address", url, "data_dir", cfg.DataDir, "version", Version)
		fmt.Print(say)
	})
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
