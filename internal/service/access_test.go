package service

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWarnOfAccess(t *testing.T) {
	for _, c := range []struct {
		name     string
		dir, key os.FileMode
		want     []string
	}{
		{"private", 0o700, 0o600, nil},
		{"directory of the group", 0o750, 0o600, []string{`what="data directory"`}},
		{"key of everybody", 0o700, 0o604, []string{`what="key file"`}},
		{"both", 0o755, 0o644, []string{`what="data directory"`, `what="key file"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Config{DataDir: filepath.Join(t.TempDir(), "data")}
			cfg.TLS.KeyFile = filepath.Join(t.TempDir(), "key.pem")
			err := errors.Join(os.Mkdir(cfg.DataDir, 0o700), os.Chmod(cfg.DataDir, c.dir),
				os.WriteFile(cfg.TLS.KeyFile, nil, 0o600), os.Chmod(cfg.TLS.KeyFile, c.key))
			if err != nil {
				t.Fatal(err)
			}
			var log strings.Builder
			cfg.warnOfAccess(slog.New(slog.NewTextHandler(&log, nil)))
			if n := strings.Count(log.String(), "level=WARN"); n != len(c.want) {
				t.Errorf("%d warnings: %s", n, &log)
			}
			for _, want := range c.want {
				if !strings.Contains(log.String(), want) {
					t.Errorf("no %s in %s", want, &log)
				}
			}
		})
	}
}
