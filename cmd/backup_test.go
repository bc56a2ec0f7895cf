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

// past takes the lines from stderr that tell how far a command has come.
func (r result) past() result {
	r.progress = strings.Join(progressLines.FindAllString(r.stderr, -1), "")
	r.stderr = progressLines.ReplaceAllString(r.stderr, "")
	return r
}

// packed is a file of a backup.
type packed struct {
	name    string
	mode    int64
	content []byte
	link    bool
}

// unpack takes a backup apart.
func (p *place) unpack(name string) (files []packed) {
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
		files = append(files, packed{name: h.Name, mode: h.Mode, content: content, link: h.Typeflag != tar.TypeReg})
	}
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// changes tells what is other in a directory of the place than it was, a line for each file.
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

// treeSeed is for the sums of a tree, which are compared with each other only.
var treeSeed = maphash.MakeSeed()

// tree is everything under a directory of the place, by its name: the mode, and of a file the sum of its content.
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

// names is what is in a directory of the place.
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

// A backup is a file for its owner alone, of the size and the sum that the command tells, with a manifest that has no secret
// in it, and nothing is left of the work.
func TestBackup(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, p *place) {
		_, key := p.org("Acme")
		r := p.run("backup", "first.backup", "--json").past()
		b, err := os.ReadFile(p.path("first.backup"))
		if err != nil {
			t.Fatal(err)
		}
		r.prints(fmt.Sprintf(`{"file": "first.backup", "bytes": %d, "sha256": %q, "records": 3}`, len(b), sumOf(b)))
		if r.progress == "" {
			t.Error("nothing tells how far it has come")
		}
		if info, err := os.Stat(p.path("first.backup")); err != nil || info.Mode() != 0o600 {
			t.Errorf("the mode is %v (%v)", info.Mode(), err)
		}
		files := p.unpack("first.backup")
		if len(files) != 2 || files[0].name != "manifest.json" || files[1].name != "prospector.db" {
			t.Fatalf("the backup has %d files", len(files))
		}
		for _, f := range files {
			if f.mode != 0o600 || f.link {
				t.Errorf("in the backup %s has the mode %o", f.name, f.mode)
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
			t.Errorf("it was made at %v (%v)", made.CreatedAt, err)
		}
		if strings.Contains(string(stored), key) {
			t.Error("the backup has an API key in it")
		}
		p.run("backup", p.path("second.backup")).past().says(`Wrote ` + p.path("second.backup") + `: 3 records, \d+ bytes, SHA-256 [0-9a-f]{64}\n`)
		if names := p.names("."); names != "data first.backup second.backup" {
			t.Errorf("there are %s", names)
		}
		if names := p.names("data", "tmp"); names != "" {
			t.Errorf("in the data directory there is tmp/%s", names)
		}
	})
}

// What cannot be written is refused before the work begins, and nothing that exists is written over.
func TestBackupWhereItCannot(t *testing.T) {
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
				t.Errorf("it tells of a file that nobody has named: %s", r.stderr)
			}
		}
		p.run("backup").fails(2, "requires one argument")
		p.run("backup", "one", "two").fails(2, "requires one argument")
		if b, err := os.ReadFile(p.path("taken")); err != nil || string(b) != "precious" {
			t.Errorf("the file that was there is now %q (%v)", b, err)
		}
		if names := p.names("."); names != before {
			t.Errorf("there are %s, before there were %s", names, before)
		}
		if names := p.names("data", "tmp"); names != "" {
			t.Errorf("in the data directory there is tmp/%s", names)
		}
	})
}

// Without a store there is nothing to back up, to resume or to check, and none is made.
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
		t.Errorf("commands that failed made %s", names)
	}
}

// A backup that fits into the data directory but not where it is to go leaves nothing in either.
func TestBackupWithoutRoom(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, p *place) {
		for range 6 { // more than a block, also when it is packed
			var name strings.Builder
			for range 7 {
				name.WriteString(uuid.NewString())
			}
			p.run("org", "create", "--name", name.String()).ok()
		}
		p.run("backup", "whole").past().ok()
		c := p.command()
		c.Path, c.Args = "/bin/sh", []string{"sh", "-c", `ulimit -f 1; exec "$0" backup file`, binary}
		var stderr strings.Builder
		c.Stderr = &stderr
		if err := c.Run(); c.ProcessState == nil || c.ProcessState.ExitCode() != 1 {
			t.Fatalf("%v: %s", err, &stderr)
		}
		(&result{t: t, what: "backup", stderr: stderr.String(), status: 1}).past().fails(1, "file too large")
		if names := p.names("."); names != "data whole" {
			t.Errorf("there are %s", names)
		}
		if names := p.names("data", "tmp"); names != "" {
			t.Errorf("in the data directory there is tmp/%s", names)
		}
		p.run("backup", "file").past().ok()
	})
}

// What was deleted or written over is in no backup, although the store may still have its bytes.
func TestBackupWithoutTheDeleted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve()
	_, key := p.org("Acme")
	const gone, old, kept = "notes of a contact that is gone", "notes as they were", "notes as they are"
	contact := func(email, notes string) string {
		return s.id(s.do(http.StatusCreated, key, "POST", "/v1/contacts", fmt.Sprintf(`{"email": %q, "notes": %q}`, email, notes)))
	}
	s.do(http.StatusNoContent, key, "DELETE", "/v1/contacts/"+contact("ann@acme.example", gone), "")
	s.do(http.StatusOK, key, "PATCH", "/v1/contacts/"+contact("bob@acme.example", old), fmt.Sprintf(`{"notes": %q}`, kept))
	p.run("backup", "file").past().ok()
	stored := string(p.unpack("file")[1].content)
	for text, want := range map[string]bool{gone: false, "ann@acme.example": false, old: false, kept: true} {
		if strings.Contains(stored, text) != want {
			t.Errorf("%q is in the backup: %t", text, !want)
		}
	}
}
