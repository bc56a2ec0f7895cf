package store

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unpacking unpacks repeatedly into the same directory, which it empties each time.
type unpacking struct {
	t   *testing.T
	dir string
}

// newUnpacking uses a directory where an fsync is cheap, if there is one.
func newUnpacking(t *testing.T) unpacking {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "unpack-*")
	if err != nil {
		return unpacking{t, t.TempDir()}
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return unpacking{t, dir}
}

// try returns the manifest and the store of a backup; the store is nil if there is an error.
func (u unpacking) try(backup []byte) (store []byte, m Manifest, err error) {
	u.t.Helper()
	path := filepath.Join(u.dir, FileName)
	m, err = Unpack(context.Background(), bytes.NewReader(backup), u.dir)
	if err == nil {
		if store, err = os.ReadFile(path); err != nil {
			u.t.Fatal(err)
		}
	}
	if err := os.RemoveAll(path); err != nil {
		u.t.Fatal(err)
	}
	files, readErr := os.ReadDir(u.dir)
	if readErr != nil || len(files) > 0 {
		u.t.Fatalf("beside the store there is %v, %v", files, readErr)
	}
	return store, m, err
}

// TestUnpackNoticesEveryFlip flips each byte of a backup in two ways. Most are refused. Bytes that
// gzip ignores, such as the time in its header, and distances within a run of zeros do not matter:
// then the result must be what was packed.
func TestUnpackNoticesEveryFlip(t *testing.T) {
	store, backup, _ := packedStore(t)
	u := newUnpacking(t)
	_, want, err := u.try(backup)
	if err != nil {
		t.Fatal(err)
	}
	const head = 10 // of gzip: magic, method, flags, time (4), level, system
	taken := 0
	step := 1
	if raceDetector {
		step = 7
	}
	for at := 0; at < len(backup); at += step {
		for _, mask := range []byte{0xff, 1 << (at % 8)} {
			b := bytes.Clone(backup)
			b[at] ^= mask
			got, m, err := u.try(b)
			switch {
			case err == nil && (!bytes.Equal(got, store) || m != want):
				t.Errorf("byte %d ^ %x: it gives another store, %+v", at, mask, m)
			case err == nil && at >= head:
				taken++
			case err == nil && at < 3:
				t.Errorf("byte %d ^ %x: it is no gzip any more", at, mask)
			case err != nil && !strings.HasPrefix(err.Error(), "not a complete backup: "):
				t.Errorf("byte %d ^ %x: %v", at, mask, err)
			}
		}
	}
	if taken > len(backup)/20 {
		t.Errorf("%d flips behind the head had no effect", taken)
	}
}

func TestUnpackNoticesEveryTruncation(t *testing.T) {
	_, backup, _ := packedStore(t)
	u := newUnpacking(t)
	for size := range backup {
		if _, _, err := u.try(backup[:size]); err == nil || !strings.HasPrefix(err.Error(), "not a complete backup: ") {
			t.Errorf("%d of %d bytes: %v", size, len(backup), err)
		}
	}
}

func TestUnpackNoticesWhatStandsBehind(t *testing.T) {
	_, backup, _ := packedStore(t)
	u := newUnpacking(t)
	for name, more := range map[string][]byte{
		"a zero":         {0},
		"zeros":          make([]byte, 1024),
		"text":           []byte("\n"),
		"its own head":   backup[:10],
		"itself":         backup,
		"half of itself": backup[:len(backup)/2],
		"an empty gzip":  gzipped(nil),
		"another gzip":   gzipped([]byte("more")),
		"a gzip of none": gzipped(make([]byte, 1024)),
	} {
		if _, _, err := u.try(append(bytes.Clone(backup), more...)); err == nil {
			t.Errorf("%s behind it: it was taken", name)
		}
	}
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// file is an entry of a tar archive.
type file struct {
	name string
	kind byte
	body []byte
	link string
}

// tarOf returns an uncompressed tar archive of the files.
func tarOf(t *testing.T, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Typeflag: f.kind, Mode: 0o600, Size: int64(len(f.body)), Linkname: f.link}
		err := w.WriteHeader(h)
		if err == nil {
			_, err = w.Write(f.body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func manifestOf(t *testing.T, store []byte, change func(*Manifest)) []byte {
	t.Helper()
	sum := sha256.Sum256(store)
	m := Manifest{Version: "v1", Bytes: int64(len(store)), SHA256: hex.EncodeToString(sum[:])}
	if change != nil {
		change(&m)
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestUnpackRefusesOtherArchives has valid archives that Pack does not write.
func TestUnpackRefusesOtherArchives(t *testing.T) {
	store := bytes.Repeat([]byte("store "), 2000)
	manifest := manifestOf(t, store, nil)
	reg := func(name string, body []byte) file { return file{name: name, kind: tar.TypeReg, body: body} }
	m, f := reg(manifestName, manifest), reg(FileName, store)
	good := tarOf(t, m, f)
	u := newUnpacking(t)
	if got, _, err := u.try(gzipped(good)); err != nil || !bytes.Equal(got, store) {
		t.Fatalf("the good one: %v", err)
	}
	other := func(change func(*Manifest)) []byte {
		return tarOf(t, reg(manifestName, manifestOf(t, store, change)), f)
	}
	for name, archive := range map[string][]byte{
		"nothing":                   nil,
		"an empty tar":              tarOf(t),
		"text":                      []byte("this is no backup"),
		"only the manifest":         tarOf(t, m),
		"only the store":            tarOf(t, f),
		"the other way round":       tarOf(t, f, m),
		"the manifest twice":        tarOf(t, m, m, f),
		"the store twice":           tarOf(t, m, f, f),
		"a third file":              tarOf(t, m, f, reg("more", []byte("more"))),
		"an empty third file":       tarOf(t, m, f, reg("more", nil)),
		"a directory behind":        tarOf(t, m, f, file{name: "dir/", kind: tar.TypeDir}),
		"a file before":             tarOf(t, reg("more", nil), m, f),
		"a file between":            tarOf(t, m, reg("more", nil), f),
		"a store above":             tarOf(t, m, reg("../"+FileName, store)),
		"a store at the root":       tarOf(t, m, reg("/"+FileName, store)),
		"a store below":             tarOf(t, m, reg("./"+FileName, store)),
		"a symbolic link":           tarOf(t, m, file{name: FileName, kind: tar.TypeSymlink, link: "/etc/passwd"}),
		"a hard link":               tarOf(t, m, file{name: FileName, kind: tar.TypeLink, link: manifestName}),
		"a link and a store":        tarOf(t, m, file{name: FileName, kind: tar.TypeSymlink, link: "/dev/null"}, f),
		"a manifest that is a link": tarOf(t, file{name: manifestName, kind: tar.TypeSymlink, link: FileName}, f),
		"a directory":               tarOf(t, m, file{name: FileName + "/", kind: tar.TypeDir}),
		"a device":                  tarOf(t, m, file{name: FileName, kind: tar.TypeChar}),
		"a file of another kind":    tarOf(t, m, file{name: FileName, kind: tar.TypeCont, body: store}),
		"an empty store":            tarOf(t, m, reg(FileName, nil)),
		"a shorter store":           tarOf(t, m, reg(FileName, store[:len(store)-1])),
		"a longer store":            tarOf(t, m, reg(FileName, append(bytes.Clone(store), 0))),
		"another store":             tarOf(t, m, reg(FileName, flipped(store, 77))),
		"another size":              other(func(m *Manifest) { m.Bytes++ }),
		"no size":                   other(func(m *Manifest) { m.Bytes = 0 }),
		"another sum":               other(func(m *Manifest) { m.SHA256 = strings.Repeat("0", 64) }),
		"no sum":                    other(func(m *Manifest) { m.SHA256 = "" }),
		"an empty manifest":         tarOf(t, reg(manifestName, nil), f),
		"a manifest that is null":   tarOf(t, reg(manifestName, []byte("null")), f),
		"a manifest that is cut":    tarOf(t, reg(manifestName, manifest[:len(manifest)-1]), f),
		"a manifest and more":       tarOf(t, reg(manifestName, append(bytes.Clone(manifest), " {}"...)), f),
		"a tar that is cut":         good[:1536],
		"more behind the end":       append(bytes.Clone(good), "more"...),
		"another tar behind it":     append(bytes.Clone(good), good...),
	} {
		_, _, err := u.try(gzipped(archive))
		if err == nil {
			t.Errorf("%s: it was taken", name)
		} else if !strings.HasPrefix(err.Error(), "not a complete backup: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, b := range map[string][]byte{"nothing at all": nil, "a tar": good, "a store": store} {
		if _, _, err := u.try(b); err == nil || !strings.HasPrefix(err.Error(), "not a complete backup: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnpackDiskFails: an error of the disk does not blame the backup.
func TestUnpackDiskFails(t *testing.T) {
	_, backup, _ := packedStore(t)
	dir := t.TempDir()
	blames := func(err error) bool { return strings.Contains(fmt.Sprint(err), "not a complete backup") }
	if _, err := Unpack(t.Context(), bytes.NewReader(backup), filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) || blames(err) {
		t.Errorf("into no directory: %v", err)
	}
	path := filepath.Join(dir, FileName)
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Unpack(t.Context(), bytes.NewReader(backup), dir); !errors.Is(err, os.ErrExist) || blames(err) {
		t.Errorf("where a store is: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "mine" {
		t.Errorf("it is now %q, %v", b, err)
	}
	dir = t.TempDir()
	read := &os.PathError{Op: "read", Path: "backup", Err: errRefused}
	if _, err := Unpack(t.Context(), io.MultiReader(bytes.NewReader(backup[:99]), failed{read}), dir); !errors.Is(err, errRefused) || blames(err) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }

// canceling is a reader that cancels the context after some bytes.
type cancelling struct {
	io.Reader
	left   int
	cancel func()
}

func (c *cancelling) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b[:min(len(b), max(c.left, 1))])
	if c.left -= n; c.left <= 0 {
		c.cancel()
	}
	return n, err
}

func TestUnpackIsCancelled(t *testing.T) {
	_, backup, _ := packedStore(t)
	for _, after := range []int{0, 5, 100, len(backup) / 2} {
		ctx, cancel := context.WithCancel(context.Background())
		_, err := Unpack(ctx, &cancelling{bytes.NewReader(backup), after, cancel}, t.TempDir())
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "not a complete backup") {
			t.Errorf("after %d bytes: %v", after, err)
		}
		cancel()
	}
}

// TestUnpackComparesSizesFirst checks that nothing is written of an archive whose store is larger than its
// manifest says.
func TestUnpackComparesSizesFirst(t *testing.T) {
	var backup bytes.Buffer
	zipped := gzip.NewWriter(&backup)
	packed := tar.NewWriter(zipped)
	for _, file := range []struct{ name, content string }{
		{manifestName, `{"bytes": 10}`}, {FileName, strings.Repeat("x", 1<<16)},
	} {
		header := tar.Header{Name: file.name, Mode: 0o600, Size: int64(len(file.content))}
		if err := packed.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(packed, file.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(packed.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, err := Unpack(t.Context(), &backup, dir)
	if err == nil || !strings.Contains(err.Error(), "its store has 65536 bytes, but its manifest says 10") {
		t.Errorf("got %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("it has written %v (%v)", files, err)
	}
}
