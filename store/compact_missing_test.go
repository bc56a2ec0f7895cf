package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestCompactMissingStore checks that compacting does not create a store where there is none.
func TestCompactMissingStore(t *testing.T) {
	dir := t.TempDir()
	if err := CompactInPlace(dir, filepath.Join(dir, "work")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it left %v (%v)", left, err)
	}
}
