package index

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
)

// path is where the index of the world's things is.
func (w *world) path() string { return w.engine.tableIndex(w.org, things).path }

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// copyDir makes a copy of a directory in the place of what is there.
func (w *world) copyDir(from, to string) {
	w.t.Helper()
	w.must(os.RemoveAll(to))
	w.must(os.MkdirAll(filepath.Dir(to), 0o700))
	w.must(os.CopyFS(to, os.DirFS(from)))
}

// file picks a file of the index that has the ending.
func (w *world) file(path, ending string) string {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(path, "*"+ending))
	if err != nil || len(files) == 0 {
		w.t.Fatalf("%s has no %s: %v", path, ending, err)
	}
	return pick(w.rand, files)
}

func (w *world) truncate(file string) {
	w.t.Helper()
	info, err := os.Stat(file)
	w.must(err)
	w.must(os.Truncate(file, w.rand.Int64N(info.Size())))
}

// flip turns some bits over.
func (w *world) flip(file string) {
	w.t.Helper()
	b, err := os.ReadFile(file)
	w.must(err)
	for range 1 + w.rand.IntN(3) {
		b[w.rand.IntN(len(b))] ^= 1 << w.rand.IntN(8)
	}
	w.must(os.WriteFile(file, b, 0o600))
}

// grown is a world whose index has several segments, with deletions in them.
func grown(t testing.TB, seed uint64) *world {
	w := newWorld(t, seed)
	for range 12 {
		w.change(20)
		w.flushAll()
	}
	return w
}

// damages are what can become of a closed index. old is an earlier copy of it, other the index of
// another organization.
var damages = []struct {
	name string
	do   func(w *world, path, old, other string)
}{
	{"a truncated segment", func(w *world, path, _, _ string) { w.truncate(w.file(path, ".zap")) }},
	{"truncated roots", func(w *world, path, _, _ string) { w.truncate(w.file(path, ".bolt")) }},
	{"an empty segment", func(w *world, path, _, _ string) { w.must(os.Truncate(w.file(path, ".zap"), 0)) }},
	{"empty roots", func(w *world, path, _, _ string) { w.must(os.Truncate(w.file(path, ".bolt"), 0)) }},
	{"bits of a segment", func(w *world, path, _, _ string) { w.flip(w.file(path, ".zap")) }},
	{"a segment that is gone", func(w *world, path, _, _ string) { w.must(os.Remove(w.file(path, ".zap"))) }},
	{"roots that are gone", func(w *world, path, _, _ string) { w.must(os.Remove(w.file(path, ".bolt"))) }},
	{"an older index", func(w *world, path, old, _ string) { w.copyDir(old, path) }},
	{"older roots", func(w *world, path, old, _ string) {
		b, err := os.ReadFile(filepath.Join(old, "root.bolt"))
		w.must(err)
		w.must(os.WriteFile(filepath.Join(path, "root.bolt"), b, 0o600))
	}},
	{"a segment in the place of another", func(w *world, path, _, _ string) {
		b, err := os.ReadFile(w.file(path, ".zap"))
		w.must(err)
		w.must(os.WriteFile(w.file(path, ".zap"), b, 0o600))
	}},
	{"the index of another organization", func(w *world, path, _, other string) { w.copyDir(other, path) }},
	{"no index", func(w *world, path, _, _ string) { w.must(os.RemoveAll(path)) }},
	{"an empty directory", func(w *world, path, _, _ string) { w.must(os.RemoveAll(path)); w.must(os.Mkdir(path, 0o700)) }},
	{"a file in its place", func(w *world, path, _, _ string) {
		w.must(os.RemoveAll(path))
		w.must(os.WriteFile(path, []byte("x"), 0o600))
	}},
	{"a stray file", func(w *world, path, _, _ string) {
		w.must(os.WriteFile(filepath.Join(path, "stray"), []byte("x"), 0o600))
	}},
	{"a stray segment", func(w *world, path, _, _ string) {
		w.must(os.WriteFile(filepath.Join(path, "00000000ffff.zap"), []byte("x"), 0o600))
	}},
	{"a stray directory", func(w *world, path, _, _ string) { w.must(os.Mkdir(filepath.Join(path, "dir.zap"), 0o700)) }},
}

// TestDamage does to a closed index what a disk, or a hand, may do to it. Lists are right from the
// first one on, and the index is whole again.
func TestDamage(t *testing.T) {
	w := grown(t, 11)
	w.close()
	w.opt.maxBatchDocs = 40
	w.open()
	old, other := filepath.Join(t.TempDir(), "old"), filepath.Join(t.TempDir(), "other")
	org, ids := w.org, w.ids
	w.org, w.ids = uuid.New(), nil
	for range 6 { // so many more changes than the first has that its index is not simply ahead
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
		n, err := w.engine.Check(context.Background(), false, quiet, func(what string, _ bool) { t.Error(what) })
		if err != nil || n != len(w.ids)+otherCount {
			t.Errorf("checked %d of %d: %v", n, len(w.ids)+otherCount, err)
		}
	}
	times := 5
	if raceDetector { // ten times as slow
		times = 1
	}
	for trial := range times * len(damages) {
		if raceDetector && trial%3 > 0 { // one at a time
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

// A segment that has one other bit, wherever that is, is not taken for what was written.
func TestFlippedSegments(t *testing.T) {
	w := grown(t, 12)
	times := 8
	if raceDetector { // ten times as slow, and one at a time
		times = 2
	}
	for range times {
		w.flushAll()
		s := w.engine.tableIndex(w.org, things)
		w.close()
		files, err := filepath.Glob(filepath.Join(s.path, "*.zap"))
		w.must(err)
		place := w.rand.Float64()
		for _, file := range files { // which of them are in use is not known
			b, err := os.ReadFile(file)
			w.must(err)
			b[int(place*float64(len(b)))] ^= 1 << w.rand.IntN(8)
			w.must(os.WriteFile(file, b, 0o600))
		}
		w.open()
		w.still(func() {
			if why, err := w.engine.tableIndex(w.org, things).tryLoad(); why == nil || err != nil {
				t.Errorf("at %f: taken as it is, %v", place, err)
			}
		})
		w.agree(`{"page_size": 500}`)
	}
}
