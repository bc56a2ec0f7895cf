package cmd

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
	"prospector/internal/service"
)

func serveCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "Serve the API", Args: noArgs,
		Example: "  prospector serve --addr 127.0.0.1:8080 --data-dir ./data",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := loadConfig(c)
			if err != nil {
				return err
			}
			isNew, err := c.Flags().GetBool("new")
			if err != nil {
				return err
			}
			return serve(cfg, service.Hooks{New: isNew})
		},
	}
	c.Flags().String("addr", "", "`address` to listen on (default 127.0.0.1:8080)")
	c.Flags().Bool("new", false, "create an empty store if there is none, even if the data directory had one before")
	return c
}

// serve runs the service until a signal arrives. The process ends at once after a second signal, or when
// the service takes longer than limits.shutdown_time to stop.
func serve(cfg service.Config, hooks service.Hooks) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-signals
		cancel()
		select {
		case <-signals:
		case <-time.After(cfg.Limits.ShutdownTime):
			slog.Error("the service did not stop in time, the process ends", "limit", cfg.Limits.ShutdownTime)
		}
		os.Exit(exitFailure)
	}()
	hooks.Admin, hooks.Fatal = admin.Listen, fatal
	return service.Serve(ctx, cfg, cfg.Logger(), hooks)
}
