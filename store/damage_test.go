package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"prospector/internal/fault"
)

// sample is the file of a store, up to its last used byte, and the records that it contains.
type sample struct {
	file    []byte
	records map[uuid.UUID]Doc[person]
}

// newSample writes a few hundred records, changes some and deletes some, so that the file has
// branch pages and free pages with old versions.
func newSample(t *testing.T) sample {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir, newClock().options())
	s.db.NoSync = true
	sam := sample{records: map[uuid.UUID]Doc[person]{}}
	for i := range 30 {
		write(t, s, orgA, func(tx *Tx) error {
			for j := range 10 {
				n := i*10 + j
				p := person{Name: strings.Repeat(fmt.Sprint("name ", n), 20), Email: fmt.Sprint(n, "@x"), Tags: []string{fmt.Sprint(n % 7)}}
				d, err := people.Insert(tx, numberedID(1, n), p)
				if err != nil {
					return err
				}
				sam.records[d.ID] = d
			}
			_, err := tx.Enqueue("mail", tx.Now(), nil)
			return err
		})
	}
	for n := range 60 {
		d := sam.records[numberedID(1, n*5)]
		write(t, s, orgA, func(tx *Tx) (err error) {
			if n%3 == 0 {
				delete(sam.records, d.ID)
				return people.Delete(tx, d)
			}
			p := d.Record
			p.Name, p.Tags = "changed "+p.Name, []string{"changed"}
			sam.records[d.ID], err = people.Update(tx, d, p, []string{"name"})
			return err
		})
	}
	write(t, s, orgA, func(tx *Tx) error {
		for n := range 50 {
			d := sam.records[numberedID(1, n*5+1)]
			p := d.Record
			p.Count++
			if err := people.Touch(tx, d, p, []string{"count"}); err != nil {
				return err
			}
			touched, err := people.Get(tx, d.ID)
			if err != nil {
				return err
			}
			sam.records[d.ID] = touched
		}
		return nil
	})
	// With a damaged meta page bbolt falls back to the commit before. Here that commit differs in
	// nothing that is compared.
	insert(t, s, orgB, person{Name: "of another organization"})
	write(t, s, orgB, func(tx *Tx) error { tx.put("last.gone", []byte("commit"), nil); return nil })
	var used int64
	if err := s.db.View(func(btx *bolt.Tx) error { used = btx.Size(); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	sam.file = file[:used]
	return sam
}

// survive opens file as a store and uses it in every way. Whatever the file contains, the process
// survives, a refused file stays unchanged, and a record that can be read is the one that was
// written. It returns the result of Open.
func (sam sample) survive(t *testing.T, dir, name string, file []byte) (opened bool) {
	t.Helper()
	path := filepath.Join(dir, FileName)
	// A new file each time, because the mapping of a damaged one may stay until the process ends.
	if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, file, 0o600)); err != nil {
		t.Fatal(err)
	}
	inTime(t, name, func() {
		s, err := Open(dir, Options{
			Clock: newClock().Now, Log: slog.New(slog.DiscardHandler),
			Fatal: func(err error) { t.Errorf("%s: fatal: %v", name, err) },
		})
		if err != nil {
			if !strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("%s: the error does not name the path: %v", name, err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(file, after) {
				t.Errorf("%s: the file was changed although Open failed: %v", name, err)
			}
			return
		}
		opened = true
		s.db.NoSync = true
		sam.compare(t, name, s)
		_, _, _ = s.Due(s.Now(), 100, nil, nil)
		_, _ = s.Organizations()
		_, _ = s.Dump(orgA)
		for i, id := range []uuid.UUID{numberedID(1, 1), numberedID(1, 151), numberedID(1, 299)} {
			_ = s.Update(context.Background(), orgA, boss, func(tx *Tx) error {
				d, err := people.Get(tx, id)
				if err == nil {
					_, err = people.Update(tx, d, d.Record, nil)
				}
				return err
			})
			_ = tryInsert(s, orgA, person{Name: "new", Email: fmt.Sprint("new", i), Tags: []string{"new"}})
		}
		_ = s.Close()
	})
	return opened
}

// inTime fails the test if fn does not return.
func inTime(t *testing.T, name string, fn func()) {
	t.Helper()
	done, ctx := make(chan struct{}), t.Context()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	go func() {
		defer close(done)
		fn()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatalf("%s: it hangs", name)
	}
}

// compare reads every record in both ways: each is right or an error.
func (sam sample) compare(t *testing.T, name string, s *Store) {
	right := func(how string, d Doc[person]) {
		want, ok := sam.records[d.ID]
		if !ok || !same(d.Record, want.Record) || d.Change != want.Change || !bytes.Equal(d.JSON, want.JSON) {
			t.Errorf("%s: %s gives %s for %s", name, how, d.JSON, d.ID)
		}
	}
	for id := range sam.records {
		_ = s.View(orgA, func(tx *Tx) error {
			d, err := people.Get(tx, id)
			if err == nil {
				right("Get", d)
			}
			return err
		})
	}
	_ = s.View(orgA, func(tx *Tx) error {
		return people.Scan(tx, func(d Doc[person]) (bool, error) {
			right("Scan", d)
			return true, nil
		})
	})
	_ = s.View(orgA, func(tx *Tx) error { return people.Verify(tx, func(bool, string, ...any) {}) })
}

func TestTheSampleIsReadRight(t *testing.T) {
	sam := newSample(t)
	if !sam.survive(t, t.TempDir(), "sample", sam.file) {
		t.Error("it does not open")
	}
	if pages := len(sam.file) / os.Getpagesize(); pages < 30 || pages > 300 {
		t.Errorf("the sample has %d pages", pages)
	}
}

func TestTruncated(t *testing.T) {
	sam, dir := newSample(t), t.TempDir()
	r := rand.New(rand.NewPCG(5, 6))
	sizes := []int{1, 16, 80, 1023, 4095, 4096, 4097, 8191, 8192, 8193, 12288, 16384, len(sam.file) - 1, len(sam.file) - 4096}
	for range 40 {
		sizes = append(sizes, r.IntN(len(sam.file)))
	}
	for _, size := range sizes {
		if sam.survive(t, dir, fmt.Sprint(size, " bytes"), sam.file[:size]) {
			t.Errorf("%d of %d bytes were opened", size, len(sam.file))
		}
	}
}

func TestGarbage(t *testing.T) {
	sam, dir := newSample(t), t.TempDir()
	r := rand.New(rand.NewPCG(7, 8))
	for _, size := range []int{1, 100, 4096, 20_000, 300_000} {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		for name, file := range map[string][]byte{"noise": b, "zeros": make([]byte, size), "text": bytes.Repeat([]byte("x"), size)} {
			if sam.survive(t, dir, fmt.Sprint(name, " ", size), file) {
				t.Errorf("%d bytes of %s were opened", size, name)
			}
		}
		// Two valid meta pages before garbage.
		sam.survive(t, dir, fmt.Sprint("good head, noise ", size), append(bytes.Clone(sam.file[:2*os.Getpagesize()]), b...))
	}
}

func TestZeroedPages(t *testing.T) {
	sam, dir := newSample(t), t.TempDir()
	page := os.Getpagesize()
	for at := 0; at < len(sam.file); at += page {
		file := bytes.Clone(sam.file)
		clear(file[at : at+page])
		sam.survive(t, dir, fmt.Sprint("page ", at/page), file)
	}
}

func TestFlippedBits(t *testing.T) {
	sam, dir := newSample(t), t.TempDir()
	r := rand.New(rand.NewPCG(9, 10))
	for tried := 0; tried < 200; {
		if bit := r.IntN(len(sam.file) * 8); !blindlyTrusted(sam.file, bit/8) {
			sam.survive(t, dir, fmt.Sprint("bit ", bit), flipped(sam.file, bit))
			tried++
		}
	}
}

// blindlyTrusted reports whether bbolt navigates by the byte: a page number, a number of pages or
// entries, or a key. A wrong value cannot be detected, and recover does not help when bbolt runs in
// a circle.
func blindlyTrusted(file []byte, at int) bool {
	const meta, head, element = 2, 16, 16 // pages; bytes of a page header and of an element
	size := os.Getpagesize()
	page, off := file[at/size*size:][:size], at%size
	if at/size < meta {
		return false // has a checksum
	}
	if off < 10 {
		return false // its own number and type, which bbolt compares
	}
	const leaf = 2
	if off >= 12 && off < head || binary.LittleEndian.Uint16(page[8:]) != leaf {
		return true
	}
	for i := range int(binary.LittleEndian.Uint16(page[10:])) {
		e := page[head+i*element:]
		isBucket := binary.LittleEndian.Uint32(e)&1 != 0
		key := head + i*element + int(binary.LittleEndian.Uint32(e[4:]))
		value := key + int(binary.LittleEndian.Uint32(e[8:]))
		end := value + int(binary.LittleEndian.Uint32(e[12:]))
		if off >= key && off < value || isBucket && off >= value && off < end {
			return true
		}
	}
	return false
}

// TestDamagedMetaPage has the one kind of damage that takes the store back in time: bbolt keeps two
// meta pages and uses the intact one, as it must after a crash during a commit.
func TestDamagedMetaPage(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	insert(t, s, orgA, person{Name: "first"})
	insert(t, s, orgA, person{Name: "second"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FileName)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for page := range 2 {
		if err := os.WriteFile(path, flipped(file, (page*os.Getpagesize()+40)*8), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, Options{})
		seen = append(seen, names(t, s, orgA))
		if found := problems(t, s, orgA); found != nil {
			t.Error(found)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Sort(seen); !slices.Equal(seen, []string{"first", "first second"}) {
		t.Errorf("there is %q", seen)
	}
}

func TestAnEmptyFileIsLeftAlone(t *testing.T) {
	sam := newSample(t)
	if sam.survive(t, t.TempDir(), "empty", nil) {
		t.Error("it was opened")
	}
}

func TestErrorsOfOpenAreOneLine(t *testing.T) {
	sam, dir := newSample(t), t.TempDir()
	path := filepath.Join(dir, FileName)
	page := os.Getpagesize()
	for at := 0; at < len(sam.file); at += page {
		file := bytes.Clone(sam.file)
		clear(file[at : at+page])
		if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, file, 0o600)); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(dir, Options{}); err == nil {
			_ = s.Close()
		} else {
			wantLine(t, err, path)
		}
	}
}

func TestAnEpochThatIsGone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	err := s.db.Update(func(btx *bolt.Tx) error { return btx.Bucket(metaBucket).Delete(epochKey) })
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, Options{})
	wantLine(t, err, dir)
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

// TestRecordUnderOtherID has the effect of a flipped bit in the key of a page.
func TestRecordUnderOtherID(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	ann := insert(t, s, orgA, person{Name: "ann"})
	bob := insert(t, s, orgA, person{Name: "bob"})
	var value []byte
	plant(t, s, orgA, "people.rec", ann.ID[:], func(v []byte) []byte { value = v; return v })
	plant(t, s, orgA, "people.rec", bob.ID[:], func([]byte) []byte { return value })
	err := s.View(orgA, func(tx *Tx) error { _, err := people.Get(tx, bob.ID); return err })
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

// TestFreelistNamesUsedPages has a list of free pages with which bbolt would overwrite its own pages. The
// file is rebuilt, and nothing is lost.
func TestFreelistNamesUsedPages(t *testing.T) {
	sam := newSample(t)
	size := os.Getpagesize()
	field := func(at int) uint64 { return binary.LittleEndian.Uint64(sam.file[at:]) }
	const head, freelist, txid = 16, 32, 48 // offsets: in a page, and in the meta that follows
	newest := 0
	if field(size+head+txid) > field(head+txid) {
		newest = size
	}
	list := int(field(newest+head+freelist)) * size
	free := map[uint64]bool{uint64(list / size): true}
	for i := range int(binary.LittleEndian.Uint16(sam.file[list+10:])) {
		free[field(list+head+8*i)] = true
	}
	r := rand.New(rand.NewPCG(11, 12))
	for try := range 5 {
		file, n := bytes.Clone(sam.file), 0
		for page := 2; page < len(file)/size && n < len(free)-1; page++ {
			if !free[uint64(page)] && r.IntN(4) > 0 {
				binary.LittleEndian.PutUint64(file[list+head+8*n:], uint64(page))
				n++
			}
		}
		binary.LittleEndian.PutUint16(file[list+10:], uint16(n))
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, FileName), file, 0o600); err != nil {
			t.Fatal(err)
		}
		inTime(t, fmt.Sprint("try ", try), func() {
			s, err := Open(dir, Options{Rebuild: true, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 20 {
				if err := tryInsert(s, orgA, person{Name: "new", Email: fmt.Sprint("new", i), Tags: []string{"new"}}); err != nil {
					t.Error(err)
				}
			}
			read(t, s, orgA, func(tx *Tx) error {
				if n := people.Count(tx); n != len(sam.records)+20 {
					t.Errorf("there are %d records", n)
				}
				return nil
			})
			if found := problems(t, s, orgA); found != nil {
				t.Error(found)
			}
			_ = s.Close()
		})
	}
}

// TestFlippedValue flips a bit of a record in the file.
func TestFlippedValue(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	d := insert(t, s, orgA, person{Name: "unmistakable"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FileName)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damagedFile := bytes.ReplaceAll(file, []byte("unmistakable"), []byte("unmistakeble"))
	if err := os.WriteFile(path, damagedFile, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	err = s.View(orgA, func(tx *Tx) error { _, err := people.Get(tx, d.ID); return err })
	if !errors.Is(err, ErrDamaged) || fault.CodeOf(err) != fault.Damaged || !strings.Contains(err.Error(), d.ID.String()) {
		t.Errorf("get: %v", err)
	}
	err = s.View(orgA, func(tx *Tx) error {
		if !people.HasDamaged(tx) {
			t.Error("the damage is not known")
		}
		return people.Scan(tx, func(d Doc[person]) (bool, error) {
			t.Errorf("scan: got %s", d.ID)
			return true, nil
		})
	})
	if err != nil {
		t.Errorf("scan: %v", err)
	}
	err = s.View(orgA, func(tx *Tx) error {
		return tx.Records("people", uuid.Nil, func(id uuid.UUID, _ uint64, _ []byte) (bool, error) {
			t.Errorf("records: got %s", id)
			return true, nil
		})
	})
	if err != nil || s.DamagedRecords() != 1 {
		t.Errorf("records: %v, %d are damaged", err, s.DamagedRecords())
	}
	write(t, s, orgA, func(tx *Tx) error { return tx.DeleteDamaged("people", d.ID) })
	if s.DamagedRecords() != 0 {
		t.Error("the record still counts as damaged after it was deleted")
	}
	if err := s.View(orgA, func(tx *Tx) error {
		return people.Verify(tx, func(_ bool, format string, args ...any) { t.Errorf(format, args...) })
	}); err != nil {
		t.Error(err)
	}
}
