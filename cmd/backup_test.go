package cmd_test

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"prospector/internal/apptest"
)

var progressLines = regexp.MustCompile(`(?m)^\d+ of \d+ (bytes|records)\n`)

// withoutProgress removes the progress lines from stderr.
func (r result) withoutProgress() result {
	r.progress = strings.Join(progressLines.FindAllString(r.stderr, -1), "")
	r.stderr = progressLines.ReplaceAllString(r.stderr, "")
	return r
}

// backupFile is a file in a backup.
type backupFile struct {
	name    string
	mode    int64
	content []byte
	link    bool
}

// unpack reads the files of a backup.
func (p *place) unpack(name string) (files []backupFile) {
	p.t.Helper()
	f, err := os.Open(p.path(name))
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		p.t.Fatal(err)
	}
	for r := tar.NewReader(zipped); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			p.t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			p.t.Fatal(err)
		}
		files = append(files, backupFile{name: h.Name, mode: h.Mode, content: content, link: h.Typeflag != tar.TypeReg})
	}
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// changes returns the differences between a directory of the place and an earlier state, one line
// per file.
func (p *place) changes(dir string, before map[string]string) (all string) {
	p.t.Helper()
	after := p.tree(dir)
	for name, was := range before {
		if is := after[name]; is != was {
			all += fmt.Sprintf("\n%s was %q, is %q", name, was, is)
		}
	}
	for name, is := range after {
		if _, was := before[name]; !was {
			all += fmt.Sprintf("\n%s has come, %q", name, is)
		}
	}
	return all
}

// treeSeed seeds the checksums of trees, which are only compared with each other.
var treeSeed = maphash.MakeSeed()

// tree returns everything under a directory of the place by name: the mode and, for a file, the
// checksum of its content.
func (p *place) tree(dir string) map[string]string {
	p.t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(p.path(dir)), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		found[name] = info.Mode().String()
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(p.path(dir, name))
			if err != nil {
				return err
			}
			found[name] += fmt.Sprintf(" %x", maphash.Bytes(treeSeed, b))
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return found
}

// names lists a directory of the place.
func (p *place) names(parts ...string) string {
	p.t.Helper()
	entries, err := os.ReadDir(p.path(parts...))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// TestBackup checks that only the owner can read a backup, that its size and checksum are those the
// command prints, that its manifest contains no secret, and that no temporary files are left.
func TestBackup(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, p *place) {
		_, key := p.org("Acme")
		r := p.run("backup", "first.backup", "--json").withoutProgress()
		b, err := os.ReadFile(p.path("first.backup"))
		if err != nil {
			t.Fatal(err)
		}
		r.prints(fmt.Sprintf(`{"file": "first.backup", "bytes": %d, "sha256": %q, "records": 3}`, len(b), sumOf(b)))
		if r.progress == "" {
			t.Error("no progress is printed")
		}
		if info, err := os.Stat(p.path("first.backup")); err != nil || info.Mode() != 0o600 {
			t.Errorf("mode %v (%v), want 0600", info.Mode(), err)
		}
		files := p.unpack("first.backup")
		if len(files) != 2 || files[0].name != "manifest.json" || files[1].name != "prospector.db" {
			t.Fatalf("the backup has %d files", len(files))
		}
		for _, f := range files {
			if f.mode != 0o600 || f.link {
				t.Errorf("%s has mode %o in the backup", f.name, f.mode)
			}
		}
		manifest, stored := string(files[0].content), files[1].content
		want := fmt.Sprintf(`{"version": %q, "created_at": "<any>", "epoch": "<any>", "organizations": 1, "records": 3, "bytes": %d, "sha256": %q}`,
			testVersion, len(stored), sumOf(stored))
		if diff := apptest.Diff(want, manifest); diff != "" {
			t.Errorf("manifest: %s\n%s", diff, manifest)
		}
		var made struct {
			CreatedAt time.Time `json:"created_at"`
		}
		if err := json.Unmarshal([]byte(manifest), &made); err != nil || made.CreatedAt.IsZero() {
			t.Errorf("created_at is %v (%v)", made.CreatedAt, err)
		}
		if strings.Contains(string(stored), key) {
			t.Error("the backup contains an API key")
		}
		p.run("backup", p.path("second.backup")).withoutProgress().says(`Wrote ` + p.path("second.backup") + `: 3 records, \d+ bytes, SHA-256 [0-9a-f]{64}\n`)
		if names := p.names("."); names != "data first.backup second.backup" {
			t.Errorf("unexpected files: %s", names)
		}
		if names := p.names("data", "tmp"); names != "" {
			t.Errorf("the data directory still has tmp/%s", names)
		}
	})
}

// TestBackupTargetRefused checks that a target that cannot be written is refused before the work
// starts, and that no existing file is overwritten.
func TestBackupTargetRefused(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, p *place) {
		p.org("Acme")
		p.write("taken", "precious")
		if err := errors.Join(os.Mkdir(p.path("directory"), 0o700), os.Symlink("nowhere", p.path("link"))); err != nil {
			t.Fatal(err)
		}
		before := p.names(".")
		for file, says := range map[string]string{
			"taken": "already exists", "directory": "already exists", "link": "already exists",
			"missing/file": "no such file or directory", "taken/file": "not a directory", "/proc/prospector.backup": "cannot write",
		} {
			r := p.run("backup", file).fails(1, file, says)
			p.run("backup", file, "--json").fails(1, file, says)
			if strings.Contains(r.stderr, "partial") {
				t.Errorf("the error names a file that is not on the command line: %s", r.stderr)
			}
		}
		p.run("backup").fails(2, "requires one argument")
		p.run("backup", "one", "two").fails(2, "requires one argument")
		if b, err := os.ReadFile(p.path("taken")); err != nil || string(b) != "precious" {
			t.Errorf("the existing file is now %q (%v)", b, err)
		}
		if names := p.names("."); names != before {
			t.Errorf("the directory has %s, before it had %s", names, before)
		}
		if names := p.names("data", "tmp"); names != "" {
			t.Errorf("the data directory still has tmp/%s", names)
		}
	})
}

// TestNoStoreToBackUp checks that backup, resume and check fail without a store and do not create
// one.
func TestNoStoreToBackUp(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, line := range []string{"backup file", "resume", "check", "check --repair"} {
		p.run(append(strings.Fields(line), "--data-dir", "elsewhere")...).fails(1, "no store in "+p.path("elsewhere"))
	}
	p.run("resume", "now").fails(2, "takes no arguments")
	p.run("restore").fails(2, "requires one argument")
	p.run("restore", "one", "two").fails(2, "requires one argument")
	if names := p.names("."); names != "" {
		t.Errorf("failed commands created %s", names)
	}
}

// TestBackupWithoutRoom checks that a backup that fits into the data directory but not into its
// target leaves no files in either.
func TestBackupWithoutRoom(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, p *place) {
		for range 6 { // more than a block, even when compressed
			var name strings.Builder
			for range 7 {
				name.WriteString(uuid.NewString())
			}
			p.run("org", "create", "--name", name.String()).ok()
		}
		p.run("backup", "whole").withoutProgress().ok()
		c := p.command()
		c.Path, c.Args = "/bin/sh", []string{"sh", "-c", `ulimit -f 1; exec "$0" backup file`, binary}
		var stderr strings.Builder
		c.Stderr = &stderr
		if err := c.Run(); c.ProcessState == nil || c.ProcessState.ExitCode() != 1 {
			t.Fatalf("%v: %s", err, &stderr)
		}
		(&result{t: t, what: "backup", stderr: stderr.String(), status: 1}).withoutProgress().fails(1, "file too large")
		if names := p.names("."); names != "data whole" {
			t.Errorf("unexpected files: %s", names)
		}
		if names := p.names("data", "tmp"); names != "" {
			t.Errorf("the data directory still has tmp/%s", names)
		}
		p.run("backup", "file").withoutProgress().ok()
	})
}

// TestBackupExcludesDeleted checks that a backup contains no permanently deleted data, although the store file may still
// contain its bytes. What was overwritten is in the history.
func TestBackupExcludesDeleted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve()
	_, key := p.org("Acme")
	const gone, old, kept = "notes of a contact that is gone", "notes as they were", "notes as they are"
	contact := func(email, notes string) string {
		return s.id(s.do(http.StatusCreated, key, "POST", "/v1/contacts", fmt.Sprintf(`{"email": %q, "notes": %q}`, email, notes)))
	}
	s.do(http.StatusNoContent, key, "DELETE", "/v1/contacts/"+contact("ann@acme.example", gone)+"?permanent=true", "")
	s.do(http.StatusOK, key, "PATCH", "/v1/contacts/"+contact("bob@acme.example", old), fmt.Sprintf(`{"notes": %q}`, kept))
	p.run("backup", "file").withoutProgress().ok()
	stored := string(p.unpack("file")[1].content)
	for text, want := range map[string]bool{gone: false, "ann@acme.example": false, old: true, kept: true} {
		if strings.Contains(stored, text) != want {
			t.Errorf("%q is in the backup: got %t", text, !want)
		}
	}
}
