package store

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"prospector/internal/fault"
)

// TestStoreOutOfPlace: nothing is acknowledged while the file is not in its place, nothing of it is written, and one
// line of the log says so.
func TestStoreOutOfPlace(t *testing.T) {
	for name, c := range map[string]struct {
		remove   func(file, aside string) error
		message  string
		canCease bool // the file comes back
	}{
		"removed":   {os.Rename, "was removed", true},
		"replaced":  {replaceFile, "was replaced", true},
		"emptied":   {func(file, _ string) error { return os.Truncate(file, 0) }, "was truncated", false},
		"truncated": {func(file, _ string) error { return os.Truncate(file, 3*4096) }, "was truncated", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file, aside := filepath.Join(dir, FileName), filepath.Join(dir, "aside")
			var log bytes.Buffer
			s := open(t, dir, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			insert(t, s, orgA, person{Name: "before", Email: "before@x"})
			if err := c.remove(file, aside); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				err := tryInsert(s, orgA, person{Name: "lost", Email: "lost@x"})
				if wantCode(t, err, fault.Unavailable); !strings.Contains(err.Error(), c.message) {
					t.Error(err)
				}
				wantCode(t, s.InPlace(), fault.Unavailable)
			}
			if st, err := s.Stats(); err != nil || !st.OutOfPlace {
				t.Errorf("the statistics are %+v, %v", st, err)
			}
			if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
				t.Errorf("%d errors in the log:\n%s", n, &log)
			}
			if !c.canCease {
				if err := os.Truncate(file, 1<<20); err != nil {
					t.Fatal(err)
				}
				wantCode(t, tryInsert(s, orgA, person{Name: "lost", Email: "lost@x"}), fault.Unavailable)
				wantCode(t, s.View(orgA, func(*Tx) error { return nil }), fault.Unavailable)
				return
			}
			if err := os.Rename(aside, file); err != nil {
				t.Fatal(err)
			}
			insert(t, s, orgA, person{Name: "after", Email: "lost@x"})
			if got := names(t, s, orgA); got != "before after" {
				t.Errorf("there is %q", got)
			}
			if st, err := s.Stats(); err != nil || st.OutOfPlace {
				t.Errorf("the statistics are %+v, %v", st, err)
			}
		})
	}
}

func replaceFile(file, aside string) error {
	if err := os.Rename(file, aside); err != nil {
		return err
	}
	return os.WriteFile(file, make([]byte, 1<<20), 0o600)
}

// TestStoreReplacedDuringCommit: what was written to the file that is no longer there is not acknowledged.
func TestStoreReplacedDuringCommit(t *testing.T) {
	dir := t.TempDir()
	file, aside := filepath.Join(dir, FileName), filepath.Join(dir, "aside")
	var replace bool
	s := open(t, dir, Options{commit: func(btx *bolt.Tx) error {
		if replace {
			if err := replaceFile(file, aside); err != nil {
				return err
			}
			replace = false
		}
		return btx.Commit()
	}})
	insert(t, s, orgA, person{Name: "before", Email: "before@x"})
	replace = true
	wantCode(t, tryInsert(s, orgA, person{Name: "lost", Email: "lost@x"}), fault.Unavailable)
	if err := os.Rename(aside, file); err != nil {
		t.Fatal(err)
	}
	wantCode(t, tryInsert(s, orgA, person{Name: "late", Email: "late@x"}), fault.Unavailable)
	wantCode(t, s.InPlace(), fault.Unavailable)
}
