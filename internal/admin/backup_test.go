package admin

import (
	"os"
	"strings"
	"testing"

	"prospector/internal/apptest"
)

// TestOneBackup checks that a second backup is refused while one is being made, and that it leaves
// nothing behind.
func TestOneBackup(t *testing.T) {
	app := apptest.New(t)
	app.Org("Acme")
	ctx, refused := t.Context(), 0
	first, err := Backup.doLong(ctx, app.Service, BackupInput{}, func(int, int) {
		if refused++; refused > 1 {
			return
		}
		_, err := Backup.doLong(ctx, app.Service, BackupInput{}, func(int, int) {})
		if err == nil || !strings.Contains(err.Error(), "another backup is being made") {
			t.Errorf("a second backup: %v", err)
		}
	})
	if err != nil || refused == 0 {
		t.Fatalf("%v, asked %d times", err, refused)
	}
	if left, err := os.ReadDir(app.Config.WorkDir()); err != nil || len(left) != 1 {
		t.Errorf("the work directory has %v (%v)", left, err)
	}
	if _, err := os.Stat(first.Path); err != nil {
		t.Error(err)
	}
	if _, err := Backup.doLong(ctx, app.Service, BackupInput{}, func(int, int) {}); err != nil {
		t.Errorf("a backup after the first: %v", err)
	}
}
