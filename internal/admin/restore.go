package admin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"prospector/internal/service"
	"prospector/store"
)

// RestoreResult is the output of restore.
type RestoreResult struct {
	Records int    `json:"records"`
	Aside   string `json:"aside,omitempty"` // where the old store was moved to
}

// Restore replaces all data with a backup. No server may be running.
func Restore(ctx context.Context, by Caller, file string) (result RestoreResult, err error) {
	if result.Records, err = unpack(ctx, by, file); err != nil {
		return result, fmt.Errorf("nothing was changed: %w", err)
	}
	cfg := by.Config
	if result.Aside, err = store.Replace(cfg.DataDir, cfg.WorkDir(), time.Now()); err != nil {
		return result, err
	}
	if result.Aside != "" {
		if err := store.ForgetFile(result.Aside); err != nil {
			cfg.Logger().Warn("the old store cannot be marked; if you use it again, hold its campaigns first", "store", result.Aside, "error", err)
		}
	}
	// The indexes belong to the old store. If they could not be removed, they would be rebuilt anyway.
	_ = errors.Join(os.RemoveAll(cfg.WorkDir()), os.RemoveAll(cfg.IndexDir()))
	return result, nil
}

// unpack unpacks a backup into the work directory, checks it, and prepares it to replace the store.
// Nothing is left of it if that fails.
func unpack(ctx context.Context, by Caller, file string) (records int, err error) {
	cfg := by.Config
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
	work := cfg.WorkDir()
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
	manifest, err := store.Unpack(ctx, &progressReader{Reader: f, size: int(info.Size()), report: by.Progress}, work)
	if err != nil {
		return 0, err
	}
	have, err := checkCopy(ctx, work, cfg, func(s *service.Service) error {
		return errors.Join(s.Outreach.HoldAll(ctx, store.HeldRestored), s.Store.BeginEpoch(ctx))
	})
	if err == nil && (have.Records != manifest.Records || have.Organizations != manifest.Organizations) {
		err = fmt.Errorf("it contains %d records of %d organizations, but its manifest says %d of %d",
			have.Records, have.Organizations, manifest.Records, manifest.Organizations)
	}
	return have.Records, err
}
