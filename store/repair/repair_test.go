package repair

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

var org = uuid.MustParse("0a000000-0000-7000-8000-00000000000a")

func sum(org uuid.UUID, bucket string, key, body []byte) uint32 {
	return crc32.ChecksumIEEE(bytes.Join([][]byte{org[:], []byte(bucket), key, body}, nil))
}

// plainLayout is a layout with one kind of bucket in an organization.
var plainLayout = &Layout{
	Organizations: "orgs",
	Needed:        []string{"meta", "orgs"},
	HasBuckets:    func(path []string) bool { return len(path) == 0 || len(path) < 3 && path[0] == "orgs" },
	IsName: func(path []string, name string) bool {
		switch len(path) {
		case 0:
			return name == "meta" || name == "orgs"
		case 1:
			return len(name) == 16
		}
		return strings.HasSuffix(name, ".rec")
	},
	Names:    func(*bolt.Tx) ([]string, error) { return []string{"people.rec"}, nil },
	IsSealed: func(bucket string) bool { return strings.HasSuffix(bucket, ".rec") },
	Matches: func(org uuid.UUID, bucket string, key, value []byte) bool {
		return len(value) > 8 && fmt.Sprintf("%08x", sum(org, bucket, key, value[8:])) == string(value[:8])
	},
	Change:      func(string, []byte, []byte) uint64 { return 0 },
	Placeholder: []byte{0},
	IsReported:  func(string, []byte, uint64) bool { return true },
}

// newFile returns the content of a file with n entries, and the size of its pages.
func newFile(t *testing.T, n int) (file []byte, pageSize int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	pageSize = db.Info().PageSize
	err = db.Update(func(btx *bolt.Tx) error {
		meta, err := btx.CreateBucket([]byte("meta"))
		if err != nil {
			return err
		}
		orgs, err := btx.CreateBucket([]byte("orgs"))
		if err != nil {
			return err
		}
		b, err := orgs.CreateBucket(org[:])
		if err == nil {
			b, err = b.CreateBucket([]byte("people.rec"))
		}
		for i := 0; i < n && err == nil; i++ {
			key, body := fmt.Appendf(nil, "%08d", i), bytes.Repeat([]byte("x"), 100)
			err = b.Put(key, append(fmt.Appendf(nil, "%08x", sum(org, "people.rec", key, body)), body...))
		}
		return errors.Join(err, meta.Put([]byte("format"), []byte("1")))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if file, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return file, pageSize
}

func check(t *testing.T, file []byte) *File {
	t.Helper()
	f, err := Check(bytes.NewReader(file), int64(len(file)), 0, plainLayout)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// rebuild returns the number of entries of a rebuilt file.
func rebuild(t *testing.T, f *File) (entries int, rebuilt *Rebuilt, err error) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(t.TempDir(), "rebuilt"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if rebuilt, err = f.Rebuild(db); err != nil {
		return 0, nil, err
	}
	return entries, rebuilt, db.View(func(btx *bolt.Tx) error {
		b := btx.Bucket([]byte("orgs")).Bucket(org[:]).Bucket([]byte("people.rec"))
		return b.ForEach(func(key, value []byte) error {
			if !plainLayout.Matches(org, "people.rec", key, value) {
				t.Errorf("the entry %s does not match its checksum", key)
			}
			entries++
			return nil
		})
	})
}

func TestCheckSound(t *testing.T) {
	file, _ := newFile(t, 500)
	f := check(t, file)
	if len(f.Problems) > 0 || !f.HasBothMetas {
		t.Errorf("it has problems: %v, both meta pages: %v", f.Problems, f.HasBothMetas)
	}
	if n, _, err := rebuild(t, f); n != 500 || err != nil {
		t.Errorf("the rebuilt file has %d entries: %v", n, err)
	}
	if _, err := Check(bytes.NewReader(file), int64(len(file)), 99, plainLayout); !errors.Is(err, ErrNoCommit) {
		t.Errorf("a commit that does not exist: %v", err)
	}
	if _, err := Check(bytes.NewReader(file), int64(len(file))/4, 0, plainLayout); err == nil {
		t.Error("a truncated file is accepted")
	}
}

// TestZeroedPages zeroes each page of a file. It is rebuilt without the entries of that page, or refused because nothing
// can be found without it.
func TestZeroedPages(t *testing.T) {
	file, size := newFile(t, 500)
	refused := 0
	for at := 2 * size; at < len(file); at += size {
		damaged := bytes.Clone(file)
		clear(damaged[at : at+size])
		f := check(t, damaged)
		if len(f.Problems) == 0 {
			continue // it is not in use
		}
		n, rebuilt, err := rebuild(t, f)
		var unusable *UnusableError
		switch {
		case errors.As(err, &unusable):
			refused++
		case err != nil:
			t.Errorf("page %d: %v", at/size, err)
		case n < 500 && (n < 400 || !rebuilt.MayLack("orgs", string(org[:]), "people.rec")):
			t.Errorf("page %d: %d entries are left, and nothing seems to be lacking", at/size, n)
		}
	}
	if refused == 0 || refused > 2 {
		t.Errorf("%d files were refused", refused)
	}
}

// TestFlippedName changes one bit in the name of a bucket. Its entries show what its name is.
func TestFlippedName(t *testing.T) {
	file, _ := newFile(t, 500)
	f := check(t, bytes.ReplaceAll(file, []byte("people.rec"), []byte("qeople.rec")))
	if len(f.Problems) == 0 || !strings.Contains(f.Problems[0].Error(), org.String()) {
		t.Errorf("it has the problems %v", f.Problems)
	}
	if n, _, err := rebuild(t, f); n != 500 || err != nil {
		t.Errorf("the rebuilt file has %d entries: %v", n, err)
	}
}
