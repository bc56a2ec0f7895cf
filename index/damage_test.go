package index

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
)

// path returns the directory of the index.
func (w *fixture) path() string { return w.engine.tableIndex(w.org, things).path }

func (w *fixture) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// copyDir replaces a directory by a copy of another.
func (w *fixture) copyDir(from, to string) {
	w.t.Helper()
	w.must(os.RemoveAll(to))
	w.must(os.MkdirAll(filepath.Dir(to), 0o700))
	w.must(os.CopyFS(to, os.DirFS(from)))
}

// file returns a random file of the index with the extension.
func (w *fixture) file(path, extension string) string {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(path, "*"+extension))
	if err != nil || len(files) == 0 {
		w.t.Fatalf("%s has no %s file: %v", path, extension, err)
	}
	return pick(w.rand, files)
}

func (w *fixture) truncate(file string) {
	w.t.Helper()
	info, err := os.Stat(file)
	w.must(err)
	w.must(os.Truncate(file, w.rand.Int64N(info.Size())))
}

// flip flips some bits of a file.
func (w *fixture) flip(file string) {
	w.t.Helper()
	b, err := os.ReadFile(file)
	w.must(err)
	for range 1 + w.rand.IntN(3) {
		b[w.rand.IntN(len(b))] ^= 1 << w.rand.IntN(8)
	}
	w.must(os.WriteFile(file, b, 0o600))
}

// newLargeFixture returns a fixture whose index has several segments with deleted documents.
func newLargeFixture(t testing.TB, seed uint64) *fixture {
	w := newFixture(t, seed)
	for range 12 {
		w.change(20)
		w.flushAll()
	}
	return w
}

// damages are what can happen to an index on disk. old is an earlier copy of it, other the index of
// another organization.
var damages = []struct {
	name string
	do   func(w *fixture, path, old, other string)
}{
	{"truncated segment", func(w *fixture, path, _, _ string) { w.truncate(w.file(path, ".zap")) }},
	{"truncated root file", func(w *fixture, path, _, _ string) { w.truncate(w.file(path, ".bolt")) }},
	{"empty segment", func(w *fixture, path, _, _ string) { w.must(os.Truncate(w.file(path, ".zap"), 0)) }},
	{"empty root file", func(w *fixture, path, _, _ string) { w.must(os.Truncate(w.file(path, ".bolt"), 0)) }},
	{"flipped bits in a segment", func(w *fixture, path, _, _ string) { w.flip(w.file(path, ".zap")) }},
	{"missing segment", func(w *fixture, path, _, _ string) { w.must(os.Remove(w.file(path, ".zap"))) }},
	{"missing root file", func(w *fixture, path, _, _ string) { w.must(os.Remove(w.file(path, ".bolt"))) }},
	{"older index", func(w *fixture, path, old, _ string) { w.copyDir(old, path) }},
	{"older root file", func(w *fixture, path, old, _ string) {
		b, err := os.ReadFile(filepath.Join(old, "root.bolt"))
		w.must(err)
		w.must(os.WriteFile(filepath.Join(path, "root.bolt"), b, 0o600))
	}},
	{"segment replaced by another", func(w *fixture, path, _, _ string) {
		b, err := os.ReadFile(w.file(path, ".zap"))
		w.must(err)
		w.must(os.WriteFile(w.file(path, ".zap"), b, 0o600))
	}},
	{"index of another organization", func(w *fixture, path, _, other string) { w.copyDir(other, path) }},
	{"no index", func(w *fixture, path, _, _ string) { w.must(os.RemoveAll(path)) }},
	{"empty directory", func(w *fixture, path, _, _ string) { w.must(os.RemoveAll(path)); w.must(os.Mkdir(path, 0o700)) }},
	{"file instead of the directory", func(w *fixture, path, _, _ string) {
		w.must(os.RemoveAll(path))
		w.must(os.WriteFile(path, []byte("x"), 0o600))
	}},
	{"stray file", func(w *fixture, path, _, _ string) {
		w.must(os.WriteFile(filepath.Join(path, "stray"), []byte("x"), 0o600))
	}},
	{"stray segment", func(w *fixture, path, _, _ string) {
		w.must(os.WriteFile(filepath.Join(path, "00000000ffff.zap"), []byte("x"), 0o600))
	}},
	{"stray directory", func(w *fixture, path, _, _ string) { w.must(os.Mkdir(filepath.Join(path, "dir.zap"), 0o700)) }},
}

// After any damage to an index on disk, the first list is correct already, and the index is
// repaired.
func TestDamage(t *testing.T) {
	w := newLargeFixture(t, 11)
	w.close()
	w.opt.maxBatchDocs = 40
	w.open()
	old, other := filepath.Join(t.TempDir(), "old"), filepath.Join(t.TempDir(), "other")
	org, ids := w.org, w.ids
	w.org, w.ids = uuid.New(), nil
	for range 10 { // more changes than the first organization has, so that its index is not simply ahead
		w.change(20)
	}
	w.flushAll()
	path := w.path()
	w.close()
	w.copyDir(path, other)
	otherCount := len(w.ids)
	w.org, w.ids = org, ids
	w.open()

	checkBoth := func() {
		t.Helper()
		n, err := w.engine.Check(context.Background(), false, noProgress, func(what string, _ bool) { t.Error(what) }, func(string) {})
		if err != nil || n != len(w.ids)+otherCount {
			t.Errorf("checked %d of %d: %v", n, len(w.ids)+otherCount, err)
		}
	}
	times := soaked(20, 2, 1)
	for trial := range times * len(damages) {
		if raceDetector && trial%3 > 0 { // the test is sequential
			continue
		}
		d := damages[trial%len(damages)]
		path := w.path()
		w.close()
		if trial%len(damages) == 0 {
			w.copyDir(path, old)
		}
		d.do(w, path, old, other)
		w.open()
		if w.rand.IntN(2) == 0 {
			w.change(10)
		}
		for range 4 {
			w.agree(w.body())
		}
		w.change(10)
		w.agree(fmt.Sprintf(`{"page_size": 500, "sort": "%s"}`, pick(w.rand, []string{"name", "-size", "at"})))
		w.flushAll()
		w.agree(`{"page_size": 500}`)
		checkBoth()
		if t.Failed() {
			t.Fatalf("trial %d: %s", trial, d.name)
		}
	}
}

// A single flipped bit in a segment is detected, wherever it is.
func TestFlippedSegments(t *testing.T) {
	w := newLargeFixture(t, 12)
	times := soaked(40, 4, 2)
	for range times {
		w.flushAll()
		s := w.engine.tableIndex(w.org, things)
		w.close()
		files, err := filepath.Glob(filepath.Join(s.path, "*.zap"))
		w.must(err)
		place := w.rand.Float64()
		for _, file := range files { // all of them, because some may not be in use
			b, err := os.ReadFile(file)
			w.must(err)
			b[int(place*float64(len(b)))] ^= 1 << w.rand.IntN(8)
			w.must(os.WriteFile(file, b, 0o600))
		}
		w.open()
		w.whilePaused(func() {
			if why, err := w.engine.tableIndex(w.org, things).tryLoad(); why == nil || err != nil {
				t.Errorf("a flipped bit at %f of the file is not detected: %v", place, err)
			}
		})
		w.agree(`{"page_size": 500}`)
	}
}
