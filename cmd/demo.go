package cmd

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
	"prospector/internal/demo"
	"prospector/internal/service"
)

func demoCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "demo", Short: "Serve two demo organizations and a market, all fictional", Args: noArgs,
		Example: "  prospector demo --addr 127.0.0.1:8080",
		RunE: func(c *cobra.Command, _ []string) error {
			defaults := service.Defaults()
			defaults.DataDir, defaults.Log.Level = "./demo-data", "warn"
			cfg, err := loadConfigOver(c, defaults)
			if err != nil {
				return err
			}
			companies, err := c.Flags().GetInt("companies")
			if err != nil || companies < 1 {
				return usage("--companies must be 1 or more")
			}
			cfg.Webhooks.AllowPrivateNetworks = cfg.Webhooks.AllowPrivateNetworks || cfg.Sequences.Speed != 1 // what is printed comes by a webhook
			var told string
			return serve(cfg, service.Hooks{
				Prepare: func(ctx context.Context, s *service.Service, url string) (err error) {
					report, finish := showProgress(c.ErrOrStderr(), admin.Records.String())
					defer finish()
					told, err = demo.Prepare(ctx, s, demo.Options{URL: url, Companies: companies, Progress: marketProgress(c.ErrOrStderr(), companies, report)})
					return err
				},
				Ready: func() { fmt.Print(told) },
			})
		},
	}
	c.Flags().String("addr", "", "`address` to listen on (default 127.0.0.1:8080)")
	c.Flags().Int("companies", demo.DefaultCompanies, "how many `companies` the made-up market has")
	c.Flags().String("speed", "", "how many `times` as fast the clock of campaigns runs: 86400 is a day a second; with it a campaign is running, and what it does is printed")
	return c
}

// marketProgress announces the market before its first progress.
func marketProgress(w io.Writer, companies int, report admin.Progress) admin.Progress {
	announced := false
	return admin.Throttle(func(done, total int) {
		if !announced {
			fmt.Fprintf(w, "Making up a market of %d companies:\n", companies)
			announced = true
		}
		report(done, total)
	})
}
