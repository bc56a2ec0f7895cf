package service

import (
	"fmt"
	"log/slog"
	"os"
	"testing"

	"prospector/store"
)

// TestStoreLayout fails when a key is added to a table or removed from one without a new format of the
// store. Records that were stored before would have no entries for the key. Add a migration to
// store/migrate.go, which makes a new format, and write its layout to a new file. The file of a format
// never changes.
func TestStoreLayout(t *testing.T) {
	cfg := Defaults()
	cfg.DataDir = t.TempDir()
	s, err := Open(cfg, Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	file := fmt.Sprintf("testdata/layout-%d.txt", store.Format())
	have := store.Layout(append(s.shapedTables(), s.Identity.UnlistedTables()...)...)
	if want, err := os.ReadFile(file); err != nil || have != string(want) {
		t.Errorf("the keys of tables are not those in %s (%v). If a key was added or removed, add a migration, "+
			"and write the layout of the new format to a new file:\n%s", file, err, have)
	}
}
