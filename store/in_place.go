package store

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"prospector/internal/fault"
)

// fileState is what is known about the file at the store's path.
type fileState struct {
	mu    sync.Mutex
	err   error // why it is not the open file
	lasts bool  // err stays, also if the file comes back
	// truncated says that bytes of the file are lost.
	truncated atomic.Bool
}

var errTruncated = fault.New(fault.Unavailable, "the store file was truncated while the server runs")

// InPlace returns an error if the file at the store's path is no longer the open one, or is shorter than it must be.
// In the first case, everything that is written would go to a file that the next start does not find.
func (s *Store) InPlace() error {
	if err := s.hasSize(s.file.Size()); err != nil { // also protects bbolt from reading meta pages that are gone
		return err
	}
	size := int64(0)
	err := s.read(func(btx *bolt.Tx) error {
		size = btx.Size()
		return nil
	})
	switch {
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		return errClosed
	case err != nil:
		return fault.New(fault.Unavailable, "the store file cannot be read")
	}
	return s.hasSize(size)
}

// hasSize returns an error unless the file at the store's path is the open one and has at least the size. It logs
// when that changes.
func (s *Store) hasSize(size int64) error { return s.noteFileState(s.compareFile(size), false) }

// stayedInPlace is hasSize for a file that was just written. If it is not in its place, what was written is not
// acknowledged, but the file has it. So nothing more is written, even if the file comes back.
func (s *Store) stayedInPlace(size int64) error {
	err := s.compareFile(size)
	return s.noteFileState(err, err != nil)
}

// compareFile compares the file at the store's path with the open one. As long as that is open, no other file has
// its inode.
func (s *Store) compareFile(size int64) error {
	there, err := os.Stat(s.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fault.New(fault.Unavailable, "the store file was removed while the server runs")
	case err != nil:
		return fault.New(fault.Unavailable, "the store file cannot be found")
	case !os.SameFile(s.file, there):
		return fault.New(fault.Unavailable, "the store file was replaced while the server runs")
	case there.Size() < size:
		return errTruncated
	}
	return nil
}

// noteFileState records and logs whether the file is in its place, and returns why it is not. What was truncated is lost,
// even if the file has grown since.
func (s *Store) noteFileState(err error, lasts bool) error {
	p := &s.fileState
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lasts {
		return p.err
	}
	isTruncated := errors.Is(err, errTruncated)
	switch {
	case p.err == nil && err != nil:
		s.opt.Log.Error("store file is not as the server left it, nothing more is written", "file", s.path, "error", err)
	case p.err != nil && err == nil:
		s.opt.Log.Info("store file is in its place again", "file", s.path)
	}
	p.err, p.lasts = err, lasts || isTruncated
	p.truncated.Store(isTruncated)
	return err
}

// isOutOfPlace reports whether the file was found not to be in its place.
func (s *Store) isOutOfPlace() bool {
	s.fileState.mu.Lock()
	defer s.fileState.mu.Unlock()
	return s.fileState.err != nil
}

// read runs fn in a read transaction of bbolt. It refuses a file that was truncated: bbolt would never release its
// locks if the meta pages are gone.
func (s *Store) read(fn func(*bolt.Tx) error) error {
	if s.fileState.truncated.Load() {
		return errTruncated
	}
	if info, err := s.handle.Stat(); err == nil && info.Size() < s.file.Size() {
		return s.noteFileState(errTruncated, true)
	}
	return guard(func() error { return s.db.View(fn) })
}
