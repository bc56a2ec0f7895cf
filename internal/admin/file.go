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
	"syscall"

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

// makeTemporary makes a file in a directory of its own. Nothing is left of it if that fails.
func makeTemporary(s *service.Service, write func(io.Writer) error) (File, error) {
	work, err := workDir(s)
	if err != nil {
		return File{}, err
	}
	m, err := makeFile(work, write)
	if err != nil {
		_ = os.RemoveAll(work)
	}
	return m, err
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
	name    string // of the partial file; empty if it has none yet
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
	if t.partial, err = createUnnamed(filepath.Dir(path)); err == nil {
		return t, nil
	}
	return t.withName()
}

// withName creates the partial file under a name of its own, for file systems that need one. It removes those
// of commands that were killed. The partial file of a running command is locked.
func (t Target) withName() (Target, error) {
	dir, pattern := filepath.Dir(t.path), "."+filepath.Base(t.path)+".partial-*"
	killed, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return t, err
	}
	for _, file := range killed {
		removeUnlocked(file)
	}
	t.partial, err = os.CreateTemp(dir, pattern) // with mode 0600
	if err != nil {
		return t, fmt.Errorf("cannot write %s: %w", t.path, errors.Unwrap(err))
	}
	t.name = t.partial.Name()
	return t, syscall.Flock(int(t.partial.Fd()), syscall.LOCK_EX)
}

// removeUnlocked removes a file that no process has locked.
func removeUnlocked(file string) {
	f, err := os.Open(file)
	if err != nil {
		return
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		_ = os.Remove(file)
	}
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
	if err := t.partial.Sync(); err != nil {
		return err
	}
	if err := t.publish(); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(t.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// publish gives the partial file the name of the target.
func (t Target) publish() error {
	err := fs.ErrExist
	if t.name == "" {
		err = nameFile(t.partial, t.path)
	} else if _, statErr := os.Lstat(t.path); statErr != nil {
		err = os.Rename(t.name, t.path)
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s was created by another process", t.path)
	}
	return err
}

// Drop removes the partial file of a target that was not reached.
func (t Target) Drop() {
	_ = t.partial.Close()
	if t.name != "" {
		_ = os.Remove(t.name)
	}
}
