package cmd

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
	"prospector/internal/demo"
	"prospector/internal/service"
)

// demoSpeed is a day per second.
const demoSpeed = 24 * 60 * 60

func demoCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "demo", Short: "Run a demo with fictional data", Args: noArgs,
		Long: "Run a server with two fictional organizations and a fictional market. A campaign runs at one day per second, and\n" +
			"its emails are printed as they are sent. Nothing leaves the machine. The demo then prints requests to try and keeps\n" +
			"serving the API. Its data is kept in ./demo-data.",
		Example: "  prospector demo --addr 127.0.0.1:8080",
		RunE: func(c *cobra.Command, _ []string) error {
			defaults := service.Defaults()
			defaults.DataDir, defaults.Log.Level, defaults.Sequences.Speed = "./demo-data", "warn", demoSpeed
			cfg, err := loadConfigWith(c, defaults)
			if err != nil {
				return err
			}
			companies, err := c.Flags().GetInt("companies")
			if err != nil || companies < 1 {
				return usage("--companies must be at least 1, not %d", companies)
			}
			if cfg.Sequences.Speed != 1 {
				cfg.Webhooks.AllowPrivateNetworks = true // the demo itself receives the webhooks of its campaign
			}
			return runDemo(c, cfg, companies)
		},
	}
	c.Flags().String("addr", "", "`address` to listen on (default 127.0.0.1:8080)")
	c.Flags().Int("companies", demo.DefaultCompanies, "`number` of companies in the market")
	c.Flags().String("speed", "", "how many `times` faster than real time campaigns run (default 86400, one day per second); 1 runs no campaign")
	return c
}

// runDemo serves the demo while it fills it, and shows it when it is complete.
func runDemo(c *cobra.Command, cfg service.Config, companies int) error {
	var prepared *demo.Demo
	out := c.OutOrStdout()
	report, finish := showProgress(c.ErrOrStderr(), admin.Records.String())
	return serve(cfg, service.Hooks{
		Prepare: func(ctx context.Context, s *service.Service, url string) (err error) {
			prepared, err = demo.Prepare(ctx, s, demo.Options{
				URL: url, Companies: companies, Out: out, Terminal: isTerminal(out),
				Progress: marketProgress(c.ErrOrStderr(), companies, report),
			})
			return err
		},
		Ready: func(ctx context.Context) error {
			err := prepared.Fill(ctx)
			finish()
			if err == nil {
				prepared.Show(ctx)
			}
			return err
		},
	})
}

// marketProgress announces the market before the first report.
func marketProgress(w io.Writer, companies int, report admin.Progress) admin.Progress {
	announced := false
	return admin.Throttle(func(done, total int) {
		if !announced {
			fmt.Fprintf(w, "Generating a market of %d companies:\n", companies)
			announced = true
		}
		report(done, total)
	})
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, is := stream.(*os.File)
	if !is {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
