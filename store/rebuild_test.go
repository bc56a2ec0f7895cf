package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/fault"
)

// rebuilt opens a damaged file with Rebuild and compares what it has with the sample: every record is as it
// was written, or it is damaged, or the count of the table says that records are missing. It returns how
// many records are not as they were.
func (sam sample) rebuilt(t *testing.T, name string, file []byte) (gone int, opened bool) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	path := filepath.Join(dir, FileName)
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(path, file, 0o600)); err != nil {
		t.Fatal(err)
	}
	inTime(t, name, func() {
		s, err := Open(dir, Options{
			Clock: newClock().Now, Log: slog.New(slog.DiscardHandler), Rebuild: true,
			Fatal: func(err error) { t.Errorf("%s: fatal: %v", name, err) },
		})
		if err != nil {
			t.Logf("%s: refused: %v", name, err)
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %v", name, err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(file, after) {
				t.Errorf("%s: the file was changed although Open failed: %v", name, err)
			}
			return
		}
		opened = true
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		s.db.NoSync = true
		if err := s.UseShapes(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		sam.compare(t, name, s)
		readable, damaged, count := map[uuid.UUID]bool{}, 0, 0
		err = s.View(orgA, func(tx *Tx) error {
			count = tx.RecordCount("people")
			for id := range sam.records {
				_, err := people.Get(tx, id)
				switch {
				case err == nil:
					readable[id] = true
				case errors.Is(err, ErrDamaged):
					damaged++
				case fault.CodeOf(err) != fault.NotFound:
					t.Errorf("%s: %s: %v", name, id, err)
				}
			}
			n := 0
			err := tx.Records("people", uuid.Nil, func(id uuid.UUID, _ uint64, _ []byte) (bool, error) {
				n++
				return true, nil
			})
			if err != nil || n != len(readable) {
				t.Errorf("%s: a scan has %d records, and %d can be found: %v", name, n, len(readable), err)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		gone = len(sam.records) - len(readable)
		if gone > 0 && count <= len(readable) {
			t.Errorf("%s: %d records are gone, and the count is %d", name, gone, count)
		}
		if err := tryInsert(s, orgA, person{Name: "new", Email: "new", Tags: []string{"new"}}); err != nil {
			t.Errorf("%s: a write fails: %v", name, err)
		}
	})
	return gone, opened
}

// TestRebuildZeroedPages zeroes each page. A store is opened unless the page is needed to find anything,
// and no page takes more records with it than it holds.
func TestRebuildZeroedPages(t *testing.T) {
	sam := newSample(t)
	size := os.Getpagesize()
	refused := 0
	for at := 0; at < len(sam.file); at += size {
		file := bytes.Clone(sam.file)
		clear(file[at : at+size])
		gone, opened := sam.rebuilt(t, fmt.Sprint("zeroed page ", at/size), file)
		if !opened {
			refused++
		}
		if gone > 30 {
			t.Errorf("page %d takes %d records with it", at/size, gone)
		}
	}
	if refused > 4 {
		t.Errorf("%d of %d files were refused", refused, len(sam.file)/size)
	}
}

// TestRebuildIsFinishedLater stops the program after the file was rebuilt, before it has found out which records
// are gone. The next start does it.
func TestRebuildIsFinishedLater(t *testing.T) {
	sam := newSample(t)
	clear(sam.page(t, "people.rec"))
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), sam.file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir, Options{Rebuild: true}).Close(); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, Options{})
	if err := s.UseShapes(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone := 0
	read(t, s, orgA, func(tx *Tx) error {
		for id := range sam.records {
			if _, err := people.Get(tx, id); errors.Is(err, ErrDamaged) {
				gone++
			} else if err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	if gone == 0 || !s.Rebuilt() {
		t.Errorf("%d records are gone, rebuilt: %v", gone, s.Rebuilt())
	}
	if err := errors.Join(s.FinishRebuild(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	if s = open(t, dir, Options{}); s.Rebuilt() {
		t.Error("the rebuild does not count as finished")
	}
}

// TestRebuildOnce checks that a table of which all records are gone does not look like another one at the next start.
func TestRebuildOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	for i := range 5 {
		insert(t, s, orgA, person{Name: strings.Repeat("x", 400), Email: fmt.Sprint(i)})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FileName)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(sample{file: file}.page(t, "people.rec"))
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{Rebuild: true})
	if err := s.UseShapes(t.Context()); err != nil || s.damaged.count.Load() != 5 {
		t.Errorf("%d records are damaged (%v)", s.damaged.count.Load(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir, Options{}) // fails if the file would be rebuilt again
}

// pageInUse is what bbolt knows about a page.
type pageInUse struct {
	typ   string
	count int // of its elements
}

// usedPages returns the pages of a file that are in use, by number.
func usedPages(t *testing.T, path string) map[int]pageInUse {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, PreLoadFreelist: true, Timeout: lockWait})
	if err != nil {
		t.Fatal(err)
	}
	used := map[int]pageInUse{}
	err = db.View(func(btx *bolt.Tx) error {
		for id := 2; ; {
			info, err := btx.Page(id)
			if info == nil || err != nil {
				return err
			}
			if id++; info.Type != "free" {
				used[info.ID] = pageInUse{info.Type, info.Count}
				id += info.OverflowCount
			}
		}
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return used
}

func (sam sample) usedPages(t *testing.T) map[int]pageInUse {
	t.Helper()
	path := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(path, sam.file, 0o600); err != nil {
		t.Fatal(err)
	}
	return usedPages(t, path)
}

// page returns the first page in use that has entries of a bucket of orgA.
func (sam sample) page(t *testing.T, bucket string) []byte {
	t.Helper()
	size, used := os.Getpagesize(), sam.usedPages(t)
	for _, id := range slices.Sorted(maps.Keys(used)) {
		page := sam.file[id*size : (id+1)*size]
		for i := 0; used[id].typ == "leaf" && i < used[id].count; i++ {
			const head, element = 16, 16 // bytes of a page header and of an element
			at := head + i*element
			field := func(n int) int { return int(binary.LittleEndian.Uint32(page[at+4*n:])) }
			key := page[at+field(1):][:field(2)]
			value := page[at+field(1)+field(2):][:field(3)]
			if field(0) == 0 && (&Tx{org: orgA}).checkEntry(bucket, key, value) == nil {
				return page
			}
		}
	}
	t.Fatalf("there is no page of %s", bucket)
	return nil
}

// TestRebuildSwappedPages swaps pages. Each page says which one it is, so nothing is lost.
func TestRebuildSwappedPages(t *testing.T) {
	sam := newSample(t)
	size := os.Getpagesize()
	random := rand.New(rand.NewPCG(13, 14))
	pages := len(sam.file) / size
	for range 30 {
		a, b := 2+random.IntN(pages-2), 2+random.IntN(pages-2)
		file := bytes.Clone(sam.file)
		copy(file[a*size:(a+1)*size], sam.file[b*size:])
		copy(file[b*size:(b+1)*size], sam.file[a*size:])
		gone, opened := sam.rebuilt(t, fmt.Sprint("swapped ", a, " ", b), file)
		if gone > 0 || !opened {
			t.Errorf("swapped %d and %d: %d records are gone, opened: %v", a, b, gone, opened)
		}
	}
}

// TestRebuildFlippedBits flips bits in the pages that lead to others: in the root, in the lists of organizations
// and tables, and in branches. No bit takes a record with it, unless the file is refused because its root or the list
// of organizations is damaged.
func TestRebuildFlippedBits(t *testing.T) {
	sam := newSample(t)
	size := os.Getpagesize()
	random, refused := rand.New(rand.NewPCG(15, 16)), 0
	used := sam.usedPages(t)
	for _, id := range slices.Sorted(maps.Keys(used)) {
		const head, element = 16, 16 // bytes of a page header and of an element
		hasBuckets := sam.file[id*size+head]&1 != 0
		if used[id].typ == "leaf" && !hasBuckets || used[id].typ == "freelist" {
			continue
		}
		for range 20 {
			bit := id*size*8 + random.IntN((head+used[id].count*element)*8)
			gone, opened := sam.rebuilt(t, fmt.Sprint("bit ", bit), flipped(sam.file, bit))
			if gone > 0 {
				t.Errorf("bit %d takes %d records with it", bit, gone)
			}
			if !opened {
				refused++
			}
		}
	}
	if refused > 30 {
		t.Errorf("%d files were refused", refused)
	}
}

// TestRebuildTableNames flips each bit in the names of the buckets of a table with one record, which is on the page
// with the names.
func TestRebuildTableNames(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	d := insert(t, s, orgA, person{Name: "Ann"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"people.rec", "people.log"} {
		for bit := range len(name) * 8 {
			dir, wrongName := t.TempDir(), flipped([]byte(name), bit)
			wrong := bytes.ReplaceAll(file, []byte(name), wrongName)
			if err := os.WriteFile(filepath.Join(dir, FileName), wrong, 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, dir, Options{Rebuild: true})
			if err := s.UseShapes(t.Context()); err != nil {
				t.Fatal(err)
			}
			read(t, s, orgA, func(tx *Tx) error {
				if got, err := people.Get(tx, d.ID); err != nil || got.Record.Name != "Ann" || tx.LastChange("people") != 1 {
					t.Errorf("%q: %+v, change %d: %v", wrongName, got, tx.LastChange("people"), err)
				}
				return nil
			})
		}
	}
}

// TestRebuildFlippedBitsAnywhere flips bits everywhere.
func TestRebuildFlippedBitsAnywhere(t *testing.T) {
	sam := newSample(t)
	random := rand.New(rand.NewPCG(15, 16))
	for range 40 {
		bit := random.IntN(len(sam.file) * 8)
		gone, opened := sam.rebuilt(t, fmt.Sprint("bit ", bit), flipped(sam.file, bit))
		if gone > 1 {
			t.Errorf("bit %d takes %d records with it, opened: %v", bit, gone, opened)
		}
	}
}
