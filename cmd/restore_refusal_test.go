package cmd_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"prospector/internal/apptest"
)

// invalidBackup is a file that restore must refuse, and the expected error.
type invalidBackup struct {
	name    string
	content []byte
	says    string
}

// pack packs files in the format of a backup.
func pack(t *testing.T, files ...backupFile) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: 0o600, Size: int64(len(f.content))}
		if f.link {
			h.Typeflag, h.Linkname, h.Size, f.content = tar.TypeSymlink, "/etc/passwd", 0, nil
		}
		err := w.WriteHeader(h)
		if err == nil {
			_, err = w.Write(f.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// manifestFor returns a manifest with the size and checksum of a store, and with changes applied.
func manifestFor(t *testing.T, manifest, stored []byte, changes map[string]any) backupFile {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(manifest, &m); err != nil {
		t.Fatal(err)
	}
	m["bytes"], m["sha256"] = len(stored), sumOf(stored)
	maps.Copy(m, changes)
	return backupFile{name: "manifest.json", content: []byte(asJSON(m))}
}

// editedCopy returns a copy of a store that was changed with bbolt.
func (p *place) editedCopy(stored []byte, change func(*bolt.Tx) error) []byte {
	p.t.Helper()
	p.write("copy.db", string(stored))
	p.editStore(p.path("copy.db"), change)
	b, err := os.ReadFile(p.path("copy.db"))
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

// editStore changes a closed store with bbolt.
func (p *place) editStore(file string, change func(*bolt.Tx) error) {
	p.t.Helper()
	db, err := bolt.Open(file, 0o600, &bolt.Options{NoSync: true})
	if err != nil {
		p.t.Fatal(err)
	}
	if err := errors.Join(db.Update(change), db.Close()); err != nil {
		p.t.Fatal(err)
	}
}

// invalidBackups returns variations of the backup with one defect each, and other files.
func invalidBackups(from *place, backup string) (bad []invalidBackup) {
	t := from.t
	whole, err := os.ReadFile(from.path(backup))
	if err != nil {
		t.Fatal(err)
	}
	files := from.unpack(backup)
	manifest, stored := files[0].content, files[1].content
	db := backupFile{name: "prospector.db", content: stored}
	add := func(name, says string, content []byte) { bad = append(bad, invalidBackup{name, content, says}) }

	for _, at := range []int{0, 2, 20, len(whole) / 2, len(whole) - 8, len(whole) - 1} {
		b := slices.Clone(whole)
		b[at] ^= 0x10
		add(fmt.Sprintf("byte %d of %d flipped", at, len(whole)), "not a complete backup", b)
	}
	for _, n := range []int{1, 10, len(whole) / 2, len(whole) - 9, len(whole) - 1} {
		add(fmt.Sprintf("%d of %d bytes", n, len(whole)), "not a complete backup", whole[:n])
	}
	add("empty", "not a complete backup", nil)
	add("a text", "not a complete backup", []byte("this is no backup\n"))
	add("the store itself", "not a complete backup", stored)
	add("noise behind it", "not a complete backup", append(slices.Clone(whole), "noise"...))
	add("another behind it", "not a complete backup", append(slices.Clone(whole), whole...))
	add("nothing, packed", "not a complete backup", pack(t))
	add("something else, packed", "notes.txt", pack(t, backupFile{name: "notes.txt", content: []byte("hello")}))
	add("the manifest alone", "not a complete backup", pack(t, files[0]))
	add("the store first", "prospector.db", pack(t, db, files[0]))
	add("a third file", "more data after the store", pack(t, files[0], db, backupFile{name: "more"}))
	add("a link as the store", "not a complete backup", pack(t, files[0], backupFile{name: "prospector.db", link: true}))
	add("a store outside", "not a complete backup", pack(t, files[0], backupFile{name: "../prospector.db", content: stored}))
	add("a manifest of noise", "manifest", pack(t, backupFile{name: "manifest.json", content: []byte("noise")}, db))
	for what, value := range map[string]any{
		"records": 4, "organizations": 2, "bytes": len(stored) + 1, "sha256": strings.Repeat("0", 64),
	} {
		add("a manifest with other "+what, "manifest", pack(t, manifestFor(t, manifest, stored, map[string]any{what: value}), db))
	}
	other := func(name, says string, content []byte) {
		add(name, says, pack(t, manifestFor(t, manifest, content, nil), backupFile{name: "prospector.db", content: content}))
	}
	other("an empty store", "damaged", nil)
	other("a store of noise", "damaged", bytes.Repeat([]byte("noise"), 5000))
	from.write("whole.db", string(stored))
	other("half a store", "damaged", stored[:usedBytes(t, from.path("whole.db"))/2])
	other("a newer store", "format 99", from.editedCopy(stored, func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("format"), []byte{0, 0, 0, 0, 0, 0, 0, 99})
	}))
	other("a store without a key", "unique key", from.editedCopy(stored, func(tx *bolt.Tx) error {
		keys := tx.Bucket([]byte("global.api_keys.hash"))
		k, _ := keys.Cursor().First()
		return keys.Delete(k)
	}))
	other("a store with a damaged record", "users", bytes.ReplaceAll(stored, []byte("ada@acme.example"), []byte("eve@acme.example")))
	return bad
}

// TestRestoreRefusals checks that an invalid backup is refused in one line that names the file, and
// that nothing changes in or next to the data directory.
func TestRestoreRefusals(t *testing.T) {
	t.Parallel()
	from, p := newPlace(t), newPlace(t)
	from.org("Acme")
	from.run("backup", "file").withoutProgress().ok()
	p.org("Old")
	p.dataFile("index/some/file", "precious")
	bad := invalidBackups(from, "file")
	for _, b := range bad {
		p.write(b.name+".backup", string(b.content))
	}
	before := p.tree(".")
	for i, b := range bad {
		if apptest.RaceDetector && i%3 > 0 && i < len(bad)-3 {
			continue
		}
		args := []string{"restore", b.name + ".backup"}
		if i%2 == 1 {
			args = append(args, "--json")
		}
		t.Run(b.name, func(t *testing.T) {
			p := &place{t: t, dir: p.dir, plain: apptest.RaceDetector && i > 0} // one refusal under the race detector is enough
			r := p.run(args...).withoutProgress()
			if changes := p.changes(".", before); changes != "" {
				t.Errorf("the refused restore changed files:%s", changes)
				before = p.tree(".") // for the next cases
			}
			r.fails(1, "nothing was changed", b.name+".backup", b.says)
		})
	}
	p.run("restore", "missing").fails(1, "nothing was changed", "missing", "no such file")
	p.run("restore", "data").withoutProgress().fails(1, "nothing was changed", "data", "is a directory")
	p.run("restore", "empty.backup", "--data-dir", "nowhere").withoutProgress().fails(1, "nothing was changed")
	if changes := p.changes(".", before); changes != "" {
		t.Errorf("files changed:%s", changes)
	}
	if orgs := p.run("org", "list").ok().stdout; !strings.Contains(orgs, "Old") {
		t.Errorf("the organizations are %s", orgs)
	}
	// The unmodified backup is valid.
	p.run("restore", from.path("file")).withoutProgress().ok()
	p.passesCheck()
}
