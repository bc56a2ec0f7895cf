package service

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
)

// TestRenewErrorLoggedOnce checks that a renewal error is logged when it first occurs and when it
// changes, not at each check.
func TestRenewErrorLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	c := &certificate{log: slog.New(slog.NewTextHandler(&log, nil))}
	directory := t.TempDir()
	missing := filepath.Join(directory, "cert.pem")
	for i, file := range []string{missing, missing, directory, directory, missing} {
		c.certFile = file
		c.renew()
		if n, want := strings.Count(log.String(), "cannot be renewed"), []int{1, 1, 2, 2, 3}[i]; n != want {
			t.Fatalf("logged %d times, want %d: %s", n, want, &log)
		}
	}
}
