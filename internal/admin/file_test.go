package admin

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prospector/internal/service"
)

// TestTarget checks that a target has its file only when that is complete, never overwrites one, and leaves
// nothing else, on file systems with and without files that have no name.
func TestTarget(t *testing.T) {
	for name, open := range map[string]func(service.Config, string) (Target, error){
		"without a name": NewTarget,
		"with a name":    func(_ service.Config, path string) (Target, error) { return Target{path: path}.withName() },
	} {
		t.Run(name, func(t *testing.T) {
			dir, cfg := t.TempDir(), service.Config{DataDir: t.TempDir()}
			has := func(want string) {
				t.Helper()
				entries, err := os.ReadDir(dir)
				var names []string
				for _, e := range entries {
					names = append(names, e.Name())
				}
				if got := strings.Join(names, " "); err != nil || got != want {
					t.Errorf("the directory has %q, want %q (%v)", got, want, err)
				}
			}
			take := func(target Target, content string) error {
				t.Helper()
				work := filepath.Join(t.TempDir(), "work")
				if err := os.Mkdir(work, 0o700); err != nil {
					t.Fatal(err)
				}
				m, err := makeFile(work, func(w io.Writer) error { _, err := io.WriteString(w, content); return err })
				if err != nil {
					t.Fatal(err)
				}
				return target.Take(m)
			}
			path := filepath.Join(dir, "b")
			first, err := open(cfg, path)
			if err != nil {
				t.Fatal(err)
			}
			second, err := open(cfg, path) // it does not disturb the first
			if err != nil {
				t.Fatal(err)
			}
			if err := take(first, "first"); err != nil {
				t.Fatal(err)
			}
			first.Drop()
			if err := take(second, "second"); err == nil || !strings.Contains(err.Error(), "was created by another process") {
				t.Errorf("an existing file is overwritten: %v", err)
			}
			second.Drop()
			has("b")
			if content, err := os.ReadFile(path); err != nil || string(content) != "first" {
				t.Errorf("%q, %v", content, err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}

			killed, err := open(cfg, filepath.Join(dir, "c"))
			if err != nil {
				t.Fatal(err)
			}
			if err := killed.partial.Close(); err != nil { // as when its process is killed
				t.Fatal(err)
			}
			next, err := open(cfg, filepath.Join(dir, "c"))
			if err != nil {
				t.Fatal(err)
			}
			next.Drop()
			has("b")
		})
	}
}
