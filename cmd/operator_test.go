package cmd_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestBackupAndRestoreExcludeDeleted checks that deleted data is neither in a later backup nor in a
// store restored from it.
func TestBackupAndRestoreExcludeDeleted(t *testing.T) {
	t.Parallel()
	const secret = "kept-in-the-drawer"
	p := newPlace(t)
	p.org("Acme")
	p.org("Gone")
	p.write("rows", "email,notes\nbill@x.example,"+secret+"\n")
	p.run("import", "contacts", "rows", "--org", "Gone").withoutProgress().ok()
	p.run("org", "delete", "--org", "Gone", "--yes").withoutProgress().ok()
	p.run("backup", "b").withoutProgress().ok()
	for _, f := range p.unpack("b") {
		if bytes.Contains(f.content, []byte(secret)) {
			t.Errorf("%s still contains deleted data", f.name)
		}
	}
	p.run("restore", "b").withoutProgress().ok()
	stored, err := os.ReadFile(p.path("data", "prospector.db"))
	if err != nil || bytes.Contains(stored, []byte(secret)) || len(stored) == 0 {
		t.Errorf("the store still contains deleted data: %v", err)
	}
	p.passesCheck()
}

// TestDemoRefusesUsedStore checks that the demo refuses a store that is already in use.
func TestDemoRefusesUsedStore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.org("Acme")
	before := p.run("org", "list").ok().stdout
	p.run("demo", "--data-dir", "data", "--addr", "127.0.0.1:0").fails(1, "organizations that are not the demo's", "--data-dir")
	if after := p.run("org", "list").ok().stdout; after != before {
		t.Errorf("%s\nwas\n%s", after, before)
	}
}

// TestRefusedOutputPaths checks that no output is written to a path that the server cleans up.
func TestRefusedOutputPaths(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.org("Acme")
	for _, file := range []string{"data/tmp/b", "data/index/b"} {
		p.run("backup", file).fails(1, "belongs to the server", file)
		p.run("org", "export", "--org", "Acme", file).fails(1, "belongs to the server", file)
	}
	p.run("backup", "").fails(2, "backup requires one argument")
	p.run("backup", "data/b").withoutProgress().ok()
}

// TestJSONLinesByFileName checks that a file named as JSON lines is read as such, whatever its
// first line is.
func TestJSONLinesByFileName(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.org("Acme")
	p.write("people.jsonl", "null\n{\"email\": \"a@x.example\"}\n")
	r := p.run("import", "contacts", "people.jsonl", "--org", "Acme").withoutProgress()
	if r.status != 0 || r.stdout != "Imported contacts: 1 added, 0 updated, 1 skipped, 0 values dropped\n" || !strings.HasPrefix(r.stderr, "line 1: ") {
		t.Errorf("%+v", r)
	}
	p.write("empty.ndjson", "")
	p.run("import", "contacts", "empty.ndjson", "--org", "Acme").withoutProgress().fails(1, "the file is empty")
}
