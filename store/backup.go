package store

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// A backup is a gzipped tar archive of two files: a manifest, and a consistent copy of the store.

const (
	manifestName     = "manifest.json"
	maxManifestBytes = 1 << 20
)

// Manifest describes a backup. It contains no data of organizations.
type Manifest struct {
	Version       string    `json:"version"` // of the program that made the backup
	CreatedAt     time.Time `json:"created_at"`
	Epoch         uuid.UUID `json:"epoch"`
	Organizations int       `json:"organizations"`
	Records       int       `json:"records"`
	Bytes         int64     `json:"bytes"`  // size of the store
	SHA256        string    `json:"sha256"` // of the store
}

// Snapshot copies a consistent state of the store into a new directory dir, from which it can be
// opened as a store of its own. The copy is written to the same disk as the store, so that a slow
// reader of the backup never pins a read transaction. Snapshot calls progress with the number of
// bytes copied and the total.
func (s *Store) Snapshot(ctx context.Context, dir string, progress func(done, total int64)) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, FileName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = s.read(func(btx *bolt.Tx) error {
		total := btx.Size()
		_, err := btx.WriteTo(&counted{ctx: ctx, w: f, report: func(done int64) { progress(done, total) }})
		return err
	})
	return errors.Join(err, f.Sync(), f.Close())
}

// Compact copies the store in the directory from, which must not be open, into a new directory
// without deleted data. The pages of a store keep deleted bytes until they are reused.
func Compact(from, to string) error {
	return guard(func() error {
		src, err := bolt.Open(filepath.Join(from, FileName), 0o600, &bolt.Options{ReadOnly: true, Timeout: lockWait})
		if err != nil {
			return err
		}
		dst, err := createFile(to)
		if err != nil {
			return errors.Join(err, src.Close())
		}
		return errors.Join(bolt.Compact(dst, src, compactTx), dst.Sync(), dst.Close(), src.Close())
	})
}

// createFile creates a file without buckets in a new directory. Whoever fills it calls Sync at the end.
func createFile(dir string) (*bolt.DB, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	return bolt.Open(filepath.Join(dir, FileName), 0o600, &bolt.Options{
		NoSync: true, FreelistType: bolt.FreelistMapType, Timeout: lockWait,
	})
}

// compactTx is the number of bytes copied in one transaction.
const compactTx = 16 << 20

// Pack writes the store in dir, which must not be open, as a backup. It sets the size and the
// checksum of the manifest.
func Pack(ctx context.Context, w io.Writer, dir string, m Manifest, progress func(done, total int64)) error {
	path := filepath.Join(dir, FileName)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if m.Bytes, err = io.Copy(sum, &counted{ctx: ctx, r: f}); err != nil {
		return err
	}
	m.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	zipped, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	packed := tar.NewWriter(zipped)
	put := func(name string, size int64, r io.Reader) error {
		if err := packed.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: m.CreatedAt}); err != nil {
			return err
		}
		_, err := io.Copy(packed, r)
		return err
	}
	if err := put(manifestName, int64(len(manifest)), bytes.NewReader(manifest)); err != nil {
		return err
	}
	counting := &counted{ctx: ctx, r: f, report: func(done int64) { progress(done, m.Bytes) }}
	if err := put(FileName, m.Bytes, counting); err != nil {
		return err
	}
	return errors.Join(packed.Close(), zipped.Close())
}

// Unpack reads a backup and writes its store into the existing directory dir. It fails if the input
// is not exactly what Pack writes.
func Unpack(ctx context.Context, r io.Reader, dir string) (m Manifest, err error) {
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = ctx.Err()
		}
	}()
	file := bufio.NewReaderSize(&counted{ctx: ctx, r: r}, 1<<20)
	zipped, err := gzip.NewReader(file)
	if err != nil {
		return m, notWhole(err)
	}
	zipped.Multistream(false)
	packed := tar.NewReader(zipped)
	if _, err := next(packed, manifestName); err != nil {
		return m, notWhole(err)
	}
	manifest, err := io.ReadAll(io.LimitReader(packed, maxManifestBytes))
	if err == nil {
		err = json.Unmarshal(manifest, &m)
	}
	if err != nil {
		return m, notWhole(fmt.Errorf("manifest: %w", err))
	}
	size, err := next(packed, FileName)
	if err == nil && size != m.Bytes { // before anything is written
		err = fmt.Errorf("its store has %d bytes, but its manifest says %d", size, m.Bytes)
	}
	if err != nil {
		return m, notWhole(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, FileName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return m, err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), packed)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return m, notWhole(err)
	}
	if have := hex.EncodeToString(sum.Sum(nil)); n != m.Bytes || have != m.SHA256 {
		return m, notWhole(fmt.Errorf("its store has %d bytes and the SHA-256 checksum %s, but its manifest says %d and %s",
			n, have, m.Bytes, m.SHA256))
	}
	if _, err := packed.Next(); err != io.EOF {
		return m, notWhole(errors.New("there is more data after the store"))
	}
	for _, end := range []io.Reader{zipped, file} { // both have a checksum at their end
		switch n, err := io.Copy(io.Discard, end); {
		case err != nil:
			return m, notWhole(err)
		case n > 0:
			return m, notWhole(errors.New("there is more data after its end"))
		}
	}
	return m, nil
}

// notWhole wraps an error about the content of a backup. Errors of the disk are returned as they
// are.
func notWhole(err error) error {
	var disk *fs.PathError
	if errors.As(err, &disk) {
		return err
	}
	return fmt.Errorf("not a complete backup: %w", err)
}

// next goes to the next file, which must have the name, and returns its size.
func next(packed *tar.Reader, name string) (size int64, err error) {
	h, err := packed.Next()
	if err != nil {
		return 0, err
	}
	if h.Name != name || h.Typeflag != tar.TypeReg {
		return 0, fmt.Errorf("it has %q in place of %s", h.Name, name)
	}
	return h.Size, nil
}

// counted is a reader or writer that stops when ctx ends and reports the number of bytes that
// passed.
type counted struct {
	ctx    context.Context
	r      io.Reader
	w      io.Writer
	done   int64
	report func(done int64)
}

func (c *counted) Read(b []byte) (int, error) { return c.through(c.r.Read, b) }

func (c *counted) Write(b []byte) (int, error) { return c.through(c.w.Write, b) }

func (c *counted) through(do func([]byte) (int, error), b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := do(b)
	c.done += int64(n)
	if c.report != nil {
		c.report(c.done)
	}
	return n, err
}
