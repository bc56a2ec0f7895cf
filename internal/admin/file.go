package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"prospector/internal/service"
)

// A file for the operator is first written to the work directory, by the process that holds the
// store. The command then copies it to its target, where the server may not be allowed to write.

// workDir creates a directory for temporary files. It is removed at the latest when the store is opened
// the next time.
func workDir(s *service.Service) (string, error) {
	work := s.Config.WorkDir()
	if err := os.MkdirAll(work, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(work, "")
}

// File is a file in the work directory.
type File struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// makeFile writes a file to a directory and syncs it.
func makeFile(dir string, write func(io.Writer) error) (m File, err error) {
	m.Path = filepath.Join(dir, "file")
	f, err := os.OpenFile(m.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return m, err
	}
	sum := sha256.New()
	err = write(io.MultiWriter(f, sum))
	if info, statErr := f.Stat(); statErr == nil {
		m.Bytes = info.Size()
	}
	m.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return m, errors.Join(err, f.Sync(), f.Close())
}

// Target is where a File is copied to. It never overwrites a file.
type Target struct {
	path    string
	partial *os.File
}

// NewTarget checks that a file can be written to path.
func NewTarget(cfg service.Config, path string) (t Target, err error) {
	t.path = path
	for _, dir := range []string{cfg.WorkDir(), cfg.IndexDir()} {
		if abs, err := filepath.Abs(path); err == nil && strings.HasPrefix(abs, dir+string(filepath.Separator)) {
			return t, fmt.Errorf("%s belongs to the server, which would remove %s; choose another directory", dir, path)
		}
	}
	if _, err := os.Lstat(path); err == nil {
		return t, fmt.Errorf("%s already exists; remove it or choose another file", path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return t, err
	}
	t.partial, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".partial-*") // with mode 0600
	if err != nil {
		return t, fmt.Errorf("cannot write %s: %w", path, errors.Unwrap(err))
	}
	return t, nil
}

// Take copies a file to the target. The file is removed from the work directory even if that fails.
func (t Target) Take(m File) error {
	defer os.RemoveAll(filepath.Dir(m.Path))
	from, err := os.Open(m.Path)
	if err != nil {
		return err
	}
	defer from.Close()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(t.partial, sum), from); err != nil {
		return err
	}
	if have := hex.EncodeToString(sum.Sum(nil)); have != m.SHA256 {
		return fmt.Errorf("%s was damaged while it was copied to %s", m.Path, t.path)
	}
	if err := errors.Join(t.partial.Sync(), t.partial.Close()); err != nil {
		return err
	}
	if _, err := os.Lstat(t.path); err == nil {
		return fmt.Errorf("%s was created by another process", t.path)
	}
	if err := os.Rename(t.partial.Name(), t.path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(t.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Drop removes the partial file of a target that was not reached.
func (t Target) Drop() {
	_ = t.partial.Close()
	_ = os.Remove(t.partial.Name())
}
