package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"prospector/store"
)

// restored is what restore prints.
type restored struct {
	Records int    `json:"records"`
	Aside   string `json:"aside,omitempty"` // where the old store is
}

func restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "Put a backup in the place of all data", Args: oneArg("the backup"),
		Long: "Put a backup in the place of all data. No server may be running. The backup is checked before anything is touched, and the\n" +
			"old store is kept aside. Campaigns are paused and deliveries held, for most of what the backup would send was sent already;\n" +
			"'prospector resume' lets them go on.",
		Example: "  prospector restore prospector-2026-03-01.backup",
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := loadConfig(c, nil)
			if err != nil {
				return err
			}
			var result restored
			if result.Records, err = unpack(c, cfg, args[0]); err != nil {
				return fmt.Errorf("nothing was changed: %w", err)
			}
			if result.Aside, err = store.Replace(cfg.DataDir, workPath(cfg.DataDir), time.Now()); err != nil {
				return err
			}
			// The indexes are of the old store; they would also be found out.
			_ = errors.Join(os.RemoveAll(workPath(cfg.DataDir)), os.RemoveAll(indexPath(cfg.DataDir)))
			return show(c, result, func(w io.Writer) {
				fmt.Fprintf(w, "Restored %d records from %s to %s\n", result.Records, args[0], cfg.DataDir)
				if result.Aside != "" {
					fmt.Fprintf(w, "The old data is in %s\n", result.Aside)
				}
				fmt.Fprintln(w, "Campaigns are paused and deliveries held until 'prospector resume'")
			})
		},
	}
}

// unpack puts the store of a backup into the work directory, finds it without fault, and prepares it to take the place of the
// other. When it fails, nothing is left of it.
func unpack(c *cobra.Command, cfg Config, file string) (records int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if err := store.CheckUnlocked(cfg.DataDir); err != nil {
		return 0, fmt.Errorf("%w; stop the server first", err)
	}
	work := workPath(cfg.DataDir)
	_, missing := os.Stat(cfg.DataDir)
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(work, 0o700)); err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(work)
			if missing != nil {
				_ = os.Remove(cfg.DataDir)
			}
			err = fmt.Errorf("%s: %w", file, err)
		}
	}()
	report, finish := showProgress(c.ErrOrStderr(), inBytes)
	defer finish()
	manifest, err := store.Unpack(c.Context(), &watched{Reader: f, size: int(info.Size()), report: report}, work)
	if err != nil {
		return 0, err
	}
	have, err := checkCopy(c.Context(), work, cfg, cfg.logger(), func(s *Service) error {
		return errors.Join(s.Outreach.PauseRestored(c.Context()), s.Store.BeginEpoch(c.Context()))
	})
	if err == nil && (have.Records != manifest.Records || have.Organizations != manifest.Organizations) {
		err = fmt.Errorf("it has %d records of %d organizations, its manifest says %d of %d", have.Records, have.Organizations, manifest.Records, manifest.Organizations)
	}
	return have.Records, err
}

// resumed is what resume prints.
type resumed struct {
	Campaigns  int `json:"campaigns"`
	Deliveries int `json:"deliveries"`
}

var resume = adminOp[struct{}, resumed]{
	name: "resume",
	do: func(ctx context.Context, s *Service, _ struct{}) (r resumed, err error) {
		since, err := s.Store.Held()
		if err != nil || since.IsZero() {
			return r, err
		}
		if r.Campaigns, err = s.Outreach.ResumeRestored(ctx); err != nil {
			return r, err
		}
		if r.Deliveries, err = s.Webhooks.Pending(); err != nil {
			return r, err
		}
		if err := s.Store.Resume(ctx); err != nil {
			return r, err
		}
		s.Webhooks.Sender.Resume()
		return r, nil
	},
}

func resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "resume", Short: "Let go on what a restore has paused", Args: noArgs,
		Long:    "Let campaigns and deliveries go on that a restore has paused and held. Look first at what they would send: whatever was\nsent after the backup was made is not known to it and is sent again.",
		Example: "  prospector resume",
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := resume.run(c, struct{}{})
			if err != nil {
				return err
			}
			return show(c, r, func(w io.Writer) {
				fmt.Fprintf(w, "Resumed %d campaigns and %d deliveries\n", r.Campaigns, r.Deliveries)
			})
		},
	}
}
